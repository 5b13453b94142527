import { SimError } from "../base/errors.ts";
import { BYTES_PER_ELEMENT } from "../numerics/dtype.ts";
import {
  AMP_LEFT,
  AMP_TRANSPOSED_RIGHT,
  axisTiling,
  blockMajor,
  fromEnd,
  layout,
  ROW_MAJOR,
} from "../layouts/constructors.ts";
import type { AxisTiling, Layout, TensorTiling } from "../layouts/layout.ts";
import { elementsOf } from "../layouts/order.ts";
import { extentsOf } from "../layouts/resolve.ts";
import type { KernelSpec } from "../kernels/spec.ts";
import { ref, type Label, type PlanBuilder, type Ref, type TileCall } from "./builder.ts";
import { convert } from "./convert.ts";
import type { AttentionOperation } from "./program.ts";
import {
  logicalExtents,
  placedValue,
  plainView,
  type NewValue,
  type PlacedValue,
} from "./value.ts";

const PANEL = 16;

/** Where an attention's operands, its staging and its result are (F3.4, F3.6). */
export interface AttentionLayouts {
  readonly query: Layout;
  readonly key: Layout;
  readonly value: Layout;
  /** All keys of a head, on each of the head's tiles. */
  readonly keyStaging: Layout;
  readonly valueStaging: Layout;
  readonly output: Layout;
}

/**
 * Layouts for query, key and value of shape [heads, tokens, d]: attention tile t has head t mod heads and
 * query part t div heads; tile t < heads * keyBlocks owns key block t div heads of that head.
 *
 * @throws SimError `PLAN_DOES_NOT_FIT`
 */
export function attentionLayouts(
  { queryParts, keyBlock, output }: AttentionOperation,
  queryShape: readonly number[],
  keyShape: readonly number[],
  valueShape: readonly number[],
  tiles: number,
): AttentionLayouts {
  const [heads, queries] = queryShape;
  const keys = keyShape[1];
  const keyBlocks = Math.ceil(keys / keyBlock);
  const limit = (what: string, needed: number, most: number, fix: string): void => {
    if (needed <= most) return;
    throw new SimError("PLAN_DOES_NOT_FIT", {
      what: `${output}: ${what}, ${needed} needed, ${most} there`,
      where: { value: output, needed, most },
      fix,
    });
  };
  limit("a query part per query row at most", queryParts, queries, "Choose fewer query parts");
  limit("a tile per head and query part", heads * queryParts, tiles, "Choose fewer query parts");
  limit("a tile per head and key block", heads * keyBlocks, tiles, "Choose larger key blocks");

  const headAxis = axisTiling(fromEnd(3), heads, { tile_stride: 1 });
  const columnAxis = axisTiling(fromEnd(1), 1, { block_size: PANEL, padding: "zero" });
  // The merge keeps a maximum and a denominator behind each row's values (F2.10).
  const valueAxis = axisTiling(fromEnd(1), 1, {
    block_size: PANEL,
    padding_multiple: outputColumns(valueShape[2]),
    padding: "zero",
  });
  const rowsInBlocks = (parts: number): AxisTiling =>
    axisTiling(fromEnd(2), parts, { block_size: keyBlock, padding: "zero", tile_stride: heads });
  const queryTiling = (columns: AxisTiling): TensorTiling => ({
    tile_count: heads * queryParts,
    replicas: 1,
    axes: [axisTiling(fromEnd(2), queryParts, { tile_stride: heads }), headAxis, columns],
  });
  const blocksTiling = (columns: AxisTiling): TensorTiling => ({
    tile_count: heads * keyBlocks,
    replicas: 1,
    axes: [headAxis, rowsInBlocks(keyBlocks), columns],
  });
  const stagingTiling = (columns: AxisTiling): TensorTiling => ({
    tile_count: heads * queryParts,
    replicas: queryParts,
    axes: [headAxis, rowsInBlocks(1), columns],
  });
  return {
    query: layout(AMP_LEFT, queryTiling(columnAxis)),
    key: layout(AMP_TRANSPOSED_RIGHT, blocksTiling(columnAxis)),
    value: layout(blockMajor(keyBlock, PANEL), blocksTiling(valueAxis)),
    keyStaging: layout(AMP_TRANSPOSED_RIGHT, stagingTiling(columnAxis)),
    valueStaging: layout(blockMajor(keyBlocks * keyBlock, PANEL), stagingTiling(valueAxis)),
    output: layout(ROW_MAJOR, queryTiling(valueAxis)),
  };
}

/**
 * K to all tiles of a head -> scores -> softmax -> V to all tiles of the head -> weighted values -> merge
 * (F0.4). Query, key and value already lie as `attentionLayouts` says.
 */
export function lowerAttention(
  builder: PlanBuilder,
  layouts: AttentionLayouts,
  query: PlacedValue,
  key: PlacedValue,
  value: PlacedValue,
  result: Omit<NewValue, "layout">,
  label: string,
): PlacedValue {
  const named = (reason: string, id: number): Label => ({ operation: label, reason, value: id });
  const keys = key.shape[1];
  const headDimension = query.shape[2];
  const valueDimension = value.shape[2];
  const mostRows = Math.max(...query.shards.map((shard) => extentsOf(shard)[1]));
  const output = placedValue(
    { ...result, layout: layouts.output },
    builder.buffer(
      `${result.name}.home`,
      mostRows * outputColumns(valueDimension) * BYTES_PER_ELEMENT.f32,
      "standard",
    ),
  );
  const staged = (operand: PlacedValue, target: Layout): PlacedValue =>
    convert(
      builder,
      plainView(operand),
      { ...operand, name: `${operand.name}.staging`, layout: target, tileOf: (tile) => tile },
      // The compiler shows both under the key: so the recorded profile does.
      { label: named("OperatorInputs", key.id), copies: "before" },
    );

  const keyStaging = staged(key, layouts.keyStaging);
  const paddedKeys = extentsOf(keyStaging.shards[0])[1];
  const paddedHead = extentsOf(keyStaging.shards[0])[2];
  const paddedValue = outputColumns(valueDimension);
  const tiles = query.shards.map((shard, tile) => ({
    tile,
    rows: extentsOf(shard)[1],
    queryElements: elementsOf(logicalExtents(shard)),
  }));
  const half = BYTES_PER_ELEMENT.f16;
  // Scores, then weighted values: the second overwrites the first when the softmax has read them (F2.3).
  const scratch = builder.buffer(
    `${result.name}.scratch`,
    mostRows * Math.max(paddedKeys, paddedValue) * half,
    "interleaved",
  );
  const weights = builder.buffer(
    `${result.name}.weights`,
    mostRows * (paddedKeys * half + SOFTMAX_STATE_BYTES),
    "standard",
  );
  const keepApart = (a: Ref, b: Ref): void => {
    a.buffer.apart.add(b.buffer);
    b.buffer.apart.add(a.buffer);
  };
  const compute = (
    specOf: (rows: number) => KernelSpec,
    elementsOfCall: (tile: (typeof tiles)[number]) => readonly number[],
    out: Ref,
    inputsOf: (tile: number) => readonly Ref[],
  ): void => {
    const specs = new Map<number, KernelSpec>();
    const calls = tiles.map((entry): TileCall => {
      const spec = specs.get(entry.rows) ?? specOf(entry.rows);
      specs.set(entry.rows, spec);
      const inputs = inputsOf(entry.tile);
      if (spec.kind === "gemm") keepApart(out, inputs[0]);
      return {
        tile: entry.tile,
        spec,
        elements: elementsOfCall(entry),
        invocations: [{ output: out, inputs }],
      };
    });
    builder.compute(named("OperatorKernel", result.id), calls);
  };
  const gemm = (rows: number, innerBlock: number, outputColumns: number): KernelSpec => ({
    kind: "gemm",
    multiply: "f16",
    accumulate: "f32",
    mode: "initialize",
    weights: "standard",
    rows,
    innerBlock,
    outputColumns,
  });
  const softmaxElements = (rows: number): number =>
    rows * (paddedKeys + SOFTMAX_STATE_BYTES / half);

  compute(
    (rows) => gemm(rows, paddedHead, paddedKeys),
    ({ rows, queryElements }) => [rows * paddedKeys, queryElements, keys * headDimension],
    ref(scratch),
    (tile) => [query.at(tile), keyStaging.at(tile)],
  );
  compute(
    (rows) => ({
      kind: "attention-softmax",
      rows,
      headDimension,
      keyColumns: keys,
      paddedKeyColumns: paddedKeys,
    }),
    ({ rows }) => [softmaxElements(rows), rows * paddedKeys],
    ref(weights),
    () => [ref(scratch)],
  );
  const valueStaging = staged(value, layouts.valueStaging);
  compute(
    (rows) => gemm(rows, paddedKeys, paddedValue),
    ({ rows }) => [rows * paddedValue, rows * paddedKeys, keys * valueDimension],
    ref(scratch),
    (tile) => [ref(weights), valueStaging.at(tile)],
  );
  compute(
    (rows) => ({
      kind: "attention-merge",
      rows,
      valueDimension,
      paddedValueDimension: paddedValue,
      keyBlockColumns: paddedKeys,
      initial: true,
      finalBlock: true,
    }),
    ({ rows }) => [rows * valueDimension, rows * paddedValue, softmaxElements(rows)],
    ref(output.buffer),
    () => [ref(scratch), ref(weights)],
  );
  return output;
}

/** Eight f32 words a row, after the weights (F2.9). */
const SOFTMAX_STATE_BYTES = 32;

/** f32 words of an output row: the values, then the row's maximum and its denominator. */
function outputColumns(valueDimension: number): number {
  return Math.ceil((valueDimension + 2) / PANEL) * PANEL;
}
