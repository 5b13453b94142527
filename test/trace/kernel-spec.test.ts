import fc from "fast-check";
import { expect, test } from "vitest";
import type { RecordedSpec } from "../../src/trace/kernel-spec.ts";
import { parseKernelSpec, printKernelSpec } from "../../src/trace/kernel-spec.ts";
import {
  AMP_LEFT,
  AMP_TRANSPOSED_LEFT,
  AMP_TRANSPOSED_RIGHT,
  ROW_MAJOR,
  axisTiling,
  fromEnd,
  layout,
  tiling,
} from "../../src/layouts/constructors.ts";
import { layouts, simError } from "../layouts/support.ts";

const QUERY_AXES = [
  axisTiling(fromEnd(2), 92, { tile_stride: 16 }),
  axisTiling(fromEnd(3), 16, { tile_stride: 1 }),
  axisTiling(fromEnd(1), 1, { block_size: 16, padding: "zero" }),
];
const PROJECTION_AXES = [
  axisTiling(fromEnd(2), 46, { block_size: 16, padding: "zero", tile_stride: 1 }),
  axisTiling(fromEnd(1), 16, { block_size: 2, padding: "zero", tile_stride: 46 }),
];
const KEY_AXES = [
  axisTiling(fromEnd(3), 16, { tile_stride: 1 }),
  axisTiling(fromEnd(2), 12, { block_size: 64, padding: "zero", tile_stride: 16 }),
  axisTiling(fromEnd(1), 1, { block_size: 16, padding: "zero" }),
];

/** Every specification of the recorded SigLIP attention block, as its profile has it. */
// prettier-ignore
const RECORDED: readonly [string, RecordedSpec, string][] = [
  ["gemm of a projection",
    { kind: "gemm", multiply: "f16", accumulate: "f16", mode: "initialize", weights: "interleaved", innerBlock: 576, outputColumns: 16 },
    "Planned(Gemm { multiply: F16, accumulate: F16, mode: Initialize, weights: Interleaved, inner_block: 576, output_columns: 16 })"],
  ["sum of partials",
    { kind: "reduce-sum", partials: 2 },
    "Planned(ReductionSum { partials: 2 })"],
  ["gemm of scores",
    { kind: "gemm", multiply: "f16", accumulate: "f32", mode: "initialize", weights: "standard", innerBlock: 80, outputColumns: 768 },
    "Planned(Gemm { multiply: F16, accumulate: F32, mode: Initialize, weights: Standard, inner_block: 80, output_columns: 768 })"],
  ["softmax",
    { kind: "attention-softmax", headDimension: 72, keyColumns: 729, paddedKeyColumns: 768 },
    "Planned(AttentionSoftmax { head_dimension: 72, key_columns: 729, padded_key_columns: 768 })"],
  ["gemm of weighted values",
    { kind: "gemm", multiply: "f16", accumulate: "f32", mode: "initialize", weights: "standard", innerBlock: 768, outputColumns: 80 },
    "Planned(Gemm { multiply: F16, accumulate: F32, mode: Initialize, weights: Standard, inner_block: 768, output_columns: 80 })"],
  ["merge",
    { kind: "attention-merge", valueDimension: 72, paddedValueDimension: 80, keyBlockColumns: 768, initial: true, finalBlock: true },
    "Planned(AttentionMerge { value_dimension: 72, padded_value_dimension: 80, key_block_columns: 768, initial: true, final_block: true })"],
  ["rearrange of queries",
    { kind: "rearrange", from: layout(ROW_MAJOR), to: layout(AMP_LEFT, tiling(QUERY_AXES)) },
    "Planned(Rearrange { from: Layout { order: RowMajor, tiling: TensorTiling { tile_count: 1, replicas: 1, axes: [] }, memory_class: Ipu21Standard }, to: Layout { order: Amp(Left), tiling: TensorTiling { tile_count: 1472, replicas: 1, axes: [AxisTiling { axis: FromEnd(2), partitions: 92, block_size: 1, padding_multiple: 1, shard_padding_multiple: 1, padding: Reject, tile_stride: Some(16) }, AxisTiling { axis: FromEnd(3), partitions: 16, block_size: 1, padding_multiple: 1, shard_padding_multiple: 1, padding: Reject, tile_stride: Some(1) }, AxisTiling { axis: FromEnd(1), partitions: 1, block_size: 16, padding_multiple: 16, shard_padding_multiple: 1, padding: Zero, tile_stride: None }] }, memory_class: Ipu21Standard } })"],
  ["unpack",
    { kind: "rearrange", from: layout(AMP_TRANSPOSED_LEFT, tiling(PROJECTION_AXES), "interleaved"), to: layout(ROW_MAJOR) },
    "Planned(Rearrange { from: Layout { order: Amp(TransposedLeft), tiling: TensorTiling { tile_count: 736, replicas: 1, axes: [AxisTiling { axis: FromEnd(2), partitions: 46, block_size: 16, padding_multiple: 16, shard_padding_multiple: 1, padding: Zero, tile_stride: Some(1) }, AxisTiling { axis: FromEnd(1), partitions: 16, block_size: 2, padding_multiple: 2, shard_padding_multiple: 1, padding: Zero, tile_stride: Some(46) }] }, memory_class: Ipu21Interleaved }, to: Layout { order: RowMajor, tiling: TensorTiling { tile_count: 1, replicas: 1, axes: [] }, memory_class: Ipu21Standard } })"],
  ["rearrange of keys",
    { kind: "rearrange", from: layout(ROW_MAJOR), to: layout(AMP_TRANSPOSED_RIGHT, tiling(KEY_AXES)) },
    "Planned(Rearrange { from: Layout { order: RowMajor, tiling: TensorTiling { tile_count: 1, replicas: 1, axes: [] }, memory_class: Ipu21Standard }, to: Layout { order: Amp(TransposedRight), tiling: TensorTiling { tile_count: 192, replicas: 1, axes: [AxisTiling { axis: FromEnd(3), partitions: 16, block_size: 1, padding_multiple: 1, shard_padding_multiple: 1, padding: Reject, tile_stride: Some(1) }, AxisTiling { axis: FromEnd(2), partitions: 12, block_size: 64, padding_multiple: 64, shard_padding_multiple: 1, padding: Zero, tile_stride: Some(16) }, AxisTiling { axis: FromEnd(1), partitions: 1, block_size: 16, padding_multiple: 16, shard_padding_multiple: 1, padding: Zero, tile_stride: None }] }, memory_class: Ipu21Standard } })"],
];

test.each(RECORDED)("%s: its recorded text is read and printed as it was", (_, spec, text) => {
  const parsed = parseKernelSpec(text);
  expect(parsed).toEqual({ spec, form: { isPlanned: true, spelling: "profile" }, findings: [] });
  expect(printKernelSpec(parsed.spec, parsed.form)).toBe(text);
});

test.each(RECORDED)("%s: so is its text of later revisions", (_, spec, recorded) => {
  const text = recorded
    .replace(/^Planned\((.*)\)$/, "$1")
    .replaceAll(/(partitions: \d+), /g, "$1, padding_groups: 1, ")
    .replaceAll("Ipu21", "");
  const parsed = parseKernelSpec(text);
  expect(parsed).toMatchObject({ spec, findings: [] });
  expect(parsed.form.isPlanned).toBe(false);
  expect(printKernelSpec(parsed.spec, parsed.form)).toBe(text);
});

// prettier-ignore
test.each<[string, RecordedSpec]>([
  ["Gemm { multiply: F32, accumulate: F32, mode: Accumulate, weights: Standard, inner_block: 64, output_columns: 64 }",
    { kind: "gemm", multiply: "f32", accumulate: "f32", mode: "accumulate", weights: "standard", innerBlock: 64, outputColumns: 64 }],
  ["AttentionMerge { value_dimension: 64, padded_value_dimension: 64, key_block_columns: 96, initial: false, final_block: false }",
    { kind: "attention-merge", valueDimension: 64, paddedValueDimension: 64, keyBlockColumns: 96, initial: false, finalBlock: false }],
  ["Cast { from: F16, to: F32 }", { kind: "cast", from: "f16", to: "f32" }],
  ["Gelu", { kind: "gelu" }],
  ["Add", { kind: "add" }],
  ["FillZero", { kind: "fill-zero" }],
  ["FlashAttention { options: Options { causal: false, scale: 0.11785113, mask: None, blocks: [32, -1] }, accumulate: F32 }",
    { kind: "flash-attention", options: "Options { causal: false, scale: 0.11785113, mask: None, blocks: [32, -1] }", accumulate: "F32" }],
])("%s is read and printed as it was, planned or not", (text, spec) => {
  for (const whole of [text, `Planned(${text})`]) {
    const parsed = parseKernelSpec(whole);
    expect(parsed).toMatchObject({ spec, findings: [] });
    expect(parsed.form.isPlanned).toBe(whole !== text);
    expect(printKernelSpec(parsed.spec, parsed.form)).toBe(whole);
  }
});

// prettier-ignore
test.each<[string, string, string, string]>([
  ["a name of a later revision",   "Planned(Convolve { taps: 3 })",           "Convolve",      "no specification of that name"],
  ["a field of a later revision",  "ReductionSum { partials: 2, scale: 0.5 }", "ReductionSum", "no field scale"],
  ["a field that is gone",         "ReductionSum { }",                        "ReductionSum",  "without partials"],
  ["a type of a later revision",   "Cast { from: F16, to: Bf16 }",            "Cast",          "Bf16 is none of F16, F32"],
  ["a number where a word stands", "Cast { from: 16, to: F16 }",              "Cast",          "a name expected"],
  ["fields where none are known",  "Gelu { exact: true }",                    "Gelu",          "printed otherwise"],
  ["fields in another order",      "Cast { to: F16, from: F32 }",             "Cast",          "printed otherwise"],
  ["a zero before a number",       "ReductionSum { partials: 02 }",           "ReductionSum",  "printed otherwise"],
  ["the pretty form",              "ReductionSum {\n    partials: 2,\n}",     "ReductionSum",  "printed otherwise"],
  ["Planned twice",                "Planned(Planned(Gelu))",                  "Planned",       "no specification of that name"],
  ["neither true nor false",       "AttentionMerge { value_dimension: 1, padded_value_dimension: 1, key_block_columns: 1, initial: maybe, final_block: true }", "AttentionMerge", "maybe is neither"],
])("%s is kept as text and named in a finding", (_, text, kernel, why) => {
  const { spec, form, findings } = parseKernelSpec(text);
  expect(spec).toEqual({ kind: "other", text });
  expect(printKernelSpec(spec, form)).toBe(text);
  expect(findings).toHaveLength(1);
  expect(findings[0]).toMatchObject({ code: "UNKNOWN_KERNEL", severity: "warning", where: { kernel } });
  expect(findings[0].what).toContain(why);
});

// prettier-ignore
test.each<[string, string]>([
  ["nothing",             ""],
  ["deep nesting",        "Planned(".repeat(8_000)],
  ["deep lists",          `Rearrange { from: ${"[".repeat(60_000)}`],
  ["a huge number",       `ReductionSum { partials: ${"9".repeat(60_000)} }`],
  ["a very long text",    "Gelu".repeat(1_000_000)],
  ["a list",              "[Gelu]"],
  ["a number",            "7"],
  ["Planned of nothing",  "Planned"],
  ["Planned of two",      "Planned(Gelu, Add)"],
  ["a text cut off",      "Planned(ReductionSum { partials: 2"],
  ["a lost stretch",      "Planned(Gemm { multiply: F16, accumulate: F1ReductionSum { partials: 2 })"],
  ["a field twice",       "ReductionSum { partials: 2, partials: 2 }"],
  ["a control character", "Gelu\0"],
])("%s is refused at once", (_, text) => {
  const started = performance.now();
  const { fault } = simError("FILE_MALFORMED", () => parseKernelSpec(text));
  expect(fault.where).toHaveProperty("offset");
  expect(performance.now() - started).toBeLessThan(1000);
});

const counts = fc.nat({ max: Number.MAX_SAFE_INTEGER });
const dtypes = fc.constantFrom("f16" as const, "f32" as const);

const specs: fc.Arbitrary<RecordedSpec> = fc.oneof(
  fc.record({
    kind: fc.constant("gemm" as const),
    multiply: dtypes,
    accumulate: dtypes,
    mode: fc.constantFrom("initialize" as const, "accumulate" as const),
    weights: fc.constantFrom("standard" as const, "interleaved" as const),
    innerBlock: counts,
    outputColumns: counts,
  }),
  fc.record({ kind: fc.constant("reduce-sum" as const), partials: counts }),
  fc.record({
    kind: fc.constant("attention-softmax" as const),
    headDimension: counts,
    keyColumns: counts,
    paddedKeyColumns: counts,
  }),
  fc.record({
    kind: fc.constant("attention-merge" as const),
    valueDimension: counts,
    paddedValueDimension: counts,
    keyBlockColumns: counts,
    initial: fc.boolean(),
    finalBlock: fc.boolean(),
  }),
  fc.record({ kind: fc.constant("rearrange" as const), from: layouts, to: layouts }),
  fc.record({ kind: fc.constant("cast" as const), from: dtypes, to: dtypes }),
  fc.constantFrom<RecordedSpec>({ kind: "gelu" }, { kind: "add" }, { kind: "fill-zero" }),
);

test("any specification, printed in any form, reads as itself", () => {
  fc.assert(
    fc.property(
      specs,
      fc.boolean(),
      fc.constantFrom("current" as const, "profile" as const),
      (spec, isPlanned, spelling) => {
        const text = printKernelSpec(spec, { isPlanned, spelling });
        const parsed = parseKernelSpec(text);
        expect(parsed.spec).toEqual(spec);
        expect(parsed.findings).toEqual([]);
        expect(printKernelSpec(parsed.spec, parsed.form)).toBe(text);
      },
    ),
  );
});

test("any debug text that is read at all is printed as it was", () => {
  const pieces = fc.constantFrom(
    ..."Gelu Planned( Cast{from:F16, to:F32} ReductionSum { partials: 2 } ( ) [ ] , : 7 -1.5e3 1.".split(
      " ",
    ),
    " ",
  );
  fc.assert(
    fc.property(fc.array(pieces, { maxLength: 8 }), (list) => {
      const text = list.join("");
      let parsed;
      try {
        parsed = parseKernelSpec(text);
      } catch {
        simError("FILE_MALFORMED", () => parseKernelSpec(text));
        return;
      }
      expect(printKernelSpec(parsed.spec, parsed.form)).toBe(text);
    }),
    { numRuns: 3000 },
  );
});
