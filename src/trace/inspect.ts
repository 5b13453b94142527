import { SimError } from "../base/errors.ts";
import type { Finding } from "../base/errors.ts";
import { orderText } from "../layouts/layout-text.ts";
import type { Target } from "../target/target.ts";
import { clockOrigin, duration, entrySpan } from "./counters.ts";
import { parseCopyPattern } from "./copy-pattern.ts";
import type { CopyPattern } from "./copy-pattern.ts";
import { exchangeSummary } from "./exchange-summary.ts";
import type { ExchangeSummary } from "./exchange-summary.ts";
import { parseKernelSpec } from "./kernel-spec.ts";
import type { RecordedSpec } from "./kernel-spec.ts";
import { STEP_KINDS } from "./profile.ts";
import type {
  ActivityKind,
  MetadataEntry,
  Profile,
  ProfileStep,
  Sample,
  StepKind,
  TileProfile,
} from "./profile.ts";
import { questionsOf } from "./questions.ts";
import type { Answer } from "./questions.ts";
import { milliseconds, timelineOf } from "./timeline.ts";

/** Samples that share something, and the tiles and cycles that they take. */
export interface Tally {
  readonly samples: number;
  readonly tiles: number;
  /** Sum of the durations. */
  readonly cycles: number;
}

export interface NamedTally extends Tally {
  readonly name: string;
}

export interface KindTally extends Tally {
  readonly kind: StepKind;
}

export interface SpecTally extends Tally {
  /** As the compiler printed it. */
  readonly text: string;
  /** What it says; kind `other`: read, but not known; null: no debug output. */
  readonly spec: RecordedSpec | null;
  /** In few words: the text, but a rearrange by its two orders. */
  readonly summary: string;
}

export interface PatternTally extends Tally {
  readonly text: string;
  /** Null: no debug output. */
  readonly pattern: CopyPattern | null;
}

export interface MetadataTally {
  readonly name: string;
  /** Samples that have such an entry. */
  readonly samples: number;
  /** Distinct values. */
  readonly values: number;
}

/** What a recording should have and this one lacks. */
export interface Losses {
  /** Of the target's physical tiles, those that the profile does not name; null where it names others. */
  readonly missingTiles: number | null;
  /** The same as ranges, first and last. */
  readonly missingRanges: readonly (readonly [number, number])[];
  /** Tiles without a sample. */
  readonly emptyTiles: number;
  /** Samples of no length: their times are not known. */
  readonly untimedSamples: number;
  /** Tiles that have such. */
  readonly untimedTiles: number;
  /** Places in a tile's list of steps for which there is no sample, as later ones' `localIndex` shows. */
  readonly missingSamples: number;
  /** Samples that do not begin when the one before them ended. */
  readonly gaps: number;
}

export interface Inspection {
  readonly schemaVersion: number;
  readonly clockHz: number;
  readonly tileCount: number;
  /** The lowest and highest physical tile; null where there is none. */
  readonly firstTile: number | null;
  readonly lastTile: number | null;
  readonly sampleCount: number;
  /** From the first start of all tiles to the last end. */
  readonly elapsedCycles: number;
  readonly elapsedMs: number;
  /** From the first tile's start to the last one's. */
  readonly entrySpanCycles: number;
  readonly kinds: readonly KindTally[];
  readonly operations: readonly NamedTally[];
  readonly kernels: readonly NamedTally[];
  readonly specifications: readonly SpecTally[];
  readonly patterns: readonly PatternTally[];
  readonly metadata: readonly MetadataTally[];
  readonly activities: Readonly<Record<ActivityKind, number>>;
  readonly exchange: ExchangeSummary;
  readonly losses: Losses;
  readonly questions: readonly Answer[];
  readonly findings: readonly Finding[];
}

/** What a profile holds, what it lacks, and which questions it can answer. `target` is the chip that it may be of. */
export function inspectProfile(profile: Profile, target: Target): Inspection {
  const { schemaVersion, clockHz, tiles } = profile;
  const { span } = timelineOf(profile, { isCropped: false });
  const kinds = new Tallies();
  const operations = new Tallies();
  const kernels = new Tallies();
  const specs = new Tallies();
  const patterns = new Tallies();
  const metadata = new Map<string, { samples: number; readonly values: Set<string> }>();
  const activities: Record<ActivityKind, number> = { send: 0, receive: 0, partnerBusy: 0 };
  for (const { physicalTile, samples } of tiles) {
    for (const sample of samples) {
      const { step } = sample;
      const place = { tile: physicalTile, cycles: duration(sample) };
      kinds.add(step.kind, place);
      operations.add(step.operation, place);
      kernels.add(step.kernel, place);
      for (const { name, value } of firstOfEachName(step)) {
        const entry = metadata.get(name) ?? { samples: 0, values: new Set() };
        metadata.set(name, entry);
        entry.samples++;
        entry.values.add(value);
        if (name === "kernelSpec") specs.add(value, place);
        if (name === "pattern") patterns.add(value, place);
      }
      for (const { kind } of step.activities) activities[kind]++;
    }
  }
  const findings: Finding[] = disordered(tiles);
  const held = {
    schemaVersion,
    clockHz,
    tileCount: tiles.length,
    firstTile: tiles[0]?.physicalTile ?? null,
    lastTile: tiles.at(-1)?.physicalTile ?? null,
    sampleCount: tiles.reduce((sum, { samples }) => sum + samples.length, 0),
    elapsedCycles: span,
    elapsedMs: milliseconds(span, clockHz),
    entrySpanCycles: entrySpan(profile, clockOrigin(profile)),
    kinds: STEP_KINDS.map((kind) => ({ kind, ...kinds.of(kind) })),
    operations: operations.list(),
    kernels: kernels.list(),
    specifications: specs.list().map((tally) => specTally(tally, findings)),
    patterns: patterns.list().map((tally) => patternTally(tally, findings)),
    metadata: [...metadata].map(([name, { samples, values }]) => ({
      name,
      samples,
      values: values.size,
    })),
    activities,
    exchange: exchangeSummary(profile),
    losses: lossesOf(tiles, target),
    findings,
  };
  return { ...held, questions: questionsOf(held) };
}

/** Samples, distinct tiles and cycles by name. Tiles come one after another. */
class Tallies {
  readonly #byName = new Map<
    string,
    { samples: number; tiles: number; cycles: number; last: number }
  >();

  add(name: string, { tile, cycles }: { tile: number; cycles: number }): void {
    const tally = this.#byName.get(name) ?? { samples: 0, tiles: 0, cycles: 0, last: -1 };
    this.#byName.set(name, tally);
    tally.samples++;
    if (tally.last !== tile) tally.tiles++;
    tally.last = tile;
    tally.cycles += cycles;
  }

  of(name: string): Tally {
    const { samples, tiles, cycles } = this.#byName.get(name) ?? {
      samples: 0,
      tiles: 0,
      cycles: 0,
    };
    return { samples, tiles, cycles };
  }

  /** In the order in which they were met. */
  list(): readonly NamedTally[] {
    return [...this.#byName.keys()].map((name) => ({ name, ...this.of(name) }));
  }
}

/** A step's metadata, the first entry where a name stands more than once. */
function firstOfEachName({ metadata }: ProfileStep): readonly MetadataEntry[] {
  const names = new Set<string>();
  return metadata.filter(({ name }) => !names.has(name) && names.add(name));
}

/** Adds what cannot be read, or is not known, to `findings`. */
function specTally({ name, ...tally }: NamedTally, findings: Finding[]): SpecTally {
  const found = (finding: Finding): void => {
    findings.push({ ...finding, where: { ...finding.where, samples: tally.samples } });
  };
  try {
    const { spec, findings: own } = parseKernelSpec(name);
    own.forEach(found);
    return { text: name, summary: summaryOf(spec, name), spec, ...tally };
  } catch (error) {
    found(unreadable("kernelSpec", name, error));
    return { text: name, summary: name, spec: null, ...tally };
  }
}

function summaryOf(spec: RecordedSpec, text: string): string {
  if (spec.kind !== "rearrange") return text.replace(/^Planned\((.*)\)$/s, "$1");
  return `Rearrange from ${orderText(spec.from.order)} to ${orderText(spec.to.order)}`;
}

function patternTally({ name, ...tally }: NamedTally, findings: Finding[]): PatternTally {
  try {
    const pattern = parseCopyPattern(name);
    if (pattern.kind === "other") {
      findings.push({
        code: "UNKNOWN_KERNEL",
        severity: "warning",
        what: `pattern ${JSON.stringify(name.slice(0, 40))} is kept as text: it is none that is known`,
        where: { field: "pattern", samples: tally.samples },
        fix: "Its cycles are counted all the same",
      });
    }
    return { text: name, pattern, ...tally };
  } catch (error) {
    const finding = unreadable("pattern", name, error);
    findings.push({ ...finding, where: { ...finding.where, samples: tally.samples } });
    return { text: name, pattern: null, ...tally };
  }
}

/** Tiles whose samples are not in the order of their steps, or name one twice. */
function disordered(tiles: readonly TileProfile[]): Finding[] {
  const wrong = tiles.filter(({ samples }) =>
    samples.some(({ step }, i) => i > 0 && step.localIndex <= samples[i - 1].step.localIndex),
  );
  if (wrong.length === 0) return [];
  return [
    {
      code: "FILE_MALFORMED",
      severity: "warning",
      what: `on ${wrong.length} tiles localIndex does not ascend: steps stand twice or out of order, and missing ones cannot be counted`,
      where: { tile: wrong[0].physicalTile, field: "localIndex" },
      fix: "Record the profile again",
    },
  ];
}

function unreadable(field: string, text: string, error: unknown): Finding {
  if (!(error instanceof SimError)) throw error;
  return {
    code: error.code,
    severity: "warning",
    what: `${field} ${JSON.stringify(text.slice(0, 40))} is kept as text: ${error.fault.what}`,
    where: { ...error.fault.where, field },
    fix: "Its cycles are counted all the same; record the profile again to compare shapes",
  };
}

function lossesOf(tiles: readonly TileProfile[], target: Target): Losses {
  const missingRanges = missingOf(tiles, target);
  const all = tiles.map(({ samples }) => lossesOfTile(samples));
  const sum = (of: (tile: TileLosses) => number): number =>
    all.reduce((total, tile) => total + of(tile), 0);
  return {
    missingTiles:
      missingRanges?.reduce((count, [first, last]) => count + last - first + 1, 0) ?? null,
    missingRanges: missingRanges ?? [],
    emptyTiles: sum(({ samples }) => (samples === 0 ? 1 : 0)),
    untimedSamples: sum(({ untimed }) => untimed),
    untimedTiles: sum(({ untimed }) => (untimed > 0 ? 1 : 0)),
    missingSamples: sum(({ missing }) => missing),
    gaps: sum(({ gaps }) => gaps),
  };
}

/** Ranges of the target's tiles that are not there; null where others are, so that the chip is another. */
function missingOf(
  tiles: readonly TileProfile[],
  target: Target,
): readonly (readonly [number, number])[] | null {
  if (tiles.some(({ physicalTile }) => physicalTile >= target.tiles)) return null;
  const ranges: (readonly [number, number])[] = [];
  let next = 0;
  for (const physicalTile of [...tiles.map((tile) => tile.physicalTile), target.tiles]) {
    if (physicalTile > next) ranges.push([next, physicalTile - 1]);
    next = physicalTile + 1;
  }
  return ranges;
}

interface TileLosses {
  readonly samples: number;
  readonly untimed: number;
  readonly missing: number;
  readonly gaps: number;
}

function lossesOfTile(samples: readonly Sample[]): TileLosses {
  const indexes = new Set(samples.map(({ step }) => step.localIndex));
  const last = samples.reduce((most, { step }) => Math.max(most, step.localIndex), -1);
  return {
    samples: samples.length,
    untimed: samples.filter((sample) => duration(sample) === 0).length,
    missing: last + 1 - indexes.size,
    gaps: samples.filter(({ start }, i) => i > 0 && start !== samples[i - 1].end).length,
  };
}
