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
const unpack = (logicalRows: number): UnpackSpec => ({
  kind: "unpack",
  order: AMP_TRANSPOSED_LEFT,
  matrices: 1,
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
    ["projection",                 gemm(72, 576, 16, "interleaved"),        1,    16_542,   0, "counted"],
    ["scores, 8 rows",             gemm(8, 80, 768, "standard"),            1,    54_744,   0, "counted"],
    ["scores, 7 rows",             gemm(7, 80, 768, "standard"),            1,    54_312,   0, "counted"],
    ["weighted values, 8 rows",    gemm(8, 768, 80, "standard"),            1,    53_712,   0, "counted"],
    ["weighted values, 7 rows",    gemm(7, 768, 80, "standard"),            1,    53_238,   0, "counted"],
    ["sum of two partials", { kind: "reduce-sum", partials: 2, elements: 1152 }, 1, 2_442,  0, "counted"],
    ["copy of 2,304 B",            copy(2304),                              1,       822,   0, "counted"],
    ["copy of 1,152 B",            copy(1152),                              1,       534,   0, "counted"],
    ["copy of 10,240 B",           copy(10240),                             1,     2_814,   0, "counted"],
    ["five copies of 2,048 B",     copy(2048),                              5,     3_450,   0, "counted"],
    ["copy of 256 B",              copy(256),                               1,       318,   0, "counted"],
    ["four copies of 512 B",       copy(512),                               4,     1_219,  23, "counted"],
    ["softmax, 8 rows",            softmax(8),                              1,    60_474,   0, "counted"],
    ["softmax, 7 rows",            softmax(7),                              1,    53_214,   0, "counted"],
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
