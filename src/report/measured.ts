import type { KernelSpec } from "../kernels/spec.ts";
import type { Schedule } from "../sim/schedule.ts";

/**
 * Cycles that a C600 took for the SigLIP attention block: the most frequent value of each kernel, and the
 * event cycles of each phase, in a profile that osmarks/ipu-stack recorded in August 2026.
 */

/** By kernel name; copies by name, bytes and invocations. */
const KERNEL_CYCLES: Readonly<Record<string, number>> = {
  ipu_stack_gemm_f16_init_small_rows_interleaved_k576_c16_r72_r72: 16542,
  ipu_stack_reduce_sum_f16: 2442,
  "ipu_stack_copy_u64 2304 x 1": 822,
  "ipu_stack_copy_u64 1152 x 1": 534,
  "ipu_stack_copy_u64 10240 x 1": 2814,
  "ipu_stack_copy_u64 2048 x 5": 3450,
  "ipu_stack_copy_u64 512 x 4": 1219,
  "ipu_stack_copy_u64 256 x 1": 318,
  ipu_stack_unpack_amp_to_row_major_f16_o1_r16_p16_c72_p72: 11586,
  ipu_stack_unpack_amp_to_row_major_f16_o1_r9_p16_c72_p72: 11838,
  ipu_stack_rearrange_row_major_to_amp_f16_o0_r8_p8_c72_p80: 9312,
  ipu_stack_rearrange_row_major_to_amp_f16_o0_r7_p7_c72_p80: 9312,
  ipu_stack_rearrange_row_major_to_amp_f16_o1_r64_p64_c72_p80: 13500,
  ipu_stack_rearrange_row_major_to_amp_f16_o1_r0_p64_c0_p80: 17322,
  ipu_stack_gemm_f16_init_large_rows_k80_c768_r7_r8: 54744,
  ipu_stack_gemm_f16_init_small_rows_k80_c768_r7_r8: 54312,
  ipu_stack_attention_softmax_large_query_small_key_f16: 60474,
  ipu_stack_attention_softmax_small_query_small_key_f16: 53214,
  ipu_stack_gemm_f16_init_large_rows_k768_c80_r7_r8: 53712,
  ipu_stack_gemm_f16_init_small_rows_k768_c80_r7_r8: 53238,
  ipu_stack_attention_merge_large_query_f16: 4776,
  ipu_stack_attention_merge_small_query_f16: 4776,
};

/** Event cycles of the eleven exchange phases, in order. */
const PHASE_CYCLES: readonly number[] = [
  4989, 1375, 4989, 1375, 4989, 1375, 1661, 4395, 5249, 32153, 37865,
];

/** From the last tile's start to the last merge's end. */
const TOTAL_CYCLES = 393_780;

/** What was measured of one schedule; null where it is not the one that was measured. */
export interface Measured {
  kernel(kernel: string, spec: KernelSpec, invocations: number): number | null;
  phase(index: number): number | null;
  readonly total: number | null;
}

const NOTHING: Measured = { kernel: () => null, phase: () => null, total: null };

/** The measurements, where `schedule` is the SigLIP block on 1,472 tiles as it was recorded. */
export function measuredOf(schedule: Schedule): Measured {
  const shapes = schedule.inputs.map(({ shape }) => shape.join("x")).join();
  const isRecorded =
    schedule.program === "siglip-attention" &&
    schedule.tiles === 1472 &&
    shapes === "1x729x1152,1152x1152,1152x1152,1152x1152" &&
    schedule.steps.filter(({ kind }) => kind === "exchange").length === PHASE_CYCLES.length;
  if (!isRecorded) return NOTHING;
  return {
    kernel: (kernel, spec, invocations) => {
      const key = spec.kind === "copy" ? `${kernel} ${spec.bytes} x ${invocations}` : kernel;
      return KERNEL_CYCLES[key] ?? null;
    },
    phase: (index) => PHASE_CYCLES[index] ?? null,
    total: TOTAL_CYCLES,
  };
}
