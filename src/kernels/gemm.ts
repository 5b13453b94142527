import { BYTES_PER_ELEMENT } from "../numerics/dtype.ts";
import { F16_VALUES, toF16, toF16Stochastic } from "../numerics/f16.ts";
import { stochasticBits } from "../numerics/random.ts";
import { AMP_LEFT, AMP_OUTPUT, AMP_TRANSPOSED_RIGHT } from "../layouts/constructors.ts";
import { offset } from "../layouts/order.ts";
import { checkMultiple, checkPositive, shapeMismatch } from "./checks.ts";
import { busiest, fittedPart, perCall } from "./cost.ts";
import type { FittedCall } from "./cost.ts";
import type { CallContext, Kernel, OperandView } from "./kernel.ts";
import { canonical } from "./values.ts";
import type { GemmSpec } from "./spec.ts";
import type { Target } from "../target/target.ts";

/** Inner values between two roundings of an f16 sum, and columns that the unit makes at once. */
const GROUP = 16;
/** Inner values that the unit adds before it rounds its f32 accumulator. */
const PHASE = 4;
/** Inner values of a group of the f32 kernel. */
const F32_GROUP = 8;
/** The f32 kernel's inner block and output columns, both fixed (osmarks/ipu-stack, gemm_f32_64_amp.S). */
const F32_BLOCK = 64;

/**
 * out[r, n] = base[r, n] + sum over k of left[r, k] * right[k, n]; base is 0 for `initialize`.
 *
 * f16, `nearest` (osmarks/ipu-stack, device/gemm_f16_amp.S): for each group of 16 inner values
 *
 *   acc = f32(running sum)                                  the first group of `initialize` starts at +0
 *   for each of 4 phases:  acc = f32(acc + ((p0 + p1) + (p2 + p3)))   p: exact products; sums in f64
 *   running sum = f16(acc)                                  to nearest even
 *
 * That a phase adds so, and rounds once, is `assumed` (`ampSum`). `stochastic`: the same with the last line
 * at random, bits of (seed, tile, step, r * outputColumns + n, group). `exact`: acc = f32(acc + left * right)
 * for each k, ascending, from the base on; rounded to f16 at the store alone.
 *
 * f32: acc = f32(acc + left * right) for each k, ascending, product and sum in f64 (`assumed`).
 */
export const gemm: Kernel<GemmSpec> = {
  check(spec) {
    checkPositive(spec, ["rows", "innerBlock", "outputColumns"]);
    if (spec.multiply === "f16") {
      checkMultiple(spec, "innerBlock", GROUP);
      checkMultiple(spec, "outputColumns", GROUP);
      return;
    }
    if (spec.accumulate !== "f32") {
      throw shapeMismatch(
        spec,
        `accumulate is ${spec.accumulate}, the f32 kernel has f32`,
        "accumulate",
        "Accumulate in f32, or cast the operands to f16",
      );
    }
    for (const field of ["innerBlock", "outputColumns"] as const) {
      if (spec[field] === F32_BLOCK) continue;
      throw shapeMismatch(
        spec,
        `${field} is ${spec[field]}, the f32 kernel has ${F32_BLOCK}`,
        field,
        `Call it once for each block of ${F32_BLOCK}`,
      );
    }
  },

  operands({ rows, innerBlock, outputColumns, multiply, weights }) {
    const size = BYTES_PER_ELEMENT[multiply];
    const alignment = 32;
    return {
      output: {
        name: "output",
        dtype: multiply,
        bytes: rows * outputColumns * size,
        alignment,
      },
      inputs: [
        { name: "left", dtype: multiply, bytes: rows * innerBlock * size, alignment },
        {
          name: "right",
          dtype: multiply,
          bytes: innerBlock * outputColumns * size,
          alignment,
          ...(weights === "interleaved" ? { memoryClass: weights } : {}),
        },
      ],
      outputMayAlias: [],
      apart: [[-1, 0]],
    };
  },

  cost(spec, invocations, target) {
    return spec.multiply === "f16"
      ? perCall(target, invocations, f16Cycles(spec, target), "fitted")
      : perCall(target, invocations, f32Cycles(spec), "assumed");
  },

  reference(spec, [left, right], output, context) {
    if (spec.multiply === "f32") gemmF32(spec, left.f32, right.f32, output.f32);
    else gemmF16(spec, left, right, output, context);
  },
};

export type GemmConstant =
  "call" | "standardLoad" | "interleavedLoad" | "columnGroup" | "loneRetained" | "loneColumnGroup";

/**
 * Constants of an f16 GEMM's time, in cycles. Six of them on the five GEMMs of the recorded trace: they meet all five
 * and are tested by none. Nor do these five tell `call` from the loads: docs/costs.md#gemm says what is open.
 */
export const GEMM_CONSTANTS: Readonly<Record<GemmConstant, number>> = {
  /** 158 with the sample of 90 that a recorded duration holds. */
  call: 158 - 90,
  /** Loading a panel of coefficients: 64 loads of 8 bytes and what stands around them. */
  standardLoad: 18796 / 240,
  /** 32 loads of 16 bytes. */
  interleavedLoad: 2488 / 36,
  columnGroup: 18,
  /** What one row beyond whole sixes saves on two or more: in each retained launch, in each column group. */
  loneRetained: -2,
  loneColumnGroup: -1,
};

/** One call of an f16 GEMM: bundles counted from osmarks/ipu-stack, device/gemm_f16_amp.S, and the fitted rest. */
export function gemmCall(spec: GemmSpec, target: Target): FittedCall<GemmConstant> {
  const busiestRows = busiest(spec.rows, target);
  const { rows, weights } = spec;
  const innerGroups = spec.innerBlock / GROUP;
  const columnGroups = spec.outputColumns / GROUP;
  const idle = rows < 6 ? 1 : 0;
  const first = (rows % 6 === 0 ? 4 : 9) + 21 + 4 * busiestRows + idle;
  const next = 17 + 4 * busiestRows + idle;
  const retained = 16 + 4 * busiestRows + idle;
  const retainedLaunches = columnGroups * (innerGroups - 1);
  const loads = columnGroups * innerGroups;
  // Seven rows were measured to take less than eight: one worker has the second row, not two.
  const isLone = rows % 6 === 1 && rows > 6;
  return {
    bundles: first + (columnGroups - 1) * next + retainedLaunches * retained,
    counts: {
      call: 1,
      standardLoad: weights === "standard" ? loads : 0,
      interleavedLoad: weights === "interleaved" ? loads : 0,
      columnGroup: columnGroups,
      loneRetained: isLone ? retainedLaunches : 0,
      loneColumnGroup: isLone ? columnGroups : 0,
    },
  };
}

/** One call, to whole rotations of the issue slots, as every duration of the trace is. */
function f16Cycles(spec: GemmSpec, target: Target): number {
  const { cyclesPerBundle } = target.timing;
  const call = gemmCall(spec, target);
  const rest = fittedPart(call, GEMM_CONSTANTS);
  return cyclesPerBundle * (call.bundles + Math.round(rest / cyclesPerBundle));
}

/** The compiler's own estimate (osmarks/ipu-stack, crates/ipu-codegen/src/cost.rs), f32 form. */
function f32Cycles({ rows, innerBlock, outputColumns }: GemmSpec): number {
  const load = (outputColumns / GROUP) * 2 * 1063;
  return 294 + (innerBlock / GROUP) * (outputColumns * rows + Math.ceil(load / 4));
}

function gemmF16(
  spec: GemmSpec,
  left: OperandView,
  right: OperandView,
  output: OperandView,
  context: CallContext,
): void {
  const { rows, innerBlock, outputColumns, mode } = spec;
  for (let r = 0; r < rows; r++) {
    for (let n = 0; n < outputColumns; n++) {
      const at = leftIndex(r, n, rows, GROUP);
      const base = mode === "accumulate" ? F16_VALUES[output.u16[at]] : 0;
      const product = (k: number): number =>
        F16_VALUES[left.u16[leftIndex(r, k, rows, GROUP)]] *
        F16_VALUES[right.u16[rightIndex(k, n, innerBlock, GROUP)]];
      output.u16[at] =
        context.rounding === "exact"
          ? sumExact(base, product, innerBlock, context)
          : sumInGroups(base, product, spec, r * outputColumns + n, context);
    }
  }
}

/** Bits of the sum with the chip's rounding points. */
function sumInGroups(
  base: number,
  product: (k: number) => number,
  { innerBlock }: GemmSpec,
  element: number,
  context: CallContext,
): number {
  const { rounding, overflow, seed, tile, step } = context;
  let bits = 0;
  let running = base;
  for (let group = 0; group < innerBlock / GROUP; group++) {
    let acc = running;
    for (let k = group * GROUP; k < (group + 1) * GROUP; k += PHASE) {
      acc = Math.fround(acc + (product(k) + product(k + 1) + (product(k + 2) + product(k + 3))));
    }
    bits =
      rounding === "stochastic"
        ? toF16Stochastic(acc, stochasticBits(seed, tile, step, element, group), overflow)
        : toF16(acc, overflow);
    running = F16_VALUES[bits];
  }
  return bits;
}

/** Bits of the sum in f32, rounded to f16 once. */
function sumExact(
  base: number,
  product: (k: number) => number,
  innerBlock: number,
  { overflow }: CallContext,
): number {
  let acc = base;
  for (let k = 0; k < innerBlock; k++) acc = Math.fround(acc + product(k));
  return toF16(acc, overflow);
}

function gemmF32(
  { rows, innerBlock, outputColumns, mode }: GemmSpec,
  left: Float32Array,
  right: Float32Array,
  output: Float32Array,
): void {
  for (let r = 0; r < rows; r++) {
    for (let n = 0; n < outputColumns; n++) {
      const at = offset(AMP_OUTPUT, rows, outputColumns, r, n, F32_GROUP);
      let acc = mode === "accumulate" ? output[at] : 0;
      for (let k = 0; k < innerBlock; k++) {
        const a = left[leftIndex(r, k, rows, F32_GROUP)];
        const b = right[rightIndex(k, n, innerBlock, F32_GROUP)];
        acc = Math.fround(acc + a * b);
      }
      output[at] = canonical(acc);
    }
  }
}

/** Where left[r, k], or the f16 output's [r, n], stands. */
function leftIndex(r: number, c: number, rows: number, micro: number): number {
  return offset(AMP_LEFT, rows, c + 1, r, c, micro);
}

/** Where right[k, n] stands: panels of 16 columns by `micro` inner values, those of a column together. */
function rightIndex(k: number, n: number, inner: number, micro: number): number {
  return offset(AMP_TRANSPOSED_RIGHT, n + 1, inner, n, k, micro);
}
