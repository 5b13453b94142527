import { SimError, assertNever } from "../base/errors.ts";
import type { DType } from "../numerics/dtype.ts";
import {
  PANEL,
  leftOffset,
  leftPlace,
  outputOffset,
  outputPlace,
  transposedRightOffset,
  transposedRightPlace,
} from "./amp.ts";
import { blockMajorOffset, blockMajorPlace } from "./block-major.ts";
import type { Order } from "./layout.ts";
import { rowMajorOffset, rowMajorPlace } from "./row-major.ts";

/** Elements that the matrix unit takes at once: the width of a strip or panel (F2.2). */
export const MICRO: Readonly<Record<DType, number>> = { f16: 16, f32: 8 };

/**
 * Where [row, col] of one matrix is stored, in elements from its start (F2.2). `rows` and `cols` are the
 * stored extents, and fit the order (`checkFits`). Every order is a sum of what the row and what the
 * column adds: offset(row, col) = offset(row, 0) + offset(0, col).
 */
export function offset(
  order: Order,
  rows: number,
  cols: number,
  row: number,
  col: number,
  micro: number,
): number {
  switch (order.kind) {
    case "row-major":
      return rowMajorOffset(cols, row, col);
    case "amp-left":
      return leftOffset(rows, row, col, micro);
    case "amp-transposed-left":
      return leftOffset(cols, col, row, micro);
    case "amp-transposed-right":
      return transposedRightOffset(cols, row, col, micro);
    case "amp-output":
      return outputOffset(rows, row, col);
    case "amp-transposed-output":
      return outputOffset(cols, col, row);
    case "block-major":
      return order.matrix === "matrix"
        ? blockMajorOffset(order, cols, row, col, micro)
        : blockMajorOffset(order, rows, col, row, micro);
    default:
      return assertNever(order);
  }
}

/** The [row, col] stored at element `at` of one matrix: the inverse of `offset`. */
export function placeAt(
  order: Order,
  rows: number,
  cols: number,
  at: number,
  micro: number,
): readonly [number, number] {
  switch (order.kind) {
    case "row-major":
      return rowMajorPlace(cols, at);
    case "amp-left":
      return leftPlace(rows, at, micro);
    case "amp-transposed-left":
      return exchanged(leftPlace(cols, at, micro));
    case "amp-transposed-right":
      return transposedRightPlace(cols, at, micro);
    case "amp-output":
      return outputPlace(rows, at);
    case "amp-transposed-output":
      return exchanged(outputPlace(cols, at));
    case "block-major":
      return order.matrix === "matrix"
        ? blockMajorPlace(order, cols, at, micro)
        : exchanged(blockMajorPlace(order, rows, at, micro));
    default:
      return assertNever(order);
  }
}

function exchanged([a, b]: readonly [number, number]): readonly [number, number] {
  return [b, a];
}

/**
 * Where the element at `coordinates` of a shard is stored, in elements from the shard's start. `extents` are
 * the shard's stored ones, and fit the order (`checkFits`); coordinates count from the shard's start.
 */
export function elementIndex(
  order: Order,
  extents: readonly number[],
  coordinates: readonly number[],
  dtype: DType,
): number {
  const { matrices, rows, cols } = matricesOf(order, extents);
  const last = extents.length - 1;
  const col = last >= 0 ? coordinates[last] : 0;
  let row = 0;
  for (let axis = 0; axis < last; axis++) row = row * extents[axis] + coordinates[axis];
  if (matrices === 1) return offset(order, rows, cols, row, col, MICRO[dtype]);
  const matrix = Math.floor(row / rows);
  return matrix * rows * cols + offset(order, rows, cols, row % rows, col, MICRO[dtype]);
}

/** The coordinates of the element stored at `index`: the inverse of `elementIndex`. */
export function coordinatesAt(
  order: Order,
  extents: readonly number[],
  index: number,
  dtype: DType,
): readonly number[] {
  const { rows, cols } = matricesOf(order, extents);
  const matrix = Math.floor(index / (rows * cols));
  const [rowInMatrix, col] = placeAt(order, rows, cols, index % (rows * cols), MICRO[dtype]);
  const coordinates = extents.map(() => col);
  let row = matrix * rows + rowInMatrix;
  for (let axis = extents.length - 2; axis >= 0; axis--) {
    coordinates[axis] = row % extents[axis];
    row = Math.floor(row / extents[axis]);
  }
  return coordinates;
}

/**
 * Elements that a shard of these stored extents takes.
 *
 * @throws LAYOUT_INVALID where the extents do not fit the order
 */
export function storedElements(order: Order, extents: readonly number[], dtype: DType): number {
  checkFits(order, extents, dtype);
  return elementsOf(extents);
}

/** The product of the extents. */
export function elementsOf(extents: readonly number[]): number {
  return extents.reduce((product, extent) => product * extent, 1);
}

/** A shard as the matrices that its order stores one after another. */
export interface Matrices {
  readonly matrices: number;
  readonly rows: number;
  readonly cols: number;
}

/**
 * How an order sees a shard of any rank: left and output fold the axes before the last two into the rows of
 * one matrix; the others store one whole matrix after another (for row-major, the same thing).
 */
export function matricesOf(order: Order, extents: readonly number[]): Matrices {
  const rank = extents.length;
  const cols = rank > 0 ? extents[rank - 1] : 1;
  const rows = rank > 1 ? extents[rank - 2] : 1;
  const outer = elementsOf(extents.slice(0, Math.max(0, rank - 2)));
  const folds =
    order.kind === "amp-left" || order.kind === "amp-output" || order.kind === "row-major";
  return folds ? { matrices: 1, rows: outer * rows, cols } : { matrices: outer, rows, cols };
}

/**
 * That stored extents are whole strips, panels or blocks of the order.
 *
 * @throws LAYOUT_INVALID, kind OrderDoesNotFit
 */
export function checkFits(order: Order, extents: readonly number[], dtype: DType): void {
  if (order.kind === "row-major") return;
  if (extents.length < 2) {
    throw doesNotFit(order, extents, "has fewer than two axes", "Add an axis of one");
  }
  const [rowUnit, colUnit] = units(order, dtype);
  const { rows, cols } = matricesOf(order, extents);
  if (rows % rowUnit !== 0) {
    throw doesNotFit(order, extents, `has ${rows} rows, no multiple of ${rowUnit}`, "Pad the rows");
  }
  if (cols % colUnit !== 0) {
    throw doesNotFit(
      order,
      extents,
      `has ${cols} columns, no multiple of ${colUnit}`,
      "Pad the columns",
    );
  }
}

/** What rows and columns are stored in whole multiples of. */
function units(order: Order, dtype: DType): readonly [number, number] {
  switch (order.kind) {
    case "row-major":
      return [1, 1];
    case "amp-left":
      return [1, MICRO[dtype]];
    case "amp-transposed-left":
      return [MICRO[dtype], 1];
    case "amp-transposed-right":
      return [PANEL, MICRO[dtype]];
    case "amp-output":
      return [1, PANEL];
    case "amp-transposed-output":
      return [PANEL, 1];
    case "block-major": {
      const { row_block, column_block, matrix } = order;
      const whole = row_block > 0 && column_block > 0 && row_block % MICRO[dtype] === 0;
      if (!whole || !Number.isSafeInteger(row_block * column_block)) {
        throw doesNotFit(
          order,
          [row_block, column_block],
          `is a block whose rows are no multiple of ${MICRO[dtype]}, or empty`,
          "Choose another block",
        );
      }
      return matrix === "matrix" ? [row_block, column_block] : [column_block, row_block];
    }
    default:
      return assertNever(order);
  }
}

function doesNotFit(order: Order, extents: readonly number[], how: string, fix: string): SimError {
  return new SimError("LAYOUT_INVALID", {
    what: `[${extents.join(", ")}] ${how}, so ${order.kind} order cannot store it`,
    where: { kind: "OrderDoesNotFit", order: order.kind, extents },
    fix: `${fix}, or choose another order`,
  });
}
