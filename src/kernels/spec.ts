import type { DType } from "../numerics/dtype.ts";
import type { MemoryClass, Order } from "../layouts/layout.ts";

/**
 * What a tile is asked to compute: plain data, and all that its meaning and its cost depend on.
 * Operand addresses are not part of it.
 */
export type KernelSpec =
  | GemmSpec
  | ReduceSumSpec
  | CopySpec
  | FillZeroSpec
  | UnpackSpec
  | RearrangeSpec
  | AttentionSoftmaxSpec
  | AttentionMergeSpec
  | GeluSpec
  | AddSpec
  | CastSpec;

/**
 * out[r, n] = base[r, n] + sum over k of left[r, k] * right[k, n]; base is 0 for `initialize`, the old
 * output for `accumulate`. Inputs: left, right.
 *
 * f16: left in amp-left order [rows, innerBlock]; right as 16 x 16 panels, panel (n div 16)*(K div 16) +
 * k div 16, inside it (n mod 16)*16 + k mod 16; out in amp-left order [rows, outputColumns] (F2.3).
 * f32: the same with 8 for 16 on left and right, out in amp-output order; innerBlock and outputColumns
 * are 64 (F2.11).
 */
export interface GemmSpec {
  readonly kind: "gemm";
  readonly multiply: DType;
  /** Enters the compiler's planning alone: f16 operands run the same code for both (F2.3); f32 ones take f32. */
  readonly accumulate: DType;
  readonly mode: "initialize" | "accumulate";
  /** Memory class of the right operand: `interleaved` is read 16 bytes at a time. */
  readonly weights: MemoryClass;
  readonly rows: number;
  readonly innerBlock: number;
  readonly outputColumns: number;
}

/**
 * out = ((p0 + p1) + p2) + ..., element by element, each addition rounded to f16. Inputs: p0, then the
 * other partials packed one after another. `elements` is a multiple of 8 (F2.4).
 */
export interface ReduceSumSpec {
  readonly kind: "reduce-sum";
  /** All partials, p0 among them. */
  readonly partials: number;
  readonly elements: number;
}

/** Bytes moved within a tile (F2.5). `rows` of `bytes / rows` each; contiguous when `rows` is 1. */
export interface CopySpec {
  readonly kind: "copy";
  readonly bytes: number;
  readonly rows: number;
  /** Bytes from one row to the next; without meaning when `rows` is 1. */
  readonly sourceStride: number;
  readonly outputStride: number;
}

/** Zeros over `bytes`, a multiple of 8. No inputs. */
export interface FillZeroSpec {
  readonly kind: "fill-zero";
  readonly bytes: number;
}

/** Extents of the matrices that an unpack or a rearrange works on: logical elements, then stored ones. */
export interface MatrixExtents {
  readonly matrices: number;
  readonly logicalRows: number;
  readonly physicalRows: number;
  readonly logicalColumns: number;
  readonly physicalColumns: number;
}

/**
 * out[r*C + c] = r and c logical ? in[offset(r, c)] : 0 for each physical r and c, C the physical
 * columns, `offset` that of `order` (F2.6). f16.
 */
export interface UnpackSpec extends MatrixExtents {
  readonly kind: "unpack";
  readonly order: Extract<Order, { kind: "amp-output" | "amp-transposed-left" }>;
}

/**
 * out[offset(r, c)] = r and c logical ? in[r*logicalColumns + c] : 0 for each physical r and c (F2.7).
 * f16. Block-major takes `matrix` with a column block of 16.
 */
export interface RearrangeSpec extends MatrixExtents {
  readonly kind: "rearrange";
  readonly order: Extract<Order, { kind: "amp-left" | "amp-transposed-right" | "block-major" }>;
  /** Shape given as run-time arguments instead of compiled in (F2.1): slower. */
  readonly runTimeShape: boolean;
}

/**
 * Unnormalised softmax weights exp(scale*s - M), and per row the maximum M and the sum of weights, in the
 * order and the roundings of F2.9. Input: f16 scores, amp-left [rows, paddedKeyColumns]. Output: weights
 * in the same order, then 8*rows f32 words of state (M, then the sums, in its first 2*rows).
 */
export interface AttentionSoftmaxSpec {
  readonly kind: "attention-softmax";
  readonly rows: number;
  /** scale = 1 / sqrt(headDimension), in f32. */
  readonly headDimension: number;
  readonly keyColumns: number;
  readonly paddedKeyColumns: number;
}

/**
 * acc = initial ? pv : acc*a + pv*b; final: acc / denominator (F2.10). Inputs: PV values (f16, amp-left
 * [rows, paddedValueDimension]), the softmax output. Output: f32 row-major, paddedValueDimension words a
 * row: values, then the running maximum at word valueDimension and the running denominator after it.
 */
export interface AttentionMergeSpec {
  readonly kind: "attention-merge";
  readonly rows: number;
  readonly valueDimension: number;
  readonly paddedValueDimension: number;
  /** Columns of the softmax output's weights: its state begins after rows * this many halves. */
  readonly keyBlockColumns: number;
  readonly initial: boolean;
  readonly finalBlock: boolean;
}

/** y = x * 0.5 * (1 + tanh(0.798*(x + 0.0447*x^3))), every step an f16 operation (F2.11). Even count. */
export interface GeluSpec {
  readonly kind: "gelu";
  readonly elements: number;
}

/** out = a + b, element by element, rounded to the dtype. */
export interface AddSpec {
  readonly kind: "add";
  readonly dtype: DType;
  readonly elements: number;
}

/** out = in, as another dtype; to f16 to nearest even. */
export interface CastSpec {
  readonly kind: "cast";
  readonly from: DType;
  readonly to: DType;
  readonly elements: number;
}
