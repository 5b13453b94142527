import { SimError } from "../base/errors.ts";
import { BYTES_PER_ELEMENT } from "../numerics/dtype.ts";
import {
  AMP_LEFT,
  AMP_TRANSPOSED_LEFT,
  axisTiling,
  blockMajor,
  fromEnd,
  layout,
} from "../layouts/constructors.ts";
import type { AxisTiling, Layout } from "../layouts/layout.ts";
import { elementsOf } from "../layouts/order.ts";
import { extentsOf, resolveLayout } from "../layouts/resolve.ts";
import type { GemmSpec, ReduceSumSpec } from "../kernels/spec.ts";
import { ref, type Label, type PlanBuilder, type PlanTransfer, type TileCall } from "./builder.ts";
import { contiguousCopy, convert } from "./convert.ts";
import type { GemmOperation } from "./program.ts";
import {
  logicalExtents,
  placedValue,
  plainView,
  type NewValue,
  type PlacedValue,
} from "./value.ts";

/** Elements of an f16 panel's side: inner lengths and kernel columns are whole panels (F2.3). */
export const PANEL = 16;

/** What rows and columns of a result are cut in whole multiples of. */
export function partUnits(orientation: GemmOperation["orientation"]): {
  readonly rowUnit: number;
  readonly columnUnit: number;
} {
  return orientation === "swapped"
    ? { rowUnit: PANEL, columnUnit: 2 }
    : { rowUnit: 1, columnUnit: PANEL };
}

/** Where the operands and the result of a GEMM are, by its grid (F3.6). */
export interface GemmLayouts {
  /** On every compute tile; the n column parts hold copies. */
  readonly left: Layout;
  /** The same blocks, each on one tile alone: where a host input waits for its multicast. */
  readonly leftSource: Layout;
  readonly leftSourceTile: (layoutTile: number) => number;
  /** On every compute tile; the m row blocks hold copies. */
  readonly right: Layout;
  /** One partial result of the k: as the result, on every compute tile. */
  readonly result: Layout;
}

/**
 * The layouts of left [.., M, K] x right [K, N] on a grid of m x n x k tiles.
 *
 * Tile t computes row block t mod m, inner part (t div m) mod k, column part t div (m*k); block
 * (row block, column part) of the result belongs to tile row block + m * column part. A host input's block
 * (row block, inner part) waits on tile row block + m*n * inner part.
 *
 * @throws SimError `PLAN_DOES_NOT_FIT` for a grid that cuts finer than the kernel's panels
 */
export function gemmLayouts(
  operation: GemmOperation,
  leftShape: readonly number[],
  rightShape: readonly number[],
): GemmLayouts {
  const { grid, orientation, weights, output } = operation;
  const { m, n, k } = grid;
  const [tokens, inner] = leftShape.slice(-2);
  const columns = rightShape[rightShape.length - 1];
  const innerPanels = Math.ceil(inner / PANEL);
  const { rowUnit, columnUnit } = partUnits(orientation);
  checkParts("m", m, Math.ceil(tokens / rowUnit), `${tokens} rows in blocks of ${rowUnit}`, output);
  checkParts(
    "n",
    n,
    Math.ceil(columns / columnUnit),
    `${columns} columns by ${columnUnit}`,
    output,
  );
  checkParts("k", k, innerPanels, `an inner length of ${inner} in panels of ${PANEL}`, output);

  const block = (size: number): Partial<AxisTiling> => ({ block_size: size, padding: "zero" });
  const rows = (tile_stride: number): AxisTiling =>
    axisTiling(fromEnd(2), m, { ...block(rowUnit), tile_stride });
  const innerAxis = (index: number, tile_stride: number): AxisTiling =>
    axisTiling(fromEnd(index), k, {
      ...block(PANEL),
      // Equal parts: the kernel runs one inner length everywhere.
      padding_multiple: PANEL * k,
      tile_stride,
    });
  const cols = (tile_stride: number): AxisTiling =>
    axisTiling(fromEnd(1), n, { ...block(columnUnit), tile_stride });
  const innerPart = Math.ceil(innerPanels / k) * PANEL;

  const isSwapped = orientation === "swapped";
  const leftOrder = isSwapped ? blockMajor(innerPart, PANEL, "transposed-matrix") : AMP_LEFT;
  const rightOrder = isSwapped ? AMP_TRANSPOSED_LEFT : blockMajor(innerPart, PANEL);
  // The kernel reads its coefficients, the right operand of its own product, from this class.
  const leftClass = isSwapped ? weights : "standard";
  const rightClass = isSwapped ? "standard" : weights;
  const on = (axes: readonly AxisTiling[], replicas: number, count: number): Layout["tiling"] => ({
    tile_count: count,
    replicas,
    axes,
  });
  return {
    left: layout(leftOrder, on([rows(1), innerAxis(1, m)], n, m * n * k), leftClass),
    leftSource: layout(leftOrder, on([rows(1), innerAxis(1, m)], 1, m * k), leftClass),
    leftSourceTile: (tile) => (tile % m) + Math.floor(tile / m) * m * n,
    right: layout(rightOrder, on([innerAxis(2, m), cols(m * k)], m, m * n * k), rightClass),
    result: layout(
      isSwapped ? AMP_TRANSPOSED_LEFT : AMP_LEFT,
      on([rows(1), cols(m)], 1, m * n),
      "interleaved",
    ),
  };
}

function checkParts(axis: string, parts: number, most: number, why: string, output: string): void {
  if (parts <= most) return;
  throw new SimError("PLAN_DOES_NOT_FIT", {
    what: `${output}: a grid of ${axis} = ${parts} parts is finer than ${why} allow, ${most}`,
    where: { value: output, axis, parts, most },
    fix: `Choose ${axis} up to ${most}`,
  });
}

/**
 * X blocks to the compute tiles -> gemm -> partials to the owners -> reduce -> home (F0.4). With k = 1 the
 * compute tile is the owner, and the gemm's output is the result.
 */
export function lowerGemm(
  builder: PlanBuilder,
  operation: GemmOperation,
  left: PlacedValue,
  right: PlacedValue,
  result: Omit<NewValue, "layout">,
  label: string,
): PlacedValue {
  const { grid, orientation, weights } = operation;
  const { m, n, k } = grid;
  const layouts = gemmLayouts(operation, left.shape, right.shape);
  const named = (reason: string, value: number): Label => ({ operation: label, reason, value });

  const operand = convert(
    builder,
    plainView(left),
    { ...left, name: `${left.name}.operand`, layout: layouts.left, tileOf: (tile) => tile },
    { label: named("OperatorInput { input: 0 }", left.id), inPlace: true },
  );
  const residentRight =
    JSON.stringify(right.layout) === JSON.stringify(layouts.right)
      ? right
      : convert(
          builder,
          plainView(right),
          {
            ...right,
            name: `${right.name}.operand`,
            layout: layouts.right,
            tileOf: (tile) => tile,
          },
          { label: named("OperatorInput { input: 1 }", right.id), inPlace: true },
        );

  const home = { ...result, layout: layouts.result };
  const { shards } = resolveLayout(home.layout, home.shape, home.dtype);
  const bytesOf = (owner: number): number =>
    elementsOf(extentsOf(shards[owner])) * BYTES_PER_ELEMENT.f16;
  const most = Math.max(...shards.map((_, owner) => bytesOf(owner)));
  const homeBuffer = builder.buffer(`${result.name}.home`, most, home.layout.memory_class);
  const partial = k === 1 ? homeBuffer : builder.buffer(`${result.name}.partial`, most, "standard");

  const calls: TileCall[] = [];
  const specs = new Map<string, GemmSpec>();
  for (let tile = 0; tile < m * n * k; tile++) {
    const owner = (tile % m) + m * Math.floor(tile / (m * k));
    const x = operand.shards[tile];
    const w = residentRight.shards[tile];
    const out = shards[owner];
    const physical = extentsOf(out).slice(-2);
    const innerBlock = extentsOf(x).at(-1) ?? 0;
    const [rows, outputColumns] = orientation === "swapped" ? physical.toReversed() : physical;
    const key = `${rows}:${outputColumns}`;
    const spec = specs.get(key) ?? {
      kind: "gemm",
      multiply: "f16",
      accumulate: "f16",
      mode: "initialize",
      weights,
      rows,
      innerBlock,
      outputColumns,
    };
    specs.set(key, spec);
    const [xElements, wElements] = [x, w].map((shard) => elementsOf(logicalExtents(shard)));
    const operands =
      orientation === "swapped"
        ? [residentRight.at(tile), operand.at(tile)]
        : [operand.at(tile), residentRight.at(tile)];
    operands[0].buffer.apart.add(partial);
    partial.apart.add(operands[0].buffer);
    calls.push({
      tile,
      spec,
      elements: [
        elementsOf(logicalExtents(out)),
        ...(orientation === "swapped" ? [wElements, xElements] : [xElements, wElements]),
      ],
      invocations: [{ output: ref(partial), inputs: operands }],
    });
  }
  builder.compute(named("OperatorKernel", result.id), calls.filter(hasWork));
  if (k === 1) return placedValue(home, homeBuffer);

  const partials = builder.buffer(`${result.name}.partials`, most * k, "standard");
  partial.ratherApart.add(partials);
  partials.ratherApart.add(partial);
  const sum = builder.buffer(`${result.name}.sum`, most, "standard");
  const transfers: PlanTransfer[] = [];
  const seeds: TileCall[] = [];
  for (let owner = 0; owner < m * n; owner++) {
    const bytes = bytesOf(owner);
    if (bytes === 0) continue;
    for (let part = 0; part < k; part++) {
      const contributor = (owner % m) + m * part + m * k * Math.floor(owner / m);
      const at = ref(partials, part * bytes);
      if (contributor === owner) {
        seeds.push({
          tile: owner,
          spec: contiguousCopy(bytes),
          elements: [],
          invocations: [{ output: at, inputs: [ref(partial)] }],
        });
      } else {
        transfers.push({
          source: contributor,
          from: ref(partial),
          words: bytes / 4,
          to: [{ tiles: [owner], at }],
        });
      }
    }
  }
  builder.exchange(named("OperatorInputs", result.id), transfers);
  builder.compute(named("LocalCopy", result.id), seeds);
  const owners = shards.flatMap((_, owner) => (bytesOf(owner) > 0 ? [owner] : []));
  const sums = new Map<number, ReduceSumSpec>();
  builder.compute(
    named("OperatorKernel", result.id),
    owners.map((owner) => {
      const elements = bytesOf(owner) / BYTES_PER_ELEMENT.f16;
      const spec = sums.get(elements) ?? { kind: "reduce-sum", partials: k, elements };
      sums.set(elements, spec);
      return {
        tile: owner,
        spec,
        elements: [elements, elements, elements * (k - 1)],
        invocations: [{ output: ref(sum), inputs: [ref(partials), ref(partials, bytesOf(owner))] }],
      };
    }),
  );
  builder.compute(
    named("LocalCopy", result.id),
    owners.map((owner) => ({
      tile: owner,
      spec: contiguousCopy(bytesOf(owner)),
      elements: [],
      invocations: [{ output: ref(homeBuffer), inputs: [ref(sum)] }],
    })),
  );
  return placedValue(home, homeBuffer);
}

function hasWork({ spec }: TileCall): boolean {
  return spec.kind === "gemm" && spec.rows * spec.outputColumns * spec.innerBlock > 0;
}
