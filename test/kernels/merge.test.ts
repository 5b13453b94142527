import { describe, expect, test } from "vitest";
import type { OperandView } from "../../src/kernels/kernel.ts";
import { f32Bits, halvesOf, merge, POISON, run, times } from "./support.ts";

const POISON_WORD = POISON * 0x01010101;

/** A softmax output of 16 columns a row: weights that merge must not read, then maxima and sums. */
function stateOf(maxima: readonly number[], sums: readonly number[]): OperandView {
  const rows = maxima.length;
  const view = halvesOf(times(rows * 16 + rows * 4, NaN));
  view.f32.set([...maxima, ...sums], (rows * 16) / 2);
  return view;
}

/** Ten values of each row in a panel of 16. */
function valuesOf(...rows: number[]): OperandView {
  return halvesOf(rows.flatMap((value) => [...times(10, value), ...times(6, NaN)]));
}

const f = Math.fround;

describe("a first block", () => {
  test("is taken as it is, with its maximum and its sum behind; the rest of a row is left alone", () => {
    const output = run(merge(2, true, false), [valuesOf(3, 5), stateOf([1, 2], [7, 11])]);
    for (const [row, value, max, sum] of [
      [0, 3, 1, 7],
      [1, 5, 2, 11],
    ]) {
      expect([...output.f32.slice(row * 16, row * 16 + 12)]).toEqual([
        ...times(10, value),
        max,
        sum,
      ]);
      for (let word = 12; word < 16; word++)
        expect(f32Bits(output, row * 16 + word)).toBe(POISON_WORD);
    }
  });

  test("that is also the last is multiplied by the f32 reciprocal, not divided", () => {
    const output = run(merge(1, true, true), [valuesOf(5), stateOf([0], [49])]);
    expect(output.f32[0]).toBe(f(5 * f(1 / 49)));
    expect(output.f32[0]).not.toBe(f(5 / 49));
    expect(output.f32[11]).toBe(49);
  });
});

describe("a later block", () => {
  const first = run(merge(1, true, false), [valuesOf(3), stateOf([1], [7])]);

  test("of the same maximum is added", () => {
    const output = run(merge(1, false, false), [valuesOf(5), stateOf([1], [11])], {}, first);
    expect([...output.f32.slice(9, 12)]).toEqual([8, 1, 18]);
  });

  test("of a larger maximum shrinks what was there", () => {
    const output = run(merge(1, false, false), [valuesOf(5), stateOf([3], [11])], {}, first);
    const a = f(Math.exp(-2));
    expect([...output.f32.slice(9, 12)]).toEqual([f(f(3 * a) + 5), 3, f(f(7 * a) + 11)]);
  });

  test("of a smaller maximum is shrunk", () => {
    const output = run(merge(1, false, false), [valuesOf(5), stateOf([0], [11])], {}, first);
    const b = f(Math.exp(-1));
    expect([...output.f32.slice(9, 12)]).toEqual([f(3 + f(5 * b)), 1, f(7 + f(11 * b))]);
  });

  test("that is the last divides by the sum of both", () => {
    const output = run(merge(1, false, true), [valuesOf(5), stateOf([1], [11])], {}, first);
    expect(output.f32[9]).toBe(f(8 * f(1 / 18)));
  });

  test("with a NaN as its maximum leaves the running one, and one NaN in every result", () => {
    const output = run(merge(1, false, true), [valuesOf(5), stateOf([NaN], [11])], {}, first);
    expect(output.f32[10]).toBe(1);
    for (const word of [0, 9, 11]) expect(f32Bits(output, word)).toBe(0x7fc00000);
  });
});

test("rounding modes change nothing: no f16 is made", () => {
  const operands = [valuesOf(3), stateOf([1], [49])];
  const want = run(merge(1, true, true), operands);
  for (const rounding of ["stochastic", "exact"] as const) {
    expect(run(merge(1, true, true), operands, { rounding, seed: 4 })).toEqual(want);
  }
});

test("a sum of zero divides by nothing: infinities and the one NaN come out", () => {
  const output = run(merge(1, true, true), [valuesOf(0), stateOf([0], [0])]);
  expect(f32Bits(output, 0)).toBe(0x7fc00000);
  expect(run(merge(1, true, true), [valuesOf(1), stateOf([0], [0])]).f32[0]).toBe(Infinity);
});
