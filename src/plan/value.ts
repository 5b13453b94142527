import type { DType } from "../numerics/dtype.ts";
import type { Layout } from "../layouts/layout.ts";
import { SimError } from "../base/errors.ts";
import { checkFits, elementsOf } from "../layouts/order.ts";
import { extentsOf, resolveLayout, shardBytes } from "../layouts/resolve.ts";
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
    shards: storableShards(value),
    buffer,
    at: (tile) => places.get(tile) ?? own,
  };
}

/**
 * The shards of a value: each on a tile of its own, and whole panels of its order.
 *
 * @throws SimError `LAYOUT_INVALID`, `PLAN_DOES_NOT_FIT`
 */
export function storableShards({ name, layout, shape, dtype }: NewValue): readonly Shard[] {
  if (layout.tiling.axes.some(({ axis }) => axis.kind === "linear")) {
    throw new SimError("PLAN_DOES_NOT_FIT", {
      what: `${name} is cut along all axes as one; a tile can have several shards then, one is planned`,
      where: { value: name },
      fix: "Cut the axes one by one",
    });
  }
  const { shards } = resolveLayout(layout, shape, dtype);
  const known = new Set<string>();
  for (const shard of shards) {
    const extents = extentsOf(shard);
    const key = extents.join();
    if (known.has(key) || elementsOf(extents) === 0) continue;
    checkFits(layout.order, extents, dtype);
    known.add(key);
  }
  return shards;
}
