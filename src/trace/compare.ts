import { assertNever } from "../base/errors.ts";
import { clockOrigin, duration, offset } from "./counters.ts";
import { exchangeSummary } from "./exchange-summary.ts";
import type { PhaseSummary } from "./exchange-summary.ts";
import { alignSteps, phaseRanks } from "./align-steps.ts";
import type { Likeness, PhaseRanks, StepPair } from "./align-steps.ts";
import { byName } from "./step-names.ts";
import type { Profile, StepKind, TileProfile } from "./profile.ts";

/** A number of each of the two, and how far the second is from the first. */
export interface Difference {
  readonly a: number;
  readonly b: number;
  /** b - a. */
  readonly difference: number;
}

export const COMPARE_GROUPS = ["step", "operation", "kernel", "kind", "tile"] as const;
export type CompareGroup = (typeof COMPARE_GROUPS)[number];

export const COMPARE_SORTS = ["moved", "difference", "name"] as const;
export type CompareSort = (typeof COMPARE_SORTS)[number];

export interface CompareQuery {
  readonly groupBy: CompareGroup;
  readonly sortBy: CompareSort;
  /** Rows to give; 0: all. */
  readonly limit: number;
  /** How many pairs to give of those that differ most. */
  readonly samples: number;
}

/** Steps that share what is grouped by. Pairs of which a time is not known count in `untimed` alone. */
export interface CompareRow {
  readonly name: string;
  /** Pairs of equal steps, and of steps that differ in shape, kernel or kind. */
  readonly same: number;
  readonly changed: number;
  readonly onlyA: number;
  readonly onlyB: number;
  readonly untimed: number;
  /** Distinct tiles. */
  readonly tiles: number;
  /** Sums of durations over the pairs and what only one profile has. */
  readonly cycles: Difference;
  /** Sum of |b - a| over pairs, and of what only one has: what cancels in `cycles` does not here. */
  readonly movedCycles: number;
  /** 100 * difference / a; null where a is 0. */
  readonly percent: number | null;
}

/** Two samples that were paired. */
export interface ComparePair {
  readonly physicalTile: number;
  readonly operation: string;
  readonly stepA: string;
  readonly stepB: string;
  readonly likeness: Likeness;
  /** Offsets from the first start of each profile. */
  readonly offset: Difference;
  readonly cycles: Difference;
}

/** A phase of both, aligned as their steps are; null where only one profile has it, or has no times of it. */
export interface ComparePhase {
  readonly name: string;
  readonly scheduled: Sides;
  readonly measured: Sides;
  readonly arrivalWait: Sides;
  readonly boundary: Sides;
}

export interface Sides {
  readonly a: number | null;
  readonly b: number | null;
  /** b - a; null where one is. */
  readonly difference: number | null;
}

/**
 * The difference of two profiles in tile cycles, and its parts, which add up to it exactly:
 *
 *   total = same + changed + onlyA + onlyB + untimed + residual
 *
 * total is tiles * elapsed of B less that of A. Each tile's elapsed cycles are its samples and what no sample covers:
 * before its first, between two, and after its last until the last tile ends. The residual is the difference of these.
 */
export interface CompareParts {
  readonly total: number;
  readonly same: number;
  readonly changed: number;
  /** Less than or equal to 0. */
  readonly onlyA: number;
  readonly onlyB: number;
  /** Of pairs of which a time is not known. */
  readonly untimed: number;
  /** entry + between + exit. */
  readonly residual: number;
  readonly entry: number;
  readonly between: number;
  readonly exit: number;
}

export interface Comparison {
  readonly clockHz: Difference;
  /** From the first start to the last end. */
  readonly elapsedCycles: Difference;
  /** Elapsed cycles on each tile that has samples, summed. */
  readonly tileCycles: Difference;
  readonly parts: CompareParts;
  readonly tiles: { readonly both: number; readonly onlyA: number; readonly onlyB: number };
  readonly samples: {
    readonly a: number;
    readonly b: number;
    readonly same: number;
    readonly changed: number;
    readonly onlyA: number;
    readonly onlyB: number;
    readonly untimed: number;
  };
  /** Rows before the limit. */
  readonly rowCount: number;
  readonly rows: readonly CompareRow[];
  /** Difference of the rows that the limit leaves out. */
  readonly otherRowsDifference: number;
  readonly phases: readonly ComparePhase[];
  readonly pairs: readonly ComparePair[];
}

/** A pair of samples of one tile, or one that only one profile has. */
interface Compared {
  readonly tile: number;
  readonly pair: StepPair;
  readonly a: number;
  readonly b: number;
  readonly part: Likeness | "untimed";
}

/**
 * Holds profile B against profile A: which steps are in both, and how many cycles moved where. Tiles are aligned by
 * physical number, a tile's steps by operation and by what they are (`alignSteps`).
 */
export function compareProfiles(a: Profile, b: Profile, query: CompareQuery): Comparison {
  const ranks = { a: phaseRanks(a), b: phaseRanks(b) };
  const ofA = new Map(a.tiles.map((tile) => [tile.physicalTile, tile]));
  const ofB = new Map(b.tiles.map((tile) => [tile.physicalTile, tile]));
  const tiles = [...new Set([...ofA.keys(), ...ofB.keys()])].sort((x, y) => x - y);
  const parts = { same: 0, changed: 0, onlyA: 0, onlyB: 0, untimed: 0 };
  const counts = { ...parts };
  const sums = new Map<string, RowSums>();
  let far: readonly Compared[] = [];
  // Tile by tile, so that the pairs of all need not be held at once.
  for (const tile of tiles) {
    const compared = alignSteps(
      ofA.get(tile)?.samples ?? [],
      ofB.get(tile)?.samples ?? [],
      ranks,
    ).map((pair) => comparedOf(tile, pair));
    for (const one of compared) {
      counts[one.part]++;
      parts[one.part] += one.b - one.a;
      addTo(sums, one, query.groupBy);
    }
    far = farthest([...far, ...compared], query.samples);
  }
  const rows = [...sums].map(rowOf).sort(orderOf(query.sortBy));
  const shown = query.limit === 0 ? rows : rows.slice(0, query.limit);
  const cover = { a: coverOf(a), b: coverOf(b) };
  const inBoth = tiles.filter((tile) => ofA.has(tile) && ofB.has(tile)).length;
  const origin = { a: clockOrigin(a), b: clockOrigin(b) };
  return {
    clockHz: differenceOf(a.clockHz, b.clockHz),
    elapsedCycles: differenceOf(cover.a.elapsed, cover.b.elapsed),
    tileCycles: differenceOf(cover.a.total, cover.b.total),
    parts: { ...parts, ...residualOf(cover.a, cover.b), total: cover.b.total - cover.a.total },
    tiles: { both: inBoth, onlyA: ofA.size - inBoth, onlyB: ofB.size - inBoth },
    samples: { a: samplesIn(a), b: samplesIn(b), ...counts },
    rowCount: rows.length,
    rows: shown,
    otherRowsDifference: rows
      .slice(shown.length)
      .reduce((sum, { cycles }) => sum + cycles.difference, 0),
    phases: phasesOf(a, b, ranks),
    pairs: far.flatMap((one) => pairOf(one, origin)),
  };
}

function comparedOf(tile: number, pair: StepPair): Compared {
  const [a, b] = [pair.a, pair.b].map((side) => (side === null ? 0 : duration(side.sample)));
  return { tile, pair, a, b, part: partOf(pair, a, b) };
}

function partOf({ a, b, likeness }: StepPair, cyclesA: number, cyclesB: number): Compared["part"] {
  const isPair = a !== null && b !== null;
  return isPair && (cyclesA === 0 || cyclesB === 0) ? "untimed" : likeness;
}

function samplesIn({ tiles }: Profile): number {
  return tiles.reduce((sum, { samples }) => sum + samples.length, 0);
}

function differenceOf(a: number, b: number): Difference {
  return { a, b, difference: b - a };
}

/** Cycles of all tiles with samples, from the first start of all to the last end, and those that no sample covers. */
interface Cover {
  readonly elapsed: number;
  /** elapsed * tiles with samples. */
  readonly total: number;
  readonly entry: number;
  /** Less than 0 where samples overlap more than they leave open. */
  readonly between: number;
  readonly exit: number;
}

function coverOf(profile: Profile): Cover {
  const origin = clockOrigin(profile);
  const tiles = profile.tiles.filter(({ samples }) => samples.length > 0);
  const all = tiles.map((tile) => coverOfTile(tile, origin));
  const elapsed = all.reduce((most, { latest }) => Math.max(most, latest), 0);
  const sum = (of: (tile: TileCover) => number): number =>
    all.reduce((total, tile) => total + of(tile), 0);
  return {
    elapsed,
    total: elapsed * tiles.length,
    entry: sum(({ entry }) => entry),
    between: sum(({ between }) => between),
    exit: sum(({ end }) => elapsed - end),
  };
}

interface TileCover {
  readonly entry: number;
  readonly between: number;
  /** Of the last sample. */
  readonly end: number;
  /** The largest of all. */
  readonly latest: number;
}

function coverOfTile({ samples }: TileProfile, origin: number): TileCover {
  const entry = offset(samples[0].start, origin);
  let between = 0;
  let end: number = entry;
  let latest = 0;
  for (const sample of samples) {
    const start = offset(sample.start, origin);
    between += start - end;
    end = start + duration(sample);
    latest = Math.max(latest, end);
  }
  return { entry, between, end, latest };
}

function residualOf(
  a: Cover,
  b: Cover,
): Pick<CompareParts, "residual" | "entry" | "between" | "exit"> {
  const entry = b.entry - a.entry;
  const between = b.between - a.between;
  const exit = b.exit - a.exit;
  return { residual: entry + between + exit, entry, between, exit };
}

interface RowSums {
  readonly counts: Record<Compared["part"], number>;
  tiles: number;
  lastTile: number;
  a: number;
  b: number;
  moved: number;
}

function addTo(rows: Map<string, RowSums>, one: Compared, groupBy: CompareGroup): void {
  const name = rowName(one, groupBy);
  const row = rows.get(name) ?? newRow();
  rows.set(name, row);
  row.counts[one.part]++;
  if (row.lastTile !== one.tile) row.tiles++;
  row.lastTile = one.tile;
  if (one.part === "untimed") return;
  row.a += one.a;
  row.b += one.b;
  row.moved += Math.abs(one.b - one.a);
}

function rowOf([name, { counts, tiles, a, b, moved }]: readonly [string, RowSums]): CompareRow {
  return {
    name,
    ...counts,
    tiles,
    cycles: differenceOf(a, b),
    movedCycles: moved,
    percent: a === 0 ? null : (100 * (b - a)) / a,
  };
}

function newRow(): RowSums {
  const counts = { same: 0, changed: 0, onlyA: 0, onlyB: 0, untimed: 0 };
  return { counts, tiles: 0, lastTile: -1, a: 0, b: 0, moved: 0 };
}

function rowName({ tile, pair: { a, b } }: Compared, groupBy: CompareGroup): string {
  const both = (of: (side: NonNullable<typeof a>) => string): string => {
    const [from, to] = [a, b].map((side) => (side === null ? null : of(side)));
    if (from === null || to === null) return from ?? to ?? "";
    return from === to ? from : `${from} -> ${to}`;
  };
  const operation = both(({ sample: { step } }) => step.operation || "(no operation)");
  switch (groupBy) {
    case "step":
      return `${operation}: ${both(({ name }) => name)}`;
    case "operation":
      return operation;
    case "kernel":
      return both(({ sample: { step } }) => step.kernel || "(no kernel)");
    case "kind":
      return both(({ sample: { step } }): StepKind => step.kind);
    case "tile":
      return `tile ${tile}`;
    default:
      return assertNever(groupBy);
  }
}

function orderOf(key: CompareSort): (x: CompareRow, y: CompareRow) => number {
  switch (key) {
    case "moved":
      return (x, y) => y.movedCycles - x.movedCycles || byName(x, y);
    case "difference":
      return (x, y) => y.cycles.difference - x.cycles.difference || byName(x, y);
    case "name":
      return byName;
    default:
      return assertNever(key);
  }
}

/** Pairs with times that differ most; ties by tile, then by A's order. */
function farthest(compared: readonly Compared[], count: number): readonly Compared[] {
  if (count === 0) return [];
  const far = ({ a, b }: Compared): number => Math.abs(b - a);
  return compared
    .filter(({ part }) => part === "same" || part === "changed")
    .toSorted((x, y) => far(y) - far(x) || x.tile - y.tile)
    .slice(0, count);
}

function pairOf(
  { tile, pair: { a, b, likeness }, a: cyclesA, b: cyclesB }: Compared,
  origin: { readonly a: number; readonly b: number },
): readonly ComparePair[] {
  if (a === null || b === null) return [];
  return [
    {
      physicalTile: tile,
      operation: a.sample.step.operation,
      stepA: a.name,
      stepB: b.name,
      likeness,
      offset: differenceOf(offset(a.sample.start, origin.a), offset(b.sample.start, origin.b)),
      cycles: differenceOf(cyclesA, cyclesB),
    },
  ];
}

function phasesOf(
  a: Profile,
  b: Profile,
  ranks: { readonly a: PhaseRanks; readonly b: PhaseRanks },
): readonly ComparePhase[] {
  const named = (profile: Profile, of: PhaseRanks): ReadonlyMap<string, PhaseSummary> =>
    new Map(
      exchangeSummary(profile).phases.map((phase) => [
        `${phase.operation || "(no operation)"}: exchange ${of(phase)}`,
        phase,
      ]),
    );
  const ofA = named(a, ranks.a);
  const ofB = named(b, ranks.b);
  return [...new Set([...ofA.keys(), ...ofB.keys()])].map((name) => {
    const sides = (of: (phase: PhaseSummary) => number | null): Sides => {
      const [from, to] = [ofA.get(name), ofB.get(name)].map((phase) => (phase ? of(phase) : null));
      return { a: from, b: to, difference: from === null || to === null ? null : to - from };
    };
    return {
      name,
      scheduled: sides((phase) => phase.scheduledCycles),
      measured: sides((phase) => phase.measuredCycles),
      arrivalWait: sides((phase) => phase.arrivalWaitCycles),
      boundary: sides((phase) => phase.boundaryCycles),
    };
  });
}
