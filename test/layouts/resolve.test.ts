import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  AMP_LEFT,
  AMP_TRANSPOSED_LEFT,
  AMP_TRANSPOSED_RIGHT,
  ROW_MAJOR,
  axisTiling,
  fromEnd,
  fromStart,
  layout,
  linearTiling,
  tiling,
} from "../../src/layouts/constructors.ts";
import type { AxisTiling, Layout, TensorTiling } from "../../src/layouts/layout.ts";
import { elementsOf } from "../../src/layouts/order.ts";
import { placesOf, resolveLayout, shardBytes } from "../../src/layouts/resolve.ts";
import { simError } from "./support.ts";

// prettier-ignore
describe.each<[string, number, AxisTiling, [number, number, number, number][]]>([
  // what                                           extent  cut              [partition, start, logicalEnd, physicalEnd]
  ["729 queries in 92 parts: 85 of 8, then 7 of 7",    729, axisTiling(fromEnd(1), 92),
    [[0, 0, 8, 8], [84, 672, 680, 680], [85, 680, 687, 687], [91, 722, 729, 729]]],
  ["729 rows in 46 blocks of 16: 9 real in the last",  729, axisTiling(fromEnd(1), 46, { block_size: 16, padding: "zero" }),
    [[0, 0, 16, 16], [44, 704, 720, 720], [45, 720, 729, 736]]],
  ["1152 columns in 16 parts of 36 pairs",            1152, axisTiling(fromEnd(1), 16, { block_size: 2 }),
    [[0, 0, 72, 72], [15, 1080, 1152, 1152]]],
  ["729 keys in 12 blocks of 64: 25 real in the last", 729, axisTiling(fromEnd(1), 12, { block_size: 64, padding: "zero" }),
    [[0, 0, 64, 64], [11, 704, 729, 768]]],
  ["72 channels in one part padded to 80",              72, axisTiling(fromEnd(1), 1, { block_size: 16, padding: "zero" }),
    [[0, 0, 72, 80]]],
  ["two groups of 36, each padded to 48",               72, axisTiling(fromEnd(1), 6, { block_size: 16, padding: "zero", padding_groups: 2 }),
    [[0, 0, 16, 16], [2, 32, 36, 48], [3, 36, 52, 52], [5, 68, 72, 84]]],
  ["more parts than blocks: the last are empty",        20, axisTiling(fromEnd(1), 3, { block_size: 16, padding: "zero" }),
    [[0, 0, 16, 16], [1, 16, 20, 32], [2, 32, 32, 32]]],
  ["shards of 5 and 4 each padded to 8",                 9, axisTiling(fromEnd(1), 2, { shard_padding_multiple: 8, padding: "zero" }),
    [[0, 0, 5, 8], [1, 5, 9, 13]]],
])("%s", (_, extent, cut, parts) => {
  const { shards } = resolveLayout(layout(ROW_MAJOR, tiling([cut])), [extent], "f16");
  test.each(parts)("partition %i is %i to %i, stored to %i", (partition, start, logicalEnd, physicalEnd) => {
    expect(shards[partition]).toEqual({
      tile: partition,
      start: [start],
      logicalEnd: [logicalEnd],
      physicalEnd: [physicalEnd],
    });
  });
});

const QUERY = layout(
  AMP_LEFT,
  tiling([
    axisTiling(fromEnd(2), 92, { tile_stride: 16 }),
    axisTiling(fromEnd(3), 16, { tile_stride: 1 }),
    axisTiling(fromEnd(1), 1, { block_size: 16, padding: "zero" }),
  ]),
);

describe("a value of the attention block", () => {
  test("is a query row block on tile t: head t mod 16, part t div 16, [8, 80] or [7, 80]", () => {
    const { shards } = resolveLayout(QUERY, [16, 729, 72], "f16");
    expect(shards).toHaveLength(1472);
    expect(shards[16 * 3 + 5]).toEqual({
      tile: 53,
      start: [5, 24, 0],
      logicalEnd: [6, 32, 72],
      physicalEnd: [6, 32, 80],
    });
    expect(shardBytes(shards[0], "f16")).toBe(8 * 80 * 2);
    expect(shardBytes(shards[1471], "f16")).toBe(7 * 80 * 2);
  });

  test("is a key block on tile t < 192: head t mod 16, block t div 16", () => {
    const keys = layout(
      AMP_TRANSPOSED_RIGHT,
      tiling([
        axisTiling(fromEnd(3), 16, { tile_stride: 1 }),
        axisTiling(fromEnd(2), 12, { block_size: 64, padding: "zero", tile_stride: 16 }),
        axisTiling(fromEnd(1), 1, { block_size: 16, padding: "zero" }),
      ]),
    );
    const { shards, paddedShape } = resolveLayout(keys, [16, 729, 72], "f16");
    expect(paddedShape).toEqual([16, 768, 80]);
    expect(shards[16 * 11 + 2].start).toEqual([2, 704, 0]);
    expect(shards.every((shard) => shardBytes(shard, "f16") === 10_240)).toBe(true);
  });

  test("is found at its place: row 717 of 729, column 80 of a projection", () => {
    const projection = layout(
      AMP_TRANSPOSED_LEFT,
      tiling([
        axisTiling(fromEnd(2), 46, { block_size: 16, padding: "zero", tile_stride: 1 }),
        axisTiling(fromEnd(1), 16, { block_size: 2, padding: "zero", tile_stride: 46 }),
      ]),
    );
    const resolved = resolveLayout(projection, [1, 729, 1152], "f16");
    // Row 717 is row 13 of block 44; column 80 is column 8 of block 1.
    expect(placesOf(resolved, [0, 717, 80])).toEqual([
      { shard: 44 + 46, tile: 90, element: 8 * 16 + 13 },
    ]);
  });
});

test("replicas hold copies: neighbouring tiles the same shard", () => {
  const twice = layout(ROW_MAJOR, tiling([axisTiling(fromStart(0), 3)], 2));
  const { shards } = resolveLayout(twice, [6], "f32");
  expect(shards.map(({ tile, start }) => [tile, start[0]])).toEqual([
    [0, 0],
    [1, 0],
    [2, 2],
    [3, 2],
    [4, 4],
    [5, 4],
  ]);
});

const row = (options: Partial<AxisTiling>, partitions = 2): TensorTiling =>
  tiling([axisTiling(fromStart(0), partitions, options)]);

// prettier-ignore
test.each<[string, TensorTiling, number[], string]>([
  ["EmptyTileGroup",       { tile_count: 0, replicas: 1, axes: [] },      [4, 4], "a layout has tiles"],
  ["EmptyTileGroup",       { tile_count: 1.5, replicas: 1, axes: [] },    [4, 4], "a count is whole"],
  ["EmptyAxisTiling",      row({ padding_groups: 0 }),                    [4, 4], "an axis has a group"],
  ["EmptyAxisTiling",      row({ shard_padding_multiple: 0 }),            [4, 4], "nothing is a multiple of zero"],
  ["EmptyAxisTiling",      row({ block_size: NaN }),                      [4, 4], "a block is a number"],
  ["EmptyAxisTiling",      linearTiling(5),                               [2, 2], "each tile of a linear layout holds a grain"],
  ["AxisOutOfRange",       tiling([axisTiling(fromStart(2), 2)]),         [4, 4], "the axes are 0 and 1"],
  ["AxisOutOfRange",       tiling([axisTiling(fromEnd(0), 2)]),           [4, 4], "the last axis is 1 from the end"],
  ["AxisOutOfRange",       tiling([axisTiling(fromStart(0.5), 2)]),       [4, 4], "half an axis is none"],
  ["DuplicateAxis",        tiling([axisTiling(fromStart(0), 2), axisTiling(fromEnd(2), 2)]), [4, 4], "both are axis 0"],
  ["InvalidPaddingGroups", row({ padding_groups: 2 }),                    [5, 4], "5 elements are no two groups"],
  ["InvalidPaddingGroups", row({ padding_groups: 3 }),                    [6, 4], "2 partitions are no three groups"],
  ["IndivisibleAxis",      row({ block_size: 4 }),                        [6, 4], "6 is padded to 8, which is rejected"],
  ["IndivisibleAxis",      row({ shard_padding_multiple: 4 }),            [6, 4], "a shard of 3 is padded to 4, which is rejected"],
  ["IndivisibleAxis",      linearTiling(2, 3),                            [4, 4], "16 elements are no whole grains of 3"],
  ["InvalidTileMapping",   { ...row({}), tile_count: 3 },                 [4, 4], "two partitions need two tiles"],
  ["InvalidTileMapping",   row({ tile_stride: 2 }),                       [4, 4], "tiles 0 and 1 would both hold partition 0"],
  ["InvalidTileMapping",   { ...row({}), axes: [axisTiling(fromStart(0), 4_000_000_000)] }, [4, 4], "and are not counted one by one"],
  ["InvalidShape",         tiling(),                                      [4, 0], "a tensor has elements"],
  ["InvalidShape",         tiling(),                                      [2 ** 31, 2 ** 31], "and not more than can be counted"],
  ["TooLarge",             tiling([], 4_000_000_000),                     [4, 4], "no chip has so many tiles"],
  ["TooLarge",             linearTiling(2),                               [2 ** 30, 2], "a shard for each row would be too many"],
])("%s rejects %j of %j: %s", (kind, cut, shape) => {
  const { fault } = simError("LAYOUT_INVALID", () => resolveLayout(layout(ROW_MAJOR, cut), shape, "f16"));
  expect(fault.where.kind).toBe(kind);
});

interface Laid {
  readonly layout: Layout;
  readonly shape: readonly number[];
}

/** Layouts that resolve: any axes, in any order in the list, padded as need be. */
const grids: fc.Arbitrary<Laid> = fc
  .array(
    fc.record({
      partitions: fc.integer({ min: 1, max: 5 }),
      groups: fc.constantFrom(1, 1, 2, 3),
      groupExtent: fc.integer({ min: 1, max: 7 }),
      block_size: fc.integer({ min: 1, max: 4 }),
      blocks: fc.integer({ min: 1, max: 3 }),
      shard_padding_multiple: fc.constantFrom(1, 1, 4),
      isCut: fc.boolean(),
      rank: fc.nat(),
    }),
    { minLength: 1, maxLength: 3 },
  )
  .chain((axes) => fc.record({ axes: fc.constant(axes), replicas: fc.constantFrom(1, 1, 2, 3) }))
  .map(({ axes, replicas }) => {
    const shape = axes.map(({ groups, groupExtent }) => groups * groupExtent);
    const cuts = axes
      .map((axis, index) => ({ ...axis, index }))
      .filter(({ isCut }) => isCut)
      .sort((a, b) => a.rank - b.rank)
      .map(({ index, partitions, groups, block_size, blocks, shard_padding_multiple }) =>
        axisTiling(fromStart(index), partitions * groups, {
          padding_groups: groups,
          block_size,
          padding_multiple: block_size * blocks,
          shard_padding_multiple,
          padding: "zero",
        }),
      );
    return { layout: layout(ROW_MAJOR, tiling(cuts, replicas)), shape };
  });

const linears: fc.Arbitrary<Laid> = fc
  .record({
    outer: fc.array(fc.integer({ min: 1, max: 4 }), { maxLength: 2 }),
    cols: fc.integer({ min: 1, max: 6 }),
    grain: fc.integer({ min: 1, max: 4 }),
    tiles: fc.nat(),
    replicas: fc.constantFrom(1, 1, 2),
  })
  .map(({ outer, cols, grain, tiles, replicas }) => {
    const shape = [...outer, cols * grain];
    const count = 1 + (tiles % (elementsOf(shape) / grain));
    const cut = linearTiling(count, grain);
    return {
      layout: layout(ROW_MAJOR, { ...cut, replicas, tile_count: count * replicas }),
      shape,
    };
  });

describe.each([
  ["grid", grids],
  ["linear", linears],
])("any %s layout", (_, laid) => {
  test("covers every element of the tensor exactly as often as it has replicas", () => {
    fc.assert(
      fc.property(laid, ({ layout, shape }) => {
        const { shards } = resolveLayout(layout, shape, "f32");
        const holders = new Uint32Array(elementsOf(shape));
        for (const { start, logicalEnd } of shards) {
          const extents = logicalEnd.map((end, axis) => end - start[axis]);
          for (let i = 0; i < elementsOf(extents); i++) {
            let rest = i;
            let index = 0;
            let stride = 1;
            for (let axis = shape.length - 1; axis >= 0; axis--) {
              index += (start[axis] + (rest % extents[axis])) * stride;
              rest = Math.floor(rest / extents[axis]);
              stride *= shape[axis];
            }
            holders[index]++;
          }
        }
        expect(new Set(holders)).toEqual(new Set([layout.tiling.replicas]));
      }),
    );
  });

  test("stores every shard's own elements, in order of the tiles, and counts them", () => {
    fc.assert(
      fc.property(laid, ({ layout, shape }) => {
        const resolved = resolveLayout(layout, shape, "f32");
        const { shards, totalElements } = resolved;
        for (const { start, logicalEnd, physicalEnd } of shards) {
          for (const axis of shape.keys()) {
            expect(start[axis]).toBeLessThanOrEqual(logicalEnd[axis]);
            expect(logicalEnd[axis]).toBeLessThanOrEqual(physicalEnd[axis]);
          }
        }
        const tiles = shards.map(({ tile }) => tile);
        expect(tiles).toEqual(tiles.toSorted((a, b) => a - b));
        expect(new Set(tiles).size).toBe(layout.tiling.tile_count);
        const bytes = shards.reduce((sum, shard) => sum + shardBytes(shard, "f32"), 0);
        expect(bytes).toBe(4 * totalElements);
      }),
    );
  });

  test("has each element at distinct places, one a replica", () => {
    fc.assert(
      fc.property(laid, fc.nat(), ({ layout, shape }, seed) => {
        const at = shape.map((extent, axis) => (seed >> (4 * axis)) % extent);
        const places = placesOf(resolveLayout(layout, shape, "f32"), at);
        expect(places).toHaveLength(layout.tiling.replicas);
        expect(new Set(places.map(({ tile }) => tile)).size).toBe(places.length);
      }),
    );
  });
});
