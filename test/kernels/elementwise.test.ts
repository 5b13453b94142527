import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { KernelSpec } from "../../src/kernels/spec.ts";
import { F16_VALUES, toF16 } from "../../src/numerics/f16.ts";
import { isWithin } from "../../src/numerics/tolerance.ts";
import {
  EXACT,
  f32Bits,
  halves,
  halvesOf,
  numbers,
  repeated,
  run,
  times,
  words,
} from "./support.ts";

const sum = (partials: number): KernelSpec => ({ kind: "reduce-sum", partials, elements: 8 });
const partialsOf = (...values: number[]) => halvesOf(values.flatMap((value) => times(8, value)));

describe("a sum of partials", () => {
  // prettier-ignore
  test.each([
    // first    others             nearest  exact   why
    [  2048,    [1, 1],            2048,    2050,   "each addition is rounded, in order"],
    [  1,       [1, 2048],         2050,    2050,   "in order: 2 first"],
    [  65504,   [65504, -65504],   0,       65504,  "a sum saturates at once; f32 does not"],
    [  Infinity, [-Infinity, 1],   NaN,     NaN,    "infinity less infinity"],
    [  -0,      [-0, -0],          -0,      -0,     "zeros keep their sign"],
  ])("of %f and %o is %f, exactly %f: %s", (first, others, nearest, exact) => {
    const operands = [partialsOf(first), partialsOf(...others)];
    const spec = sum(others.length + 1);
    expect(numbers(run(spec, operands))).toEqual(times(8, nearest));
    expect(numbers(run(spec, operands, EXACT))).toEqual(times(8, exact));
    // Stochastic rounding is a GEMM's alone.
    const stochastic = { rounding: "stochastic", seed: 3 } as const;
    expect(run(spec, operands, stochastic)).toEqual(run(spec, operands));
  });

  test("beyond the range is NaN where the run says so, and any NaN is the one", () => {
    const operands = [partialsOf(65504), partialsOf(65504)];
    expect(run(sum(2), operands, { overflow: "nan" }).u16[0]).toBe(0x7e00);
    expect(run(sum(2), [repeated(8, 0xfe01), repeated(8, 0)]).u16[7]).toBe(0x7e00);
  });

  test("may be made over its first partial", () => {
    const first = partialsOf(3);
    const want = run(sum(2), [first, partialsOf(4)]);
    expect(run(sum(2), [first, partialsOf(4)], {}, first)).toEqual(want);
  });
});

describe("gelu", () => {
  const geluOf = (bits: number, context = {}): number =>
    run({ kind: "gelu", elements: 2 }, [repeated(2, bits)], context).u16[1];

  // Each value is numpy 2.4.6's: the nine steps in float16, the hyperbolic tangent in float64.
  // prettier-ignore
  test.each([
    // x        y        about
    [ 0x0000,   0x0000,  "0"],
    [ 0x8000,   0x8000,  "negative zero"],
    [ 0x0001,   0x0000,  "the least half: half of it is a tie to zero"],
    [ 0x3800,   0x3588,  "0.5"],
    [ 0x3c00,   0x3aba,  "1"],
    [ 0xbc00,   0xb116,  "-1"],
    [ 0x3e00,   0x3d98,  "1.5"],
    [ 0x4000,   0x3fd2,  "2"],
    [ 0xc000,   0xa9d0,  "-2"],
    [ 0x4200,   0x41fe,  "3"],
    [ 0xc200,   0x9b80,  "-3"],
    [ 0x4900,   0x4900,  "10"],
    [ 0xc900,   0x8000,  "-10"],
    [ 0x2e66,   0x2ae9,  "0.1"],
    [ 0x7bff,   0x7bff,  "65504: the cube saturates"],
    [ 0x7e01,   0x7e00,  "the one NaN"],
  ])("of half %i is %i: %s", (x, y) => {
    expect(geluOf(x)).toBe(y);
  });

  test("exactly is the f64 formula rounded once; the chip's nine steps stay near it", () => {
    for (let bits = 0; bits < 65536; bits += 7) {
      const x = F16_VALUES[bits];
      if (!Number.isFinite(x) || Math.abs(x) > 16) continue;
      const inner = F16_VALUES[0x3a62] * (x + F16_VALUES[0x29b9] * x * x * x);
      const want = 0.5 * x * (1 + Math.tanh(inner));
      expect(
        isWithin(F16_VALUES[geluOf(bits, EXACT)], want, { kind: "ulp", dtype: "f16", units: 1 }),
      ).toBe(true);
      expect(
        isWithin(F16_VALUES[geluOf(bits)], want, {
          kind: "absolute",
          error: 2 ** -10 * (1 + Math.abs(x)),
        }),
      ).toBe(true);
    }
  });
});

describe("an addition", () => {
  const add = (dtype: "f16" | "f32", elements: number): KernelSpec => ({
    kind: "add",
    dtype,
    elements,
  });

  // prettier-ignore
  test.each([
    [ 2048,     1,         2048,     "a tie to the even"],
    [ 2048,     3,         2052,     "a tie to the even, up"],
    [ 2 ** -24, 2 ** -24,  2 ** -23, "subnormals are live"],
    [ 65504,    65504,     65504,    "saturates"],
    [ Infinity, -Infinity, NaN,      "infinity less infinity"],
    [ -0,       -0,        -0,       "zeros keep their sign"],
  ])("in f16 of %f and %f is %f: %s", (a, b, want) => {
    expect(numbers(run(add("f16", 1), [halvesOf([a]), halvesOf([b])]))).toEqual([want]);
  });

  test("in f32 is rounded to f32, with one NaN", () => {
    const got = run(add("f32", 2), [words([1, -NaN]), words([2 ** -24, 1])]);
    expect(got.f32[0]).toBe(1);
    expect(f32Bits(got, 1)).toBe(0x7fc00000);
  });

  test("does not mind the order of its operands", () => {
    const law = fc.property(fc.float(), fc.float(), (a, b) => {
      const spec = add("f32", 1);
      expect(run(spec, [words([a]), words([b])]).u8).toEqual(
        run(spec, [words([b]), words([a])]).u8,
      );
    });
    fc.assert(law);
  });
});

describe("a cast", () => {
  const cast = (from: "f16" | "f32", to: "f16" | "f32", elements: number): KernelSpec => ({
    kind: "cast",
    from,
    to,
    elements,
  });
  const all = halves(Uint16Array.from({ length: 65536 }, (_, bits) => bits));

  test("to f32 and back gives every half again, and one NaN for all", () => {
    const wide = run(cast("f16", "f32", 65536), [all]);
    const back = run(cast("f32", "f16", 65536), [wide]);
    all.u16.forEach((bits, i) => {
      const isNaNPattern = (bits & 0x7fff) > 0x7c00;
      expect(back.u16[i]).toBe(isNaNPattern ? 0x7e00 : bits);
      if (isNaNPattern) expect(f32Bits(wide, i)).toBe(0x7fc00000);
    });
    expect(run(cast("f16", "f16", 65536), [all]).u16).toEqual(back.u16);
  });

  test("to f16 rounds to nearest and overflows as the run says", () => {
    const values = [1 + 2 ** -11, 70000, Infinity, 2 ** -25];
    expect([...run(cast("f32", "f16", 4), [words(values)]).u16]).toEqual([
      0x3c00, 0x7bff, 0x7c00, 0,
    ]);
    const asNaN = run(cast("f32", "f16", 4), [words(values)], { overflow: "nan" });
    expect(asNaN.u16[1]).toBe(0x7e00);
    expect(toF16(values[1])).toBe(0x7bff);
  });

  test("to its own f32 keeps numbers and makes one NaN", () => {
    const got = run(cast("f32", "f32", 2), [words([-0, -NaN])]);
    expect(f32Bits(got, 0)).toBe(0x80000000);
    expect(f32Bits(got, 1)).toBe(0x7fc00000);
  });
});
