import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { OperandView } from "../../src/kernels/kernel.ts";
import { F16_VALUES, toF16, toF16Stochastic } from "../../src/numerics/f16.ts";
import { stochasticBits } from "../../src/numerics/random.ts";
import type { Rounding } from "../../src/numerics/rounding.ts";
import {
  EXACT,
  f32Bits,
  finiteHalves,
  gemm,
  gemmF32,
  halves,
  halvesOf,
  numbers,
  repeated,
  run,
  times,
  words,
} from "./support.ts";

const ROUNDINGS: readonly Rounding[] = ["nearest", "stochastic", "exact"];

/** One row of 16 numbers, or more, times a column of ones: the sum of the row, in out[0, 0]. */
function sumOf(values: readonly number[], context = {}): number {
  const ones = repeated(values.length * 16, 0x3c00);
  return numbers(run(gemm(1, values.length, 16), [halvesOf(values), ones], context))[0];
}

const zeros = (count: number): number[] => times(count, 0);

describe("where an f16 sum is rounded", () => {
  // prettier-ignore
  test.each<[string, readonly number[], number, number]>([
    // why                                                     row                                             nearest  exact
    ["16 values meet in f32: 2048 + 1 + 1 is exact",           [2048, 1, 1, ...zeros(13)],                     2050,    2050],
    ["values of two groups meet in f16: each 1 is lost",       [2048, ...zeros(15), 1, ...zeros(15), 1, ...zeros(15)], 2048, 2050],
    ["the four of a phase are added before the sum: 2^-24 + 2^-24 counts beside 1, if only once",
                                                               [1, 0, 0, 0, 2**-14, 2**-24, 2**-24, 0, -1, ...zeros(7)], 2**-14 + 2**-23, 2**-14],
    ["a phase is rounded to f32: what leaves 24 bits is lost", [4096, 0, 0, 0, 2**-13, 0, 0, 0, -4096, ...zeros(7)], 0, 0],
    ["within a phase nothing is lost: 4096 + 2^-13 - 4096",    [4096, 2**-13, -4096, ...zeros(13)],            2**-13,  0],
  ])("%s", (_why, row, nearest, exact) => {
    expect(sumOf(row)).toBe(nearest);
    expect(sumOf(row, EXACT)).toBe(exact);
  });

  test("the four products of a phase meet by pairs before they meet the sum", () => {
    // 2^-24 would be lost beside 2^31 even in f64; the pair cancels first.
    const left = halvesOf([2 ** -24, 0, 0, 0, 65504, -65504, ...zeros(10)]);
    const right = halvesOf(zeros(256).map((_, i) => (i % 16 < 4 ? 1 : 32768)));
    expect(numbers(run(gemm(1, 16, 16), [left, right]))[0]).toBe(2 ** -24);
    expect(numbers(run(gemm(1, 16, 16), [left, right], EXACT))[0]).toBe(0);
  });

  test("accumulate starts from what the output holds, and rounds it with the first group", () => {
    const ones = repeated(256, 0x3c00);
    const row = halvesOf([1, 1, ...zeros(14)]);
    const before = repeated(16, toF16(2048));
    for (const rounding of ROUNDINGS) {
      expect(
        numbers(run(gemm(1, 16, 16, "accumulate"), [row, ones], { rounding }, before)),
      ).toEqual(times(16, 2050));
    }
  });

  test("initialize does not see what the output holds", () => {
    const operands = [repeated(3 * 32, 0x3c00), repeated(32 * 16, 0x3c00)];
    const before = repeated(3 * 16, 0x7e00);
    expect(run(gemm(3, 32, 16), operands, {}, before)).toEqual(run(gemm(3, 32, 16), operands));
  });
});

// prettier-ignore
test.each([
  // left     right    saturate  nan     why
  [  65504,   2,       0x7bff,   0x7e00, "beyond the range"],
  [ -65504,   2,       0xfbff,   0x7e00, "on the other side"],
  [  Infinity, 1,      0x7c00,   0x7c00, "an infinity is carried through"],
  [  Infinity, 0,      0x7e00,   0x7e00, "infinity times zero is the one NaN"],
  [  NaN,      1,      0x7e00,   0x7e00, "NaN is carried through"],
  [  2**-24,  2**-1,   0x0000,   0x0000, "2^-25 is a tie to zero"],
  [  2**-24,  1,       0x0001,   0x0001, "subnormals are live"],
  [  -0,      1,       0x0000,   0x0000, "a sum from +0 is +0"],
])("%f times %f stores %i saturating, %i with NaN: %s", (left, right, saturate, nan) => {
  const operands = [halvesOf([left, ...zeros(15)]), halvesOf(zeros(256).map((_, i) => (i % 16 ? 0 : right)))];
  for (const rounding of ["nearest", "exact"] as const) {
    expect(run(gemm(1, 16, 16), operands, { rounding }).u16[0]).toBe(saturate);
    expect(run(gemm(1, 16, 16), operands, { rounding, overflow: "nan" }).u16[0]).toBe(nan);
  }
});

/** The unit matrix as the right operand: K x K, panel by panel. */
function unit(inner: number): OperandView {
  const panels = inner / 16;
  const right = halves(new Uint16Array(inner * inner));
  for (let i = 0; i < inner; i++) {
    const panel = Math.floor(i / 16) * panels + Math.floor(i / 16);
    right.u16[panel * 256 + (i % 16) * 16 + (i % 16)] = 0x3c00;
  }
  return right;
}

describe("laws of an f16 gemm", () => {
  test("the unit matrix on the right gives back the left, in every mode of rounding", () => {
    const law = fc.property(
      fc
        .integer({ min: 1, max: 8 })
        .chain((rows) => fc.tuple(fc.constant(rows), finiteHalves(rows * 48))),
      fc.constantFrom(...ROUNDINGS),
      ([rows, left], rounding) => {
        const got = numbers(run(gemm(rows, 48, 48), [halves(left), unit(48)], { rounding }));
        // + 0: a sum from +0 has no negative zero.
        expect(got).toEqual(left.map((bits) => F16_VALUES[bits] + 0));
      },
    );
    fc.assert(law, { numRuns: 30 });
  });

  test("two blocks of inner values, one after the other, give the bits of both at once", () => {
    const law = fc.property(finiteHalves(3 * 32), finiteHalves(32 * 16), (left, right) => {
      const whole = run(gemm(3, 32, 16), [halves(left), halves(right)]);
      const first = run(gemm(3, 16, 16), [halves(left.slice(0, 48)), halves(right.slice(0, 256))]);
      const both = run(
        gemm(3, 16, 16, "accumulate"),
        [halves(left.slice(48)), halves(right.slice(256))],
        {},
        first,
      );
      expect(both.u16).toEqual(whole.u16);
    });
    fc.assert(law, { numRuns: 50 });
  });

  test("a row does not depend on the others", () => {
    const law = fc.property(finiteHalves(5 * 32), finiteHalves(32 * 16), (left, right) => {
      const whole = run(gemm(5, 32, 16), [halves(left), halves(right)]);
      for (let r = 0; r < 5; r++) {
        const row = [0, 1].flatMap((panel) =>
          left.slice(panel * 80 + r * 16, panel * 80 + r * 16 + 16),
        );
        const alone = run(gemm(1, 32, 16), [halves(row), halves(right)]);
        expect(alone.u16).toEqual(whole.u16.slice(r * 16, r * 16 + 16));
      }
    });
    fc.assert(law, { numRuns: 30 });
  });

  test("interleaved weights, and f32 in the planning alone, change no bit", () => {
    const law = fc.property(finiteHalves(2 * 32), finiteHalves(32 * 32), (left, right) => {
      const operands = [halves(left), halves(right)];
      const spec = gemm(2, 32, 32);
      const want = run(spec, operands);
      expect(run({ ...spec, weights: "interleaved" }, operands)).toEqual(want);
      expect(run({ ...spec, accumulate: "f32" }, operands)).toEqual(want);
    });
    fc.assert(law, { numRuns: 20 });
  });
});

describe("stochastic rounding of a gemm", () => {
  const context = { rounding: "stochastic", seed: 5, tile: 9, step: 4 } as const;
  const left = halvesOf(Array.from({ length: 2 * 32 }, (_, i) => 1 + ((i * 37) % 101) / 97));
  const right = halvesOf(Array.from({ length: 32 * 16 }, (_, i) => ((i * 61) % 89) / 83 - 0.4));
  const spec = gemm(2, 32, 16);

  test("draws by seed, tile, step, element r*N + n and group, as is documented", () => {
    const got = run(spec, [left, right], context);
    for (let r = 0; r < 2; r++) {
      for (let n = 0; n < 16; n++) {
        let bits = 0;
        for (let group = 0; group < 2; group++) {
          let acc: number = F16_VALUES[bits];
          for (let k = 0; k < 16; k += 4) {
            const p = [0, 1, 2, 3].map(
              (j) =>
                F16_VALUES[left.u16[group * 32 + r * 16 + k + j]] *
                F16_VALUES[right.u16[group * 256 + n * 16 + k + j]],
            );
            acc = Math.fround(acc + (p[0] + p[1] + (p[2] + p[3])));
          }
          bits = toF16Stochastic(acc, stochasticBits(5, 9, 4, r * 16 + n, group), "saturate");
        }
        expect(got.u16[r * 16 + n]).toBe(bits);
      }
    }
  });

  test("is the same for the same draws, another for another seed, tile or step", () => {
    const want = run(spec, [left, right], context).u16;
    expect(run(spec, [left, right], context).u16).toEqual(want);
    for (const other of [{ seed: 6 }, { tile: 10 }, { step: 5 }]) {
      expect(run(spec, [left, right], { ...context, ...other }).u16).not.toEqual(want);
    }
  });

  test("has the exact sum as its mean, where rounding to nearest is off", () => {
    // 40 groups that each add 0.3 ulp to 2048: nearest loses all of them.
    const row = Array.from({ length: 40 }, (_, group) => [group ? 0.6 : 2048, ...zeros(15)]).flat();
    const want = 2048 + 39 * F16_VALUES[toF16(0.6)];
    expect(sumOf(row)).toBe(2048);
    const draws = 400;
    let mean = 0;
    for (let seed = 0; seed < draws; seed++) {
      mean += sumOf(row, { rounding: "stochastic", seed }) / draws;
    }
    // 39 roundings between neighbours 2 apart, chance 0.3: five deviations of the mean.
    const deviation = 2 * Math.sqrt((39 * 0.3 * 0.7) / draws);
    expect(Math.abs(mean - want)).toBeLessThan(5 * deviation);
  });
});

describe("an f32 gemm", () => {
  /** Offset of out[r, n] in amp-output order: column pairs as the unit drains them. */
  const at = (r: number, n: number, rows: number): number => {
    const pair = Math.floor((n % 16) / 2);
    const place = (pair % 4) * 2 + Math.floor(pair / 4);
    return Math.floor(n / 16) * rows * 16 + r * 16 + 2 * place + (n % 2);
  };

  test("multiplies, and stores in the order that the unit drains", () => {
    const rows = 3;
    const left = words(Array.from({ length: rows * 64 }, (_, i) => Math.fround(Math.sin(i))));
    const right = words(Array.from({ length: 64 * 64 }, (_, i) => Math.fround(Math.cos(i))));
    const got = run(gemmF32(rows), [left, right]).f32;
    for (let r = 0; r < rows; r++) {
      for (let n = 0; n < 64; n++) {
        let sum = 0;
        for (let k = 0; k < 64; k++) {
          const a = left.f32[Math.floor(k / 8) * rows * 8 + r * 8 + (k % 8)];
          const b =
            right.f32[(Math.floor(n / 16) * 8 + Math.floor(k / 8)) * 128 + (n % 16) * 8 + (k % 8)];
          sum = Math.fround(sum + a * b);
        }
        expect(got[at(r, n, rows)]).toBe(sum);
      }
    }
  });

  test("adds to what the output holds where it accumulates, and stores one NaN", () => {
    const left = words(new Float32Array(64).fill(1));
    const right = words(new Float32Array(64 * 64).fill(0.5));
    const before = words(new Float32Array(64).fill(3));
    before.f32[0] = -NaN;
    before.f32[2] = Infinity;
    const got = run(gemmF32(1, "accumulate"), [left, right], {}, before);
    expect(f32Bits(got, 0)).toBe(0x7fc00000);
    expect(got.f32[1]).toBe(35);
    expect(got.f32[2]).toBe(Infinity);
  });
});
