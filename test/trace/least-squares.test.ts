import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { NormalEquations } from "../../src/trace/least-squares.ts";
import type { Equation } from "../../src/trace/least-squares.ts";

function equationsOf(unknowns: number, ...equations: readonly Equation[]): NormalEquations {
  const sums = new NormalEquations(unknowns);
  for (const equation of equations) sums.add(equation);
  return sums;
}

const eq = (value: number, ...counts: number[]): Equation => ({ counts, value });

describe("a fit by least squares", () => {
  // prettier-ignore
  test.each<[string, readonly Equation[], readonly (number | null)[], number]>([
    ["meets as many equations as unknowns",    [eq(5, 1, 1), eq(1, 1, -1)],                      [3, 2],       2],
    ["takes the mean of two that differ",      [eq(4, 2), eq(6, 2)],                             [2.5],        1],
    ["weighs by the square of counts",         [eq(1, 1), eq(8, 2)],                             [17 / 5],     1],
    ["is a line through three points",         [eq(1, 1, 0), eq(2, 1, 1), eq(6, 1, 2)],          [0.5, 2.5],   2],
    ["leaves open what no equation has",       [eq(7, 1, 0)],                                    [7, null],    1],
    ["leaves open what stands only in a sum",  [eq(7, 1, 1, 0), eq(3, 0, 0, 1)],                 [null, null, 3], 2],
    ["fixes nothing without equations",        [],                                               [null, null], 0],
    ["is not deceived by large counts",        [eq(1e9 + 1, 1e9, 1), eq(1e9 + 2, 1e9, 2)],       [1, 1],       2],
  ])("%s", (_, equations, values, rank) => {
    const solution = equationsOf(values.length, ...equations).solve();
    expect(solution.values).toEqual(values);
    expect(solution.rank).toBe(rank);
  });

  test("tells a sum whose parts it does not tell", () => {
    const solution = equationsOf(3, eq(7, 1, 1, 0), eq(3, 0, 0, 1)).solve();
    expect(solution.predict([2, 2, 1])).toBe(17);
    expect(solution.predict([2, 1, 1])).toBeNull();
    expect(solution.undetermined([2, 0, 1])).toEqual([0]);
  });

  test("without some is the fit of the others, and stays as it was", () => {
    const rest = [eq(5, 1, 1), eq(1, 1, -1)];
    const left = [eq(90, 3, 7), eq(-4, 0, 2)];
    const all = equationsOf(2, ...rest, ...left);
    const before = all.solve().values;
    expect(all.without(left).solve().values).toEqual([3, 2]);
    expect(all.solve().values).toEqual(before);
  });

  test("gives back whole unknowns that made the equations, where it determines them", () => {
    const row = fc.array(fc.integer({ min: -300, max: 300 }), { minLength: 4, maxLength: 4 });
    fc.assert(
      fc.property(row, fc.array(row, { maxLength: 8 }), (unknowns, rows) => {
        const valueOf = (counts: readonly number[]): number =>
          counts.reduce((sum, count, j) => sum + count * unknowns[j], 0);
        const sums = equationsOf(4, ...rows.map((counts) => ({ counts, value: valueOf(counts) })));
        const solution = sums.solve();
        solution.values.forEach((value, j) => {
          if (value !== null) expect(value).toBe(unknowns[j] + 0);
        });
        for (const counts of rows) expect(solution.predict(counts)).toBe(valueOf(counts) + 0);
        if (rows.length === 0) expect(solution.rank).toBe(0);
      }),
    );
  });
});
