import { clockOrigin, duration, offset } from "./counters.ts";
import type { Certainty } from "./certainty.ts";
import type { Profile, ProfileStep, Sample, TileProfile } from "./profile.ts";
import { isExchangePhase, metadataOf } from "./step-names.ts";

/** A step that the profile shows otherwise than the schedule has it. */
export interface Mismatch {
  readonly physicalTile: number;
  /** The step's place among those of its tile. */
  readonly step: number;
  readonly field: string;
  /** Null: the one has no such step or field. */
  readonly recorded: string | null;
  readonly scheduled: string | null;
}

/** Steps of a profile and of a schedule, lined up by their place in their tile. */
export interface Match {
  /** Tiles of both. */
  readonly tiles: number;
  /** Steps that the profile shows, and those that say the same as the schedule's at their place. */
  readonly visible: number;
  readonly matched: number;
  /** Steps of the schedule that the profile does not show. */
  readonly hidden: number;
  readonly mismatches: readonly Mismatch[];
}

/** One kind of step: its ends, predicted less recorded, in cycles. */
export interface EndsRow {
  readonly operation: string;
  readonly kernel: string;
  readonly ends: number;
  readonly exact: number;
  readonly meanError: number;
  readonly meanAbs: number;
  readonly worst: number;
}

/** Ends of steps from the first tile's start on, predicted against recorded, in cycles. */
export interface Ends {
  /** Ends whose times are known. */
  readonly visible: number;
  readonly exact: number;
  readonly within12: number;
  readonly within30: number;
  readonly medianAbs: number;
  readonly p95Abs: number;
  readonly worst: WorstEnd | null;
  /** Of the whole: 100 * (predicted - recorded) / recorded. */
  readonly totalErrorPercent: number | null;
  /** From the largest error down. */
  readonly kinds: readonly EndsRow[];
}

export interface WorstEnd {
  readonly physicalTile: number;
  readonly step: number;
  readonly operation: string;
  readonly kernel: string;
  readonly predicted: number;
  readonly recorded: number;
  readonly error: number;
}

/** Durations of one part of the work, summed over the tiles whose every time is known. */
export interface Part {
  readonly part: "kernels" | "copies" | "exchange" | "sync";
  readonly samples: number;
  readonly recordedCycles: number;
  readonly predictedCycles: number;
  /** Signed: positive where the prediction is the larger. */
  readonly errorPercent: number | null;
  /** Mean of |error| / recorded over the samples, and the same weighted with the recorded cycles. */
  readonly meanAbsPercent: number | null;
  readonly weightedAbsPercent: number | null;
}

export interface Held {
  readonly match: Match;
  readonly ends: Ends;
  readonly parts: readonly Part[];
  /** Tiles of `parts`, and what these leave of the difference: before a tile begins and after it ends. */
  readonly wholeTiles: number;
  readonly residualCycles: number;
  readonly recordedTotal: number;
  /** Most frequent recorded cycles of each kernel (`workKey`), and each phase's event cycles. */
  readonly kernelCycles: ReadonlyMap<string, number>;
  readonly phaseCycles: ReadonlyMap<number, number>;
}

/**
 * Holds a run (`profileOfRun`) against a recorded profile, tile by tile and step by step. A recorded step stands at its
 * `localIndex`; its times are known where it has a length, or as `certainty` says; it is visible unless `certainty`
 * says that no text of it is.
 */
export function holdAgainst(recorded: Profile, certainty: Certainty | null, run: Profile): Held {
  const runOf = new Map(run.tiles.map((tile) => [tile.physicalTile, tile]));
  const held = new Holder(clockOrigin(recorded), clockOrigin(run), totalOf(recorded), totalOf(run));
  let tiles = 0;
  recorded.tiles.forEach((tile, index) => {
    const own = runOf.get(tile.physicalTile);
    if (own) tiles++;
    held.hold(tile, own ?? { ...tile, samples: [] }, certainty?.tiles[index] ?? null);
  });
  const scheduled = run.tiles.reduce((sum, { samples }) => sum + samples.length, 0);
  return held.result(tiles, scheduled);
}

/** What tells the work of two steps apart in a report: the kernel, a copy's bytes, and how often it is invoked. */
export function workKey(
  kernel: string,
  bytes: number | string | null,
  invocations: number | string | null,
): string {
  return [kernel, bytes ?? "", invocations ?? 1].join(" ");
}

/** Cycles from the first start to the last end that is known. */
function totalOf(profile: Profile): number {
  const origin = clockOrigin(profile);
  let total = 0;
  for (const { samples } of profile.tiles) {
    for (const sample of samples) {
      if (isTimed(sample)) total = Math.max(total, offset(sample.start, origin) + duration(sample));
    }
  }
  return total;
}

function isTimed({ start, end }: Sample): boolean {
  return start !== end;
}

type Side = { readonly endCycle: string; readonly isShown: string } | null;

class Holder {
  readonly #origin: number;
  readonly #runOrigin: number;
  readonly #total: number;
  readonly #runTotal: number;
  readonly #mismatches: Mismatch[] = [];
  #visible = 0;
  #matched = 0;
  readonly #errors: number[] = [];
  #worst: WorstEnd | null = null;
  readonly #kinds = new Map<string, { operation: string; kernel: string; errors: number[] }>();
  readonly #parts = new Map<Part["part"], Sums>();
  #wholeTiles = 0;
  #residual = 0;
  readonly #durations = new Map<string, Map<number, number>>();
  readonly #phases = new Map<number, number>();

  constructor(origin: number, runOrigin: number, total: number, runTotal: number) {
    this.#origin = origin;
    this.#runOrigin = runOrigin;
    this.#total = total;
    this.#runTotal = runTotal;
  }

  hold(tile: TileProfile, run: TileProfile, side: Side): void {
    let before = -1;
    tile.samples.forEach((sample, index) => {
      const { localIndex } = sample.step;
      const own = localIndex > before ? run.samples[localIndex] : undefined;
      before = Math.max(before, localIndex);
      if (side === null || side.isShown[index] === "y") this.#matchStep(tile, sample, own);
      const isKnown = side === null ? isTimed(sample) : side.endCycle[index] !== "l";
      if (isKnown && own) this.#holdEnd(tile, sample, own);
      this.#learn(sample);
    });
    const isWhole =
      tile.samples.length === run.samples.length &&
      tile.samples.length > 0 &&
      tile.samples.every((sample, i) => isTimed(sample) && sample.step.localIndex === i);
    if (isWhole) this.#addParts(tile.samples, run.samples);
  }

  result(tiles: number, scheduled: number): Held {
    const sorted = this.#errors.map(Math.abs).sort((a, b) => a - b);
    const within = (most: number): number => sorted.filter((error) => error <= most).length;
    const at = (share: number): number =>
      sorted.length === 0 ? 0 : sorted[Math.ceil(share * sorted.length) - 1];
    return {
      match: {
        tiles,
        visible: this.#visible,
        matched: this.#matched,
        hidden: scheduled - this.#matched,
        mismatches: this.#mismatches,
      },
      ends: {
        visible: sorted.length,
        exact: within(0),
        within12: within(12),
        within30: within(30),
        medianAbs: at(0.5),
        p95Abs: at(0.95),
        worst: this.#worst,
        totalErrorPercent: percentOf(this.#runTotal - this.#total, this.#total),
        kinds: [...this.#kinds.values()]
          .map(endsRow)
          .sort((a, b) => Math.abs(b.worst) - Math.abs(a.worst)),
      },
      parts: [...this.#parts].map(([part, sums]) => sums.part(part)),
      wholeTiles: this.#wholeTiles,
      residualCycles: this.#residual,
      recordedTotal: this.#total,
      kernelCycles: new Map(
        [...this.#durations].map(([key, counts]) => [key, mostFrequent(counts)]),
      ),
      phaseCycles: this.#phases,
    };
  }

  #matchStep({ physicalTile }: TileProfile, { step }: Sample, own: Sample | undefined): void {
    this.#visible++;
    const differences = differencesOf(step, own?.step);
    if (differences.length === 0) this.#matched++;
    for (const difference of differences) {
      this.#mismatches.push({ physicalTile, step: step.localIndex, ...difference });
    }
  }

  #holdEnd({ physicalTile }: TileProfile, sample: Sample, own: Sample): void {
    const recorded = offset(sample.start, this.#origin) + duration(sample);
    const predicted = offset(own.start, this.#runOrigin) + duration(own);
    const error = predicted - recorded;
    this.#errors.push(error);
    const { operation, localIndex } = sample.step;
    const kernel = nameOf(sample.step);
    if (Math.abs(error) > Math.abs(this.#worst?.error ?? 0)) {
      this.#worst = {
        physicalTile,
        step: localIndex,
        operation,
        kernel,
        predicted,
        recorded,
        error,
      };
    }
    const key = `${operation} ${kernel}`;
    const kind = this.#kinds.get(key) ?? { operation, kernel, errors: [] };
    kind.errors.push(error);
    this.#kinds.set(key, kind);
  }

  #learn(sample: Sample): void {
    const { step } = sample;
    if (isExchangePhase(step.phase)) {
      if (step.eventCycles > 0) this.#phases.set(step.phase, step.eventCycles);
    } else if (isTimed(sample)) {
      const key = workKey(step.kernel, metadataOf(step, "bytes"), metadataOf(step, "invocations"));
      const counts = this.#durations.get(key) ?? new Map<number, number>();
      this.#durations.set(
        key,
        counts.set(duration(sample), (counts.get(duration(sample)) ?? 0) + 1),
      );
    }
  }

  #addParts(samples: readonly Sample[], run: readonly Sample[]): void {
    this.#wholeTiles++;
    let rest = this.#runTotal - this.#total;
    samples.forEach((sample, i) => {
      const part = partOf(sample.step);
      const sums = this.#parts.get(part) ?? new Sums();
      this.#parts.set(part, sums);
      sums.add(duration(sample), duration(run[i]));
      rest -= duration(run[i]) - duration(sample);
    });
    this.#residual += rest;
  }
}

class Sums {
  #samples = 0;
  #recorded = 0;
  #predicted = 0;
  #moved = 0;
  #relative = 0;

  add(recorded: number, predicted: number): void {
    const moved = Math.abs(predicted - recorded);
    this.#samples++;
    this.#recorded += recorded;
    this.#predicted += predicted;
    this.#moved += moved;
    this.#relative += moved / recorded;
  }

  part(part: Part["part"]): Part {
    return {
      part,
      samples: this.#samples,
      recordedCycles: this.#recorded,
      predictedCycles: this.#predicted,
      errorPercent: percentOf(this.#predicted - this.#recorded, this.#recorded),
      meanAbsPercent: percentOf(this.#relative, this.#samples),
      weightedAbsPercent: percentOf(this.#moved, this.#recorded),
    };
  }
}

function partOf({ kind, metadata }: ProfileStep): Part["part"] {
  if (kind === "exchange") return "exchange";
  if (kind !== "compute") return "sync";
  return metadata.some(({ name }) => name === "pattern") ? "copies" : "kernels";
}

/** Where two steps differ; their times and activities are held elsewhere. */
function differencesOf(
  recorded: ProfileStep,
  scheduled: ProfileStep | undefined,
): Pick<Mismatch, "field" | "recorded" | "scheduled">[] {
  if (!scheduled) return [{ field: "step", recorded: nameOf(recorded), scheduled: null }];
  const fields = ["kind", "operation", "kernel", "phase", "eventCycles"] as const;
  const different: Pick<Mismatch, "field" | "recorded" | "scheduled">[] = fields
    .filter((field) => recorded[field] !== scheduled[field])
    .map((field) => ({
      field,
      recorded: String(recorded[field]),
      scheduled: String(scheduled[field]),
    }));
  const length = Math.max(recorded.metadata.length, scheduled.metadata.length);
  for (let i = 0; i < length; i++) {
    const a = recorded.metadata.at(i);
    const b = scheduled.metadata.at(i);
    if (a?.name === b?.name && a?.value === b?.value) continue;
    different.push({
      field: a?.name ?? b?.name ?? "metadata",
      recorded: a?.value ?? null,
      scheduled: b?.value ?? null,
    });
  }
  return different;
}

/** A kernel with a copy's bytes, or the kind of a step and its phase. */
function nameOf(step: ProfileStep): string {
  if (isExchangePhase(step.phase)) return `${step.kernel} ${step.phase % 2 ** 31}`;
  const bytes = metadataOf(step, "bytes");
  return bytes === null ? step.kernel : `${step.kernel} ${bytes} B`;
}

function endsRow({
  operation,
  kernel,
  errors,
}: {
  operation: string;
  kernel: string;
  errors: number[];
}): EndsRow {
  const sum = (of: (error: number) => number): number =>
    errors.reduce((all, error) => all + of(error), 0);
  return {
    operation,
    kernel,
    ends: errors.length,
    exact: errors.filter((error) => error === 0).length,
    meanError: sum((error) => error) / errors.length,
    meanAbs: sum(Math.abs) / errors.length,
    worst: errors.reduce((most, error) => (Math.abs(error) > Math.abs(most) ? error : most), 0),
  };
}

function mostFrequent(counts: ReadonlyMap<number, number>): number {
  return [...counts].reduce((best, one) => (one[1] > best[1] ? one : best))[0];
}

function percentOf(part: number, whole: number): number | null {
  return whole === 0 ? null : (100 * part) / whole;
}
