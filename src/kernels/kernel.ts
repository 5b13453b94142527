import type { Cycles } from "../base/units.ts";
import type { DType } from "../numerics/dtype.ts";
import type { MemoryClass } from "../layouts/layout.ts";
import type { Numerics } from "../numerics/rounding.ts";
import type { Target } from "../target/target.ts";
import type { KernelSpec } from "./spec.ts";

/** One operand's bytes, seen as each element type; `f32` is only there where the start is 4-aligned. */
export interface OperandView {
  readonly u8: Uint8Array;
  readonly u16: Uint16Array;
  readonly f32: Float32Array;
}

/** What a kernel does to the bytes of one operand. */
export interface Operand {
  readonly name: string;
  readonly dtype: DType;
  /** Bytes from the operand's address that the kernel may touch. */
  readonly bytes: number;
  /** The address is a multiple of this. */
  readonly alignment: number;
  /** The class the operand must lie in; absent: either. */
  readonly memoryClass?: MemoryClass;
}

export interface Operands {
  readonly output: Operand;
  readonly inputs: readonly Operand[];
  /** Inputs, by index, that may share bytes with the output. */
  readonly outputMayAlias: readonly number[];
  /** Pairs that must lie in different memory elements (F1.3): -1 is the output, else an input. */
  readonly apart: readonly (readonly [number, number])[];
}

/** Cycles of one sample that makes `invocations` calls in a row, the sample's own cost included (F5.1). */
export interface Cost {
  readonly cycles: Cycles;
  /**
   * `counted`: from bundle counts (F5.2); `fitted`: counts, and constants fitted to the trace (F5.3);
   * `measured`: a table, for compiled kernels without a count; `assumed`: none of these.
   */
  readonly origin: "counted" | "fitted" | "measured" | "assumed";
}

/** A stream of random bits for one call; `stochastic` rounding draws from it by element and step. */
export interface CallContext extends Numerics {
  readonly tile: number;
  /** Index of the step in the run, counting repeated steps each time. */
  readonly step: number;
}

/** The meaning and the cost of one kind of kernel. */
export interface Kernel<Spec extends KernelSpec> {
  /** @throws SimError `SHAPE_MISMATCH` or `SCHEDULE_INVALID` for a specification that the kernel cannot run. */
  check(spec: Spec): void;
  operands(spec: Spec): Operands;
  /** Sees specification and target, never data or a backend: one schedule costs the same everywhere. */
  cost(spec: Spec, invocations: number, target: Target): Cost;
  /** The definition, slow and obvious; backends are held to it bit by bit. */
  reference(
    spec: Spec,
    inputs: readonly OperandView[],
    output: OperandView,
    context: CallContext,
  ): void;
}
