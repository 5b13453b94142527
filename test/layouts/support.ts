import fc from "fast-check";
import { expect } from "vitest";
import { SimError } from "../../src/base/errors.ts";
import { blockMajor } from "../../src/layouts/constructors.ts";
import type { Axis, AxisTiling, Layout, Order } from "../../src/layouts/layout.ts";
import type { DType } from "../../src/numerics/dtype.ts";

/** The error that `run` throws, which must be a SimError with this code. */
export function simError(code: string, run: () => unknown): SimError {
  let thrown: unknown;
  try {
    run();
  } catch (error) {
    thrown = error;
  }
  expect(thrown).toBeInstanceOf(SimError);
  const error = thrown as SimError;
  expect(error.code).toBe(code);
  return error;
}

export const dtypes: fc.Arbitrary<DType> = fc.constantFrom("f16", "f32");

export const orders: fc.Arbitrary<Order> = fc.oneof(
  fc.constantFrom<Order>(
    { kind: "row-major" },
    { kind: "amp-left" },
    { kind: "amp-transposed-left" },
    { kind: "amp-transposed-right" },
    { kind: "amp-output" },
    { kind: "amp-transposed-output" },
  ),
  fc
    .tuple(
      fc.constantFrom(16, 32, 48, 64),
      fc.constantFrom(1, 2, 8, 16),
      fc.constantFrom("matrix" as const, "transposed-matrix" as const),
    )
    .map(([row_block, column_block, matrix]) => blockMajor(row_block, column_block, matrix)),
);

const counts = fc.nat({ max: 100_000 });

const axes: fc.Arbitrary<Axis> = fc.oneof(
  fc.constant<Axis>({ kind: "linear" }),
  counts.map((index): Axis => ({ kind: "from-start", index })),
  counts.map((index): Axis => ({ kind: "from-end", index })),
);

const axisTilings: fc.Arbitrary<AxisTiling> = fc.record({
  axis: axes,
  partitions: counts,
  padding_groups: fc.constantFrom(1, 2, 16),
  block_size: counts,
  padding_multiple: counts,
  shard_padding_multiple: counts,
  padding: fc.constantFrom("zero" as const, "reject" as const),
  tile_stride: fc.option(counts),
});

/** Any layout that can be written down; most resolve to nothing. */
export const layouts: fc.Arbitrary<Layout> = fc.record({
  order: orders,
  tiling: fc.record({
    tile_count: counts,
    replicas: counts,
    axes: fc.array(axisTilings, { maxLength: 4 }),
  }),
  memory_class: fc.constantFrom("standard" as const, "interleaved" as const),
});

/** What any dtype's rows and columns are whole multiples of in an order. */
export function fittingUnits(order: Order): readonly [number, number] {
  switch (order.kind) {
    case "row-major":
      return [1, 1];
    case "amp-left":
    case "amp-output":
      return [1, 16];
    case "amp-transposed-left":
    case "amp-transposed-output":
      return [16, 1];
    case "amp-transposed-right":
      return [16, 16];
    case "block-major":
      return order.matrix === "matrix"
        ? [order.row_block, order.column_block]
        : [order.column_block, order.row_block];
  }
}

export interface Fitted {
  readonly order: Order;
  readonly rows: number;
  readonly cols: number;
}

/** An order and a matrix that fits it. */
export const fitted: fc.Arbitrary<Fitted> = fc
  .tuple(orders, fc.integer({ min: 1, max: 5 }), fc.integer({ min: 1, max: 5 }))
  .map(([order, down, across]) => {
    const [rowUnit, colUnit] = fittingUnits(order);
    return { order, rows: down * rowUnit, cols: across * colUnit };
  });
