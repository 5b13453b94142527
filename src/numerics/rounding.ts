import type { Overflow } from "./f16.ts";

/**
 * How results are narrowed to f16 inside kernels.
 *
 * - `nearest`: every rounding point of the chip, to nearest even. Deterministic; the default.
 * - `stochastic`: GEMM results are rounded up or down at random without bias, as the chip does, from a
 *   seed; reproducible here, not bit-equal to hardware, whose bit consumption is not documented (F1.6).
 * - `exact`: no rounding to f16 inside a kernel and f32 sums; only the store to f16 memory rounds.
 */
export type Rounding = "nearest" | "stochastic" | "exact";

/** What a kernel needs to know about numbers, beside its specification. */
export interface Numerics {
  readonly rounding: Rounding;
  /** Seed of `stochastic`; without effect on the other modes. */
  readonly seed: number;
  /** What a finite value beyond 65504 becomes (the NANOO flag, `assumed` clear). */
  readonly overflow: Overflow;
}

export const NEAREST: Numerics = { rounding: "nearest", seed: 0, overflow: "saturate" };
