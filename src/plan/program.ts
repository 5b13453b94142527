import type { DType } from "../numerics/dtype.ts";
import type { Layout, MemoryClass } from "../layouts/layout.ts";

/**
 * What is to be computed, and how it is spread over tiles: logical operations on named values, in order.
 * Plain data that survives JSON. Value ids are numbered inputs first, then operations, in order.
 */
export interface Program {
  readonly format: "tilesim-program";
  readonly version: 1;
  readonly name: string;
  /** Logical tiles 0 .. tiles - 1 may be used. */
  readonly tiles: number;
  readonly inputs: readonly ProgramInput[];
  readonly operations: readonly Operation[];
  /** Names of the values that the host reads. */
  readonly outputs: readonly string[];
}

/** A tensor that the host gives. Weights stay in tile memory; inputs come anew with each run. */
export interface ProgramInput {
  readonly name: string;
  readonly role: "input" | "weight";
  readonly shape: readonly number[];
  readonly dtype: DType;
}

export type Operation =
  | GemmOperation
  | SplitHeadsOperation
  | AttentionOperation
  | GeluOperation
  | AddOperation
  | CastOperation
  | RearrangeOperation;

/**
 * output[.., M, N] = left[.., M, K] x right[K, N]; axes of left before the last two are folded into M.
 * Tile t of the grid computes row block t mod m, inner part (t div m) mod k, column part t div (m*k); the
 * k partial sums are added on the tile that owns the block, (row block) + m * (column part).
 */
export interface GemmOperation {
  readonly kind: "gemm";
  readonly output: string;
  readonly left: string;
  readonly right: string;
  readonly grid: { readonly m: number; readonly n: number; readonly k: number };
  /**
   * `swapped`: the kernel computes the transposed product, right^T x left^T, with the tokens as its output
   * columns (F2.3); `plain`: it computes left x right.
   */
  readonly orientation: "plain" | "swapped";
  /** Memory class of the kernel's right operand. */
  readonly weights: MemoryClass;
  /** f16 by default. */
  readonly multiply?: DType;
}

/** [batch, tokens, heads*d] to [batch*heads, tokens, d]: head h is columns h*d .. (h+1)*d - 1. */
export interface SplitHeadsOperation {
  readonly kind: "split-heads";
  readonly output: string;
  readonly input: string;
  readonly heads: number;
}

/**
 * output[h] = softmax(query[h] x key[h]^T / sqrt(d)) x value[h], in f32; not causal, no mask. Tile t works
 * on head t mod heads and query part t div heads; keys and values are held in blocks of `keyBlock` rows.
 */
export interface AttentionOperation {
  readonly kind: "attention";
  readonly output: string;
  readonly query: string;
  readonly key: string;
  readonly value: string;
  readonly queryParts: number;
  /** Rows of one key block, a multiple of 16. */
  readonly keyBlock: number;
}

export interface GeluOperation {
  readonly kind: "gelu";
  readonly output: string;
  readonly input: string;
}

/** Same shapes; the second operand is brought to the first one's layout. */
export interface AddOperation {
  readonly kind: "add";
  readonly output: string;
  readonly inputs: readonly [string, string];
}

export interface CastOperation {
  readonly kind: "cast";
  readonly output: string;
  readonly input: string;
  readonly to: DType;
}

/** The same values, stored in another layout. */
export interface RearrangeOperation {
  readonly kind: "rearrange";
  readonly output: string;
  readonly input: string;
  readonly layout: Layout;
}
