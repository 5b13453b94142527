import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { address, tileId } from "../../src/base/units.ts";
import { BYTES_PER_ELEMENT } from "../../src/numerics/dtype.ts";
import {
  AMP_LEFT,
  axisTiling,
  fromEnd,
  layout,
  ROW_MAJOR,
  tiling,
} from "../../src/layouts/constructors.ts";
import { elementIndex, elementsOf } from "../../src/layouts/order.ts";
import { extentsOf, resolveLayout } from "../../src/layouts/resolve.ts";
import {
  checkTensor,
  distinctShards,
  readTensor,
  writeTensor,
  type HostTensor,
} from "../../src/sim/host-io.ts";
import type { Binding } from "../../src/sim/schedule.ts";
import { TileMemory } from "../../src/sim/tile-memory.ts";
import { IPU21 } from "../../src/target/ipu21.ts";
import { dtypes, fittingUnits, orders } from "../layouts/support.ts";
import { AT, expectCode, rowsBinding } from "./support.ts";

const TILES = 24;
const START = Math.ceil(AT / 64) * 64;

/** A tensor cut along rows, columns and an outer axis, on tiles in any order, with copies. */
const bindings: fc.Arbitrary<Binding> = fc
  .record({
    order: orders,
    dtype: dtypes,
    outer: fc.array(fc.integer({ min: 1, max: 3 }), { maxLength: 2 }),
    rows: fc.integer({ min: 1, max: 70 }),
    cols: fc.integer({ min: 1, max: 70 }),
    parts: fc.tuple(fc.integer({ min: 1, max: 3 }), fc.integer({ min: 1, max: 3 })),
    replicas: fc.integer({ min: 1, max: 2 }),
    shuffle: fc.boolean(),
    seed: fc.nat(),
  })
  .map(({ order, dtype, outer, rows, cols, parts, replicas, shuffle, seed }) => {
    const [rowUnit, colUnit] = fittingUnits(order);
    const cut = tiling(
      [
        axisTiling(fromEnd(2), parts[0], { block_size: rowUnit, padding: "zero" }),
        axisTiling(fromEnd(1), parts[1], { block_size: colUnit, padding: "zero" }),
      ],
      replicas,
    );
    const tiles = Array.from({ length: cut.tile_count }, (_, tile) =>
      tileId((tile * 5 + seed) % TILES),
    );
    const isOwn = new Set(tiles).size === tiles.length;
    return {
      name: "x",
      role: "input" as const,
      shape: [...outer, rows, cols],
      dtype,
      layout: layout(order, cut),
      address: address(START),
      ...(shuffle && isOwn ? { tiles } : {}),
    };
  });

/** Every element another number, none of them zero. */
function counting({ shape, dtype }: Binding): HostTensor {
  const length = elementsOf(shape);
  return dtype === "f16"
    ? { shape, dtype, data: Uint16Array.from({ length }, (_, i) => (i % 65535) + 1) }
    : { shape, dtype, data: Float32Array.from({ length }, (_, i) => i + 1) };
}

describe("a tensor in tile memory", () => {
  test("reads back as it was written, in every order, on any tiles, and nothing beside it is touched", () => {
    fc.assert(
      fc.property(bindings, (binding) => {
        const memory = new TileMemory(IPU21, TILES);
        const tensor = counting(binding);
        const bytes = writeTensor(memory, binding, tensor);
        expect(readTensor(memory, binding)).toEqual(tensor);
        for (let tile = 0; tile < TILES; tile++) {
          const around = memory.view(tileId(tile), address(START - 64), 64, 1).u8;
          const behind = memory.view(tileId(tile), address(START + bytes), 64, 1).u8;
          expect(around.some((byte) => byte !== 0) || behind.some((byte) => byte !== 0)).toBe(
            false,
          );
        }
      }),
      { numRuns: 60 },
    );
  });

  test("stands where its order says, zeros where its layout pads, whatever was there before", () => {
    fc.assert(
      fc.property(bindings, (binding) => {
        const { layout: cut, shape, dtype, tiles } = binding;
        const memory = new TileMemory(IPU21, TILES);
        const { shards } = resolveLayout(cut, shape, dtype);
        const size = BYTES_PER_ELEMENT[dtype];
        const viewOf = (index: number) => {
          const tile = tiles?.[shards[index].tile] ?? tileId(shards[index].tile);
          return memory.view(tile, address(START), elementsOf(extentsOf(shards[index])) * size, 4);
        };
        shards.forEach((_, index) => viewOf(index).u8.fill(0xa5));
        const tensor = counting(binding);
        writeTensor(memory, binding, tensor);
        shards.forEach((shard, index) => {
          const extents = extentsOf(shard);
          const want =
            dtype === "f16"
              ? new Uint16Array(elementsOf(extents))
              : new Float32Array(elementsOf(extents));
          for (const at of coordinates(
            shard.start.map((start, axis) => shard.logicalEnd[axis] - start),
          )) {
            const host = shape.reduce(
              (sum, extent, axis) => sum * extent + shard.start[axis] + at[axis],
              0,
            );
            want[elementIndex(cut.order, extents, at, dtype)] = tensor.data[host];
          }
          const got = dtype === "f16" ? viewOf(index).u16 : viewOf(index).f32;
          expect(got).toEqual(want);
        });
      }),
      { numRuns: 25 },
    );
  });

  test("keeps every bit: NaN with a payload, infinities, zeros of both signs", () => {
    const binding = rowsBinding("x", "input", START, 2, 4, "f16");
    const memory = new TileMemory(IPU21, 2);
    const data = Uint16Array.of(0x7e01, 0xfdff, 0x7c00, 0xfc00, 0x8000, 0x0000, 0x0001, 0x7bff);
    writeTensor(memory, binding, { shape: [2, 4], dtype: "f16", data });
    expect(readTensor(memory, binding).data).toEqual(data);
  });

  test("of a vector or of one number is stored row-major", () => {
    const memory = new TileMemory(IPU21, 3);
    for (const shape of [[6], []]) {
      const cut = shape.length === 0 ? tiling() : tiling([axisTiling(fromEnd(1), 3)]);
      const binding: Binding = {
        ...rowsBinding("x", "input", START, 1, 1),
        shape,
        layout: layout(ROW_MAJOR, cut),
      };
      const tensor = counting(binding);
      writeTensor(memory, binding, tensor);
      expect(readTensor(memory, binding)).toEqual(tensor);
    }
  });

  test("written to a few tiles of few elements tells how many bytes may have changed", () => {
    const memory = new TileMemory(IPU21, 4);
    const cut = tiling([
      axisTiling(fromEnd(2), 2),
      axisTiling(fromEnd(1), 1, { block_size: 16, padding: "zero" }),
    ]);
    const binding: Binding = {
      ...rowsBinding("x", "input", START, 3, 5, "f16"),
      layout: layout(AMP_LEFT, cut),
    };
    // Two rows of five, stored as 16 halves each.
    expect(writeTensor(memory, binding, counting(binding))).toBe(64);
  });
});

test("copies of a shard are told as one, with all their tiles", () => {
  const cut = tiling([axisTiling(fromEnd(2), 2)], 3);
  const binding = { ...rowsBinding("x", "input", START, 4, 2), layout: layout(ROW_MAJOR, cut) };
  const groups = distinctShards(binding).map(({ shard, tiles }) => [shard.start[0], [...tiles]]);
  expect(groups).toEqual([
    [0, [0, 1, 2]],
    [2, [3, 4, 5]],
  ]);
});

describe("a host tensor", () => {
  const f32 = (shape: number[], length: number): HostTensor => ({
    shape,
    dtype: "f32",
    data: new Float32Array(length),
  });

  // prettier-ignore
  test.each<[string, string, HostTensor]>([
    ["",               "the binding's shape and dtype",       f32([2, 4], 8)],
    ["DTYPE_MISMATCH", "halves for words",                    { shape: [2, 4], dtype: "f16", data: new Uint16Array(8) }],
    ["SHAPE_MISMATCH", "as many elements, in another shape",  f32([4, 2], 8)],
    ["SHAPE_MISMATCH", "an axis too many",                    f32([1, 2, 4], 8)],
    ["SHAPE_MISMATCH", "fewer elements than its shape",       f32([2, 4], 7)],
  ])("gives %j where it has: %s", (code, _why, tensor) => {
    const run = (): void => checkTensor(rowsBinding("x", "input", START, 2, 4), tensor);
    if (code === "") run();
    else expectCode(code, run);
  });
});

/** All places below `extents`, slowly. */
function coordinates(extents: readonly number[]): number[][] {
  return extents.reduce<number[][]>(
    (all, extent) =>
      all.flatMap((at) => Array.from({ length: Math.max(0, extent) }, (_, i) => [...at, i])),
    [[]],
  );
}
