import { describe, expect, test } from "vitest";
import type { KernelSpec } from "../../src/kernels/spec.ts";
import { plan } from "../../src/plan/plan.ts";
import type { Program } from "../../src/plan/program.ts";
import { gemm } from "../../src/plan/programs/gemm.ts";
import { mlp } from "../../src/plan/programs/mlp.ts";
import { siglipAttention } from "../../src/plan/programs/siglip-attention.ts";
import type { Schedule, Step } from "../../src/sim/schedule.ts";
import { timeSchedule } from "../../src/sim/timing.ts";
import { IPU21 } from "../../src/target/ipu21.ts";
import { calibrate } from "../../src/trace/calibration.ts";
import { specsOf } from "../../src/trace/recorded-kernel.ts";
import { profileOfRun } from "../../src/trace/run-profile.ts";
import { sourced } from "./calibrated.ts";

/** Work of which a profile tells no stored elements. */
const ELEMENTWISE: ReadonlySet<string> = new Set(["gelu", "add", "cast"]);

function callsOf(steps: readonly Step[]): KernelSpec[] {
  return steps.flatMap((step) => {
    if (step.kind === "compute") return step.calls.map(({ spec }) => spec);
    return step.kind === "repeat" ? callsOf(step.body) : [];
  });
}

/** Distinct, in an order, with their fields in one. */
function distinct(specs: readonly KernelSpec[]): readonly string[] {
  const texts = specs.map((spec) =>
    JSON.stringify(Object.entries(spec).sort(([a], [b]) => (a < b ? -1 : 1))),
  );
  return [...new Set(texts)].sort();
}

describe("what a run's profile shows is turned back into what it ran", () => {
  // prettier-ignore
  test.each<[string, Program]>([
    ["gemm, rows to spare",      gemm({ m: 50, n: 48, k: 64, tiles: 12 })],
    ["gemm, split inner axis",   gemm({ m: 64, n: 64, k: 256, tiles: 32 })],
    ["mlp",                      mlp({ tokens: 40, width: 64, hidden: 96, tiles: 16 })],
    ["attention, a ragged block", siglipAttention({ tokens: 100, width: 144, heads: 2, headSize: 72, tiles: 24 })],
  ])("%s", (_, program) => {
    const schedule: Schedule = plan(program, IPU21);
    const profile = profileOfRun(schedule, timeSchedule(schedule, IPU21), IPU21);
    const { models, findings } = calibrate(sourced(profile), IPU21);
    const expected = callsOf(schedule.steps).filter(({ kind }) => !ELEMENTWISE.has(kind));
    expect(distinct(models.flatMap(({ spec }) => spec ?? []))).toEqual(distinct(expected));
    const known = models.filter(({ spec }) => spec !== null);
    expect(known.length).toBeGreaterThan(0);
    expect(known.filter(({ errorPercent }) => errorPercent !== 0)).toEqual([]);
    expect(findings.every(({ what }) => what.includes("stored ones"))).toBe(true);
  });
});

const GEMM =
  "Planned(Gemm { multiply: F16, accumulate: F16, mode: Initialize, weights: Standard, inner_block: 80, output_columns: 768 })";
const SOFTMAX =
  "Planned(AttentionSoftmax { head_dimension: 72, key_columns: 729, padded_key_columns: 768 })";

describe("what a profile does not tell is not made up", () => {
  const copy = { bytes: "2304", pattern: "Contiguous" };

  // prettier-ignore
  test.each<[string, string, Record<string, string>, RegExp]>([
    ["no metadata",                     "ipu_stack_copy_u64",                           {},                                          /no bytes/],
    ["bytes that are no count",         "ipu_stack_copy_u64",                           { ...copy, bytes: "many" },                  /no count/],
    ["the symbol of another helper",    "ipu_stack_copy_u16",                           copy,                                        /copy_u64/],
    ["a pattern that lacks fields",     "ipu_stack_copy_u64",                           { ...copy, pattern: "Strided { rows: 2 }" }, /lacks row_bytes, source_stride, destination_stride/],
    ["a pattern that does not fit",     "ipu_stack_copy_u64",                           { ...copy, pattern: "Strided { rows: 2, row_bytes: 8, source_stride: 8, destination_stride: 8 }" }, /rows of 8 B, does not make 2304 B/],
    ["an unknown pattern",              "ipu_stack_copy_u64",                           { ...copy, pattern: "Spiral" },              /Spiral/],
    ["no debug output",                 "ipu_stack_gemm",                               { kernelSpec: "{" },                         /expected/],
    ["an unknown specification",        "ipu_stack_convolve",                           { kernelSpec: "Convolve { taps: 3 }" },      /not known/],
    ["a gemm's symbol without rows",    "ipu_stack_gemm_f16",                           { kernelSpec: GEMM },                        /rows/],
    ["a gemm of another shape",         "ipu_stack_gemm_f16_init_small_rows_k96_c768_r8_r8", { kernelSpec: GEMM },                   /k80_c768/],
    ["a softmax of no whole rows",      "ipu_stack_attention_softmax_small_query_small_key_f16", { kernelSpec: SOFTMAX, input0Elements: "769" }, /whole rows/],
    ["stored elements of a gelu",       "ipu_stack_gelu_tanh_approx_f16",               { kernelSpec: "Gelu", outputElements: "64" }, /stored ones/],
  ])("%s", (_, kernel, dimensions, why) => {
    const [{ spec, error }] = specsOf([{ kernel, dimensions }]);
    expect(spec).toBeNull();
    expect(error?.fault.what).toMatch(why);
  });
});

describe("a shape passed at run time", () => {
  const layout = (order: string): string =>
    `Layout { order: ${order}, tiling: TensorTiling { tile_count: 1, replicas: 1, axes: [] }, memory_class: Ipu21Standard }`;
  const kernelSpec = `Planned(Rearrange { from: ${layout("RowMajor")}, to: ${layout("Amp(TransposedRight)")} })`;
  const of = (shape: string, elements: number, text = kernelSpec) => ({
    kernel: `ipu_stack_rearrange_row_major_to_amp_f16_o1_${shape}`,
    dimensions: { kernelSpec: text, outputElements: String(elements) },
  });
  const runTime = of("r0_p64_c0_p80", 1800);
  const full = of("r64_p64_c72_p80", 4608);

  test("has the columns of the same conversion where they are compiled in", () => {
    for (const recorded of [
      [runTime, full],
      [full, runTime],
    ]) {
      const found = specsOf(recorded)[recorded.indexOf(runTime)];
      expect(found.spec).toMatchObject({ matrices: 1, logicalRows: 25, logicalColumns: 72 });
    }
  });

  // prettier-ignore
  test.each([
    ["nothing else tells its columns",  [runTime]],
    ["another conversion tells some",   [runTime, of("r64_p64_c72_p80", 4608, kernelSpec.replace("tile_count: 1", "tile_count: 2"))]],
    ["two tell different ones",         [runTime, full, of("r64_p64_c70_p80", 4480)]],
    ["its rows would be no whole number", [of("r0_p64_c0_p80", 1801), full]],
  ])("is not known where %s", (_, recorded) => {
    expect(specsOf(recorded)[0].spec).toBeNull();
  });
});
