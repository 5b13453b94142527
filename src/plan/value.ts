import type { DType } from "../numerics/dtype.ts";
import type { Layout } from "../layouts/layout.ts";
import { resolveLayout, shardBytes } from "../layouts/resolve.ts";
import type { Shard } from "../layouts/shard.ts";
import { ref, type PlanBuffer, type Ref } from "./builder.ts";

/** A tensor of the program with a place in tile memory. */
export interface PlacedValue {
  readonly name: string;
  /** Number that a profile shows: inputs first, then operations, in the program's order. */
  readonly id: number;
  readonly shape: readonly number[];
  readonly dtype: DType;
  readonly layout: Layout;
  /** Machine tile of each tile of the layout. */
  readonly tileOf: (layoutTile: number) => number;
  readonly shards: readonly Shard[];
  /** Where a tile's shard begins: not the value's own buffer where it is used in place. */
  readonly at: (tile: number) => Ref;
  readonly buffer: PlanBuffer;
}

/** A value, read as heads: [1, tokens, heads*d] as [heads, tokens, d] (F0.3). */
export interface View {
  readonly value: PlacedValue;
  readonly heads: number;
}

/** A value as it is. */
export function plainView(value: PlacedValue): View {
  return { value, heads: 1 };
}

/** A shard's extents without its padding. */
export function logicalExtents({ start, logicalEnd }: Shard): number[] {
  return start.map((from, axis) => Math.max(0, logicalEnd[axis] - from));
}

/** Bytes that a buffer needs to hold any tile's shard. */
export function largestShardBytes(shards: readonly Shard[], dtype: DType): number {
  return shards.reduce((most, shard) => Math.max(most, shardBytes(shard, dtype)), 0);
}

export interface NewValue {
  readonly name: string;
  readonly id: number;
  readonly shape: readonly number[];
  readonly dtype: DType;
  readonly layout: Layout;
  readonly tileOf?: (layoutTile: number) => number;
}

/** `value` in `buffer`, each shard at its start unless `places` says otherwise. */
export function placedValue(
  value: NewValue,
  buffer: PlanBuffer,
  places: ReadonlyMap<number, Ref> = new Map(),
): PlacedValue {
  const own = ref(buffer);
  return {
    tileOf: (tile) => tile,
    ...value,
    shards: resolveLayout(value.layout, value.shape, value.dtype).shards,
    buffer,
    at: (tile) => places.get(tile) ?? own,
  };
}
