import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { MatrixExtents, RearrangeSpec, UnpackSpec } from "../../src/kernels/spec.ts";
import {
  AMP_LEFT,
  AMP_OUTPUT,
  AMP_TRANSPOSED_LEFT,
  AMP_TRANSPOSED_RIGHT,
  blockMajor,
} from "../../src/layouts/constructors.ts";
import { halves, POISON, repeated, run } from "./support.ts";

const MATRIX_64 = blockMajor(64, 16);
const POISON_HALF = POISON * 0x0101;

function extents(
  logical: readonly [number, number],
  physical: readonly [number, number],
  matrices = 1,
): MatrixExtents {
  return {
    matrices,
    logicalRows: logical[0],
    logicalColumns: logical[1],
    physicalRows: physical[0],
    physicalColumns: physical[1],
  };
}

const rearrange = (order: RearrangeSpec["order"], of: MatrixExtents): RearrangeSpec => ({
  kind: "rearrange",
  order,
  runTimeShape: false,
  ...of,
});
const unpack = (order: UnpackSpec["order"], of: MatrixExtents): UnpackSpec => ({
  kind: "unpack",
  order,
  ...of,
});

/** All patterns in turn, none of them zero: bit moves must not look at numbers. */
const distinct = (count: number): Uint16Array =>
  Uint16Array.from({ length: count }, (_, i) => 1 + ((i * 40503) % 65535));

// prettier-ignore
test.each<[string, RearrangeSpec["order"], readonly [number, number], number, number, number]>([
  // why                                            order                 stored     r   c   offset
  ["left: panel 1 of 8 rows, row 3",                AMP_LEFT,             [8, 32],   3,  17,   177],
  ["transposed right: key group 1, channel group 2", AMP_TRANSPOSED_RIGHT, [64, 80], 20,  33,  1857],
  ["matrix of 64 x 16: block 1, row panel 3",       MATRIX_64,            [64, 80], 50,  18,  1826],
])("rearrange to %s", (_why, order, [rows, columns], r, c, offset) => {
  const input = halves(new Uint16Array(rows * columns));
  input.u16[r * columns + c] = 0x1234;
  const output = run(rearrange(order, extents([rows, columns], [rows, columns])), [input]);
  expect(output.u16.indexOf(0x1234)).toBe(offset);
  expect(output.u16.filter((bits) => bits !== 0)).toHaveLength(1);
});

// prettier-ignore
test.each<[string, UnpackSpec["order"], readonly [number, number], number, number, number]>([
  ["transposed left: column 40, row 5",             AMP_TRANSPOSED_LEFT,  [16, 72],  5,  40,   645],
  ["output: the pairs of a row as the unit drains", AMP_OUTPUT,           [16, 16],  2,   9,    35],
])("unpack from %s", (_why, order, [rows, columns], r, c, offset) => {
  const input = halves(new Uint16Array(rows * columns));
  input.u16[offset] = 0x1234;
  const output = run(unpack(order, extents([rows, columns], [rows, columns])), [input]);
  expect(output.u16.indexOf(0x1234)).toBe(r * columns + c);
});

describe("laws of moves", () => {
  const small = (most: number): fc.Arbitrary<number> => fc.integer({ min: 1, max: most });

  test("what a rearrange to left packs of a transposed matrix, an unpack of transposed left gives back", () => {
    const law = fc.property(small(40), small(3), (columns, panels) => {
      const rows = panels * 16;
      const matrix = distinct(rows * columns);
      const transposed = matrix.map((_, i) => matrix[(i % rows) * columns + Math.floor(i / rows)]);
      const packed = run(rearrange(AMP_LEFT, extents([columns, rows], [columns, rows])), [
        halves(transposed),
      ]);
      const back = run(unpack(AMP_TRANSPOSED_LEFT, extents([rows, columns], [rows, columns])), [
        packed,
      ]);
      expect(back.u16).toEqual(matrix);
    });
    fc.assert(law, { numRuns: 50 });
  });

  test("a rearrange stores each logical element once and zeros in all the rest", () => {
    const orders = fc.constantFrom(AMP_LEFT, AMP_TRANSPOSED_RIGHT, MATRIX_64);
    const law = fc.property(
      orders,
      small(64),
      small(48),
      small(2),
      (order, rows, columns, matrices) => {
        const physicalRows = order.kind === "amp-left" ? rows + 1 : 64;
        const of = extents([rows, columns], [physicalRows, 64], matrices);
        const input = distinct(matrices * rows * columns);
        const output = run(rearrange(order, of), [halves(input)]).u16;
        expect(output.filter((bits) => bits !== 0).sort()).toEqual(input.slice().sort());
      },
    );
    fc.assert(law, { numRuns: 60 });
  });

  test("an unpack zeroes rows and columns beyond the logical ones, whatever stands there", () => {
    const orders = fc.constantFrom(AMP_TRANSPOSED_LEFT, AMP_OUTPUT);
    const law = fc.property(orders, small(16), small(32), (order, rows, columns) => {
      const of = extents([rows, columns], [16, 32]);
      const output = run(unpack(order, of), [repeated(512, 0x7e01)]).u16;
      output.forEach((bits, i) => {
        const isLogical = Math.floor(i / 32) < rows && i % 32 < columns;
        expect(bits).toBe(isLogical ? 0x7e01 : 0);
      });
    });
    fc.assert(law, { numRuns: 40 });
  });

  test("a shape that is given at run time moves the same bits", () => {
    const spec = rearrange(AMP_TRANSPOSED_RIGHT, extents([25, 72], [64, 80]));
    const input = [halves(distinct(25 * 72))];
    expect(run({ ...spec, runTimeShape: true }, input)).toEqual(run(spec, input));
  });
});

describe("a copy", () => {
  test("moves bytes, NaN patterns included, and none beside", () => {
    const input = halves(distinct(12));
    const spec = { kind: "copy", bytes: 24, rows: 1, sourceStride: 24, outputStride: 24 } as const;
    expect(run(spec, [input]).u8).toEqual(input.u8);
  });

  test("of rows takes and leaves their strides; what lies between stays", () => {
    const input = halves(distinct(12));
    const spec = { kind: "copy", bytes: 12, rows: 3, sourceStride: 8, outputStride: 6 } as const;
    const output = run(spec, [input]).u16;
    const [a, b] = [POISON_HALF, POISON_HALF];
    const at = input.u16;
    expect([...output]).toEqual([at[0], at[1], a, at[4], at[5], b, at[8], at[9]]);
  });

  test("fills with zeros", () => {
    expect(run({ kind: "fill-zero", bytes: 16 }, []).u8).toEqual(new Uint8Array(16));
  });
});
