import { SimError, assertNever } from "../base/errors.ts";
import type { Place } from "../base/errors.ts";
import { BYTES_PER_ELEMENT } from "../numerics/dtype.ts";
import type { DType } from "../numerics/dtype.ts";
import { axisText } from "./layout-text.ts";
import type { Axis, AxisTiling, Layout, TensorTiling } from "./layout.ts";
import { elementIndex, elementsOf } from "./order.ts";
import type { Shard } from "./shard.ts";

/** A tensor laid out: which tile holds which part. */
export interface ResolvedLayout {
  readonly layout: Layout;
  readonly shape: readonly number[];
  readonly dtype: DType;
  /** The shape with the padding of its axes; the padding of single shards is not in it. */
  readonly paddedShape: readonly number[];
  /** In order of their tiles: one a tile, at its index, unless an axis is linear. */
  readonly shards: readonly Shard[];
  /** Stored elements of all shards, copies and padding included. */
  readonly totalElements: number;
  /** Stored elements of the fullest tile. */
  readonly maximumTileElements: number;
  /** Whether a shard holds none of the tensor's own elements. */
  readonly hasEmptyShards: boolean;
}

/** Beyond any chip; keeps a hostile layout from taking the host's memory. */
const MAX_TILES = 65_536;
/** The same for linear ownership, which cuts a shard at each end of a row. */
const MAX_SHARDS = 1_048_576;

/**
 * The shards of a tensor of `shape` under `layout` (F3.2). Along a cut axis the longer partitions come first;
 * tile t holds partition (t div stride) mod partitions of each, so tiles that agree in all hold copies.
 *
 * @throws LAYOUT_INVALID with `where.kind`: InvalidShape, EmptyTileGroup, EmptyAxisTiling, AxisOutOfRange,
 * DuplicateAxis, InvalidPaddingGroups, IndivisibleAxis, InvalidTileMapping, TooLarge
 */
export function resolveLayout(
  layout: Layout,
  shape: readonly number[],
  dtype: DType,
): ResolvedLayout {
  checkShape(shape);
  checkTiling(layout.tiling);
  const cut = isLinear(layout.tiling)
    ? linearShards(layout.tiling, shape)
    : gridShards(layout.tiling, shape);
  return { layout, shape, dtype, ...cut, ...totals(cut.shards, layout.tiling.tile_count) };
}

/** The stored extents of a shard, padding included. */
export function extentsOf({ start, physicalEnd }: Shard): readonly number[] {
  return physicalEnd.map((end, axis) => end - start[axis]);
}

/** Stored bytes of a shard, padding included. */
export function shardBytes(shard: Shard, dtype: DType): number {
  return elementsOf(extentsOf(shard)) * BYTES_PER_ELEMENT[dtype];
}

/** One place of an element: a shard by its index, and the element in that shard. */
export interface ElementPlace {
  readonly shard: number;
  readonly tile: number;
  readonly element: number;
}

/** Every place that holds the tensor's element at `coordinates`: one per replica. Slow and obvious. */
export function placesOf(
  { layout, shards, dtype }: ResolvedLayout,
  coordinates: readonly number[],
): readonly ElementPlace[] {
  return shards.flatMap((shard, index) => {
    const { tile, start, logicalEnd } = shard;
    if (!coordinates.every((at, axis) => at >= start[axis] && at < logicalEnd[axis])) return [];
    const local = coordinates.map((at, axis) => at - start[axis]);
    const element = elementIndex(layout.order, extentsOf(shard), local, dtype);
    return [{ shard: index, tile, element }];
  });
}

interface CutTensor {
  readonly paddedShape: readonly number[];
  readonly shards: readonly Shard[];
}

/** One partition of an axis, half-open. */
interface Part {
  readonly start: number;
  readonly logicalEnd: number;
  readonly physicalEnd: number;
}

function gridShards(tiling: TensorTiling, shape: readonly number[]): CutTensor {
  const whole = shape.map((extent): Part[] => [
    { start: 0, logicalEnd: extent, physicalEnd: extent },
  ]);
  const partsOf = [...whole];
  const paddedShape = [...shape];
  const indices = tiling.axes.map((entry, i) => {
    const axis = axisIndex(entry.axis, shape.length);
    const earlier = tiling.axes.slice(0, i);
    if (earlier.some((other) => axisIndex(other.axis, shape.length) === axis)) {
      throw invalid("DuplicateAxis", `axis ${axis} is cut more than once`, { axis });
    }
    partsOf[axis] = partsOfAxis(entry, axis, shape[axis]);
    paddedShape[axis] = entry.padding_groups * paddedGroup(entry, axis, shape[axis]);
    return axis;
  });
  const coordinateOf = tileMapping(tiling);
  const shards = Array.from({ length: tiling.tile_count }, (_, tile): Shard => {
    const parts = whole.map(([part]) => part);
    for (const [i, axis] of indices.entries()) parts[axis] = partsOf[axis][coordinateOf(tile, i)];
    return {
      tile,
      start: parts.map(({ start }) => start),
      logicalEnd: parts.map(({ logicalEnd }) => logicalEnd),
      physicalEnd: parts.map(({ physicalEnd }) => physicalEnd),
    };
  });
  return { paddedShape, shards };
}

/** The extent of one padding group of an axis, padded. */
function paddedGroup(entry: AxisTiling, axis: number, extent: number): number {
  const { padding_groups, padding_multiple, padding, partitions } = entry;
  if (extent % padding_groups !== 0 || partitions % padding_groups !== 0) {
    throw invalid(
      "InvalidPaddingGroups",
      `axis ${axis} of ${extent} elements in ${partitions} partitions is no ${padding_groups} equal groups`,
      { groups: padding_groups, partitions, extent },
    );
  }
  const group = extent / padding_groups;
  if (padding === "reject" && group % padding_multiple !== 0) {
    throw invalid(
      "IndivisibleAxis",
      `axis ${axis} of ${group} elements is no multiple of ${padding_multiple}, and must not be padded`,
      { axis, extent: group, padding_multiple },
    );
  }
  return Math.ceil(group / padding_multiple) * padding_multiple;
}

function partsOfAxis(entry: AxisTiling, axis: number, extent: number): Part[] {
  const { partitions, padding_groups, block_size, shard_padding_multiple, padding } = entry;
  const padded = paddedGroup(entry, axis, extent);
  if (padded % block_size !== 0) {
    throw invalid(
      "IndivisibleAxis",
      `axis ${axis} of ${padded} elements is no multiple of its block of ${block_size}`,
      { axis, extent: padded, block_size },
    );
  }
  const group = extent / padding_groups;
  const perGroup = partitions / padding_groups;
  const blocks = padded / block_size;
  const short = Math.floor(blocks / perGroup);
  const longs = blocks % perGroup;
  return Array.from({ length: partitions }, (_, partition) => {
    const base = Math.floor(partition / perGroup) * group;
    const i = partition % perGroup;
    const from = (i * short + Math.min(i, longs)) * block_size;
    const width = (short + (i < longs ? 1 : 0)) * block_size;
    if (padding === "reject" && width % shard_padding_multiple !== 0) {
      throw invalid(
        "IndivisibleAxis",
        `partition ${partition} of axis ${axis}, ${width} elements, is no multiple of ${shard_padding_multiple}, and must not be padded`,
        { axis, extent: width, shard_padding_multiple },
      );
    }
    return {
      start: base + from,
      logicalEnd: base + Math.max(from, Math.min(from + width, group)),
      physicalEnd: base + from + Math.ceil(width / shard_padding_multiple) * shard_padding_multiple,
    };
  });
}

/** Intervals of whole grains in row-major order; each is cut where a row ends. */
function linearShards(tiling: TensorTiling, shape: readonly number[]): CutTensor {
  const [{ axis, partitions, block_size }] = tiling.axes;
  const elements = elementsOf(shape);
  const cols = shape.at(-1) ?? 1;
  if (elements % block_size !== 0) {
    throw invalid("IndivisibleAxis", `${elements} elements are no whole grains of ${block_size}`, {
      axis: axisText(axis),
      extent: elements,
      block_size,
    });
  }
  const grains = elements / block_size;
  if (grains < partitions) {
    throw invalid(
      "EmptyAxisTiling",
      `${grains} grains of ${block_size} elements do not reach ${partitions} tiles`,
      { axis: axisText(axis), partitions, grains },
    );
  }
  if ((elements / cols + partitions) * tiling.replicas > MAX_SHARDS) {
    throw invalid("TooLarge", `a linear layout of more than ${MAX_SHARDS} shards`, { elements });
  }
  const short = Math.floor(grains / partitions);
  const longs = grains % partitions;
  const coordinateOf = tileMapping(tiling);
  const shards: Shard[] = [];
  for (let tile = 0; tile < tiling.tile_count; tile++) {
    const i = coordinateOf(tile, 0);
    const first = (i * short + Math.min(i, longs)) * block_size;
    const end = first + (short + (i < longs ? 1 : 0)) * block_size;
    for (let at = first; at < end;) {
      const rowEnd = Math.min(end, at - (at % cols) + cols);
      shards.push(rowPart(shape, tile, at, rowEnd));
      at = rowEnd;
    }
  }
  return { paddedShape: [...shape], shards };
}

/** Elements `from` to `end` in row-major order, all of one row. */
function rowPart(shape: readonly number[], tile: number, from: number, end: number): Shard {
  const start = [...shape];
  let rest = from;
  for (let axis = shape.length - 1; axis >= 0; axis--) {
    start[axis] = rest % shape[axis];
    rest = Math.floor(rest / shape[axis]);
  }
  const last = shape.length - 1;
  const ends = start.map((at, axis) => at + (axis === last ? end - from : 1));
  return { tile, start, logicalEnd: ends, physicalEnd: ends };
}

/** Which partition of its `entry`-th cut axis a tile holds, when every combination occurs equally often. */
function tileMapping(tiling: TensorTiling): (tile: number, entry: number) => number {
  const { tile_count, replicas, axes } = tiling;
  let packed = replicas;
  const strides = axes.map(({ partitions, tile_stride }) => {
    const stride = tile_stride ?? packed;
    packed *= partitions;
    return stride;
  });
  if (packed !== tile_count) {
    throw invalid(
      "InvalidTileMapping",
      `partitions and replicas need ${packed} tiles, the layout has ${tile_count}`,
      { needed: packed, tile_count },
    );
  }
  const coordinateOf = (tile: number, entry: number): number =>
    Math.floor(tile / strides[entry]) % axes[entry].partitions;
  const holders = new Uint32Array(tile_count / replicas);
  for (let tile = 0; tile < tile_count; tile++) {
    let tuple = 0;
    for (let entry = 0; entry < axes.length; entry++) {
      tuple = tuple * axes[entry].partitions + coordinateOf(tile, entry);
    }
    holders[tuple]++;
  }
  const odd = holders.findIndex((count) => count !== replicas);
  if (odd >= 0) {
    throw invalid(
      "InvalidTileMapping",
      `tile strides ${strides.join(", ")} give partition ${odd} to ${holders[odd]} tiles instead of ${replicas}`,
      { strides, replicas },
    );
  }
  return coordinateOf;
}

function totals(
  shards: readonly Shard[],
  tiles: number,
): Pick<ResolvedLayout, "totalElements" | "maximumTileElements" | "hasEmptyShards"> {
  const byTile = new Float64Array(tiles);
  let hasEmptyShards = false;
  for (const shard of shards) {
    byTile[shard.tile] += elementsOf(extentsOf(shard));
    hasEmptyShards ||= shard.logicalEnd.some((end, axis) => end <= shard.start[axis]);
  }
  return {
    totalElements: byTile.reduce((sum, elements) => sum + elements, 0),
    maximumTileElements: byTile.reduce((most, elements) => Math.max(most, elements), 0),
    hasEmptyShards,
  };
}

function isLinear({ axes }: TensorTiling): boolean {
  return axes.length === 1 && axes[0].axis.kind === "linear";
}

function axisIndex(axis: Axis, rank: number): number {
  const index = indexFromStart(axis, rank);
  if (Number.isInteger(index) && index >= 0 && index < rank) return index;
  throw invalid("AxisOutOfRange", `${axisText(axis)} is no axis of ${rank} that can be cut here`, {
    axis: axisText(axis),
    rank,
  });
}

function indexFromStart(axis: Axis, rank: number): number {
  switch (axis.kind) {
    case "from-start":
      return axis.index;
    case "from-end":
      return rank - axis.index;
    case "linear":
      // As the only axis it was taken before.
      return NaN;
    default:
      return assertNever(axis);
  }
}

function checkShape(shape: readonly number[]): void {
  if (shape.every(isCount) && Number.isSafeInteger(elementsOf(shape))) return;
  throw invalid("InvalidShape", `[${shape.join(", ")}] is not the shape of a tensor`, {});
}

/** What every axis must have, whatever the tensor. */
function checkTiling({ tile_count, replicas, axes }: TensorTiling): void {
  if (!isCount(tile_count) || !isCount(replicas)) {
    throw invalid(
      "EmptyTileGroup",
      `${tile_count} tiles with ${replicas} copies of each shard`,
      {},
    );
  }
  if (tile_count > MAX_TILES) {
    throw invalid("TooLarge", `${tile_count} tiles, more than ${MAX_TILES}`, { tile_count });
  }
  for (const entry of axes) {
    const counts = [
      entry.partitions,
      entry.padding_groups,
      entry.block_size,
      entry.padding_multiple,
      entry.shard_padding_multiple,
      entry.tile_stride ?? 1,
    ];
    if (counts.every(isCount)) {
      if (entry.partitions <= tile_count) continue;
      throw invalid(
        "InvalidTileMapping",
        `${axisText(entry.axis)} has ${entry.partitions} partitions for ${tile_count} tiles`,
        { partitions: entry.partitions, tile_count },
      );
    }
    throw invalid(
      "EmptyAxisTiling",
      `${axisText(entry.axis)} needs partitions, groups, block, multiples and stride of one or more`,
      { axis: axisText(entry.axis) },
    );
  }
}

/** One or more, and small enough that products of two stay exact. */
function isCount(n: number): boolean {
  return Number.isInteger(n) && n >= 1 && n < 2 ** 32;
}

function invalid(kind: string, what: string, where: Place): SimError {
  return new SimError("LAYOUT_INVALID", {
    what,
    where: { kind, ...where },
    fix: "Change the layout's tiling or the tensor's shape",
  });
}
