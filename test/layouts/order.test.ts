import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  AMP_LEFT,
  AMP_OUTPUT,
  AMP_TRANSPOSED_LEFT,
  AMP_TRANSPOSED_OUTPUT,
  AMP_TRANSPOSED_RIGHT,
  ROW_MAJOR,
  blockMajor,
} from "../../src/layouts/constructors.ts";
import type { Order } from "../../src/layouts/layout.ts";
import {
  MICRO,
  coordinatesAt,
  elementIndex,
  offset,
  placeAt,
  storedElements,
} from "../../src/layouts/order.ts";
import type { DType } from "../../src/numerics/dtype.ts";
import { dtypes, fitted, simError } from "./support.ts";

// prettier-ignore
const WORKED: readonly (readonly [Order, DType, number, number, number, number, number, string])[] = [
  // order                                   dtype  rows cols  row col  offset  why
  [ROW_MAJOR,                                "f16",    4,   5,   2,  3,     13, "a row follows a row"],
  [AMP_LEFT,                                 "f16",    8,  32,   3, 17,    177, "strip 1 starts after 8 rows of 16; row 3, element 1 of it"],
  [AMP_LEFT,                                 "f32",    8,  32,   3, 17,    153, "strips are 8 wide: strip 2 starts at 2*8*8"],
  [AMP_TRANSPOSED_LEFT,                      "f16",   16,  72,   5, 40,    645, "column 40 of the first strip of 16 rows, row 5 of it"],
  [AMP_TRANSPOSED_LEFT,                      "f16",   32,  72,  21, 40,   1797, "the second strip of rows starts after 72 columns of 16"],
  [AMP_TRANSPOSED_RIGHT,                     "f16",   64,  80,  20, 33,   1857, "panel 1*5 + 2 of 16 x 16; key 4, channel 1 of it"],
  [AMP_TRANSPOSED_RIGHT,                     "f32",   64,  80,  20, 33,   1825, "panels are 16 keys by 8 channels: panel 1*10 + 4, then 4*8 + 1"],
  [blockMajor(64, 16),                       "f16",  768,  80,  50, 18,   1826, "second block across, its fourth panel of 16 rows: panel 7"],
  [blockMajor(768, 16),                      "f16",  768,  80,  50, 18,  13090, "second block across is 48 panels on: panel 51"],
  [blockMajor(64, 16, "transposed-matrix"),  "f16",   80, 768,  18, 50,   1826, "the same with row and column exchanged"],
  [AMP_OUTPUT,                               "f16",   16,  16,   2,  9,     35, "pair 4 is drained second: slot 1"],
  [AMP_OUTPUT,                               "f16",   16,  16,   0,  2,      4, "pair 1 is drained third, after 0 and 4"],
  [AMP_OUTPUT,                               "f32",   16,  32,   2, 25,    291, "strips of results are 16 wide in f32 too"],
  [AMP_TRANSPOSED_OUTPUT,                    "f16",   16,  16,   9,  2,     35, "output with row and column exchanged"],
];

test.each(WORKED)(
  "%j %s of [%i, %i] stores [%i, %i] at %i: %s",
  (order, dtype, rows, cols, row, col, at) => {
    expect(offset(order, rows, cols, row, col, MICRO[dtype])).toBe(at);
    expect(placeAt(order, rows, cols, at, MICRO[dtype])).toEqual([row, col]);
    expect(elementIndex(order, [rows, cols], [row, col], dtype)).toBe(at);
  },
);

// prettier-ignore
test.each<[Order, number[], number[], number, string]>([
  // order              extents      coordinates  index  why
  [ROW_MAJOR,           [],          [],              0, "a scalar is one element"],
  [ROW_MAJOR,           [7],         [5],             5, "one axis is one row"],
  [ROW_MAJOR,           [2, 3, 4],   [1, 2, 3],      23, "the last element of all"],
  [AMP_LEFT,            [2, 5, 32],  [1, 3, 17],    289, "outer axes are rows: row 8 of 10, second strip"],
  [AMP_OUTPUT,          [2, 5, 32],  [1, 3, 18],    292, "outer axes are rows here too"],
  [AMP_TRANSPOSED_LEFT, [2, 16, 3],  [1, 5, 2],      85, "a whole matrix of 48 before"],
  [AMP_TRANSPOSED_RIGHT,[2, 2, 16, 16], [1, 0, 1, 2], 530, "two whole matrices of 256 before"],
])("%j of %j stores %j at %i: %s", (order, extents, coordinates, index) => {
  expect(elementIndex(order, extents, coordinates, "f16")).toBe(index);
  expect(coordinatesAt(order, extents, index, "f16")).toEqual(coordinates);
});

// prettier-ignore
test.each<[Order, DType, number[], string]>([
  [AMP_LEFT,             "f16", [16],      "a matrix order needs two axes"],
  [AMP_LEFT,             "f16", [8, 72],   "a strip is 16 columns"],
  [AMP_LEFT,             "f32", [8, 12],   "a strip is 8 columns"],
  [AMP_TRANSPOSED_LEFT,  "f16", [9, 16],   "a strip is 16 rows"],
  [AMP_TRANSPOSED_RIGHT, "f32", [8, 16],   "a panel is 16 keys, whatever the dtype"],
  [AMP_OUTPUT,           "f32", [8, 24],   "results come in 16 columns, whatever the dtype"],
  [blockMajor(64, 16),   "f16", [96, 16],  "a block is not stored in part"],
  [blockMajor(24, 16),   "f16", [24, 16],  "a block is whole panels of 16 rows"],
  [blockMajor(16, 0),    "f16", [16, 16],  "a block has columns"],
  [blockMajor(16, 32, "transposed-matrix"), "f16", [16, 16], "transposed, a block is 32 rows by 16 columns"],
])("%j in %s does not store %j: %s", (order, dtype, extents) => {
  const { fault } = simError("LAYOUT_INVALID", () => storedElements(order, extents, dtype));
  expect(fault.where.kind).toBe("OrderDoesNotFit");
});

describe("every order, of every matrix that fits it", () => {
  test("stores each element at its own place within the stored elements, and finds it back", () => {
    fc.assert(
      fc.property(
        fitted,
        dtypes,
        fc.integer({ min: 1, max: 3 }),
        ({ order, rows, cols }, dtype, outer) => {
          const extents = [outer, rows, cols];
          const stored = storedElements(order, extents, dtype);
          const taken = new Uint8Array(stored);
          for (let m = 0; m < outer; m++) {
            for (let r = 0; r < rows; r++) {
              for (let c = 0; c < cols; c++) {
                const index = elementIndex(order, extents, [m, r, c], dtype);
                if (!(index >= 0 && index < stored) || taken[index]++) {
                  throw new Error(`[${m}, ${r}, ${c}] at ${index}, outside or taken`);
                }
              }
            }
          }
          const some = (stored * 7 + 3) % stored;
          expect(
            elementIndex(order, extents, coordinatesAt(order, extents, some, dtype), dtype),
          ).toBe(some);
        },
      ),
      { numRuns: 60 },
    );
  });

  test("stores [row, col] at what the row adds plus what the column adds", () => {
    fc.assert(
      fc.property(fitted, dtypes, fc.nat(), fc.nat(), ({ order, rows, cols }, dtype, a, b) => {
        const [row, col, micro] = [a % rows, b % cols, MICRO[dtype]];
        expect(offset(order, rows, cols, row, col, micro)).toBe(
          offset(order, rows, cols, row, 0, micro) + offset(order, rows, cols, 0, col, micro),
        );
      }),
      { numRuns: 1000 },
    );
  });
});
