import { assertNever } from "../base/errors.ts";
import type { Axis, AxisTiling, Layout, MemoryClass, Order, TensorTiling } from "./layout.ts";
import { fieldsOf, malformed, nameOf, numberOf, readDebug, soleItem } from "./rust-debug.ts";
import type { DebugName, DebugValue } from "./rust-debug.ts";

/**
 * How a revision of the compiler prints layouts: `current` has `padding_groups` and `Standard`; `profile`, of
 * the recorded profiles, has `Ipu21Standard` and prints groups only where they are not 1.
 */
export type Spelling = "current" | "profile";

/** A layout as the compiler prints it (F3.1). */
export function layoutText(layout: Layout, spelling: Spelling = "current"): string {
  const { tile_count, replicas, axes } = layout.tiling;
  const cut = axes.map((axis) => axisTilingText(axis, spelling)).join(", ");
  const memory =
    (spelling === "profile" ? "Ipu21" : "") +
    (layout.memory_class === "standard" ? "Standard" : "Interleaved");
  return (
    `Layout { order: ${orderText(layout.order)}, tiling: TensorTiling { tile_count: ${tile_count}, ` +
    `replicas: ${replicas}, axes: [${cut}] }, memory_class: ${memory} }`
  );
}

/** An axis as the compiler prints it: `FromStart(0)`, `FromEnd(1)`, `Linear`. */
export function axisText(axis: Axis): string {
  switch (axis.kind) {
    case "from-start":
      return `FromStart(${axis.index})`;
    case "from-end":
      return `FromEnd(${axis.index})`;
    case "linear":
      return "Linear";
    default:
      return assertNever(axis);
  }
}

const AMP_NAMES = {
  "amp-left": "Left",
  "amp-transposed-left": "TransposedLeft",
  "amp-transposed-right": "TransposedRight",
  "amp-output": "Output",
  "amp-transposed-output": "TransposedOutput",
} as const;

/** An order as the compiler prints it. */
export function orderText(order: Order): string {
  if (order.kind === "row-major") return "RowMajor";
  if (order.kind !== "block-major") return `Amp(${AMP_NAMES[order.kind]})`;
  const { matrix, row_block, column_block } = order;
  const name = matrix === "matrix" ? "Matrix" : "TransposedMatrix";
  return `BlockMajor(${name} { row_block: ${row_block}, column_block: ${column_block} })`;
}

function axisTilingText(entry: AxisTiling, spelling: Spelling): string {
  const groups =
    spelling === "current" || entry.padding_groups !== 1
      ? `padding_groups: ${entry.padding_groups}, `
      : "";
  const stride = entry.tile_stride === null ? "None" : `Some(${entry.tile_stride})`;
  return (
    `AxisTiling { axis: ${axisText(entry.axis)}, partitions: ${entry.partitions}, ${groups}` +
    `block_size: ${entry.block_size}, padding_multiple: ${entry.padding_multiple}, ` +
    `shard_padding_multiple: ${entry.shard_padding_multiple}, ` +
    `padding: ${entry.padding === "zero" ? "Zero" : "Reject"}, tile_stride: ${stride} }`
  );
}

/**
 * The layout that `text` prints, in any spelling: `padding_groups` and `shard_padding_multiple` are 1 where they
 * are not printed. Whether it resolves to shards is another question.
 *
 * @throws FILE_MALFORMED with `where.offset`
 */
export function parseLayout(text: string): Layout {
  return layoutOf(readDebug(text));
}

/**
 * The layout in debug output that was read already.
 *
 * @throws FILE_MALFORMED with `where.offset`
 */
export function layoutOf(value: DebugValue): Layout {
  const layout = fieldsOf(value, "Layout", ["order", "tiling", "memory_class"]);
  return {
    order: orderOf(layout.get("order")),
    tiling: tilingOf(layout.get("tiling")),
    memory_class: memoryClassOf(layout.get("memory_class")),
  };
}

/**
 * The element order in debug output that was read already.
 *
 * @throws FILE_MALFORMED with `where.offset`
 */
export function orderOf(value: DebugValue): Order {
  const order = nameOf(value);
  if (order.name === "RowMajor") return { kind: "row-major" };
  if (order.name === "Amp") {
    const amp = nameOf(soleItem(order));
    for (const [kind, name] of Object.entries(AMP_NAMES)) {
      if (name === amp.name) return { kind: kind as keyof typeof AMP_NAMES };
    }
    throw malformed(`no AMP order ${amp.name}`, amp.offset);
  }
  if (order.name === "BlockMajor") {
    const blocks = nameOf(soleItem(order));
    const matrix = blockMatrixOf(blocks);
    const fields = fieldsOf(blocks, blocks.name, ["row_block", "column_block"]);
    return {
      kind: "block-major",
      matrix,
      row_block: numberOf(fields.get("row_block")),
      column_block: numberOf(fields.get("column_block")),
    };
  }
  throw malformed(`no order ${order.name}`, order.offset);
}

function blockMatrixOf({ name, offset }: DebugName): "matrix" | "transposed-matrix" {
  if (name === "Matrix") return "matrix";
  if (name === "TransposedMatrix") return "transposed-matrix";
  throw malformed(`no block-major order ${name}`, offset);
}

/**
 * The memory class in debug output that was read already.
 *
 * @throws FILE_MALFORMED with `where.offset`
 */
export function memoryClassOf(value: DebugValue): MemoryClass {
  const { name, offset } = nameOf(value);
  if (name === "Standard" || name === "Ipu21Standard") return "standard";
  if (name === "Interleaved" || name === "Ipu21Interleaved") return "interleaved";
  throw malformed(`no memory class ${name}`, offset);
}

function tilingOf(value: DebugValue): TensorTiling {
  const tiling = fieldsOf(value, "TensorTiling", ["tile_count", "replicas", "axes"]);
  const axes = tiling.get("axes");
  if (axes.kind !== "list") throw malformed("a list of axes expected", axes.offset);
  return {
    tile_count: numberOf(tiling.get("tile_count")),
    replicas: numberOf(tiling.get("replicas")),
    axes: axes.items.map(axisTilingOf),
  };
}

function axisTilingOf(value: DebugValue): AxisTiling {
  const entry = fieldsOf(
    value,
    "AxisTiling",
    ["axis", "partitions", "block_size", "padding_multiple", "padding", "tile_stride"],
    ["padding_groups", "shard_padding_multiple"],
  );
  return {
    axis: axisOf(entry.get("axis")),
    partitions: numberOf(entry.get("partitions")),
    padding_groups: entry.has("padding_groups") ? numberOf(entry.get("padding_groups")) : 1,
    block_size: numberOf(entry.get("block_size")),
    padding_multiple: numberOf(entry.get("padding_multiple")),
    shard_padding_multiple: entry.has("shard_padding_multiple")
      ? numberOf(entry.get("shard_padding_multiple"))
      : 1,
    padding: paddingOf(entry.get("padding")),
    tile_stride: strideOf(entry.get("tile_stride")),
  };
}

function axisOf(value: DebugValue): Axis {
  const axis = nameOf(value);
  if (axis.name === "Linear") return { kind: "linear" };
  if (axis.name === "FromStart") return { kind: "from-start", index: numberOf(soleItem(axis)) };
  if (axis.name === "FromEnd") return { kind: "from-end", index: numberOf(soleItem(axis)) };
  throw malformed(`no axis ${axis.name}`, axis.offset);
}

function paddingOf(value: DebugValue): "zero" | "reject" {
  const { name, offset } = nameOf(value);
  if (name === "Zero") return "zero";
  if (name === "Reject") return "reject";
  throw malformed(`no padding ${name}`, offset);
}

function strideOf(value: DebugValue): number | null {
  const stride = nameOf(value);
  if (stride.name === "None") return null;
  if (stride.name === "Some") return numberOf(soleItem(stride));
  throw malformed(`no tile stride ${stride.name}`, stride.offset);
}
