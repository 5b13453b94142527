import { describe, expect, test } from "vitest";
import { F16_MAX, F16_NAN, F16_VALUES, f16ToF32, toF16 } from "../../src/numerics/f16.ts";
import { expTable, tanhTable } from "../../src/numerics/tables.ts";

const finite = (bits: number): boolean => (bits & 0x7fff) < 0x7c00;

/** How far f64 `y` is from the nearest middle between two halves, in units of y's own last place. */
function unitsFromMiddle(y: number): number {
  const exponent = Math.max(-14, Math.floor(Math.log2(y)));
  const ulps = y * 2 ** (10 - exponent);
  const fromMiddle = Math.abs(ulps - Math.floor(ulps) - 0.5) * 2 ** (exponent - 10);
  return fromMiddle / (y * 2 ** -52);
}

/** One number of all finite entries: what numpy 2.4.6 gives, in f64 and narrowed once, has the same. */
function hashOf(table: Uint16Array): number {
  let hash = 0;
  for (let bits = 0; bits < 65536; bits++) {
    if (finite(bits)) hash = (Math.imul(hash, 31) + table[bits] + bits) >>> 0;
  }
  return hash;
}

describe.each([
  ["exp", expTable(), Math.exp, 0x7a114f95],
  ["tanh", tanhTable(), Math.tanh, 0xd2d5cf3a],
] as const)("the table of %s", (_name, table, of, hash) => {
  test("is the half nearest to the f64 function, saturated", () => {
    for (let bits = 0; bits < 65536; bits++) {
      const x = F16_VALUES[bits];
      const y = of(x);
      // e^710 leaves f64, but is no infinity.
      expect(table[bits]).toBe(y === Infinity && x !== Infinity ? F16_MAX : toF16(y));
    }
  });

  test("has no entry so near a middle that the f64 function's own error could move it", () => {
    let least = Infinity;
    for (let bits = 0; bits < 65536; bits++) {
      const y = Math.abs(of(F16_VALUES[bits]));
      // Zeros are exact or far below the first middle; beyond 65520 all saturates.
      if (finite(bits) && y > 2 ** -26 && y < 65536) least = Math.min(least, unitsFromMiddle(y));
    }
    // A host's exp and tanh are within a unit or two of the truth.
    expect(least).toBeGreaterThan(1000);
  });

  test("agrees with numpy on every finite half", () => {
    expect(hashOf(table)).toBe(hash);
  });
});

// prettier-ignore
test.each<["exp" | "tanh", number, number, string]>([
  // table  x        result    why
  ["exp",   0x0000,  0x3c00,   "e^0 is exactly 1"],
  ["exp",   0x8000,  0x3c00,   "of either zero"],
  ["exp",   0xfbff,  0x0000,   "-65504 stands for padding: its weight is exactly 0"],
  ["exp",   0xfc00,  0x0000,   "e^-infinity"],
  ["exp",   0x3c00,  0x4170,   "e"],
  ["exp",   0xcc28,  0x0001,   "-16.625: the least subnormal"],
  ["exp",   0x498b,  0x7bf7,   "11.086 is the last that stays in range"],
  ["exp",   0x498c,  F16_MAX,  "then it saturates"],
  ["exp",   0x6200,  F16_MAX,  "where f64 overflows too: 768 is no infinity"],
  ["exp",   0x7bff,  F16_MAX,  "up to the largest half"],
  ["exp",   0x7c00,  0x7c00,   "e^infinity is no overflow"],
  ["exp",   0x7e01,  F16_NAN,  "any NaN gives the one NaN"],
  ["tanh",  0x8000,  0x8000,   "negative zero stays"],
  ["tanh",  0x0001,  0x0001,   "small numbers are their own tangent"],
  ["tanh",  0x3c00,  0x3a18,   "0.7617"],
  ["tanh",  0xfbff,  0xbc00,   "-1"],
  ["tanh",  0x7c00,  0x3c00,   "1 at infinity"],
  ["tanh",  0xfe00,  F16_NAN,  "any NaN gives the one NaN"],
])("%s of %i is %i: %s", (name, x, result) => {
  expect((name === "exp" ? expTable() : tanhTable())[x]).toBe(result);
});

test("exp rises, and tanh rises and is odd", () => {
  for (let bits = 1; bits <= F16_MAX; bits++) {
    expect(expTable()[bits]).toBeGreaterThanOrEqual(expTable()[bits - 1]);
    expect(expTable()[0x8000 | bits]).toBeLessThanOrEqual(expTable()[0x8000 | (bits - 1)]);
    expect(tanhTable()[bits]).toBeGreaterThanOrEqual(tanhTable()[bits - 1]);
    expect(f16ToF32(tanhTable()[0x8000 | bits])).toBe(-f16ToF32(tanhTable()[bits]));
  }
});
