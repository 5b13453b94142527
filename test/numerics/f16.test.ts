import fc from "fast-check";
import { getFloat16, setFloat16 } from "fp16";
import { describe, expect, test } from "vitest";
import {
  F16_MAX,
  F16_NAN,
  F16_VALUES,
  f16ToF32,
  roundToF16,
  toF16,
  toF16Stochastic,
} from "../../src/numerics/f16.ts";
import { stochasticBits } from "../../src/numerics/random.ts";

const PATTERNS = 65536;
const INFINITY = 0x7c00;
const view = new DataView(new ArrayBuffer(4));

/** What the npm package fp16 says. It writes small numbers at offset 0 whatever it is asked: so 0 it is. */
function witness(x: number): number {
  setFloat16(view, 0, x);
  return view.getUint16(0);
}

/** The f32 numbers next to `x`. */
function neighbours(x: number): number[] {
  view.setFloat32(0, x);
  const bits = view.getUint32(0);
  return [bits - 1, bits + 1].map((next) => {
    view.setUint32(0, next);
    return view.getFloat32(0);
  });
}

const isNaNPattern = (bits: number): boolean => (bits & 0x7fff) > INFINITY;

/** Patterns that differ, of all; the first few. */
function differing(differs: (bits: number) => boolean): number[] {
  const found: number[] = [];
  for (let bits = 0; bits < PATTERNS && found.length < 5; bits++) {
    if (differs(bits)) found.push(bits);
  }
  return found;
}

describe("every half", () => {
  test("has the value that fp16 gives it", () => {
    const differs = differing((bits) => {
      view.setUint16(0, bits);
      const value = getFloat16(view, 0);
      return !Object.is(f16ToF32(bits), value) || !Object.is(F16_VALUES[bits], value);
    });
    expect(differs).toEqual([]);
  });

  test("comes back from its value with its bits; any NaN as the one NaN", () => {
    for (const overflow of ["saturate", "nan"] as const) {
      const differs = differing(
        (bits) =>
          toF16(f16ToF32(bits), overflow) !== (isNaNPattern(bits) ? F16_NAN : bits) ||
          !Object.is(roundToF16(f16ToF32(bits), overflow), f16ToF32(bits)),
      );
      expect(differs).toEqual([]);
    }
  });
});

describe("rounding to nearest", () => {
  test("gives fp16's bits halfway between any two halves, and one f32 step to either side", () => {
    const wrong: string[] = [];
    for (let bits = 0; bits < F16_MAX; bits++) {
      const middle = (f16ToF32(bits) + f16ToF32(bits + 1)) / 2;
      for (const x of [middle, ...neighbours(middle)]) {
        for (const signed of [x, -x]) {
          if (toF16(signed) !== witness(signed)) wrong.push(`${signed} from ${bits}`);
        }
      }
    }
    expect(wrong.slice(0, 5)).toEqual([]);
  });

  test("rounds an f64 once: the least step off the middle decides, where f32 would see a tie", () => {
    const wrong: number[] = [];
    for (let bits = 0; bits < F16_MAX; bits++) {
      const [low, high] = [f16ToF32(bits), f16ToF32(bits + 1)];
      const middle = (low + high) / 2;
      const step = middle * 2 ** -52;
      if (toF16(middle - step) !== bits || toF16(middle + step) !== bits + 1) wrong.push(bits);
    }
    expect(wrong.slice(0, 5)).toEqual([]);
  });

  test("gives fp16's bits for any f32 that stays in range", () => {
    const inRange = fc.float({ min: -65519, max: 65519, noNaN: true });
    const law = fc.property(inRange, (x) => toF16(x) === witness(x));
    fc.assert(law, { numRuns: 20_000 });
  });

  // prettier-ignore
  test.each([
    // x            saturate  nan      fp16     why
    [  65504,       0x7bff,   0x7bff,  0x7bff,  "the largest half"],
    [  65519.996,   0x7bff,   0x7bff,  0x7bff,  "still nearest to 65504"],
    [  65520,       0x7bff,   0x7e00,  0x7c00,  "halfway to what would be 65536: beyond the range"],
    [ -65520,       0xfbff,   0x7e00,  0xfc00,  "the sign stays, but not on NaN"],
    [  1e30,        0x7bff,   0x7e00,  0x7c00,  "far beyond"],
    [  3.4e38,      0x7bff,   0x7e00,  0x7c00,  "the largest f32"],
    [  Infinity,    0x7c00,   0x7c00,  0x7c00,  "an infinity is no overflow"],
    [ -Infinity,    0xfc00,   0xfc00,  0xfc00,  "of either sign"],
    [  NaN,         0x7e00,   0x7e00,  0x7e00,  "the one NaN"],
    [  2 ** -25,    0x0000,   0x0000,  0x0000,  "a tie between 0 and the least half goes to the even 0"],
    [ -(2 ** -25),  0x8000,   0x8000,  0x8000,  "and keeps its sign"],
    [  3 * 2 ** -25, 0x0002,  0x0002,  0x0002,  "a tie between subnormals goes to the even one"],
    [  2047.5 * 2 ** -25, 0x0400, 0x0400, 0x0400, "a subnormal rounds up to the least normal half"],
    [  -0,          0x8000,   0x8000,  0x8000,  "negative zero"],
  ])("of %f gives %i saturating, %i with NaN and %i in fp16: %s", (x, saturate, nan, inFp16) => {
    expect([toF16(x, "saturate"), toF16(x, "nan"), witness(x)]).toEqual([saturate, nan, inFp16]);
  });
});

describe("stochastic rounding", () => {
  test("never changes a half, whatever the random bits", () => {
    for (const random of [0, 1, 0x7fffffff, 0x80000000, 0xffffffff]) {
      const differs = differing(
        (bits) =>
          toF16Stochastic(f16ToF32(bits), random, "saturate") !==
          (isNaNPattern(bits) ? F16_NAN : bits),
      );
      expect(differs).toEqual([]);
    }
  });

  /** An f32 between 2^-33 and the largest half, either sign. */
  const numbers = fc
    .tuple(
      fc.integer({ min: 2 ** 23, max: 2 ** 24 - 1 }),
      fc.integer({ min: -33, max: 14 }),
      fc.boolean(),
    )
    .map(([significand, exponent, isNegative]) => {
      const x = significand * 2 ** (exponent - 23);
      return isNegative ? -x : x;
    });

  test("rounds up for exactly the part of the 2^32 draws that the distance is, subnormal or not", () => {
    const law = fc.property(numbers, (x) => {
      const below = toF16Stochastic(x, 0xffffffff, "saturate");
      const low = Math.abs(f16ToF32(below));
      const high = Math.abs(f16ToF32(below + 1));
      const ups = ((Math.abs(x) - low) / (high - low)) * 2 ** 32;
      // Exact, since the fraction has no more bits than an f32: below that many draws go up, the rest down.
      expect(Number.isInteger(ups)).toBe(true);
      if (ups > 0) expect(toF16Stochastic(x, ups - 1, "saturate")).toBe(below + 1);
      expect(toF16Stochastic(x, ups, "saturate")).toBe(below);
    });
    fc.assert(law, { numRuns: 5_000 });
  });

  // prettier-ignore
  test.each([
    // x                     low bits  chance of up  why
    [ 1 + 2 ** -12,          0x3c00,   0.25,         "a quarter of the way"],
    [ 1 + 2 ** -10 - 2 ** -13, 0x3c00, 0.875,        "nearest would always go up"],
    [ -(1 + 2 ** -11),       0xbc00,   0.5,          "in magnitude, whatever the sign"],
    [ 2 ** -24 * 0.125,      0x0000,   0.125,        "nearest gives 0 always: subnormals are unbiased too"],
    [ 2 ** -24 * 700.75,     700,      0.75,         "between two subnormals"],
  ])("of %f goes up from %i with probability %f: %s", (x, low, chance) => {
    const draws = 1 << 16;
    let ups = 0;
    for (let i = 0; i < draws; i++) {
      const bits = toF16Stochastic(x, stochasticBits(1, 2, 3, i, 4), "saturate");
      expect(bits === low || bits === low + 1).toBe(true);
      if (bits !== low) ups++;
    }
    // Five deviations of a binomial count; the draws are fixed, so this passes always or never.
    const deviation = Math.sqrt(draws * chance * (1 - chance));
    expect(Math.abs(ups - draws * chance)).toBeLessThan(5 * deviation);
  });

  // prettier-ignore
  test.each([
    // x          random       saturate  nan      why
    [  65519,     0xffffffff,  0x7bff,   0x7bff,  "rounded down it stays in range"],
    [  65519,     0,           0x7bff,   0x7e00,  "rounded up it leaves the range, sooner than to nearest"],
    [ -65519,     0,           0xfbff,   0x7e00,  "of either sign"],
    [  1e9,       0xffffffff,  0x7bff,   0x7e00,  "far beyond"],
    [  Infinity,  0,           0x7c00,   0x7c00,  "an infinity stays"],
    [  NaN,       0,           0x7e00,   0x7e00,  "the one NaN"],
  ])("of %f with %i gives %i saturating and %i with NaN: %s", (x, random, saturate, nan) => {
    expect(toF16Stochastic(x, random, "saturate")).toBe(saturate);
    expect(toF16Stochastic(x, random, "nan")).toBe(nan);
  });
});
