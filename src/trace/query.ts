import { assertNever } from "../base/errors.ts";
import { exchangeSummary, takesPart } from "./exchange-summary.ts";
import type { PhaseSummary } from "./exchange-summary.ts";
import { byName, metadataOf, phaseKey } from "./step-names.ts";
import type { MetadataEntry, Profile, StepKind } from "./profile.ts";
import { covered, milliseconds, timelineOf } from "./timeline.ts";
import type { TimedSample } from "./timeline.ts";

/** What samples are grouped by; `metadata` by the first entry of that name. */
export type GroupKey =
  | { readonly kind: "kind" | "kernel" | "operation" | "phase" | "tile" }
  | { readonly kind: "metadata"; readonly name: string };

/** Which samples count: those for which each filter holds that is given; one of a list is enough. */
export interface SampleFilters {
  readonly kinds?: readonly StepKind[];
  readonly kernels?: readonly string[];
  readonly kernelContains?: string;
  readonly operationContains?: string;
  /** Physical tiles, first and last of each range. */
  readonly tiles?: readonly (readonly [number, number])[];
  /** As in the file: exchange phases with bit 31 set. */
  readonly phases?: readonly number[];
  /** All of these must stand among the step's metadata. */
  readonly metadata?: readonly MetadataEntry[];
  /** Only what runs at this time: offset <= t < end. */
  readonly atOffset?: number;
}

export const SORT_KEYS = [
  "phase-cycles",
  "work-cycles",
  "maximum-cycles",
  "mean-cycles",
  "p50-cycles",
  "p95-cycles",
  "arrival-wait-cycles",
  "boundary-cycles",
  "samples",
  "first-offset",
  "name",
] as const;
export type SortKey = (typeof SORT_KEYS)[number];

export interface ProfileQuery {
  /** At least one; with several a group is a combination. */
  readonly groupBy: readonly GroupKey[];
  readonly filters: SampleFilters;
  readonly sortBy: SortKey;
  /** Groups to give; 0: all. */
  readonly limit: number;
  /** How many of the longest samples to give. */
  readonly samples: number;
  /** Time from the first tile's start; else from the last one's, what is before left out. */
  readonly isSharedClock: boolean;
}

/** One group; d are the durations of its samples, ascending, n how many these are. */
export interface QueryGroup {
  readonly name: string;
  /** n. */
  readonly samples: number;
  /** Distinct tiles. */
  readonly tiles: number;
  /** Distinct pairs of phase and epoch. */
  readonly phases: number;
  /** Cycles in which one tile or more is in the group: the length of the union of its samples. */
  readonly phaseCycles: number;
  readonly phaseMs: number;
  /** Sum of d. */
  readonly workCycles: number;
  /** workCycles / phaseCycles. */
  readonly averageActiveTiles: number;
  /** workCycles / n. */
  readonly meanCycles: number;
  /** d[floor((n - 1) * 50 / 100)]: a value that occurs, not one between two. */
  readonly p50Cycles: number;
  /** d[floor((n - 1) * 95 / 100)]. */
  readonly p95Cycles: number;
  readonly maximumCycles: number;
  /** The smallest offset and the largest end. */
  readonly firstOffset: number;
  readonly lastOffset: number;
  /** `arrivalWaitCycles` of the exchange phases that it takes part in, each as a whole, summed; null: none. */
  readonly arrivalWaitCycles: number | null;
  /** Likewise `boundaryCycles`. */
  readonly boundaryCycles: number | null;
}

export interface QuerySample {
  readonly physicalTile: number;
  readonly offset: number;
  readonly duration: number;
  readonly phase: number;
  readonly epoch: number;
  readonly kind: StepKind;
  readonly operation: string;
  readonly kernel: string;
  readonly metadata: readonly MetadataEntry[];
}

/** Names as ipu-stack's profile-query has them in its JSON (F6.6), more beside them. */
export interface QueryResult {
  readonly clockHz: number;
  readonly tileCount: number;
  readonly sampleCount: number;
  /** Samples that have no length after cropping, and so are in no group. */
  readonly droppedSampleCount: number;
  readonly matchedSampleCount: number;
  /** Groups before the limit. */
  readonly groupCount: number;
  /** The largest end of all samples, matched or not. */
  readonly profileSpanCycles: number;
  readonly profileSpanMs: number;
  readonly atOffset: number | null;
  readonly groups: readonly QueryGroup[];
  readonly samples: readonly QuerySample[];
}

/**
 * Samples of a profile, filtered, grouped and ranked. Ties go to the earlier first offset, then to the name.
 *
 * @see F6.6; docs/query.md has each definition with its formula
 */
export function queryProfile(profile: Profile, query: ProfileQuery): QueryResult {
  const { clockHz, tiles } = profile;
  const { span, samples } = timelineOf(profile, { isCropped: !query.isSharedClock });
  const sampleCount = tiles.reduce((sum, tile) => sum + tile.samples.length, 0);
  const matched = samples.filter(filterOf(query.filters));
  const phases = new Map(exchangeSummary(profile).phases.map((phase) => [phaseKey(phase), phase]));
  const groups = grouped(matched, query.groupBy).map((group) => groupOf(group, clockHz, phases));
  groups.sort(orderOf(query.sortBy));
  return {
    clockHz,
    tileCount: tiles.length,
    sampleCount,
    droppedSampleCount: sampleCount - samples.length,
    matchedSampleCount: matched.length,
    groupCount: groups.length,
    profileSpanCycles: span,
    profileSpanMs: milliseconds(span, clockHz),
    atOffset: query.filters.atOffset ?? null,
    groups: query.limit === 0 ? groups : groups.slice(0, query.limit),
    samples: longest(matched, query.samples),
  };
}

function filterOf(filters: SampleFilters): (timed: TimedSample) => boolean {
  const { kernelContains = "", operationContains = "", metadata = [], tiles, atOffset } = filters;
  const kinds = setOf(filters.kinds);
  const kernels = setOf(filters.kernels);
  const phases = setOf(filters.phases);
  return ({ tile, sample: { step }, start, end }) =>
    (kinds?.has(step.kind) ?? true) &&
    (kernels?.has(step.kernel) ?? true) &&
    (phases?.has(step.phase) ?? true) &&
    step.kernel.includes(kernelContains) &&
    step.operation.includes(operationContains) &&
    (tiles?.some(([first, last]) => first <= tile && tile <= last) ?? true) &&
    (atOffset === undefined || (start <= atOffset && atOffset < end)) &&
    metadata.every(({ name, value }) =>
      step.metadata.some((entry) => entry.name === name && entry.value === value),
    );
}

function setOf<T>(list: readonly T[] | undefined): ReadonlySet<T> | undefined {
  return list && new Set(list);
}

interface Group {
  readonly name: string;
  readonly samples: TimedSample[];
}

function grouped(samples: readonly TimedSample[], keys: readonly GroupKey[]): readonly Group[] {
  const groups = new Map<string, Group>();
  for (const timed of samples) {
    const parts = keys.map((key) => keyText(key, timed));
    const id = parts.length === 1 ? parts[0] : JSON.stringify(parts);
    const group = groups.get(id) ?? { name: parts.join(", "), samples: [] };
    groups.set(id, group);
    group.samples.push(timed);
  }
  return [...groups.values()];
}

/** A sample's part of its group's name, as F6.6 writes it. */
function keyText(key: GroupKey, { tile, sample: { step } }: TimedSample): string {
  switch (key.kind) {
    case "kind":
      return step.kind;
    case "kernel":
      return step.kernel === "" ? "(no kernel)" : step.kernel;
    case "operation":
      return step.operation === "" ? "(no operation)" : step.operation;
    case "phase":
      return `phase ${phaseKey(step)}`;
    case "tile":
      return `tile ${tile}`;
    case "metadata":
      return metadataOf(step, key.name) ?? "(missing)";
    default:
      return assertNever(key);
  }
}

function groupOf(
  { name, samples }: Group,
  clockHz: number,
  phases: ReadonlyMap<string, PhaseSummary>,
): QueryGroup {
  const durations = Float64Array.from(samples, ({ start, end }) => end - start).sort();
  const workCycles = durations.reduce((sum, length) => sum + length, 0);
  const phaseCycles = covered(samples);
  const own = new Set(samples.map(({ sample: { step } }) => phaseKey(step)));
  const exchanges = new Set(
    samples.flatMap(({ sample: { step } }) => (takesPart(step) ? [phaseKey(step)] : [])),
  );
  const sum = (of: (phase: PhaseSummary) => number | null): number | null => {
    const known = [...exchanges].flatMap((key) => {
      const phase = phases.get(key);
      const value = phase ? of(phase) : null;
      return value === null ? [] : [value];
    });
    return known.length === 0 ? null : known.reduce((total, value) => total + value, 0);
  };
  return {
    name,
    samples: samples.length,
    tiles: new Set(samples.map(({ tile }) => tile)).size,
    phases: own.size,
    phaseCycles,
    phaseMs: milliseconds(phaseCycles, clockHz),
    workCycles,
    averageActiveTiles: workCycles / phaseCycles,
    meanCycles: workCycles / samples.length,
    p50Cycles: percentile(durations, 50),
    p95Cycles: percentile(durations, 95),
    maximumCycles: durations[durations.length - 1],
    firstOffset: samples.reduce((least, { start }) => Math.min(least, start), Infinity),
    lastOffset: samples.reduce((most, { end }) => Math.max(most, end), 0),
    arrivalWaitCycles: sum((phase) => phase.arrivalWaitCycles),
    boundaryCycles: sum((phase) => phase.boundaryCycles),
  };
}

/** Of n ascending values, that with index floor((n - 1) * percent / 100). */
export function percentile(ascending: ArrayLike<number>, percent: number): number {
  return ascending[Math.floor(((ascending.length - 1) * percent) / 100)];
}

/** Most first, but for names and offsets; what is not known comes last. */
function orderOf(key: SortKey): (a: QueryGroup, b: QueryGroup) => number {
  if (key === "name") return byName;
  return (a, b) => rank(a, key) - rank(b, key) || a.firstOffset - b.firstOffset || byName(a, b);
}

function rank(group: QueryGroup, key: Exclude<SortKey, "name">): number {
  switch (key) {
    case "phase-cycles":
      return -group.phaseCycles;
    case "work-cycles":
      return -group.workCycles;
    case "maximum-cycles":
      return -group.maximumCycles;
    case "mean-cycles":
      return -group.meanCycles;
    case "p50-cycles":
      return -group.p50Cycles;
    case "p95-cycles":
      return -group.p95Cycles;
    case "arrival-wait-cycles":
      return -(group.arrivalWaitCycles ?? -1);
    case "boundary-cycles":
      return -(group.boundaryCycles ?? -1);
    case "samples":
      return -group.samples;
    case "first-offset":
      return group.firstOffset;
    default:
      return assertNever(key);
  }
}

/** The longest samples; ties by tile, then offset. */
function longest(samples: readonly TimedSample[], count: number): readonly QuerySample[] {
  if (count === 0) return [];
  return samples
    .toSorted((a, b) => b.end - b.start - (a.end - a.start) || a.tile - b.tile || a.start - b.start)
    .slice(0, count)
    .map(({ tile, start, end, sample: { step } }) => ({
      physicalTile: tile,
      offset: start,
      duration: end - start,
      phase: step.phase,
      epoch: step.epoch,
      kind: step.kind,
      operation: step.operation,
      kernel: step.kernel,
      metadata: step.metadata,
    }));
}
