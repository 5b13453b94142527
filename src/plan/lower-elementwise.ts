import { SimError } from "../base/errors.ts";
import { ROW_MAJOR } from "../layouts/constructors.ts";
import { elementsOf } from "../layouts/order.ts";
import { extentsOf } from "../layouts/resolve.ts";
import type { KernelSpec } from "../kernels/spec.ts";
import { ref, type PlanBuilder, type TileCall } from "./builder.ts";
import { convert } from "./convert.ts";
import type { AddOperation, CastOperation, GeluOperation } from "./program.ts";
import {
  largestShardBytes,
  logicalExtents,
  placedValue,
  plainView,
  type NewValue,
  type PlacedValue,
} from "./value.ts";

/** One kernel on each tile's shard, stored elements in order; the result is laid out as the first operand. */
function lowerElementwise(
  builder: PlanBuilder,
  specOf: (elements: number) => KernelSpec,
  operands: readonly PlacedValue[],
  result: Omit<NewValue, "layout">,
  label: string,
): PlacedValue {
  const [first] = operands;
  const { layout, tileOf, shards } = first;
  const buffer = builder.buffer(
    `${result.name}.home`,
    largestShardBytes(shards, result.dtype),
    layout.memory_class,
  );
  const calls = shards.flatMap((shard): TileCall[] => {
    const elements = elementsOf(extentsOf(shard));
    if (elements === 0) return [];
    const tile = tileOf(shard.tile);
    const logical = elementsOf(logicalExtents(shard));
    return [
      {
        tile,
        spec: specOf(elements),
        elements: [logical, ...operands.map(() => logical)],
        invocations: [{ output: ref(buffer), inputs: operands.map(({ at }) => at(tile)) }],
      },
    ];
  });
  builder.compute({ operation: label, reason: "OperatorKernel", value: result.id }, calls);
  return placedValue({ ...result, layout, tileOf }, buffer);
}

/**
 * The kernel takes halves by twos.
 * @throws SimError `PLAN_DOES_NOT_FIT`
 */
export function lowerGelu(
  builder: PlanBuilder,
  _operation: GeluOperation,
  input: PlacedValue,
  result: Omit<NewValue, "layout">,
  label: string,
): PlacedValue {
  const odd = input.shards.find((shard) => elementsOf(extentsOf(shard)) % 2 !== 0);
  if (odd) {
    const elements = elementsOf(extentsOf(odd));
    throw new SimError("PLAN_DOES_NOT_FIT", {
      what: `gelu ${result.name}: ${elements} elements of ${input.name} lie on one tile, an even number is needed`,
      where: { value: result.name, elements },
      fix: "Make its columns an even number",
    });
  }
  return lowerElementwise(
    builder,
    (elements) => ({ kind: "gelu", elements }),
    [input],
    result,
    label,
  );
}

/** The second operand is brought to the first one's layout. */
export function lowerAdd(
  builder: PlanBuilder,
  _operation: AddOperation,
  [a, b]: readonly [PlacedValue, PlacedValue],
  result: Omit<NewValue, "layout">,
  label: string,
): PlacedValue {
  const aligned = convert(
    builder,
    plainView(b),
    { ...b, name: `${b.name}.aligned`, layout: a.layout, tileOf: a.tileOf },
    {
      label: { operation: label, reason: "OperatorInput { input: 1 }", value: b.id },
      inPlace: true,
    },
  );
  return lowerElementwise(
    builder,
    (elements) => ({ kind: "add", dtype: a.dtype, elements }),
    [a, aligned],
    result,
    label,
  );
}

/** Orders with strips differ between dtypes, so that a packed value is brought to row-major first. */
export function lowerCast(
  builder: PlanBuilder,
  { to }: CastOperation,
  input: PlacedValue,
  result: Omit<NewValue, "layout">,
  label: string,
): PlacedValue {
  const isFlat = input.layout.order.kind === "row-major";
  const flat = isFlat
    ? input
    : convert(
        builder,
        plainView(input),
        { ...input, name: `${input.name}.flat`, layout: { ...input.layout, order: ROW_MAJOR } },
        { label: { operation: label, reason: "LayoutRearrangement", value: input.id } },
      );
  return lowerElementwise(
    builder,
    (elements) => ({ kind: "cast", from: input.dtype, to, elements }),
    [flat],
    { ...result, dtype: to },
    label,
  );
}
