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
  return joined(bySource(runs), BYTES_PER_ELEMENT[move.dtype]);
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
    if (source[i] - source[i - 1] === 1 && destination[i] - destination[i - 1] === 1) count++;
  }
  return count;
}

/** Runs in elements, field by field. */
interface Runs {
  readonly sources: number[];
  readonly destinations: number[];
  readonly lengths: number[];
}

/** The runs of each line of the rectangle, in lines along the inner axis. */
function runsAlong(
  outerSource: Float64Array,
  outerDestination: Float64Array,
  innerSource: Float64Array,
  innerDestination: Float64Array,
): Runs {
  const runs: Runs = { sources: [], destinations: [], lengths: [] };
  const { sources, destinations, lengths } = runs;
  const inner = innerSource.length;
  for (let o = 0; o < outerSource.length; o++) {
    for (let first = 0; first < inner;) {
      let end = first + 1;
      while (
        end < inner &&
        innerSource[end] - innerSource[end - 1] === 1 &&
        innerDestination[end] - innerDestination[end - 1] === 1
      ) {
        end++;
      }
      sources.push(outerSource[o] + innerSource[first]);
      destinations.push(outerDestination[o] + innerDestination[first]);
      lengths.push(end - first);
      first = end;
    }
  }
  return runs;
}

/** The runs by rising source. */
function bySource(runs: Runs): Runs {
  const { sources, destinations, lengths } = runs;
  if (isRising(sources)) return runs;
  // A typed array sorts by value, without a comparison function: several times faster. So each source and
  // its index go into one exact number.
  const count = sources.length;
  const keys = new Float64Array(count);
  for (let i = 0; i < count; i++) keys[i] = sources[i] * count + i;
  keys.sort();
  if (keys[count - 1] > Number.MAX_SAFE_INTEGER) {
    throw new InternalError("a rectangle of more runs than can be sorted", { runs: count });
  }
  const index = (key: number): number => key % count;
  return {
    sources: Array.from(keys, (key) => sources[index(key)]),
    destinations: Array.from(keys, (key) => destinations[index(key)]),
    lengths: Array.from(keys, (key) => lengths[index(key)]),
  };
}

function isRising(values: readonly number[]): boolean {
  for (let i = 1; i < values.length; i++) if (values[i] < values[i - 1]) return false;
  return true;
}

/** Runs as spans; a run that goes on where the one before it ends, on both sides, joins it. */
function joined({ sources, destinations, lengths }: Runs, bytesPerElement: number): Span[] {
  const spans: Span[] = [];
  for (let first = 0; first < sources.length;) {
    let length = lengths[first];
    let end = first + 1;
    while (
      end < sources.length &&
      sources[end] === sources[first] + length &&
      destinations[end] === destinations[first] + length
    ) {
      length += lengths[end];
      end++;
    }
    spans.push({
      sourceByte: sources[first] * bytesPerElement,
      destinationByte: destinations[first] * bytesPerElement,
      bytes: length * bytesPerElement,
    });
    first = end;
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
