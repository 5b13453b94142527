import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { f16ToF32 } from "../../src/numerics/f16.ts";
import {
  isWithin,
  ulpDistanceF16,
  ulpDistanceF32,
  type Tolerance,
} from "../../src/numerics/tolerance.ts";

// prettier-ignore
test.each([
  // a       b       halves apart  why
  [ 0x3c00,  0x3c00, 0,         "the same"],
  [ 0x3c00,  0x3bff, 1,         "across a power of two"],
  [ 0x0000,  0x8000, 0,         "the zeros are one place"],
  [ 0x0001,  0x8001, 2,         "across zero"],
  [ 0x7bff,  0x7c00, 1,         "infinity stands next to 65504"],
  [ 0xfc00,  0x7c00, 63488,     "from end to end"],
  [ 0x7e00,  0xfe01, 0,         "any NaN is any NaN"],
  [ 0x7e00,  0x7c00, Infinity,  "a NaN is near no number"],
])("from half %i to half %i it is %f: %s", (a, b, want) => {
  expect(ulpDistanceF16(a, b)).toBe(want);
  expect(ulpDistanceF16(b, a)).toBe(want);
});

// prettier-ignore
test.each([
  [ 1,           1 + 2 ** -23,  1,         "the next one"],
  [ 1,           1 - 2 ** -24,  1,         "across a power of two"],
  [ 0,           -0,            0,         "the zeros are one place"],
  [ 2 ** -149,   -(2 ** -149),  2,         "across zero, subnormal"],
  [ 1,           1 + 2 ** -30,  0,         "rounded to f32 first"],
  [ 3.4028234663852886e38, Infinity, 1,    "infinity stands next to the largest"],
  [ NaN,         NaN,           0,         "any NaN is any NaN"],
  [ NaN,         Infinity,      Infinity,  "a NaN is near no number"],
])("from f32 %f to %f it is %f: %s", (a, b, want) => {
  expect(ulpDistanceF32(a, b)).toBe(want);
  expect(ulpDistanceF32(b, a)).toBe(want);
});

describe("distances between halves", () => {
  const half = fc.integer({ min: 0, max: 0xffff });

  test("add up along the line of numbers", () => {
    const law = fc.property(half, half, half, (x, y, z) => {
      fc.pre([x, y, z].every((bits) => !Number.isNaN(f16ToF32(bits))));
      const [a, b, c] = [x, y, z].sort((p, q) => f16ToF32(p) - f16ToF32(q));
      expect(ulpDistanceF16(a, c)).toBe(ulpDistanceF16(a, b) + ulpDistanceF16(b, c));
    });
    fc.assert(law);
  });
});

const exact: Tolerance = { kind: "exact" };
const ulp = (dtype: "f16" | "f32", units: number): Tolerance => ({ kind: "ulp", dtype, units });
const absolute = (error: number): Tolerance => ({ kind: "absolute", error });

// prettier-ignore
test.each<[number, number, Tolerance, boolean, string]>([
  // got        want        tolerance          within  why
  [ 1,          1,          exact,             true,   "the same"],
  [ 0,          -0,         exact,             false,  "zeros of two signs"],
  [ NaN,        NaN,        exact,             true,   "NaN for NaN"],
  [ 1 + 2**-10, 1,          ulp("f16", 1),     true,   "the next half"],
  [ 1 + 2**-9,  1,          ulp("f16", 1),     false,  "the one after"],
  [ 1 + 2**-12, 1,          ulp("f16", 0),     true,   "rounded to f16 first"],
  [ 1 + 2**-23, 1,          ulp("f32", 1),     true,   "the next f32"],
  [ 1 + 2**-22, 1,          ulp("f32", 1),     false,  "the one after"],
  [ 1.5,        1,          absolute(0.5),     true,   "just"],
  [ 1.51,       1,          absolute(0.5),     false,  "not quite"],
  [ Infinity,   Infinity,   absolute(0),       true,   "an infinity where it is wanted"],
  [ Infinity,   1e300,      absolute(1e308),   false,  "an infinity where it is not"],
  [ NaN,        NaN,        absolute(0),       true,   "NaN for NaN"],
  [ NaN,        0,          absolute(1e308),   false,  "NaN for a number"],
])("%f for %f within %o: %s, since %s", (got, want, tolerance, within) => {
  expect(isWithin(got, want, tolerance)).toBe(within);
});
