import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { InternalError } from "../../src/base/errors.ts";
import {
  AMP_LEFT,
  AMP_OUTPUT,
  AMP_TRANSPOSED_LEFT,
  AMP_TRANSPOSED_RIGHT,
  ROW_MAJOR,
  blockMajor,
} from "../../src/layouts/constructors.ts";
import type { Order } from "../../src/layouts/layout.ts";
import { MICRO, offset } from "../../src/layouts/order.ts";
import { rectangleSpans } from "../../src/layouts/spans.ts";
import type { RectangleMove, Span, StoredMatrix } from "../../src/layouts/spans.ts";
import { BYTES_PER_ELEMENT } from "../../src/numerics/dtype.ts";
import { dtypes, fitted } from "./support.ts";

function matrix(order: Order, rows: number, cols: number): StoredMatrix {
  return { order, rows, cols };
}

/** A move of f16 between the first elements of two matrices, where nothing else is said. */
function move(
  source: StoredMatrix,
  destination: StoredMatrix,
  rows: number,
  cols: number,
  starts: Partial<RectangleMove> = {},
): RectangleMove {
  return {
    source,
    destination,
    sourceRow: 0,
    sourceCol: 0,
    destinationRow: 0,
    destinationCol: 0,
    rows,
    cols,
    dtype: "f16",
    ...starts,
  };
}

const BLOCK = matrix(AMP_TRANSPOSED_LEFT, 16, 72);

// prettier-ignore
test.each<[string, RectangleMove, [number, number, number][]]>([
  ["a transposed-left block goes to block-major panels: four whole and a half one",
    move(BLOCK, matrix(blockMajor(64, 16), 64, 80), 16, 72, { destinationRow: 32 }),
    [[0, 1024, 512], [512, 3072, 512], [1024, 5120, 512], [1536, 7168, 512], [2048, 9216, 256]]],
  ["whole rows are one run",
    move(matrix(ROW_MAJOR, 16, 72), matrix(ROW_MAJOR, 16, 72), 16, 72),
    [[0, 0, 2304]]],
  ["some whole rows are one run",
    move(matrix(ROW_MAJOR, 16, 72), matrix(ROW_MAJOR, 8, 72), 7, 72, { sourceRow: 9 }),
    [[1296, 0, 1008]]],
  ["rows that are padded where they go are runs of their own",
    move(matrix(ROW_MAJOR, 3, 72), matrix(ROW_MAJOR, 3, 80), 3, 72),
    [[0, 0, 144], [144, 160, 144], [288, 320, 144]]],
  ["rows of the left order are runs of a strip's width",
    move(matrix(ROW_MAJOR, 2, 32), matrix(AMP_LEFT, 2, 32), 2, 32),
    [[0, 0, 32], [32, 64, 32], [64, 32, 32], [96, 96, 32]]],
  ["one order to itself is one run, in the order of its bytes",
    move(matrix(AMP_TRANSPOSED_RIGHT, 32, 32), matrix(AMP_TRANSPOSED_RIGHT, 32, 32), 32, 32),
    [[0, 0, 2048]]],
  ["strips of the same rows, left to a right operand, are whole panels",
    move(matrix(AMP_LEFT, 16, 32), matrix(AMP_TRANSPOSED_RIGHT, 64, 32), 16, 32, { destinationRow: 16 }),
    [[0, 1024, 1024]]],
  ["a column alone, rows fastest, is one run",
    move(BLOCK, BLOCK, 16, 1, { sourceCol: 3, destinationCol: 70 }),
    [[96, 2240, 32]]],
  ["results come in pairs, by rising source byte",
    move(matrix(AMP_OUTPUT, 1, 16), matrix(ROW_MAJOR, 1, 16), 1, 16),
    [[0, 0, 4], [4, 16, 4], [8, 4, 4], [12, 20, 4], [16, 8, 4], [20, 24, 4], [24, 12, 4], [28, 28, 4]]],
  ["nothing is no run",
    move(BLOCK, BLOCK, 0, 72),
    []],
])("%s", (_, rectangle, spans) => {
  expect(rectangleSpans(rectangle).map(({ sourceByte, destinationByte, bytes }) => [sourceByte, destinationByte, bytes])).toEqual(spans);
});

test("a rectangle outside a matrix is our own fault", () => {
  const beyond = move(BLOCK, BLOCK, 16, 72, { destinationCol: 1 });
  expect(() => rectangleSpans(beyond)).toThrow(InternalError);
});

/** One span an element, by rising source byte, then joined: the definition. */
function slowSpans({ source, destination, ...rectangle }: RectangleMove): Span[] {
  const { sourceRow, sourceCol, destinationRow, destinationCol, rows, cols, dtype } = rectangle;
  const [size, micro] = [BYTES_PER_ELEMENT[dtype], MICRO[dtype]];
  const byte = ({ order, rows, cols }: StoredMatrix, row: number, col: number): number =>
    size * offset(order, rows, cols, row, col, micro);
  const elements = Array.from({ length: rows * cols }, (_, i) => {
    const [r, c] = [Math.floor(i / cols), i % cols];
    return {
      sourceByte: byte(source, sourceRow + r, sourceCol + c),
      destinationByte: byte(destination, destinationRow + r, destinationCol + c),
    };
  }).sort((a, b) => a.sourceByte - b.sourceByte);
  const spans: { sourceByte: number; destinationByte: number; bytes: number }[] = [];
  for (const { sourceByte, destinationByte } of elements) {
    const last = spans.at(-1);
    const goesOn =
      last &&
      last.sourceByte + last.bytes === sourceByte &&
      last.destinationByte + last.bytes === destinationByte;
    if (goesOn) last.bytes += size;
    else spans.push({ sourceByte, destinationByte, bytes: size });
  }
  return spans;
}

const moves: fc.Arbitrary<RectangleMove> = fc
  .tuple(fitted, fitted, dtypes)
  .chain(([source, destination, dtype]) =>
    fc
      .record({
        rows: fc.integer({ min: 1, max: Math.min(source.rows, destination.rows) }),
        cols: fc.integer({ min: 1, max: Math.min(source.cols, destination.cols) }),
      })
      .chain(({ rows, cols }) =>
        fc.record({
          source: fc.constant(source),
          destination: fc.constant(destination),
          sourceRow: fc.integer({ min: 0, max: source.rows - rows }),
          sourceCol: fc.integer({ min: 0, max: source.cols - cols }),
          destinationRow: fc.integer({ min: 0, max: destination.rows - rows }),
          destinationCol: fc.integer({ min: 0, max: destination.cols - cols }),
          rows: fc.constant(rows),
          cols: fc.constant(cols),
          dtype: fc.constant(dtype),
        }),
      ),
  );

describe("any rectangle between any two orders", () => {
  test("goes in the runs that joining its elements one by one gives", () => {
    fc.assert(
      fc.property(moves, (rectangle) => {
        expect(rectangleSpans(rectangle)).toEqual(slowSpans(rectangle));
      }),
      { numRuns: 300 },
    );
  });

  test("goes whole: the bytes of its spans are its own", () => {
    fc.assert(
      fc.property(moves, (rectangle) => {
        const total = rectangleSpans(rectangle).reduce((sum, { bytes }) => sum + bytes, 0);
        expect(total).toBe(rectangle.rows * rectangle.cols * BYTES_PER_ELEMENT[rectangle.dtype]);
      }),
    );
  });
});
