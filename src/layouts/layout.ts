/**
 * A layout says where element [i, j, ...] of a tensor is stored: on which tile, and at which element
 * of that tile's shard. Field names are those of ipu-stack's profiles (F3.1).
 */

/** In what order the elements of one shard are stored (F2.2). */
export type Order =
  | { readonly kind: "row-major" }
  | { readonly kind: "amp-left" }
  | { readonly kind: "amp-transposed-left" }
  | { readonly kind: "amp-transposed-right" }
  | { readonly kind: "amp-output" }
  | { readonly kind: "amp-transposed-output" }
  | {
      readonly kind: "block-major";
      readonly matrix: "matrix" | "transposed-matrix";
      readonly row_block: number;
      readonly column_block: number;
    };

/** Axis `from-start` 0 is the first; `from-end` 1 is the last; `linear` is all axes as one. */
export type Axis =
  | { readonly kind: "from-start"; readonly index: number }
  | { readonly kind: "from-end"; readonly index: number }
  | { readonly kind: "linear" };

/** How one axis is cut into partitions (F3.2). */
export interface AxisTiling {
  readonly axis: Axis;
  readonly partitions: number;
  /** Groups that are padded apart; 1 in profiles that do not print it. */
  readonly padding_groups: number;
  /** Partitions are whole blocks of this many elements. */
  readonly block_size: number;
  /** A group's extent is padded to a multiple of this. */
  readonly padding_multiple: number;
  /** A shard's extent is padded to a multiple of this. */
  readonly shard_padding_multiple: number;
  /** `reject`: an extent that would need padding is an error. */
  readonly padding: "zero" | "reject";
  /** Tiles between neighbouring partitions; null: packed after the axes before it. */
  readonly tile_stride: number | null;
}

export interface TensorTiling {
  readonly tile_count: number;
  /** Tiles that hold a copy of the same shard. */
  readonly replicas: number;
  readonly axes: readonly AxisTiling[];
}

export type MemoryClass = "standard" | "interleaved";

export interface Layout {
  readonly order: Order;
  readonly tiling: TensorTiling;
  readonly memory_class: MemoryClass;
}
