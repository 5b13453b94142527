import { describe, expect, test } from "vitest";
import type { Operands } from "../../src/kernels/kernel.ts";
import { kernelOf, KERNELS } from "../../src/kernels/registry.ts";
import type { KernelSpec } from "../../src/kernels/spec.ts";
import {
  AMP_LEFT,
  AMP_OUTPUT,
  AMP_TRANSPOSED_LEFT,
  AMP_TRANSPOSED_RIGHT,
  blockMajor,
} from "../../src/layouts/constructors.ts";
import { gemm, gemmF32, merge, simError, softmax } from "./support.ts";

const matrix = {
  matrices: 1,
  logicalRows: 16,
  physicalRows: 16,
  logicalColumns: 72,
  physicalColumns: 80,
};
const unpack = { kind: "unpack", order: AMP_TRANSPOSED_LEFT, ...matrix } as const;
const rearrange = { kind: "rearrange", order: AMP_LEFT, runTimeShape: false, ...matrix } as const;
const copy = { kind: "copy", bytes: 48, rows: 1, sourceStride: 48, outputStride: 48 } as const;
const sum = { kind: "reduce-sum", partials: 2, elements: 16 } as const;

/** A good specification of each kind. */
const GOOD: readonly KernelSpec[] = [
  gemm(7, 80, 768),
  gemmF32(3),
  sum,
  copy,
  { kind: "fill-zero", bytes: 8 },
  unpack,
  rearrange,
  softmax(8, 729, 768),
  merge(3, true, false),
  { kind: "gelu", elements: 2 },
  { kind: "add", dtype: "f16", elements: 1 },
  { kind: "cast", from: "f16", to: "f32", elements: 1 },
];

test("each kind of kernel has a specification here that is sound", () => {
  expect(new Set(GOOD.map(({ kind }) => kind))).toEqual(new Set(Object.keys(KERNELS)));
  for (const spec of GOOD) kernelOf(spec).check(spec);
});

describe("a number of a specification", () => {
  const fields = GOOD.flatMap((spec) =>
    Object.entries(spec)
      // Strides of one row mean nothing, but are numbers all the same.
      .filter(([, value]) => typeof value === "number")
      .map(([field]) => [spec.kind, field, spec] as const),
  );

  test.each(fields)("of %s, %s, is whole, positive and not beyond 2^30", (kind, field, spec) => {
    for (const value of [0, -16, 1.5, NaN, Infinity, 2 ** 31, 2 ** 53]) {
      const bad = { ...spec, [field]: value } as KernelSpec;
      const error = simError("SHAPE_MISMATCH", () => kernelOf(bad).check(bad));
      expect(error.fault.where).toMatchObject({ kernel: kind });
      expect(error.fault.fix).not.toBe("");
    }
  });
});

// prettier-ignore
test.each<[string, KernelSpec, string]>([
  // why                                              specification                                         field
  ["a group has 16 inner values",                     gemm(8, 72, 16),                                      "innerBlock"],
  ["the unit makes 16 columns",                       gemm(8, 80, 24),                                      "outputColumns"],
  ["the f32 kernel has 64 inner values",              { ...gemmF32(2), innerBlock: 128 },                   "innerBlock"],
  ["the f32 kernel has 64 columns",                   { ...gemmF32(2), outputColumns: 16 },                 "outputColumns"],
  ["the f32 kernel sums in f32",                      { ...gemmF32(2), accumulate: "f16" },                 "accumulate"],
  ["an item of a sum has 8 elements",                 { ...sum, elements: 12 },                             "elements"],
  ["one partial is no sum",                           { ...sum, partials: 1 },                              "partials"],
  ["a copy moves pairs of bytes",                     { ...copy, bytes: 7 },                                "bytes"],
  ["rows have equal bytes",                           { ...copy, bytes: 48, rows: 5 },                      "rows"],
  ["rows have an even number of bytes",               { ...copy, bytes: 6, rows: 2 },                       "rows"],
  ["rows do not overlap where they are read",         { ...copy, rows: 2, sourceStride: 16 },               "sourceStride"],
  ["rows do not overlap where they are written",      { ...copy, rows: 2, outputStride: 16 },               "sourceStride"],
  ["zeros are written by 8 bytes",                    { kind: "fill-zero", bytes: 12 },                     "bytes"],
  ["stored rows hold the logical ones",               { ...unpack, logicalRows: 17 },                       "logicalRows"],
  ["stored columns hold the logical ones",            { ...rearrange, logicalColumns: 81 },                 "logicalRows"],
  ["transposed left has 16 rows a panel",             { ...unpack, physicalRows: 24 },                      "physicalRows"],
  ["output has 16 columns a panel",                   { ...unpack, order: AMP_OUTPUT, physicalColumns: 72 }, "physicalColumns"],
  ["left has 16 columns a panel",                     { ...rearrange, physicalColumns: 72 },                "physicalColumns"],
  ["transposed right has 16 rows a panel",            { ...rearrange, order: AMP_TRANSPOSED_RIGHT, physicalRows: 24 }, "physicalRows"],
  ["a matrix block has whole panels",                 { ...rearrange, order: blockMajor(24, 16) }, "order"],
  ["a matrix block has 16 columns",                   { ...rearrange, order: blockMajor(16, 8) }, "order"],
  ["no kernel makes transposed blocks",               { ...rearrange, order: blockMajor(16, 16, "transposed-matrix") }, "order"],
  ["stored rows are whole blocks",                    { ...rearrange, order: blockMajor(64, 16) }, "physicalRows"],
  ["no kernel makes row-major order",                 { ...rearrange, order: { kind: "row-major" } as unknown as typeof AMP_LEFT }, "order"],
  ["a panel of scores has 16 columns",                softmax(1, 72, 72),                                   "paddedKeyColumns"],
  ["stored keys hold the logical ones",               softmax(1, 97, 96),                                   "keyColumns"],
  ["a row has room for maximum and denominator",      { ...merge(1, true, true), valueDimension: 15 },      "paddedValueDimension"],
  ["a panel of values has 16 columns",                { ...merge(1, true, true), paddedValueDimension: 24 }, "paddedValueDimension"],
  ["a panel of weights has 16 columns",               { ...merge(1, true, true), keyBlockColumns: 24 },     "keyBlockColumns"],
  ["gelu takes pairs",                                { kind: "gelu", elements: 3 },                        "elements"],
])("%s", (_why, spec, field) => {
  const error = simError("SHAPE_MISMATCH", () => kernelOf(spec).check(spec));
  expect(error.fault.where).toMatchObject({ kernel: spec.kind, field });
});

test.each(["flash-attention", "toString", "__proto__", ""])("no kernel is called %o", (kind) => {
  const spec = { kind } as unknown as KernelSpec;
  const error = simError("UNKNOWN_KERNEL", () => kernelOf(spec));
  expect(error.message).toContain("attention-softmax");
});

const operandsOf = (spec: KernelSpec): Operands => kernelOf(spec).operands(spec);

describe("operands", () => {
  // prettier-ignore
  test.each<[string, KernelSpec, readonly number[], number]>([
    // why                                               specification                    bytes: output, inputs          alignment
    ["gemm: rows x N, rows x K, K x N halves",           gemm(8, 80, 768),                [12_288, 1280, 122_880],       32],
    ["f32 gemm: four bytes each",                        gemmF32(3),                      [768, 768, 16_384],            32],
    ["sum: the first partial and the others",            { ...sum, partials: 4 },         [32, 32, 96],                  8],
    ["softmax: weights and 8 words a row, 6,272 halves", softmax(8, 729, 768),            [12_544, 12_288],              8],
    ["softmax of 7 rows: 5,488 halves",                  softmax(7, 729, 768),            [10_976, 10_752],              8],
    ["merge reads 2 words of state a row",               merge(3, true, true),            [192, 96, 120],                8],
    ["unpack: all stored elements",                      unpack,                          [2560, 2560],                  4],
    ["rearrange: packed rows in, stored elements out",   rearrange,                       [2560, 2304],                  4],
    ["a long copy goes by 8 bytes",                      copy,                            [48, 48],                      8],
    ["a short one by 4",                                 { ...copy, bytes: 44 },          [44, 44],                      4],
    ["an odd one by 2",                                  { ...copy, bytes: 46 },          [46, 46],                      2],
    ["rows span their strides",                          { ...copy, rows: 3, sourceStride: 24, outputStride: 32 }, [80, 64], 8],
    ["fill: no inputs",                                  { kind: "fill-zero", bytes: 64 }, [64],                         8],
    ["cast: each dtype's bytes",                         { kind: "cast", from: "f16", to: "f32", elements: 9 }, [36, 18], 4],
  ])("%s", (_why, spec, bytes, alignment) => {
    const { output, inputs } = operandsOf(spec);
    expect([output, ...inputs].map((operand) => operand.bytes)).toEqual(bytes);
    expect(new Set([output, ...inputs].map((operand) => operand.alignment))).toEqual(new Set([alignment]));
  });

  test("a gemm's output and left lie apart; interleaved weights in interleaved memory", () => {
    const { apart, inputs, outputMayAlias } = operandsOf({
      ...gemm(72, 576, 16),
      weights: "interleaved",
    });
    expect(apart).toEqual([[-1, 0]]);
    expect(outputMayAlias).toEqual([]);
    expect(inputs.map(({ memoryClass }) => memoryClass)).toEqual([undefined, "interleaved"]);
    expect(operandsOf(gemm(8, 80, 768)).inputs[1].memoryClass).toBeUndefined();
  });

  test("a rearrange's two ends lie apart", () => {
    expect(operandsOf(rearrange).apart).toEqual([[-1, 0]]);
  });

  // prettier-ignore
  test.each<[string, KernelSpec, readonly number[]]>([
    ["a sum, its first partial",         sum,                                                    [0]],
    ["gelu, its input",                  { kind: "gelu", elements: 2 },                          [0]],
    ["an addition, either",              { kind: "add", dtype: "f32", elements: 2 },             [0, 1]],
    ["a cast within a dtype, its input", { kind: "cast", from: "f32", to: "f32", elements: 2 },  [0]],
    ["a cast to another dtype, none",    { kind: "cast", from: "f16", to: "f32", elements: 2 },  []],
    ["a softmax, none",                  softmax(2, 30, 32),                                     []],
  ])("may share bytes with the output: %s", (_who, spec, may) => {
    expect(operandsOf(spec).outputMayAlias).toEqual(may);
  });
});
