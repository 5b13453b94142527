import { SimError } from "../base/errors.ts";
import { tileId, type TileId } from "../base/units.ts";
import { BYTES_PER_ELEMENT, type DType } from "../numerics/dtype.ts";
import { MICRO, elementsOf, matricesOf, offset } from "../layouts/order.ts";
import { extentsOf, resolveLayout } from "../layouts/resolve.ts";
import type { Order } from "../layouts/layout.ts";
import type { Shard } from "../layouts/shard.ts";
import type { Binding } from "./schedule.ts";
import type { TileMemory } from "./tile-memory.ts";

/** A tensor as the host has it: row-major; f16 as bits. */
export interface HostTensor {
  readonly shape: readonly number[];
  readonly dtype: DType;
  readonly data: Uint16Array | Float32Array;
}

/**
 * Writes a tensor into the tiles, each shard in its order, zeros where the layout pads (the host uploads
 * blocks that are zero padded: osmarks/ipu-stack, Padding::Zero).
 *
 * @returns bytes from the binding's address on that may have been written in some tile
 * @throws SimError `SHAPE_MISMATCH`, `DTYPE_MISMATCH`, `OUT_OF_BOUNDS`
 */
export function writeTensor(memory: TileMemory, binding: Binding, tensor: HostTensor): number {
  checkTensor(binding, tensor);
  const { dtype, address } = binding;
  const size = BYTES_PER_ELEMENT[dtype];
  let most = 0;
  // Tiles of one shard hold the same bytes: lay them out once, copy them to the others.
  for (const { shard, tiles } of distinctShards(binding)) {
    const bytes = elementsOf(extentsOf(shard)) * size;
    if (bytes === 0) continue;
    most = Math.max(most, bytes);
    const [first, ...others] = tiles;
    const view = memory.view(first, address, bytes, size);
    const stored = dtype === "f16" ? view.u16 : view.f32;
    const extents = extentsOf(shard);
    if (extents.some((extent, axis) => shard.start[axis] + extent > shard.logicalEnd[axis])) {
      view.u8.fill(0);
    }
    visitRows(binding, shard, (hostStart, storedStart, columns) => {
      for (let col = 0; col < columns.length; col++) {
        stored[storedStart + columns[col]] = tensor.data[hostStart + col];
      }
    });
    for (const tile of others) memory.view(tile, address, bytes, size).u8.set(view.u8);
  }
  return most;
}

/** Reads a tensor back from the first tile that holds each shard. */
export function readTensor(memory: TileMemory, binding: Binding): HostTensor {
  const { dtype, address, shape } = binding;
  const size = BYTES_PER_ELEMENT[dtype];
  const elements = elementsOf(shape);
  const data = dtype === "f16" ? new Uint16Array(elements) : new Float32Array(elements);
  for (const { shard, tiles } of distinctShards(binding)) {
    const view = memory.view(tiles[0], address, elementsOf(extentsOf(shard)) * size, size);
    const stored = dtype === "f16" ? view.u16 : view.f32;
    visitRows(binding, shard, (hostStart, storedStart, columns) => {
      for (let col = 0; col < columns.length; col++) {
        data[hostStart + col] = stored[storedStart + columns[col]];
      }
    });
  }
  return { shape, dtype, data };
}

/** @throws SimError `SHAPE_MISMATCH`, `DTYPE_MISMATCH` */
export function checkTensor(
  { name, shape, dtype }: Pick<Binding, "name" | "shape" | "dtype">,
  tensor: HostTensor,
): void {
  if (tensor.dtype !== dtype) {
    throw new SimError("DTYPE_MISMATCH", {
      what: `${name} is ${dtype}, the data given are ${tensor.dtype}`,
      where: { tensor: name, dtype: tensor.dtype },
      fix: `Convert the data to ${dtype}`,
    });
  }
  const isShape =
    tensor.shape.length === shape.length &&
    tensor.shape.every((extent, axis) => extent === shape[axis]);
  if (!isShape || tensor.data.length !== elementsOf(shape)) {
    throw new SimError("SHAPE_MISMATCH", {
      what: `${name} has shape [${shape.join(", ")}], the data given [${tensor.shape.join(", ")}]`,
      where: { tensor: name, shape: [...tensor.shape] },
      fix: "Reshape the data",
    });
  }
}

/** Each distinct shard of a binding with the machine tiles that hold a copy. */
export function distinctShards(
  binding: Pick<Binding, "layout" | "shape" | "dtype" | "tiles">,
): { shard: Shard; tiles: TileId[] }[] {
  const { shards } = resolveLayout(binding.layout, binding.shape, binding.dtype);
  const groups = new Map<string, { shard: Shard; tiles: TileId[] }>();
  for (const shard of shards) {
    const tile = binding.tiles?.[shard.tile] ?? tileId(shard.tile);
    const key = `${shard.start.join()}:${shard.physicalEnd.join()}`;
    const group = groups.get(key);
    if (group) group.tiles.push(tile);
    else groups.set(key, { shard, tiles: [tile] });
  }
  return [...groups.values()];
}

/**
 * Calls `visit` with every row of logical elements of a shard: where it starts in the whole row-major tensor and
 * in the shard, and what each column adds there. Every order is a sum of what row and column add.
 */
export function visitRows(
  { shape, dtype, layout }: Pick<Binding, "shape" | "dtype" | "layout">,
  shard: Shard,
  visit: (hostStart: number, storedStart: number, columns: Int32Array) => void,
): void {
  const extents = extentsOf(shard);
  const rank = shape.length;
  const { matrices, rows, cols } = matricesOf(layout.order, extents);
  const { order } = layout;
  const logical = extents.map((_, axis) => Math.max(0, shard.logicalEnd[axis] - shard.start[axis]));
  const logicalCols = rank > 0 ? logical[rank - 1] : 1;
  const logicalRows = rank > 1 ? logical[rank - 2] : 1;
  const shapeCols = rank > 0 ? shape[rank - 1] : 1;
  const shapeRows = rank > 1 ? shape[rank - 2] : 1;
  const colAt = table(order, rows, cols, logicalCols, dtype, "col");
  const rowAt = table(order, rows, cols, rows, dtype, "row");
  const outers = elementsOf(logical.slice(0, Math.max(0, rank - 2)));
  const rowsInMatrix = rank > 1 ? extents[rank - 2] : 1;
  for (let outer = 0; outer < outers; outer++) {
    // Where this matrix is: among the tensor's outer indices, and among the shard's.
    let rest = outer;
    let hostOuter = 0;
    let storedOuter = 0;
    let hostScale = 1;
    let storedScale = 1;
    for (let axis = rank - 3; axis >= 0; axis--) {
      const index = rest % logical[axis];
      rest = Math.floor(rest / logical[axis]);
      hostOuter += (shard.start[axis] + index) * hostScale;
      storedOuter += index * storedScale;
      hostScale *= shape[axis];
      storedScale *= extents[axis];
    }
    const foldedRow = matrices === 1 ? storedOuter * rowsInMatrix : 0;
    const storedStart = matrices === 1 ? 0 : storedOuter * rows * cols;
    for (let row = 0; row < logicalRows; row++) {
      const hostRow = rank > 1 ? shard.start[rank - 2] + row : 0;
      const hostStart =
        (hostOuter * shapeRows + hostRow) * shapeCols + (rank > 0 ? shard.start[rank - 1] : 0);
      const start = storedStart + rowAt[foldedRow + row];
      visit(hostStart, start, colAt);
    }
  }
}

function table(
  order: Order,
  rows: number,
  cols: number,
  length: number,
  dtype: DType,
  along: "row" | "col",
): Int32Array {
  const micro = MICRO[dtype];
  return Int32Array.from({ length }, (_, index) =>
    along === "row"
      ? offset(order, rows, cols, index, 0, micro)
      : offset(order, rows, cols, 0, index, micro),
  );
}
