import { describe, expect, test } from "vitest";
import type { KernelSpec, RearrangeSpec, UnpackSpec } from "../../src/kernels/spec.ts";
import { isSymbol, isSymbolOf, symbol, type ProgramShape } from "../../src/kernels/symbol.ts";
import {
  AMP_LEFT,
  AMP_OUTPUT,
  AMP_TRANSPOSED_LEFT,
  AMP_TRANSPOSED_RIGHT,
  blockMajor,
} from "../../src/layouts/constructors.ts";
import { gemm, gemmF32, merge, softmax } from "./support.ts";

/** Row counts of the recorded block: 72 alone in its object would be r72_r72. */
const PROJECTION: ProgramShape = { gemmRows: [72], queryRows: [] };
const ATTENTION: ProgramShape = { gemmRows: [7, 8, 72], queryRows: [7, 8] };

const copy = (bytes: number, rows = 1, stride = bytes): KernelSpec => ({
  kind: "copy",
  bytes,
  rows,
  sourceStride: stride,
  outputStride: stride,
});
const matrix = (logicalRows: number, physicalRows: number, physicalColumns: number) => ({
  matrices: 1,
  logicalRows,
  physicalRows,
  logicalColumns: 72,
  physicalColumns,
});
const unpack = (order: UnpackSpec["order"], rows: number): KernelSpec => ({
  kind: "unpack",
  order,
  ...matrix(rows, 16, 72),
});
const rearrange = (
  order: RearrangeSpec["order"],
  logicalRows: number,
  physicalRows: number,
  runTimeShape = false,
): KernelSpec => ({
  kind: "rearrange",
  order,
  ...matrix(logicalRows, physicalRows, 80),
  runTimeShape,
});

describe("the recorded block's names", () => {
  // prettier-ignore
  test.each<[string, KernelSpec, ProgramShape]>([
    ["ipu_stack_gemm_f16_init_small_rows_interleaved_k576_c16_r72_r72", { ...gemm(72, 576, 16), weights: "interleaved" }, PROJECTION],
    ["ipu_stack_gemm_f16_init_small_rows_interleaved_k576_c16_r72_r72", { ...gemm(72, 576, 16), weights: "interleaved" }, ATTENTION],
    ["ipu_stack_gemm_f16_init_large_rows_k80_c768_r7_r8",               gemm(8, 80, 768),               ATTENTION],
    ["ipu_stack_gemm_f16_init_small_rows_k80_c768_r7_r8",               gemm(7, 80, 768),               ATTENTION],
    ["ipu_stack_gemm_f16_init_large_rows_k768_c80_r7_r8",               gemm(8, 768, 80),               ATTENTION],
    ["ipu_stack_gemm_f16_init_small_rows_k768_c80_r7_r8",               gemm(7, 768, 80),               ATTENTION],
    ["ipu_stack_attention_softmax_large_query_small_key_f16",           softmax(8, 729, 768),           ATTENTION],
    ["ipu_stack_attention_softmax_small_query_small_key_f16",           softmax(7, 729, 768),           ATTENTION],
    ["ipu_stack_attention_merge_large_query_f16",                       merge(8, true, true),           ATTENTION],
    ["ipu_stack_attention_merge_small_query_f16",                       merge(7, true, true),           ATTENTION],
    ["ipu_stack_reduce_sum_f16", { kind: "reduce-sum", partials: 2, elements: 1152 },                   ATTENTION],
    ["ipu_stack_copy_u64",                                              copy(2304),                     ATTENTION],
    ["ipu_stack_unpack_amp_to_row_major_f16_o1_r16_p16_c72_p72",        unpack(AMP_TRANSPOSED_LEFT, 16), ATTENTION],
    ["ipu_stack_unpack_amp_to_row_major_f16_o1_r9_p16_c72_p72",         unpack(AMP_TRANSPOSED_LEFT, 9), ATTENTION],
    ["ipu_stack_rearrange_row_major_to_amp_f16_o0_r8_p8_c72_p80",       rearrange(AMP_LEFT, 8, 8),      ATTENTION],
    ["ipu_stack_rearrange_row_major_to_amp_f16_o0_r7_p7_c72_p80",       rearrange(AMP_LEFT, 7, 7),      ATTENTION],
    ["ipu_stack_rearrange_row_major_to_amp_f16_o1_r64_p64_c72_p80",     rearrange(AMP_TRANSPOSED_RIGHT, 64, 64), ATTENTION],
    ["ipu_stack_rearrange_row_major_to_amp_f16_o1_r0_p64_c0_p80",       rearrange(AMP_TRANSPOSED_RIGHT, 25, 64, true), ATTENTION],
  ])("%s", (name, spec, shape) => {
    expect(symbol(spec, shape)).toBe(name);
    expect([isSymbol(name), isSymbolOf(name, spec)]).toEqual([true, true]);
  });
});

// prettier-ignore
test.each<[string, KernelSpec, string]>([
  ["ipu_stack_gemm_f16_accumulate_small_rows_k32_c16_r72_r72", gemm(72, 32, 16, "accumulate"), "a lone count stands twice"],
  ["ipu_stack_gemm_f32_init_large_rows_k64_c64_r7_r8",       gemmF32(8),                        "f32"],
  ["ipu_stack_gemm_f16_init_small_rows_k16_c16_r5_r5",       gemm(5, 16, 16),                   "rows that the program does not list"],
  ["ipu_stack_copy_strided_u64",                             copy(64, 8, 16),                   "short rows of 8 bytes"],
  ["ipu_stack_copy_u32",                                     copy(44),                          "below 48 bytes"],
  ["ipu_stack_copy_u16",                                     copy(46),                          "no multiple of 4"],
  ["ipu_stack_fill_zero_u64",                                { kind: "fill-zero", bytes: 8 },   "zeros"],
  ["ipu_stack_unpack_amp_to_row_major_f16_o0_r16_p16_c72_p72", unpack(AMP_OUTPUT, 16),          "order 0 is output"],
  ["ipu_stack_rearrange_row_major_to_amp_f16_o2_r60_p64_c72_p80", rearrange(blockMajor(64, 16), 60, 64), "order 2 is block-major"],
  ["ipu_stack_gelu_tanh_approx_f16",                         { kind: "gelu", elements: 2 },     "gelu"],
  ["ipu_stack_add_f16",       { kind: "add", dtype: "f16", elements: 1 },                       "the compiler has none: ours"],
  ["ipu_stack_cast_f16_f32",  { kind: "cast", from: "f16", to: "f32", elements: 1 },            "the compiler has none: ours"],
])("%s", (name, spec) => {
  expect(symbol(spec, ATTENTION)).toBe(name);
  expect([isSymbol(name), isSymbolOf(name, spec)]).toEqual([true, true]);
});

// prettier-ignore
test.each<[string, string, KernelSpec, boolean]>([
  ["ipu_stack_gemm_f16_init_large_rows_k80_c768_r7_r8", "7 rows are the small ones", gemm(7, 80, 768), true],
  ["ipu_stack_gemm_f16_init_small_rows_k80_c768_r7_r7", "other rows", gemm(8, 80, 768), true],
  ["ipu_stack_gemm_f16_init_small_rows_k80_c768_r8_r7", "a pair that does not ascend", gemm(8, 80, 768), true],
  ["ipu_stack_gemm_f16_init_small_rows_k80_c64_r8_r8", "other columns", gemm(8, 80, 768), true],
  ["ipu_stack_gemm_f16_init_small_rows_k64_c768_r8_r8", "another inner block", gemm(8, 80, 768), true],
  ["ipu_stack_gemm_f16_accumulate_small_rows_k80_c768_r8_r8", "it initializes", gemm(8, 80, 768), true],
  ["ipu_stack_gemm_f16_init_small_rows_interleaved_k80_c768_r8_r8", "standard weights", gemm(8, 80, 768), true],
  ["ipu_stack_attention_merge_small_query_f16", "a softmax", softmax(8, 729, 768), true],
  ["ipu_stack_copy_u32", "moved 8 bytes at a time", copy(2304), true],
  ["ipu_stack_unpack_amp_to_row_major_f16_o0_r16_p16_c72_p72", "another order", unpack(AMP_TRANSPOSED_LEFT, 16), true],
  ["ipu_stack_cast_f32_f16", "the other way", { kind: "cast", from: "f16", to: "f32", elements: 1 }, true],
  ["ipu_stack_gemm", "no whole name", gemm(8, 80, 768), false],
  ["gemm", "the kind", gemm(8, 80, 768), false],
  ["", "nothing", copy(2304), false],
  [" ipu_stack_copy_u64", "a space before", copy(2304), false],
  ["ipu_stack_relu_f16", "no kernel", { kind: "gelu", elements: 2 }, false],
])("%j is no name of a call: %s", (name, _why, spec, isKnown) => {
  expect([isSymbol(name), isSymbolOf(name, spec)]).toEqual([isKnown, false]);
});

test("one query row count alone is small", () => {
  const one: ProgramShape = { gemmRows: [8], queryRows: [8] };
  expect(symbol(softmax(8, 729, 768), one)).toContain("small_query");
  expect(symbol(merge(8, true, true), one)).toContain("small_query");
});
