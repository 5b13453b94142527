import { InternalError } from "../base/errors.ts";
import { BYTES_PER_ELEMENT } from "../numerics/dtype.ts";
import type { DType } from "../numerics/dtype.ts";
import type { Order } from "./layout.ts";
import { MICRO, offset } from "./order.ts";

/** A run of bytes that is contiguous where it is and where it goes. */
export interface Span {
  /** From the start of the source matrix. */
  readonly sourceByte: number;
  /** From the start of the destination matrix. */
  readonly destinationByte: number;
  readonly bytes: number;
}

/** A matrix as it is stored; the extents fit the order (`checkFits`). */
export interface StoredMatrix {
  readonly order: Order;
  /** Stored rows and columns, padding included. */
  readonly rows: number;
  readonly cols: number;
}

/** A rectangle of one matrix that goes to a rectangle of another. */
export interface RectangleMove {
  readonly source: StoredMatrix;
  readonly destination: StoredMatrix;
  /** The rectangle's first row and column in each matrix. */
  readonly sourceRow: number;
  readonly sourceCol: number;
  readonly destinationRow: number;
  readonly destinationCol: number;
  /** Its extents. */
  readonly rows: number;
  readonly cols: number;
  readonly dtype: DType;
}

/**
 * The fewest spans that move a rectangle, by rising source byte. Linear in the rectangle, but for a sort of
 * the spans where the source stores them in another order than they are found in.
 *
 * Every order stores [row, col] at what the row adds plus what the column adds (`offset`), so a table for
 * each axis of each matrix is enough.
 */
export function rectangleSpans(move: RectangleMove): readonly Span[] {
  checkInside("source", move.source, move.sourceRow, move.sourceCol, move);
  checkInside("destination", move.destination, move.destinationRow, move.destinationCol, move);
  const { rows, cols } = move;
  if (rows === 0 || cols === 0) return [];
  const micro = MICRO[move.dtype];
  const sourceRows = rowTable(move.source, move.sourceRow, rows, micro);
  const sourceCols = colTable(move.source, move.sourceCol, cols, micro);
  const destinationRows = rowTable(move.destination, move.destinationRow, rows, micro);
  const destinationCols = colTable(move.destination, move.destinationCol, cols, micro);
  const alongRows = neighbours(sourceRows, destinationRows);
  const alongCols = neighbours(sourceCols, destinationCols);
  // Walk inside along the axis that has the larger part of its elements in runs.
  const runs =
    alongCols * rows >= alongRows * cols
      ? runsAlong(sourceRows, destinationRows, sourceCols, destinationCols)
      : runsAlong(sourceCols, destinationCols, sourceRows, destinationRows);
  return joined(runs, BYTES_PER_ELEMENT[move.dtype]);
}

function rowTable(
  { order, rows, cols }: StoredMatrix,
  start: number,
  count: number,
  micro: number,
): Float64Array {
  const table = new Float64Array(count);
  for (let i = 0; i < count; i++) table[i] = offset(order, rows, cols, start + i, 0, micro);
  return table;
}

function colTable(
  { order, rows, cols }: StoredMatrix,
  start: number,
  count: number,
  micro: number,
): Float64Array {
  const table = new Float64Array(count);
  for (let i = 0; i < count; i++) table[i] = offset(order, rows, cols, 0, start + i, micro);
  return table;
}

/** How many elements of an axis follow their predecessor both in the source and in the destination. */
function neighbours(source: Float64Array, destination: Float64Array): number {
  let count = 0;
  for (let i = 1; i < source.length; i++) {
    if (isNeighbour(source, destination, i)) count++;
  }
  return count;
}

function isNeighbour(source: Float64Array, destination: Float64Array, i: number): boolean {
  return source[i] - source[i - 1] === 1 && destination[i] - destination[i - 1] === 1;
}

/** Runs in elements, field by field. */
interface Runs {
  readonly sources: Float64Array;
  readonly destinations: Float64Array;
  readonly lengths: Float64Array;
}

/** The runs of each line of the rectangle, in lines along the inner axis: all lines break at the same places. */
function runsAlong(
  outerSource: Float64Array,
  outerDestination: Float64Array,
  innerSource: Float64Array,
  innerDestination: Float64Array,
): Runs {
  const starts = [0];
  for (let i = 1; i < innerSource.length; i++) {
    if (!isNeighbour(innerSource, innerDestination, i)) starts.push(i);
  }
  const ends = [...starts.slice(1), innerSource.length];
  const count = outerSource.length * starts.length;
  const sources = new Float64Array(count);
  const destinations = new Float64Array(count);
  const lengths = new Float64Array(count);
  let at = 0;
  for (let outer = 0; outer < outerSource.length; outer++) {
    for (let run = 0; run < starts.length; run++, at++) {
      sources[at] = outerSource[outer] + innerSource[starts[run]];
      destinations[at] = outerDestination[outer] + innerDestination[starts[run]];
      lengths[at] = ends[run] - starts[run];
    }
  }
  return { sources, destinations, lengths };
}

/** The indices of `sources` by rising source, no two being equal. */
function bySource(sources: Float64Array): Float64Array {
  const count = sources.length;
  const keys = new Float64Array(count);
  if (isRising(sources)) {
    for (let i = 0; i < count; i++) keys[i] = i;
    return keys;
  }
  // A typed array sorts by value, without a comparison function: several times faster. So each source and
  // its index go into one exact number.
  for (let i = 0; i < count; i++) keys[i] = sources[i] * count + i;
  keys.sort();
  if (keys[count - 1] > Number.MAX_SAFE_INTEGER) {
    throw new InternalError("a rectangle of more runs than can be sorted", { runs: count });
  }
  for (let i = 0; i < count; i++) keys[i] %= count;
  return keys;
}

function isRising(values: Float64Array): boolean {
  for (let i = 1; i < values.length; i++) if (values[i] < values[i - 1]) return false;
  return true;
}

/** Runs as spans; a run that goes on where the one before it ends, on both sides, joins it. */
function joined({ sources, destinations, lengths }: Runs, bytesPerElement: number): Span[] {
  const order = bySource(sources);
  const spans: Span[] = [];
  for (let i = 0; i < order.length;) {
    const source = sources[order[i]];
    const destination = destinations[order[i]];
    let length = lengths[order[i]];
    for (i++; i < order.length; i++) {
      const next = order[i];
      if (sources[next] !== source + length || destinations[next] !== destination + length) break;
      length += lengths[next];
    }
    spans.push({
      sourceByte: source * bytesPerElement,
      destinationByte: destination * bytesPerElement,
      bytes: length * bytesPerElement,
    });
  }
  return spans;
}

function checkInside(
  side: "source" | "destination",
  matrix: StoredMatrix,
  row: number,
  col: number,
  { rows, cols }: RectangleMove,
): void {
  const isInside =
    row >= 0 &&
    col >= 0 &&
    rows >= 0 &&
    cols >= 0 &&
    row + rows <= matrix.rows &&
    col + cols <= matrix.cols;
  if (isInside) return;
  throw new InternalError(
    `rows ${row} to ${row + rows} and columns ${col} to ${col + cols} are not inside the ${side}`,
    { side, rows: matrix.rows, cols: matrix.cols },
  );
}
