import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { softmaxForm } from "../../src/kernels/attention-softmax.ts";
import type { OperandView } from "../../src/kernels/kernel.ts";
import { F16_VALUES, toF16 } from "../../src/numerics/f16.ts";
import type { AttentionSoftmaxSpec } from "../../src/kernels/spec.ts";
import {
  EXACT,
  f32Bits,
  finiteHalf,
  halves,
  POISON,
  repeated,
  run,
  softmax,
  times,
} from "./support.ts";

const POISON_WORD = POISON * 0x01010101;
const ONE = 0x3c00;

/** One row of scores; padding holds what a kernel must not look at. */
function scoresOf(values: readonly number[], padded: number): OperandView {
  const row = new Uint16Array(padded).fill(0x7e00);
  values.forEach((value, column) => (row[column] = toF16(value)));
  return halves(row);
}

/** The state words of a result: maxima, denominators, and what the workers leave. */
function stateOf(
  result: OperandView,
  { rows, paddedKeyColumns }: AttentionSoftmaxSpec,
): Float32Array {
  return result.f32.slice((rows * paddedKeyColumns) / 2);
}

// prettier-ignore
test.each([
  // L   P    form        why
  [729, 768, "wide",      "the recorded block"],
  [ 91,  96, "wide",      "from 96 stored columns on"],
  [ 79,  80, "narrow",    "below"],
  [ 96,  96, "unpadded",  "no padding: the compiled kernel, however wide"],
  [ 32,  32, "unpadded",  "however narrow"],
])("%i keys in %i columns run the %s kernel: %s", (keyColumns, paddedKeyColumns, form) => {
  expect(softmaxForm(softmax(1, keyColumns, paddedKeyColumns))).toBe(form);
});

describe("the weights", () => {
  test("are e^(x - M) of halves, x rounded to f16 before the exponential", () => {
    // scale 1/8: x = 0, -1, -2, -10
    const result = run(softmax(1, 4, 16), [scoresOf([8, 0, -8, -72], 16)]);
    expect([...result.u16.slice(0, 5)]).toEqual([ONE, 0x35e3, 0x3055, 0x02fa, 0]);
    expect(result.f32[8]).toBe(1);
  });

  test("take the scale as the f32 reciprocal of the f32 root: 0x3df15bf0 for heads of 72", () => {
    const result = run(softmax(1, 1, 16, 72), [scoresOf([1], 16)]);
    expect(f32Bits(result, 8)).toBe(0x3df15bf0);
  });

  test("of a row have 1 as their largest, at its largest score, rise with scores, and padding is zero", () => {
    const row = fc.array(finiteHalf, { minLength: 1, maxLength: 97 });
    const law = fc.property(row, fc.integer({ min: 1, max: 128 }), (scores, headDimension) => {
      const padded = Math.ceil((scores.length + 1) / 16) * 16;
      const values = scores.map((bits) => F16_VALUES[bits]);
      const spec = softmax(1, scores.length, padded, headDimension);
      const weights = run(spec, [scoresOf(values, padded)]).u16;
      const largest = Math.max(...values);
      const order = values.map((_, i) => i).sort((a, b) => values[a] - values[b]);
      expect(weights[values.indexOf(largest)]).toBe(ONE);
      order.slice(1).forEach((column, i) => {
        expect(weights[column]).toBeGreaterThanOrEqual(weights[order[i]]);
        expect(weights[column]).toBeLessThanOrEqual(ONE);
      });
      expect(weights.slice(scores.length, padded).every((bits) => bits === 0)).toBe(true);
    });
    fc.assert(law, { numRuns: 200 });
  });

  test("of a row do not depend on the other rows", () => {
    const rows = 3;
    const law = fc.property(fc.array(finiteHalf, { minLength: 96, maxLength: 96 }), (scores) => {
      const spec = softmax(rows, 30, 32);
      const whole = run(spec, [halves(scores)]);
      for (let row = 0; row < rows; row++) {
        const own = [0, 1].flatMap((panel) =>
          scores.slice(panel * 48 + row * 16, panel * 48 + row * 16 + 16),
        );
        const alone = run({ ...spec, rows: 1 }, [halves(own)]);
        for (const panel of [0, 1]) {
          expect(whole.u16.slice(panel * 48 + row * 16, panel * 48 + row * 16 + 16)).toEqual(
            alone.u16.slice(panel * 16, panel * 16 + 16),
          );
        }
        expect(stateOf(whole, spec)[row]).toBe(stateOf(alone, { ...spec, rows: 1 })[0]);
        expect(stateOf(whole, spec)[rows + row]).toBe(stateOf(alone, { ...spec, rows: 1 })[1]);
      }
    });
    fc.assert(law, { numRuns: 50 });
  });
});

describe("the sum of the weights", () => {
  /** x = -16.625, whose weight is the least half, 2^-24: half an f32 unit beside 1. */
  const LEAST = -133;
  const TINY = 2 ** -24;

  /** D of a row of one score 0, weight 1, and then weights of 2^-24. */
  function sumBeside1(keyColumns: number, padded: number, context = {}): number {
    const row = [0, ...times(keyColumns - 1, LEAST)];
    const spec = softmax(1, keyColumns, padded);
    const result = run(spec, [scoresOf(row, padded)], context);
    expect(result.u16[1]).toBe(1);
    return stateOf(result, spec)[1];
  }

  test("narrow: f32, lanes 0..5, 6..11, 12..15 of a panel apart, then the tail by pairs", () => {
    // Lanes 1..5 are lost beside 1 one by one; 6 and 4 lanes survive together.
    expect(sumBeside1(16, 32)).toBe(1 + 10 * TINY);
    expect(sumBeside1(18, 32)).toBe(1 + 12 * TINY);
    expect(sumBeside1(19, 32)).toBe(1 + 12 * TINY); // a lone one is a tie, to the even
  });

  test("unpadded: f32, one lane after the other", () => {
    expect(sumBeside1(32, 32)).toBe(1);
    expect(sumBeside1(96, 96)).toBe(1);
  });

  test("exact: f32, one lane after the other, in every form", () => {
    expect(sumBeside1(19, 32, EXACT)).toBe(1);
    expect(sumBeside1(95, 96, EXACT)).toBe(1);
  });

  test("wide: by f16 fours of even and of odd lanes, then f32, six workers apart", () => {
    // Worker 0, first half of its panel: even lanes f16(f16(1 + 1t) + 2t) = 1, odd ones 4t, in f32 1 + 4t; its
    // second half adds 8t. Workers 1 to 4 bring 16t each, worker 5 its 15t: 1 + 91t is a tie, to the even 92.
    expect(sumBeside1(95, 96)).toBe(1 + 92 * TINY);
    // One key fewer is no tie.
    expect(sumBeside1(94, 96)).toBe(1 + 90 * TINY);
  });

  test("wide: lanes 4 and 6 meet before they meet lanes 0 and 2", () => {
    // A weight w just below 2^-11: f16(1 + w) = 1, but f16(1 + 2w) = 1 + 2^-10.
    const row = [0, -1000, -61, -1000, -61, -1000, -61, ...times(88, -1000)];
    const spec = softmax(1, 95, 96);
    const result = run(spec, [scoresOf(row, 96)]);
    const weight = F16_VALUES[result.u16[2]];
    expect(weight).toBeLessThan(2 ** -11);
    expect(weight).toBeGreaterThan(2 ** -12);
    expect(stateOf(result, spec)[1]).toBe(1 + 2 ** -10);
    expect(stateOf(run(spec, [scoresOf(row, 96)], EXACT), spec)[1]).toBeCloseTo(1 + 3 * weight, 7);
  });
});

describe("the state", () => {
  test("wide: maxima, sums, what workers 1 to 5 leave, and words that nobody writes", () => {
    const spec = softmax(8, 729, 768);
    const result = run(spec, [repeated(8 * 768, 0x4800)]);
    const state = stateOf(result, spec);
    const each = (value: number): number[] => times(8, value);
    // Of 46 panels with keys workers 0, 1, 2 have eight, 3 seven and nine columns, 4 and 5 seven.
    expect([...state.slice(0, 56)]).toEqual(
      [1, 729, 128, 128, 121, 112, 112].flatMap((value) => each(value)),
    );
    for (let word = 56; word < 64; word++) {
      expect(f32Bits(result, (8 * 768) / 2 + word)).toBe(POISON_WORD);
    }
  });

  // prettier-ignore
  test.each([
    ["narrow",        softmax(3, 40, 48),   {}],
    ["unpadded",      softmax(3, 48, 48),   {}],
    ["wide, exactly", softmax(3, 90, 96),   EXACT],
  ])("%s: maxima and sums, no more", (_form, spec, context) => {
    const result = run(spec, [repeated(3 * spec.paddedKeyColumns, 0)], context);
    const state = stateOf(result, spec);
    expect([...state.slice(0, 6)]).toEqual([0, 0, 0, ...times(3, spec.keyColumns)]);
    for (let word = 6; word < 24; word++) {
      expect(f32Bits(result, (3 * spec.paddedKeyColumns) / 2 + word)).toBe(POISON_WORD);
    }
  });
});

// prettier-ignore
test.each<[string, readonly number[], readonly number[], number, number]>([
  // why                                                  scores                    weights          M         D
  ["a NaN is in no maximum, and stays in its weight",     [8, NaN, 0],              [1, NaN, 2**-1.4427], 1,   NaN],
  ["a NaN first is in no maximum either",                 [NaN, 8],                 [NaN, 1],        1,        NaN],
  ["minus infinity weighs nothing",                       [-Infinity, 8],           [0, 1],          1,        1],
  ["all minus infinity: the maximum starts at -65504",    [-Infinity, -Infinity],   [0, 0],          -8188,    0],
  ["infinity less infinity is NaN, all else weighs 0",    [Infinity, 8],            [NaN, 0],        Infinity, NaN],
  ["all zeros of either sign: M is +0",                   [-0, -0],                 [1, 1],          0,        2],
  ["the least scores: M is f32, not rounded",             [-65504, -65504],         [1, 1],          -8188,    2],
])("%s", (_why, scores, weights, max, sum) => {
  for (const padded of [16, 96]) {
    const spec = softmax(1, scores.length, padded);
    const result = run(spec, [scoresOf(scores, padded)]);
    scores.forEach((_, column) => {
      expect(F16_VALUES[result.u16[column]]).toBe(F16_VALUES[toF16(weights[column])]);
      if (Number.isNaN(weights[column])) expect(result.u16[column]).toBe(0x7e00);
    });
    expect(stateOf(result, spec)[0]).toBe(max);
    expect(stateOf(result, spec)[1]).toBe(sum);
    if (Number.isNaN(sum)) expect(f32Bits(result, padded / 2 + 1)).toBe(0x7fc00000);
  }
});

test("exact weights are e^x of an f32 x, where the chip's x is a half", () => {
  const scores = scoresOf([1.0009765625, -20.015625], 16);
  const spec = softmax(1, 2, 16);
  const x = (-20.015625 - 1.0009765625) / 8; // more bits than a half has
  const exact = run(spec, [scores], EXACT);
  expect(exact.u16[1]).toBe(toF16(Math.exp(x)));
  expect(stateOf(exact, spec)[1]).toBe(1 + F16_VALUES[exact.u16[1]]);
  expect(run(spec, [scores]).u16[1]).toBe(toF16(Math.exp(F16_VALUES[toF16(x)])));
  expect(run(spec, [scores]).u16[1]).not.toBe(exact.u16[1]);
});
