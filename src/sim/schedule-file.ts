import * as v from "valibot";
import { parseJson } from "../base/json.ts";
import type { Address, TileId } from "../base/units.ts";
import type { Layout } from "../layouts/layout.ts";
import type { Schedule, Step } from "./schedule.ts";

/** What a schedule file must look like; what it must mean is `validateSchedule`'s matter. */

const count = v.pipe(v.number(), v.safeInteger(), v.minValue(0));
const whole = v.pipe(v.number(), v.safeInteger());
const address = v.custom<Address>(isWhole, "an address is a whole number of bytes");
const tile = v.custom<TileId>(isWhole, "a tile is a whole number");
// One check a list: a schedule names some hundred thousand tiles.
const tiles = v.custom<TileId[]>(isWholeList, "a list of tiles holds whole numbers");
const addresses = v.custom<Address[]>(isWholeList, "a list of addresses holds whole numbers");
const dtype = v.picklist(["f16", "f32"]);
const memoryClass = v.picklist(["standard", "interleaved"]);

const order = v.variant("kind", [
  v.strictObject({ kind: v.literal("row-major") }),
  v.strictObject({ kind: v.literal("amp-left") }),
  v.strictObject({ kind: v.literal("amp-transposed-left") }),
  v.strictObject({ kind: v.literal("amp-transposed-right") }),
  v.strictObject({ kind: v.literal("amp-output") }),
  v.strictObject({ kind: v.literal("amp-transposed-output") }),
  v.strictObject({
    kind: v.literal("block-major"),
    matrix: v.picklist(["matrix", "transposed-matrix"]),
    row_block: count,
    column_block: count,
  }),
]);

export const layoutSchema: v.GenericSchema<Layout> = v.strictObject({
  order,
  tiling: v.strictObject({
    tile_count: count,
    replicas: count,
    axes: v.array(
      v.strictObject({
        axis: v.variant("kind", [
          v.strictObject({ kind: v.literal("from-start"), index: count }),
          v.strictObject({ kind: v.literal("from-end"), index: count }),
          v.strictObject({ kind: v.literal("linear") }),
        ]),
        partitions: count,
        padding_groups: count,
        block_size: count,
        padding_multiple: count,
        shard_padding_multiple: count,
        padding: v.picklist(["zero", "reject"]),
        tile_stride: v.nullable(count),
      }),
    ),
  }),
  memory_class: memoryClass,
});

const extents = {
  matrices: count,
  logicalRows: count,
  physicalRows: count,
  logicalColumns: count,
  physicalColumns: count,
};

/** A specification of unknown kind passes here, so that it can be named as what it is. */
const unknownSpec = v.looseObject({ kind: v.string() });
const specs = {
  gemm: v.strictObject({
    kind: v.literal("gemm"),
    multiply: dtype,
    accumulate: dtype,
    mode: v.picklist(["initialize", "accumulate"]),
    weights: memoryClass,
    rows: count,
    innerBlock: count,
    outputColumns: count,
  }),
  "reduce-sum": v.strictObject({ kind: v.literal("reduce-sum"), partials: count, elements: count }),
  copy: v.strictObject({
    kind: v.literal("copy"),
    bytes: count,
    rows: count,
    sourceStride: count,
    outputStride: count,
  }),
  "fill-zero": v.strictObject({ kind: v.literal("fill-zero"), bytes: count }),
  unpack: v.strictObject({
    kind: v.literal("unpack"),
    order: v.strictObject({ kind: v.picklist(["amp-output", "amp-transposed-left"]) }),
    ...extents,
  }),
  rearrange: v.strictObject({
    kind: v.literal("rearrange"),
    order,
    ...extents,
    runTimeShape: v.boolean(),
  }),
  "attention-softmax": v.strictObject({
    kind: v.literal("attention-softmax"),
    rows: count,
    headDimension: count,
    keyColumns: count,
    paddedKeyColumns: count,
  }),
  "attention-merge": v.strictObject({
    kind: v.literal("attention-merge"),
    rows: count,
    valueDimension: count,
    paddedValueDimension: count,
    keyBlockColumns: count,
    initial: v.boolean(),
    finalBlock: v.boolean(),
  }),
  gelu: v.strictObject({ kind: v.literal("gelu"), elements: count }),
  add: v.strictObject({ kind: v.literal("add"), dtype, elements: count }),
  cast: v.strictObject({ kind: v.literal("cast"), from: dtype, to: dtype, elements: count }),
};

const spec = v.lazy((input: unknown) => {
  const kind = (input as { kind?: unknown } | null)?.kind;
  return typeof kind === "string" && Object.hasOwn(specs, kind)
    ? specs[kind as keyof typeof specs]
    : unknownSpec;
});

const call = v.strictObject({
  kernel: v.string(),
  operation: v.string(),
  reason: v.string(),
  value: whole,
  spec,
  elements: v.array(count),
  conversion: v.exactOptional(v.strictObject({ from: layoutSchema, to: layoutSchema })),
  tiles,
  invocations: v.pipe(
    v.array(v.strictObject({ output: address, inputs: addresses })),
    v.minLength(1, "a call has at least one invocation"),
  ),
});

const transfer = v.strictObject({
  source: tile,
  address,
  words: count,
  width: v.picklist([32, 64]),
  destinations: v.array(v.strictObject({ tiles, address })),
});

const step: v.GenericSchema<Step> = v.lazy((input: unknown) => {
  switch ((input as { kind?: unknown } | null)?.kind) {
    case "exchange":
      return exchangeStep;
    case "repeat":
      return repeatStep;
    default:
      return computeStep;
  }
}) as v.GenericSchema<Step>;

const computeStep = v.strictObject({ kind: v.literal("compute"), calls: v.array(call) });
const exchangeStep = v.strictObject({
  kind: v.literal("exchange"),
  operation: v.string(),
  reason: v.string(),
  value: whole,
  transfers: v.array(transfer),
});
const repeatStep = v.strictObject({ kind: v.literal("repeat"), times: count, body: v.array(step) });

const binding = v.strictObject({
  name: v.string(),
  role: v.picklist(["input", "weight", "output"]),
  shape: v.array(count),
  dtype,
  layout: layoutSchema,
  address,
  tiles: v.exactOptional(tiles),
});

const schedule = v.strictObject({
  format: v.literal("tilesim-schedule"),
  version: v.literal(1),
  program: v.string(),
  target: v.string(),
  tiles: count,
  inputs: v.array(binding),
  outputs: v.array(binding),
  buffers: v.array(
    v.strictObject({
      name: v.string(),
      address,
      bytes: count,
      tiles,
      firstStep: whole,
      lastStep: whole,
      zeroFilled: v.exactOptional(v.literal(true)),
    }),
  ),
  steps: v.array(step),
});

/**
 * The schedule in a file's text. Its form is checked here, its meaning by `validateSchedule`.
 *
 * @throws SimError `FILE_MALFORMED` with the path of the first field that does not fit
 */
export function parseSchedule(text: string, file: string): Schedule {
  return parseJson(text, schedule, file) as Schedule;
}

/** A schedule as text, a step's calls and transfers a line each: for people who edit one. */
export function formatSchedule(schedule: Schedule): string {
  const lines = (items: readonly unknown[], indent: string): string =>
    items.length === 0
      ? "[]"
      : `[\n${items.map((item) => `${indent}  ${JSON.stringify(item)}`).join(",\n")}\n${indent}]`;
  const formatStep = (item: Step, indent: string): string => {
    switch (item.kind) {
      case "compute":
        return `${indent}{ "kind": "compute", "calls": ${lines(item.calls, indent)} }`;
      case "exchange": {
        const { transfers, ...rest } = item;
        const head = JSON.stringify(rest).slice(1, -1);
        return `${indent}{ ${head}, "transfers": ${lines(transfers, indent)} }`;
      }
      case "repeat": {
        const body = item.body.map((inner) => formatStep(inner, `${indent}  `)).join(",\n");
        return `${indent}{ "kind": "repeat", "times": ${item.times}, "body": [\n${body}\n${indent}] }`;
      }
    }
  };
  const { inputs, outputs, buffers, steps, ...head } = schedule;
  return (
    `${JSON.stringify(head).slice(0, -1)},\n` +
    `"inputs": ${lines(inputs, "")},\n"outputs": ${lines(outputs, "")},\n` +
    `"buffers": ${lines(buffers, "")},\n` +
    `"steps": [\n${steps.map((item) => formatStep(item, "  ")).join(",\n")}\n]}\n`
  );
}

function isWhole(input: unknown): boolean {
  return Number.isSafeInteger(input);
}

function isWholeList(input: unknown): boolean {
  return Array.isArray(input) && input.every(isWhole);
}
