/** Short ways to write a layout. Defaults are those of the compiler (F3.1). */
import type { Axis, AxisTiling, Layout, MemoryClass, Order, TensorTiling } from "./layout.ts";

export const ROW_MAJOR = { kind: "row-major" } as const;
export const AMP_LEFT = { kind: "amp-left" } as const;
export const AMP_TRANSPOSED_LEFT = { kind: "amp-transposed-left" } as const;
export const AMP_TRANSPOSED_RIGHT = { kind: "amp-transposed-right" } as const;
export const AMP_OUTPUT = { kind: "amp-output" } as const;
export const AMP_TRANSPOSED_OUTPUT = { kind: "amp-transposed-output" } as const;

export type BlockMajor = Extract<Order, { kind: "block-major" }>;

/** Block-major order in blocks of `row_block` by `column_block`. */
export function blockMajor(
  row_block: number,
  column_block: number,
  matrix: BlockMajor["matrix"] = "matrix",
): BlockMajor {
  return { kind: "block-major", matrix, row_block, column_block };
}

/** Axis `index`, the first being 0. */
export function fromStart(index: number): Axis {
  return { kind: "from-start", index };
}

/** Axis `index` from the end, the last being 1. */
export function fromEnd(index: number): Axis {
  return { kind: "from-end", index };
}

/** How one axis is cut; what is left out is unpadded, in blocks of one, packed. */
export function axisTiling(
  axis: Axis,
  partitions: number,
  options: Partial<Omit<AxisTiling, "axis" | "partitions">> = {},
): AxisTiling {
  const block_size = options.block_size ?? 1;
  return {
    axis,
    partitions,
    padding_groups: 1,
    block_size,
    padding_multiple: block_size,
    shard_padding_multiple: 1,
    padding: "reject",
    tile_stride: null,
    ...options,
  };
}

/** Axes cut over as many tiles as they and the replicas need. */
export function tiling(axes: readonly AxisTiling[] = [], replicas: number = 1): TensorTiling {
  const partitions = axes.reduce((product, axis) => product * axis.partitions, 1);
  return { tile_count: partitions * replicas, replicas, axes };
}

/** All elements in row-major order, cut into intervals of whole grains over `tiles` tiles. */
export function linearTiling(tiles: number, grain: number = 1): TensorTiling {
  return tiling([axisTiling({ kind: "linear" }, tiles, { block_size: grain })]);
}

/** A layout; without `cut`, the whole tensor on one tile. */
export function layout(
  order: Order,
  cut: TensorTiling = tiling(),
  memory_class: MemoryClass = "standard",
): Layout {
  return { order, tiling: cut, memory_class };
}
