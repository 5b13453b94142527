import { F16_VALUES } from "../numerics/f16.ts";
import type { Matrix } from "./matmul.ts";

/** A whole tensor's elements, row-major: f16 as bits, or f32. */
export type Elements = Uint16Array | Float32Array;

/** Which rows and which columns of a value are needed: 1 where they are. Axes before the last are rows. */
export interface Demand {
  readonly rows: Uint8Array;
  readonly columns: Uint8Array;
}

/** Some rows of a value by some of its columns, computed in f64. */
export interface Part {
  readonly rows: Int32Array;
  readonly columns: Int32Array;
  /** [rows, columns], row-major. */
  readonly values: Float64Array;
  /** Square of each element's deviation (docs/accuracy.md); null: the elements are exact. */
  readonly variances: Float64Array | null;
}

export function noDemand(rows: number, columns: number): Demand {
  return { rows: new Uint8Array(rows), columns: new Uint8Array(columns) };
}

/** Adds the product of `rows` and `columns` to what is needed; absent: all of them. */
export function mark(demand: Demand, rows?: Iterable<number>, columns?: Iterable<number>): void {
  if (rows === undefined) demand.rows.fill(1);
  else for (const row of rows) demand.rows[row] = 1;
  if (columns === undefined) demand.columns.fill(1);
  else for (const column of columns) demand.columns[column] = 1;
}

/** Indices of the ones. */
export function indices(mask: Uint8Array): Int32Array {
  const found = new Int32Array(mask.reduce((sum, one) => sum + one, 0));
  let next = 0;
  for (let i = 0; i < mask.length; i++) if (mask[i]) found[next++] = i;
  return found;
}

/** first .. first + count - 1. */
export function range(first: number, count: number): Int32Array {
  return Int32Array.from({ length: count }, (_, i) => first + i);
}

/** The demanded part of a tensor that is given, `columns` elements a row. */
export function readPart(elements: Elements, columns: number, demand: Demand): Part {
  const rowsNeeded = indices(demand.rows);
  const columnsNeeded = indices(demand.columns);
  const values = new Float64Array(rowsNeeded.length * columnsNeeded.length);
  const isHalf = elements instanceof Uint16Array;
  let next = 0;
  for (const row of rowsNeeded) {
    for (const column of columnsNeeded) {
      const element = elements[row * columns + column];
      values[next++] = isHalf ? F16_VALUES[element] : element;
    }
  }
  return { rows: rowsNeeded, columns: columnsNeeded, values, variances: null };
}

/** Rows and columns of a part that holds them, in the order asked for; absent: all that it has. */
export function pick(part: Part, rows?: Int32Array, columns?: Int32Array): Matrix {
  return gather(part, part.values, rows, columns);
}

/** The same of the variances; null where the part is exact. */
export function pickVariances(part: Part, rows?: Int32Array, columns?: Int32Array): Matrix | null {
  return part.variances && gather(part, part.variances, rows, columns);
}

function gather(
  part: Part,
  from: Float64Array,
  rows: Int32Array = part.rows,
  columns: Int32Array = part.columns,
): Matrix {
  const rowPlaces = places(part.rows, rows);
  const columnPlaces = places(part.columns, columns);
  const width = part.columns.length;
  const values = new Float64Array(rows.length * columns.length);
  let next = 0;
  for (const row of rowPlaces) {
    for (const column of columnPlaces) values[next++] = from[row * width + column];
  }
  return { rows: rows.length, columns: columns.length, values };
}

/** Where in the rising list `held` each of the `wanted` is; all of them are there. */
function places(held: Int32Array, wanted: Int32Array): Int32Array {
  if (held === wanted) return range(0, held.length);
  const placeOf = new Map<number, number>();
  held.forEach((index, place) => placeOf.set(index, place));
  return wanted.map((index) => placeOf.get(index) ?? -1);
}

export function transpose({ rows, columns, values }: Matrix): Matrix {
  const transposed = new Float64Array(values.length);
  for (let r = 0; r < rows; r++) {
    for (let c = 0; c < columns; c++) transposed[c * rows + r] = values[r * columns + c];
  }
  return { rows: columns, columns: rows, values: transposed };
}
