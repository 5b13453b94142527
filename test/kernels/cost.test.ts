import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  AMP_LEFT,
  AMP_TRANSPOSED_LEFT,
  AMP_TRANSPOSED_RIGHT,
} from "../../src/layouts/constructors.ts";
import { kernelOf } from "../../src/kernels/registry.ts";
import type { KernelSpec, RearrangeSpec, UnpackSpec } from "../../src/kernels/spec.ts";
import { IPU21 } from "../../src/target/ipu21.ts";

const gemm = (
  rows: number,
  innerBlock: number,
  outputColumns: number,
  weights: "standard" | "interleaved",
): KernelSpec => ({
  kind: "gemm",
  multiply: "f16",
  accumulate: "f16",
  mode: "initialize",
  weights,
  rows,
  innerBlock,
  outputColumns,
});
const copy = (bytes: number): KernelSpec => ({
  kind: "copy",
  bytes,
  rows: 1,
  sourceStride: bytes,
  outputStride: bytes,
});
const softmax = (rows: number): KernelSpec => ({
  kind: "attention-softmax",
  rows,
  headDimension: 72,
  keyColumns: 729,
  paddedKeyColumns: 768,
});
const merge = (rows: number): KernelSpec => ({
  kind: "attention-merge",
  rows,
  valueDimension: 72,
  paddedValueDimension: 80,
  keyBlockColumns: 768,
  initial: true,
  finalBlock: true,
});
const unpack = (logicalRows: number, matrices = 1): UnpackSpec => ({
  kind: "unpack",
  order: AMP_TRANSPOSED_LEFT,
  matrices,
  logicalRows,
  physicalRows: 16,
  logicalColumns: 72,
  physicalColumns: 72,
});
const rearrange = (
  order: RearrangeSpec["order"],
  logicalRows: number,
  physicalRows: number,
): RearrangeSpec => ({
  kind: "rearrange",
  order,
  matrices: 1,
  logicalRows,
  physicalRows,
  logicalColumns: 72,
  physicalColumns: 80,
  runTimeShape: logicalRows === 25,
});

describe("a sample of the recorded block", () => {
  // prettier-ignore
  test.each<[string, KernelSpec, number, number, number, string]>([
    // name                        spec                                  calls  measured  off  origin
    ["projection",                 gemm(72, 576, 16, "interleaved"),        1,    16_542,   0, "fitted"],
    ["scores, 8 rows",             gemm(8, 80, 768, "standard"),            1,    54_744,   0, "fitted"],
    ["scores, 7 rows",             gemm(7, 80, 768, "standard"),            1,    54_312,   0, "fitted"],
    ["weighted values, 8 rows",    gemm(8, 768, 80, "standard"),            1,    53_712,   0, "fitted"],
    ["weighted values, 7 rows",    gemm(7, 768, 80, "standard"),            1,    53_238,   0, "fitted"],
    ["sum of two partials", { kind: "reduce-sum", partials: 2, elements: 1152 }, 1, 2_442,  0, "counted"],
    ["copy of 2,304 B",            copy(2304),                              1,       822,   0, "counted"],
    ["copy of 1,152 B",            copy(1152),                              1,       534,   0, "counted"],
    ["copy of 10,240 B",           copy(10240),                             1,     2_814,   0, "counted"],
    ["five copies of 2,048 B",     copy(2048),                              5,     3_450,   0, "counted"],
    ["copy of 256 B",              copy(256),                               1,       318,   0, "counted"],
    ["four copies of 512 B",       copy(512),                               4,     1_219,  23, "counted"],
    ["softmax, 8 rows",            softmax(8),                              1,    60_474,   0, "fitted"],
    ["softmax, 7 rows",            softmax(7),                              1,    53_214,   0, "fitted"],
    ["merge, 8 rows",              merge(8),                                1,     4_776,   0, "counted"],
    ["merge, 7 rows",              merge(7),                                1,     4_776,   0, "counted"],
    ["unpack",                     unpack(16),                              1,    11_586,   0, "measured"],
    ["unpack, 9 rows of 16",       unpack(9),                               1,    11_838,   0, "measured"],
    ["rearrange to left, 8 rows",  rearrange(AMP_LEFT, 8, 8),               1,     9_312,   0, "measured"],
    ["rearrange to left, 7 rows",  rearrange(AMP_LEFT, 7, 7),               1,     9_312,   0, "measured"],
    ["rearrange keys",             rearrange(AMP_TRANSPOSED_RIGHT, 64, 64), 1,    13_500,   0, "measured"],
    ["rearrange last keys",        rearrange(AMP_TRANSPOSED_RIGHT, 25, 64), 1,    17_322,   0, "measured"],
  ])("of %s takes what was measured, but for what is listed", (_name, spec, calls, measured, off, origin) => {
    const cost = kernelOf(spec).cost(spec, calls, IPU21);
    expect(cost).toEqual({ cycles: measured + off, origin });
  });
});

describe("costs", () => {
  const { sample, launch, cyclesPerBundle } = IPU21.timing;
  const SPECS: readonly KernelSpec[] = [
    gemm(8, 80, 768, "standard"),
    gemm(5, 32, 16, "interleaved"),
    { ...gemm(5, 64, 64, "standard"), multiply: "f32" } as KernelSpec,
    copy(2304),
    copy(44),
    copy(46),
    { kind: "copy", bytes: 512, rows: 8, sourceStride: 128, outputStride: 64 },
    { kind: "fill-zero", bytes: 264 },
    { kind: "reduce-sum", partials: 3, elements: 40 },
    softmax(8),
    { ...softmax(3), keyColumns: 33, paddedKeyColumns: 80 } as KernelSpec,
    merge(8),
    { ...merge(8), initial: false } as KernelSpec,
    unpack(16),
    rearrange(AMP_LEFT, 5, 5),
    { kind: "gelu", elements: 10 },
    { kind: "add", dtype: "f16", elements: 10 },
    { kind: "cast", from: "f16", to: "f32", elements: 10 },
  ];
  const costOf = (spec: KernelSpec, calls: number) => kernelOf(spec).cost(spec, calls, IPU21);

  test("of several calls in one sample hold one sample and each call", () => {
    for (const spec of SPECS) {
      for (const calls of [2, 7]) {
        const one = costOf(spec, 1).cycles - sample;
        // Calls that are not whole cycles are rounded together.
        const difference = costOf(spec, calls).cycles - sample - calls * one;
        expect(Math.abs(difference)).toBeLessThanOrEqual(calls / 2);
      }
    }
  });

  test("are whole cycles, and more than a sample's own", () => {
    for (const spec of SPECS) {
      const { cycles } = costOf(spec, 1);
      expect(Number.isInteger(cycles)).toBe(true);
      expect(cycles).toBeGreaterThan(sample);
    }
  });

  test("that are counted are whole rotations of the issue slots", () => {
    for (const spec of SPECS) {
      const { cycles, origin } = costOf(spec, 1);
      if (origin === "counted" || origin === "fitted")
        expect((cycles - sample) % cyclesPerBundle).toBe(0);
    }
  });

  test("do not fall as there is more to do", () => {
    const size = fc.integer({ min: 1, max: 40 });
    const grow: readonly ((n: number) => KernelSpec)[] = [
      // Rows that split alike over the workers: see below for those that do not.
      (n) => gemm(6 * n, 32, 32, "standard"),
      (n) => gemm(6 * n + 1, 32, 32, "standard"),
      (n) => gemm(6 * n + 2, 32, 32, "standard"),
      (n) => gemm(8, n * 16, 32, "interleaved"),
      (n) => gemm(8, 32, n * 16, "standard"),
      (n) => copy(48 + n * 8),
      (n) => ({ kind: "fill-zero", bytes: n * 8 }),
      (n) => ({ kind: "reduce-sum", partials: 2, elements: n * 8 }),
      (n) => ({ kind: "reduce-sum", partials: n + 1, elements: 64 }),
      (n) => softmax(n),
      (n) => merge(n),
      (n) => unpack(16, n),
      (n) => rearrange(AMP_LEFT, n, n),
    ];
    const law = fc.property(fc.constantFrom(...grow), size, size, (specOf, a, b) => {
      const [less, more] = [Math.min(a, b), Math.max(a, b)];
      expect(costOf(specOf(more), 1).cycles).toBeGreaterThanOrEqual(costOf(specOf(less), 1).cycles);
    });
    fc.assert(law, { numRuns: 500 });
  });

  test("of a GEMM are less for six rows than for one: an even split is counted shorter", () => {
    // Five bundles less to split, one less in each of the four launches: no worker is left without a row.
    const [one, six] = [1, 6].map((rows) => costOf(gemm(rows, 32, 32, "standard"), 1).cycles);
    expect(one - six).toBe(cyclesPerBundle * (5 + 4));
  });

  // Counts of the public sources, by hand: sample 90, launch 54, six cycles a bundle.
  // prettier-ignore
  test.each<[string, KernelSpec, number]>([
    ["copy of 288 words: 17 + 2 * 48 bundles",          copy(2304),                                              17 + 2 * 48],
    ["strided copy of 8 rows of 8 words: 24 + 2 * 54",  { kind: "copy", bytes: 512, rows: 8, sourceStride: 128, outputStride: 64 }, 24 + 2 * 54],
    ["fill of 33 words: 15 + 6",                        { kind: "fill-zero", bytes: 264 },                       15 + 6],
    ["sum of 3 over 40: 23 + 1 * (9 + 12)",             { kind: "reduce-sum", partials: 3, elements: 40 },       23 + 21],
    ["merge of 8 rows: 10 + 2 * (37 + 4*77 + 4*9)",     merge(8),                                                10 + 2 * 381],
  ])("%s", (_name, spec, bundles) => {
    expect(costOf(spec, 1).cycles).toBe(sample + launch + cyclesPerBundle * bundles);
  });

  // prettier-ignore
  test.each<[number, number]>([
    [8, 3255 + 63 + 6665 + 58 - 13],
    [7, 2849 + 63 + 5862 + 58 - 14],
  ])("softmax of %i rows takes its four launches' bundles, less what was measured less", (rows, bundles) => {
    expect(costOf(softmax(rows), 1).cycles).toBe(sample + 4 * launch + cyclesPerBundle * bundles);
  });

  test("of shapes that were not measured say that they are assumed", () => {
    expect(costOf(unpack(5), 1).origin).toBe("assumed");
    expect(costOf(rearrange(AMP_LEFT, 5, 5), 1).origin).toBe("assumed");
    expect(costOf({ kind: "gelu", elements: 2 }, 1).origin).toBe("assumed");
    expect(costOf({ ...softmax(1), keyColumns: 768 } as KernelSpec, 1).origin).toBe("assumed");
  });
});
