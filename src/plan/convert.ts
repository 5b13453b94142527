import { InternalError, SimError } from "../base/errors.ts";
import { BYTES_PER_ELEMENT } from "../numerics/dtype.ts";
import type { Layout, Order } from "../layouts/layout.ts";
import { matricesOf } from "../layouts/order.ts";
import { extentsOf, resolveLayout, shardBytes } from "../layouts/resolve.ts";
import type { Shard } from "../layouts/shard.ts";
import { rectangleSpans, type Span } from "../layouts/spans.ts";
import type { CopySpec, RearrangeSpec, UnpackSpec } from "../kernels/spec.ts";
import {
  ref,
  type Label,
  type PlanBuilder,
  type PlanTransfer,
  type Ref,
  type TileCall,
} from "./builder.ts";
import {
  largestShardBytes,
  logicalExtents,
  placedValue,
  type NewValue,
  type PlacedValue,
  type View,
} from "./value.ts";

export interface ConvertOptions {
  readonly label: Label;
  /** A tile that already holds its whole target shard in the target's order uses it where it is. */
  readonly inPlace?: boolean;
  /**
   * When a direct move copies what is on its tile already. Of the compiler's conversions, those to another layout
   * do it after their exchange, and those that only spread copies before it: so the recorded profile shows.
   */
  readonly copies?: "before" | "after";
}

/**
 * Brings a value into another layout, over tiles: by direct exchange where both orders store the same runs,
 * else through row-major staging on both ends (F3.5):
 *
 *   unpack at the source -> exchange of row-major rows -> rearrange at the destination
 *
 * What is on the right tile already is copied there instead.
 *
 * @throws SimError `PLAN_DOES_NOT_FIT` where no kernel makes the step, a run is no whole number of words, or the value
 *   is no matrix nor a row of matrices
 */
export function convert(
  builder: PlanBuilder,
  view: View,
  target: NewValue,
  { label, inPlace = false, copies = "after" }: ConvertOptions,
): PlacedValue {
  checkRank(target);
  const { shards } = resolveLayout(target.layout, target.shape, target.dtype);
  const tileOf = target.tileOf ?? ((tile: number) => tile);
  const destinations = groupReplicas(shards, tileOf);
  const sources = sourcesOf(view);
  const columns = Math.max(...shards.map((shard) => extentsOf(shard).at(-1) ?? 1));
  const route = routeOf(view.value, target.layout.order, columns);
  const name = `${target.name}.${label.operation}`;
  const places = new Map<number, Ref>();

  if (route === "direct") {
    const bytes = largestShardBytes(shards, target.dtype);
    const buffer = builder.buffer(name, bytes, target.layout.memory_class);
    const { moves, hasGaps } = planMoves(
      view,
      sources,
      destinations,
      target,
      "physical",
      inPlace,
      places,
    );
    buffer.zeroFilled = hasGaps;
    keepApart(view.value, buffer);
    const at = (tile: number): Ref => view.value.at(tile);
    emitMoves(builder, label, moves, at, () => ref(buffer), copies);
    return placedValue({ ...target, tileOf }, buffer, places);
  }

  const { unpacks, rearranges } = route;
  if (unpacks) checkMatrices(view.value, view.value.shards);
  if (rearranges) checkMatrices(target, shards);
  const moved: NewValue = { ...target, layout: { ...target.layout, order: { kind: "row-major" } } };
  const stagedSources = unpacks
    ? sources.map((source) => ({ ...source, order: ROW_MAJOR_ORDER }))
    : sources;
  const stagedDestinations = rearranges
    ? destinations.map((group) => ({ ...group, shard: withoutPadding(group.shard) }))
    : destinations;
  // The compiler keeps both stagings of a conversion in one memory element: the horizons of the recorded
  // phases show that a tile's sends and receives wait for each other (F4.7).
  const sourceBytes = unpacks ? largestShardBytes(view.value.shards, target.dtype) : 0;
  const targetBytes = rearranges
    ? stagedDestinations.reduce(
        (most, { shard }) => Math.max(most, shardBytes(shard, target.dtype)),
        0,
      )
    : 0;
  const targetStart = Math.ceil(sourceBytes / 32) * 32;
  const staging = builder.buffer(`${name}.staging`, targetStart + targetBytes, "standard", {
    oneElement: true,
  });
  const buffer = builder.buffer(
    name,
    largestShardBytes(shards, target.dtype),
    target.layout.memory_class,
  );
  const { moves, hasGaps } = planMoves(
    view,
    stagedSources,
    stagedDestinations,
    moved,
    "logical",
    false,
    places,
  );
  // A rearrange writes its shard's padding; none can write a shard that is padding alone.
  buffer.zeroFilled = rearranges ? destinations.some(isPaddingAlone) : hasGaps;
  if (unpacks) builder.compute(label, unpackCalls(view, sources, unpacks, ref(staging)));
  const from = unpacks ? (): Ref => ref(staging) : (tile: number): Ref => view.value.at(tile);
  const to = rearranges ? (): Ref => ref(staging, targetStart) : (): Ref => ref(buffer);
  if (!unpacks) keepApart(view.value, rearranges ? staging : buffer);
  emitMoves(builder, label, moves, from, to, "before");
  if (rearranges) {
    // Both in one element would make the kernel's loads and stores meet (F1.3).
    buffer.apart.add(staging);
    staging.apart.add(buffer);
    builder.compute(
      { ...label, reason: "OperatorInputs" },
      rearrangeCalls(
        destinations,
        target.layout,
        rearranges,
        ref(staging, targetStart),
        ref(buffer),
      ),
    );
  }
  return placedValue({ ...target, tileOf }, buffer, places);
}

/** A target shard and the tiles that get a copy of it. */
interface Destination {
  readonly shard: Shard;
  readonly tiles: readonly number[];
}

/** A stored shard of the source, seen as the view's matrices. */
interface Source {
  readonly shard: Shard;
  readonly tile: number;
  readonly order: Order;
}

type Route =
  | "direct"
  | {
      readonly unpacks: UnpackSpec["order"] | null;
      readonly rearranges: RearrangeSpec["order"] | null;
    };

const ROW_MAJOR_ORDER: Order = { kind: "row-major" };

/** Rows that a tile keeps for itself, as the compiler describes them. */
const STAGING_LAYOUT: Layout = {
  order: ROW_MAJOR_ORDER,
  tiling: { tile_count: 1, replicas: 1, axes: [] },
  memory_class: "standard",
};

/** Micro-panel classes whose 16 x 16 panels are the same bytes (F2.2). */
function panelClass(order: Order): "rows-columns" | "columns-rows" | "row-major" | "other" {
  switch (order.kind) {
    case "row-major":
      return "row-major";
    case "amp-left":
    case "amp-transposed-right":
      return "rows-columns";
    case "amp-transposed-left":
      return "columns-rows";
    case "block-major":
      return order.matrix === "matrix" ? "columns-rows" : "rows-columns";
    default:
      return "other";
  }
}

/** Moves are worked out for matrices, one by one. @throws SimError `PLAN_DOES_NOT_FIT` */
function checkRank({ name, shape }: NewValue): void {
  if (shape.length === 2 || shape.length === 3) return;
  throw new SimError("PLAN_DOES_NOT_FIT", {
    what: `${name} has ${shape.length} axes; a value that is brought to another layout has two or three`,
    where: { value: name, shape: [...shape] },
    fix: "Fold or add axes, or keep the value where it is",
  });
}

/** The kernels pad rows and columns, and no whole matrices. @throws SimError `PLAN_DOES_NOT_FIT` */
function checkMatrices({ name, shape }: NewValue, shards: readonly Shard[]): void {
  const isPadded = shards.some((shard) => {
    const logical = logicalExtents(shard);
    return logical.length > 2 && logical[0] > 0 && logical[0] < extentsOf(shard)[0];
  });
  if (!isPadded) return;
  throw new SimError("PLAN_DOES_NOT_FIT", {
    what: `${name}: its ${shape[0]} matrices are padded, and no kernel brings padded ones into another order`,
    where: { value: name, shape: [...shape] },
    fix: "Cut the first axis without padding",
  });
}

/** How to get a value into another order, for target shards of up to `columns` stored columns. */
function routeOf({ name, layout, dtype }: PlacedValue, to: Order, columns: number): Route {
  const from = layout.order;
  const fromClass = panelClass(from);
  if (JSON.stringify(from) === JSON.stringify(to)) return "direct";
  if (fromClass !== "other" && fromClass === panelClass(to)) return "direct";
  const unpacks = from.kind === "amp-output" || from.kind === "amp-transposed-left" ? from : null;
  // Rows of a left or transposed-right panel are 16 elements long: words enough to go as they are.
  const readable = fromClass === "row-major" || fromClass === "rows-columns" || unpacks !== null;
  const rearranges = rearrangeOrder(to, columns);
  const isMade = readable && (rearranges !== null || to.kind === "row-major");
  // The kernels move halves.
  const isMoved = dtype === "f16" || (unpacks === null && rearranges === null);
  if (!isMade || !isMoved) {
    throw new SimError("PLAN_DOES_NOT_FIT", {
      what: `no kernel brings ${name}, ${dtype}, from ${from.kind} to ${to.kind}`,
      where: { value: name, dtype, from: from.kind, to: to.kind },
      fix: "Go through row-major, or choose a layout that the consumer reads directly",
    });
  }
  return { unpacks, rearranges };
}

/** The rearrange target that stores what `to` stores; null: no kernel makes it. */
function rearrangeOrder(to: Order, columns: number): RearrangeSpec["order"] | null {
  switch (to.kind) {
    case "amp-left":
    case "amp-transposed-right":
      return to;
    case "block-major": {
      if (to.matrix === "matrix") return to;
      // With all its columns in one block, a transposed matrix is stored like a transposed-right one.
      const isSame = to.column_block === 16 && to.row_block >= columns;
      return isSame ? { kind: "amp-transposed-right" } : null;
    }
    default:
      return null;
  }
}

function groupReplicas(shards: readonly Shard[], tileOf: (tile: number) => number): Destination[] {
  const groups = new Map<string, { shard: Shard; tiles: number[] }>();
  for (const shard of shards) {
    // Where an axis is padded in groups, an empty shard starts where the next group does.
    const key = `${shard.start.join()}:${shard.physicalEnd.join()}`;
    const group = groups.get(key);
    if (group) group.tiles.push(tileOf(shard.tile));
    else groups.set(key, { shard, tiles: [tileOf(shard.tile)] });
  }
  return [...groups.values()];
}

/** One copy of each source shard: the first tile that holds it. */
function sourcesOf({ value }: View): Source[] {
  return groupReplicas(value.shards, value.tileOf).map(({ shard, tiles }) => ({
    shard,
    tile: tiles[0],
    order: value.layout.order,
  }));
}

/** None of the shard's elements is the tensor's. */
function isPaddingAlone({ shard }: Destination): boolean {
  return logicalElements(shard) === 0;
}

/** The shard as its logical elements alone. */
function withoutPadding(shard: Shard): Shard {
  return { ...shard, physicalEnd: shard.logicalEnd };
}

/** What one source tile gives to one target shard. */
interface Move {
  readonly source: number;
  readonly destination: Destination;
  readonly spans: readonly Span[];
}

interface Moves {
  readonly moves: readonly Move[];
  /** A target shard has stored elements that no move writes. */
  readonly hasGaps: boolean;
}

/**
 * The spans of every overlap of a source and a target shard. `physical` moves a tail's padding along with
 * it, as whole panels are moved; `logical` leaves it.
 */
function planMoves(
  view: View,
  sources: readonly Source[],
  destinations: readonly Destination[],
  target: NewValue,
  extents: "physical" | "logical",
  inPlace: boolean,
  places: Map<number, Ref>,
): Moves {
  const { value, heads } = view;
  const rank = target.shape.length;
  const rowAxis = rank - 2;
  const colAxis = rank - 1;
  const headColumns = target.shape[colAxis];
  const elementBytes = BYTES_PER_ELEMENT[target.dtype];
  const sourceRank = value.shape.length;
  const moves: Move[] = [];
  let hasGaps = false;
  const sourceBounds = sources.map(({ shard }) => boundsOf(shard, value.shape, extents));
  const overlapping = overlapSearch(sourceBounds);
  // Tiles repeat the same rectangle at the same place of their shards.
  const known = new Map<string, readonly Span[]>();

  for (const destination of destinations) {
    const { shard } = destination;
    const physical = extentsOf(shard);
    if (physical.some((extent) => extent === 0)) continue;
    const bounds = boundsOf(shard, target.shape, extents);
    const inDestination = matricesOf(target.layout.order, physical);
    const wanted = physical.reduce((product, extent) => product * extent, 1);
    let written = 0;
    const found: Move[] = [];
    for (let outer = bounds.outerStart; outer < bounds.outerEnd; outer++) {
      const sourceOuter = heads > 1 ? Math.floor(outer / heads) : outer;
      const shift = heads > 1 ? (outer % heads) * headColumns : 0;
      // A head's columns end where the next head's begin, whatever padding the shard has.
      const lastCol = heads > 1 ? Math.min(bounds.col1, headColumns) : bounds.col1;
      const wantedPart = { ...bounds, col0: bounds.col0 + shift, col1: lastCol + shift };
      for (const index of overlapping(wantedPart, sourceOuter)) {
        const source = sources[index];
        const from = sourceBounds[index];
        const row0 = Math.max(bounds.row0, from.row0);
        const row1 = Math.min(bounds.row1, from.row1);
        const col0 = Math.max(bounds.col0, from.col0 - shift);
        const col1 = Math.min(lastCol, from.col1 - shift);
        const sourcePhysical = extentsOf(source.shard);
        const inSource = matricesOf(source.order, sourcePhysical);
        const sourceMatrix = place(inSource, sourcePhysical, sourceOuter - from.outerStart);
        const targetMatrix = place(inDestination, physical, outer - bounds.outerStart);
        const rectangle = {
          source: { order: source.order, rows: inSource.rows, cols: inSource.cols },
          destination: {
            order: target.layout.order,
            rows: inDestination.rows,
            cols: inDestination.cols,
          },
          sourceRow: sourceMatrix.row + row0 - source.shard.start[sourceRank - 2],
          sourceCol: col0 + shift - source.shard.start[sourceRank - 1],
          destinationRow: targetMatrix.row + row0 - shard.start[rowAxis],
          destinationCol: col0 - shard.start[colAxis],
          rows: row1 - row0,
          cols: col1 - col0,
          dtype: target.dtype,
        };
        const key = [
          inSource.rows,
          inSource.cols,
          inDestination.rows,
          inDestination.cols,
          rectangle.sourceRow,
          rectangle.sourceCol,
          rectangle.destinationRow,
          rectangle.destinationCol,
          rectangle.rows,
          rectangle.cols,
          sourceMatrix.element,
          targetMatrix.element,
        ].join();
        let spans = known.get(key);
        if (!spans) {
          spans = rectangleSpans(rectangle).map(({ sourceByte, destinationByte, bytes }) => ({
            sourceByte: sourceByte + sourceMatrix.element * elementBytes,
            destinationByte: destinationByte + targetMatrix.element * elementBytes,
            bytes,
          }));
          checkWords(spans, value.name);
          known.set(key, spans);
        }
        written += (row1 - row0) * (col1 - col0);
        found.push({ source: source.tile, destination, spans });
      }
    }
    const isPartial = written < wanted;
    hasGaps ||= isPartial;
    if (written === 0 && !isPaddingAlone(destination)) {
      throw new InternalError(`no source of ${value.name} for a shard of ${target.name}`);
    }
    const [only] = found;
    // A class that the consumer loads 16 bytes at a time is not to be had in place from standard memory.
    const isUsable =
      inPlace &&
      found.length === 1 &&
      only.spans.length === 1 &&
      only.spans[0].sourceByte === 0 &&
      !isPartial &&
      (target.layout.memory_class === "standard" || value.buffer.memoryClass === "interleaved");
    if (isUsable && destination.tiles.includes(only.source)) {
      places.set(only.source, value.at(only.source));
      const tiles = destination.tiles.filter((tile) => tile !== only.source);
      if (tiles.length > 0) moves.push({ ...only, destination: { shard, tiles } });
      continue;
    }
    moves.push(...found);
  }
  return { moves, hasGaps };
}

/** Where matrix `outer` of a shard begins: a row of the folded matrix, or an element. */
function place(
  { matrices, rows, cols }: { matrices: number; rows: number; cols: number },
  physical: readonly number[],
  outer: number,
): { row: number; element: number } {
  return matrices === 1
    ? { row: outer * physical[physical.length - 2], element: 0 }
    : { row: 0, element: outer * rows * cols };
}

interface Bounds {
  readonly outerStart: number;
  readonly outerEnd: number;
  readonly row0: number;
  readonly row1: number;
  readonly col0: number;
  readonly col1: number;
}

/** Finds the sources that share elements with a part, in order; plain numbers, since there are many. */
function overlapSearch(
  sources: readonly Bounds[],
): (part: Bounds, outer: number) => readonly number[] {
  const outerStart = Int32Array.from(sources, (bounds) => bounds.outerStart);
  const outerEnd = Int32Array.from(sources, (bounds) => bounds.outerEnd);
  const row0 = Int32Array.from(sources, (bounds) => bounds.row0);
  const row1 = Int32Array.from(sources, (bounds) => bounds.row1);
  const col0 = Int32Array.from(sources, (bounds) => bounds.col0);
  const col1 = Int32Array.from(sources, (bounds) => bounds.col1);
  return (part, outer) => {
    const found: number[] = [];
    for (let i = 0; i < row0.length; i++) {
      const isOverlap =
        row0[i] < part.row1 &&
        part.row0 < row1[i] &&
        col0[i] < part.col1 &&
        part.col0 < col1[i] &&
        outerStart[i] <= outer &&
        outer < outerEnd[i];
      if (isOverlap) found.push(i);
    }
    return found;
  };
}

/** A shard's part of its tensor. Physical: with padding, where it is the tensor's tail and no shard follows. */
function boundsOf(shard: Shard, shape: readonly number[], extents: "physical" | "logical"): Bounds {
  const last = shape.length - 1;
  const end = (axis: number): number =>
    extents === "physical" && shard.logicalEnd[axis] === shape[axis]
      ? shard.physicalEnd[axis]
      : shard.logicalEnd[axis];
  return {
    outerStart: last >= 2 ? shard.start[last - 2] : 0,
    outerEnd: last >= 2 ? shard.logicalEnd[last - 2] : 1,
    row0: shard.start[last - 1],
    row1: end(last - 1),
    col0: shard.start[last],
    col1: end(last),
  };
}

/** The exchange moves whole words. @throws SimError `PLAN_DOES_NOT_FIT` */
function checkWords(spans: readonly Span[], name: string): void {
  const odd = spans.find(
    ({ sourceByte, destinationByte, bytes }) => (sourceByte | destinationByte | bytes) % 4 !== 0,
  );
  if (!odd) return;
  throw new SimError("PLAN_DOES_NOT_FIT", {
    what: `moving ${name} would need a run of ${odd.bytes} B at byte ${odd.sourceByte}; the exchange moves whole 4-byte words`,
    where: { value: name, bytes: odd.bytes, sourceByte: odd.sourceByte },
    fix: "Make columns (row-major) or rows (transposed) an even number",
  });
}

/** Exchanges what is on other tiles, and copies what is on its tile already, before that or after it. */
function emitMoves(
  builder: PlanBuilder,
  label: Label,
  moves: readonly Move[],
  from: (tile: number) => Ref,
  to: (tile: number) => Ref,
  copies: "before" | "after",
): void {
  const local = moves
    .filter(({ source, destination }) => destination.tiles.includes(source))
    .map(({ source, spans }) => ({ tile: source, from: from(source), to: to(source), spans }));
  if (copies === "before") copyLocally(builder, label, local);
  builder.exchange(
    label.reason === "OperatorKernel" ? { ...label, reason: "OperatorInputs" } : label,
    moves.flatMap(({ source, destination, spans }): PlanTransfer[] => {
      const tiles = destination.tiles.filter((tile) => tile !== source);
      if (tiles.length === 0) return [];
      const start = from(source);
      const target = to(tiles[0]);
      return spans.map(({ sourceByte, destinationByte, bytes }) => ({
        source,
        from: { buffer: start.buffer, offset: start.offset + sourceByte },
        words: bytes / 4,
        to: [{ tiles, at: { buffer: target.buffer, offset: target.offset + destinationByte } }],
      }));
    }),
  );
  if (copies === "after") copyLocally(builder, label, local);
}

export interface LocalCopy {
  readonly tile: number;
  readonly from: Ref;
  readonly to: Ref;
  readonly spans: readonly Span[];
}

/**
 * Copies within tiles. Neighbouring copies of one length are one sample of several invocations, as the
 * compiler merges them (F6.5); the n-th sample of each tile makes the n-th step.
 */
export function copyLocally(
  builder: PlanBuilder,
  label: Label,
  copies: readonly LocalCopy[],
): void {
  const steps: TileCall[][] = [];
  const nextStep = new Map<number, number>();
  for (const { tile, from, to, spans: whole } of copies) {
    const spans = whole.flatMap(alignedSpans);
    for (let first = 0; first < spans.length;) {
      const { bytes } = spans[first];
      let end = first;
      while (end < spans.length && spans[end].bytes === bytes) end++;
      const step = nextStep.get(tile) ?? 0;
      nextStep.set(tile, step + 1);
      (steps[step] ??= []).push({
        tile,
        spec: contiguousCopy(bytes),
        elements: [],
        invocations: spans.slice(first, end).map(({ sourceByte, destinationByte }) => ({
          output: { buffer: to.buffer, offset: to.offset + destinationByte },
          inputs: [{ buffer: from.buffer, offset: from.offset + sourceByte }],
        })),
      });
      first = end;
    }
  }
  for (const calls of steps) builder.compute({ ...label, reason: "LocalCopy" }, calls);
}

/** A copy by 8 bytes wants both places at multiples of 8; where they are not, it goes by words, in two parts. */
function alignedSpans(span: Span): Span[] {
  const { sourceByte, destinationByte, bytes } = span;
  if (bytes % 8 !== 0 || (sourceByte | destinationByte) % 8 === 0) return [span];
  const first = bytes - 4;
  return [
    { sourceByte, destinationByte, bytes: first },
    { sourceByte: sourceByte + first, destinationByte: destinationByte + first, bytes: 4 },
  ];
}

/** A copy of `bytes` in one run. */
export function contiguousCopy(bytes: number): CopySpec {
  return { kind: "copy", bytes, rows: 1, sourceStride: bytes, outputStride: bytes };
}

/** A tile that sends while it receives should not do both in one memory element (F1.3). */
function keepApart(value: PlacedValue, buffer: PlacedValue["buffer"]): void {
  for (const tile of value.shards.map((shard) => value.tileOf(shard.tile))) {
    const { buffer: source } = value.at(tile);
    source.ratherApart.add(buffer);
    buffer.ratherApart.add(source);
  }
}

function unpackCalls(
  { value }: View,
  sources: readonly Source[],
  order: UnpackSpec["order"],
  output: Ref,
): TileCall[] {
  const conversion = { from: value.layout, to: STAGING_LAYOUT };
  return sources
    .filter(({ shard }) => logicalExtents(shard).every((extent) => extent > 0))
    .map(({ shard, tile }) => {
      const elements = logicalElements(shard);
      return {
        tile,
        spec: { kind: "unpack", order, ...matrixExtents(shard) },
        elements: [elements, elements],
        invocations: [{ output, inputs: [value.at(tile)] }],
        conversion,
      };
    });
}

function rearrangeCalls(
  destinations: readonly Destination[],
  to: Layout,
  order: RearrangeSpec["order"],
  input: Ref,
  output: Ref,
): TileCall[] {
  const fullRows = Math.max(...destinations.map(({ shard }) => matrixExtents(shard).logicalRows));
  return destinations.flatMap((destination) => {
    if (isPaddingAlone(destination)) return [];
    const { shard, tiles } = destination;
    const elements = logicalElements(shard);
    const extents = matrixExtents(shard);
    // The compiler compiles in the shape of whole blocks and passes that of a ragged last one (F2.1).
    const runTimeShape =
      order.kind !== "amp-left" &&
      extents.logicalRows < extents.physicalRows &&
      extents.logicalRows < fullRows;
    return tiles.map((tile) => ({
      tile,
      spec: { kind: "rearrange" as const, order, ...extents, runTimeShape },
      elements: [elements, elements],
      invocations: [{ output, inputs: [input] }],
      conversion: { from: STAGING_LAYOUT, to },
    }));
  });
}

function matrixExtents(shard: Shard): Omit<UnpackSpec, "kind" | "order"> {
  const logical = logicalExtents(shard);
  const physical = extentsOf(shard);
  const last = logical.length - 1;
  return {
    matrices: physical.slice(0, -2).reduce((product, extent) => product * extent, 1),
    logicalRows: logical[last - 1],
    physicalRows: physical[last - 1],
    logicalColumns: logical[last],
    physicalColumns: physical[last],
  };
}

function logicalElements(shard: Shard): number {
  return logicalExtents(shard).reduce((product, extent) => product * extent, 1);
}
