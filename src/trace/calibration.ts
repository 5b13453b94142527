import { SimError } from "../base/errors.ts";
import type { Finding } from "../base/errors.ts";
import type { Cost } from "../kernels/kernel.ts";
import { kernelOf } from "../kernels/registry.ts";
import type { KernelSpec } from "../kernels/spec.ts";
import type { Target } from "../target/target.ts";
import { duration } from "./counters.ts";
import type { Profile, ProfileStep } from "./profile.ts";
import { specsOf } from "./recorded-kernel.ts";
import type { RecordedKernel } from "./recorded-kernel.ts";
import { metadataOf } from "./step-names.ts";
import { workText } from "./work-text.ts";

/** The file that a profile was read from. */
export interface CalibrationSource {
  readonly file: string;
  readonly sha256: string;
}

/** Measured cycles of kernels: osmarks/ipu-stack's calibration database (F7.3), with source and spread beside it. */
export interface CalibrationDatabase {
  readonly schemaVersion: 1;
  readonly target: string;
  /** Null: profiles do not say which build recorded them. */
  readonly buildId: string | null;
  readonly clockHz: number;
  readonly sources: readonly CalibrationSource[];
  /** Ordered by kernel, then by names and values of the dimensions, each by code units. */
  readonly measurements: readonly Measurement[];
}

/** Cycles of one invocation: ceil(duration / invocations) of each sample, ascending; d[floor((n - 1) * p / 100)]. */
interface CallCycles {
  readonly samples: number;
  readonly minimumCycles: number;
  readonly medianCycles: number;
  readonly p95Cycles: number;
  readonly maximumCycles: number;
}

export interface Measurement extends CallCycles {
  readonly key: RecordedKernel;
  /** Maximum - minimum, and 100 times that over the median. */
  readonly spreadCycles: number;
  readonly spreadPercent: number;
  /** The same by source, of those that have any. */
  readonly sources: readonly SourceCycles[];
}

export interface SourceCycles extends CallCycles {
  /** Place in the database's sources. */
  readonly source: number;
}

/** Samples of one key with as many invocations each, from one source: what a fit is made of. */
export interface Observation {
  /** Place in the database's measurements. */
  readonly measurement: number;
  readonly source: number;
  readonly invocations: number;
  readonly samples: number;
  /** The whole sample's, not one invocation's. */
  readonly medianDuration: number;
}

/** What the cost model says of a measurement. */
export interface ModelRow {
  /** Its shape in few words. */
  readonly work: string;
  /** Null: a profile does not tell the specification, or this version does not know it. */
  readonly spec: KernelSpec | null;
  /** The median, over the samples, of ceil(cost of the sample / invocations). */
  readonly modelCycles: number | null;
  /** 100 * (model - median) / median. */
  readonly errorPercent: number | null;
  readonly origin: Cost["origin"] | null;
}

export interface Calibration {
  readonly database: CalibrationDatabase;
  /** One for each measurement. */
  readonly models: readonly ModelRow[];
  readonly observations: readonly Observation[];
  /** Samples of kernels that have no times, and so do not count. */
  readonly untimedSamples: number;
  readonly findings: readonly Finding[];
}

/**
 * Cycles of every kernel that profiles show, by symbol and dimensions, beside what the cost model says of it. Counted
 * are the samples of compute steps that name a kernel and have a length.
 *
 * @throws SimError `CALIBRATION_INVALID` where there are none, where clocks differ, where one profile is given twice,
 *   or where a profile has tiles that the target has not
 */
export function calibrate(
  profiles: readonly { readonly source: CalibrationSource; readonly profile: Profile }[],
  target: Target,
): Calibration {
  const clockHz = commonClock(profiles);
  const groups = new Groups();
  let untimedSamples = 0;
  let miscounted = 0;
  profiles.forEach(({ source: { file }, profile }, source) => {
    let timed = 0;
    const before = miscounted;
    for (const { physicalTile, samples } of profile.tiles) {
      if (physicalTile >= target.tiles) {
        throw invalid(
          `${file} has tile ${physicalTile}, ${target.name} has tiles 0 to ${target.tiles - 1}`,
          { file, tile: physicalTile },
          "Give profiles of that chip",
        );
      }
      for (const sample of samples) {
        const { step } = sample;
        if (step.kind !== "compute" || step.kernel === "") continue;
        const cycles = duration(sample);
        const invocations = invocationsOf(step);
        if (cycles === 0) untimedSamples++;
        else if (invocations === null) miscounted++;
        else {
          timed++;
          groups.of(step).add(source, invocations, cycles);
        }
      }
    }
    if (timed === 0) {
      throw invalid(
        miscounted > before
          ? `${file}: none of its ${miscounted - before} samples of kernels says how often it was invoked, as a whole number from 1 on`
          : `${file} has no sample of a kernel with a length`,
        { file },
        "Record it with samples of compute steps, as tilesim inspect shows them",
      );
    }
  });
  const ordered = groups.ordered();
  const findings: Finding[] = [];
  if (miscounted > 0) {
    findings.push({
      code: "FILE_MALFORMED",
      severity: "warning",
      what: `${miscounted} samples are left out: their invocations are no whole number of at least 1`,
      where: { field: "invocations", samples: miscounted },
      fix: "Record the profile again",
    });
  }
  const models = modelRows(ordered, target, findings);
  return {
    database: {
      schemaVersion: 1,
      target: target.name,
      buildId: null,
      clockHz,
      sources: profiles.map(({ source: { file, sha256 } }) => ({ file, sha256 })),
      measurements: ordered.map((group) => group.measurement()),
    },
    models,
    observations: ordered.flatMap((group, measurement) => group.observations(measurement)),
    untimedSamples,
    findings,
  };
}

/** Durations of the samples of one key. */
class Group {
  readonly key: RecordedKernel;
  /** What keys are ordered by, one after another. */
  readonly order: readonly string[];
  /** By source and invocations. */
  readonly #samples = new Map<
    string,
    { readonly source: number; readonly invocations: number; readonly durations: number[] }
  >();

  constructor(kernel: string, dimensions: readonly (readonly [string, string])[]) {
    this.key = { kernel, dimensions: Object.fromEntries(dimensions) };
    this.order = [kernel, ...dimensions.flat()];
  }

  add(source: number, invocations: number, cycles: number): void {
    const name = `${source} ${invocations}`;
    let own = this.#samples.get(name);
    if (!own) this.#samples.set(name, (own = { source, invocations, durations: [] }));
    own.durations.push(cycles);
  }

  measurement(): Measurement {
    const all = callCycles(this.#calls(null));
    const spreadCycles = all.maximumCycles - all.minimumCycles;
    const sources = [...new Set([...this.#samples.values()].map(({ source }) => source))];
    return {
      key: this.key,
      ...all,
      spreadCycles,
      spreadPercent: (100 * spreadCycles) / all.medianCycles,
      sources: sources.map((source) => ({ source, ...callCycles(this.#calls(source)) })),
    };
  }

  observations(measurement: number): readonly Observation[] {
    return [...this.#samples.values()]
      .sort((a, b) => a.source - b.source || a.invocations - b.invocations)
      .map(({ source, invocations, durations }) => ({
        measurement,
        source,
        invocations,
        samples: durations.length,
        medianDuration: percentile(ascending(durations), 50),
      }));
  }

  /** Median over the samples of the cycles of a call, where a sample of so many invocations takes `cost` cycles. */
  medianOf(cost: (invocations: number) => number): number {
    const calls = [...this.#samples.values()].flatMap(({ invocations, durations }) =>
      durations.map(() => Math.ceil(cost(invocations) / invocations)),
    );
    return percentile(ascending(calls), 50);
  }

  #calls(source: number | null): number[] {
    return [...this.#samples.values()]
      .filter((own) => source === null || own.source === source)
      .flatMap(({ invocations, durations }) =>
        durations.map((cycles) => Math.ceil(cycles / invocations)),
      );
  }
}

function commonClock(profiles: Parameters<typeof calibrate>[0]): number {
  if (profiles.length === 0) throw invalid("no profile is given", {}, "Name at least one");
  const [first] = profiles;
  const byHash = new Map<string, string>();
  for (const { source, profile } of profiles) {
    const { file, sha256 } = source;
    const same = byHash.get(sha256);
    if (same !== undefined) {
      throw invalid(`${file} is ${same} once more`, { file }, "Give each profile once");
    }
    byHash.set(sha256, file);
    if (profile.clockHz === first.profile.clockHz) continue;
    throw invalid(
      `${file} counts at ${profile.clockHz} Hz, ${first.source.file} at ${first.profile.clockHz} Hz`,
      { file },
      "Calibrate profiles of one clock at a time",
    );
  }
  return first.profile.clockHz;
}

/** Metadata that says where a step comes from, or is counted by itself. */
const NO_DIMENSIONS: ReadonlySet<string> = new Set(["reason", "value", "invocations"]);

class Groups {
  readonly #byKey = new Map<string, Group>();
  /** By what steps say, in the order in which they say it. */
  readonly #byText = new Map<string, Group>();

  of({ kernel, metadata }: ProfileStep): Group {
    const entries = metadata.flatMap(({ name, value }) =>
      NO_DIMENSIONS.has(name) ? [] : [[name, value] as const],
    );
    const text = JSON.stringify([kernel, entries]);
    let group = this.#byText.get(text);
    if (group) return group;
    // Of a name that stands twice the first counts, as everywhere; another order of entries is the same key.
    const sorted = [...new Map(entries.toReversed())].sort(([a], [b]) => byCodeUnits(a, b));
    const key = JSON.stringify([kernel, sorted]);
    group = this.#byKey.get(key) ?? new Group(kernel, sorted);
    this.#byKey.set(key, group);
    this.#byText.set(text, group);
    return group;
  }

  ordered(): readonly Group[] {
    return [...this.#byKey.values()].sort((a, b) => byKey(a.order, b.order));
  }
}

/** 1 where a step does not say; null where it says no count. */
function invocationsOf(step: ProfileStep): number | null {
  const text = metadataOf(step, "invocations");
  if (text === null) return 1;
  return /^[1-9]\d{0,9}$/.test(text) ? Number(text) : null;
}

function byKey(a: readonly string[], b: readonly string[]): number {
  const at = a.findIndex((text, i) => text !== b[i]);
  if (at < 0) return a.length - b.length;
  return at < b.length ? byCodeUnits(a[at], b[at]) : 1;
}

function byCodeUnits(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}

function callCycles(calls: number[]): CallCycles {
  const sorted = ascending(calls);
  return {
    samples: sorted.length,
    minimumCycles: sorted[0],
    medianCycles: percentile(sorted, 50),
    p95Cycles: percentile(sorted, 95),
    maximumCycles: sorted[sorted.length - 1],
  };
}

function ascending(values: number[]): Float64Array {
  return Float64Array.from(values).sort();
}

/** A value that occurs, as `query` has it. */
function percentile(sorted: Float64Array, percent: number): number {
  return sorted[Math.floor(((sorted.length - 1) * percent) / 100)];
}

function modelRows(
  groups: readonly Group[],
  target: Target,
  findings: Finding[],
): readonly ModelRow[] {
  const specs = specsOf(groups.map(({ key }) => key));
  return groups.map((group, i): ModelRow => {
    const { spec, error } = specs[i];
    const work = workText(spec, group.key);
    if (spec === null) {
      const { fault } = error;
      findings.push({
        code: error.code,
        severity: "warning",
        what: `${[group.key.kernel, work].filter((text) => text !== "").join(", ")} has no model value: ${fault.what}`,
        where: { ...fault.where, kernel: group.key.kernel },
        fix: fault.fix,
      });
      return { work, spec, modelCycles: null, errorPercent: null, origin: null };
    }
    const kernel = kernelOf(spec);
    const modelCycles = group.medianOf(
      (invocations) => kernel.cost(spec, invocations, target).cycles,
    );
    const { medianCycles } = group.measurement();
    return {
      work,
      spec,
      modelCycles,
      errorPercent: (100 * (modelCycles - medianCycles)) / medianCycles,
      origin: kernel.cost(spec, 1, target).origin,
    };
  });
}

function invalid(what: string, where: SimError["fault"]["where"], fix: string): SimError {
  return new SimError("CALIBRATION_INVALID", { what, where, fix });
}
