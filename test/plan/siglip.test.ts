import { describe, expect, test } from "vitest";
import { plan } from "../../src/plan/plan.ts";
import { siglipAttention } from "../../src/plan/programs/siglip-attention.ts";
import type { ComputeStep, ExchangeStep } from "../../src/sim/schedule.ts";
import { validateSchedule } from "../../src/sim/validate.ts";
import { IPU21 } from "../../src/target/ipu21.ts";

const SIGLIP = { tokens: 729, width: 1152, heads: 16, headSize: 72, tiles: 1472 };

describe("the SigLIP block, planned by general rules", () => {
  const schedule = plan(siglipAttention(SIGLIP), IPU21);
  const computes = schedule.steps.filter((step): step is ComputeStep => step.kind === "compute");
  const phases = schedule.steps.filter((step): step is ExchangeStep => step.kind === "exchange");

  test("is a sound schedule", () => {
    validateSchedule(schedule, IPU21);
  });

  test("gives each tile as many samples as the recorded profile shows", () => {
    const samples = new Int32Array(1472).fill(phases.length);
    for (const { calls } of computes) {
      for (const { tiles } of calls) for (const tile of tiles) samples[tile]++;
    }
    const tilesWith = new Map<number, number>();
    for (const count of samples) tilesWith.set(count, (tilesWith.get(count) ?? 0) + 1);
    expect([...tilesWith].sort((a, b) => a[0] - b[0])).toEqual([
      [19, 736], // own no projection block
      [27, 543], // owners without keys
      [28, 1], // its query rows are its own
      [30, 145], // owners with keys
      [33, 46], // three seed copies more; or its own key rows and value panels
      [37, 1], // all of these
    ]);
    expect(samples[474]).toBe(28);
    expect(samples[65]).toBe(33);
    expect(samples[0]).toBe(37);
  });

  // A projection's partial is 16 x 72 halves, 576 words, of all but 46 owners, who hold one of the two. A row of a head is 72 halves, 36
  // words: 16 * 729 rows of queries and keys, 16 * 736 of values, whose padding moves along, less those on their tile already.
  // prettier-ignore
  test.each([
    // phase operation       transfers  words in all
    [ 0,     "operation.0",       184,      423_936 ],
    [ 1,     "operation.0",     1_426,      821_376 ],
    [ 2,     "operation.1",       184,      423_936 ],
    [ 3,     "operation.1",     1_426,      821_376 ],
    [ 4,     "operation.2",       184,      423_936 ],
    [ 5,     "operation.2",     1_426,      821_376 ],
    [ 6,     "operation.3",     1_518,      419_328 ], // less 16 rows: 8 of tile 0, 8 of tile 474
    [ 7,     "operation.4",       734,      418_752 ], // less 32 rows: 16 of tile 0, 16 of tile 65
    [ 8,     "operation.5",     3_670,      422_784 ], // less the same 32 rows
    [ 9,     "operation.6",       192,      491_520 ],
    [10,     "operation.6",       960,      491_520 ],
  ] as const)("phase %i, %s, has %i transfers of %i words", (phase, operation, transfers, words) => {
    const step = phases[phase];
    expect(step.operation).toBe(operation);
    expect(step.transfers).toHaveLength(transfers);
    expect(step.transfers.reduce((sum, transfer) => sum + transfer.words, 0)).toBe(words);
  });

  test("names kernels, values and element counts as the profile does", () => {
    const seen = computes.flatMap(({ calls }) =>
      calls.map(({ kernel, operation, reason, value, elements }) =>
        [operation, kernel, reason, value, elements.join(";")].join(" "),
      ),
    );
    const distinct = [...new Set(seen)].filter((line) => !line.includes("copy_u64")).sort();
    expect(distinct).toEqual(
      [
        ...[0, 1, 2].flatMap((op) => [
          `operation.${op} ipu_stack_gemm_f16_init_small_rows_interleaved_k576_c16_r72_r72 OperatorKernel ${op + 4} 1152;41472;9216`,
          `operation.${op} ipu_stack_gemm_f16_init_small_rows_interleaved_k576_c16_r72_r72 OperatorKernel ${op + 4} 648;41472;5184`,
          `operation.${op} ipu_stack_reduce_sum_f16 OperatorKernel ${op + 4} 1152;1152;1152`,
        ]),
        ...[3, 4].flatMap((op) => [
          `operation.${op} ipu_stack_unpack_amp_to_row_major_f16_o1_r16_p16_c72_p72 OperatorKernel ${op + 4} 1152;1152`,
          `operation.${op} ipu_stack_unpack_amp_to_row_major_f16_o1_r9_p16_c72_p72 OperatorKernel ${op + 4} 648;648`,
        ]),
        "operation.3 ipu_stack_rearrange_row_major_to_amp_f16_o0_r7_p7_c72_p80 OperatorInputs 7 504;504",
        "operation.3 ipu_stack_rearrange_row_major_to_amp_f16_o0_r8_p8_c72_p80 OperatorInputs 7 576;576",
        "operation.4 ipu_stack_rearrange_row_major_to_amp_f16_o1_r0_p64_c0_p80 OperatorInputs 8 1800;1800",
        "operation.4 ipu_stack_rearrange_row_major_to_amp_f16_o1_r64_p64_c72_p80 OperatorInputs 8 4608;4608",
        "operation.6 ipu_stack_attention_merge_large_query_f16 OperatorKernel 10 576;640;6272",
        "operation.6 ipu_stack_attention_merge_small_query_f16 OperatorKernel 10 504;560;5488",
        "operation.6 ipu_stack_attention_softmax_large_query_small_key_f16 OperatorKernel 10 6272;6144",
        "operation.6 ipu_stack_attention_softmax_small_query_small_key_f16 OperatorKernel 10 5488;5376",
        "operation.6 ipu_stack_gemm_f16_init_large_rows_k768_c80_r7_r8 OperatorKernel 10 640;6144;52488",
        "operation.6 ipu_stack_gemm_f16_init_large_rows_k80_c768_r7_r8 OperatorKernel 10 6144;576;52488",
        "operation.6 ipu_stack_gemm_f16_init_small_rows_k768_c80_r7_r8 OperatorKernel 10 560;5376;52488",
        "operation.6 ipu_stack_gemm_f16_init_small_rows_k80_c768_r7_r8 OperatorKernel 10 5376;504;52488",
      ].sort(),
    );
  });

  test("puts no two live buffers on the same bytes", () => {
    const { buffers } = schedule;
    for (const a of buffers) {
      for (const b of buffers) {
        if (a === b || a.lastStep < b.firstStep || b.lastStep < a.firstStep) continue;
        const apart = a.address + a.bytes <= b.address || b.address + b.bytes <= a.address;
        expect(apart, `${a.name} and ${b.name}`).toBe(true);
      }
    }
  });

  test("is the same schedule each time", () => {
    expect(plan(siglipAttention(SIGLIP), IPU21)).toEqual(schedule);
  });
});
