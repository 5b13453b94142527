import { sha256 } from "../base/hash.ts";
import type { Finding } from "../base/errors.ts";
import type { AccuracyReport } from "../check/accuracy.ts";
import type { Numerics } from "../numerics/rounding.ts";
import type { HostTensor } from "../sim/host-io.ts";
import { criticalPath } from "../sim/critical-path.ts";
import type { CriticalPath } from "../sim/critical-path.ts";
import type { Schedule, Step } from "../sim/schedule.ts";
import type { ExchangeOrder, Timing } from "../sim/timing.ts";
import type { Target } from "../target/target.ts";
import { metAssumptions } from "./assumptions.ts";
import { findingReport, type FindingReport } from "./finding-report.ts";
import { holdAgainst, workKey } from "../trace/hold.ts";
import type { Ends, Held, Match, Part } from "../trace/hold.ts";
import type { Certainty } from "../trace/certainty.ts";
import type { Profile } from "../trace/profile.ts";
import { profileOfRun } from "../trace/run-profile.ts";
import { PHASE_BIT } from "../trace/step-names.ts";
import type { ProfileSource } from "./profile-report.ts";

/** What a run gave and what made it, as one JSON object: tables and pages are made from it. */
export interface RunReport {
  readonly tilesim: string;
  readonly target: string;
  readonly program: string;
  readonly tiles: number;
  /** Null: cycles only. */
  readonly backend: { readonly name: string; readonly description: string } | null;
  readonly rounding: string;
  readonly seed: number;
  readonly exchange: string;
  readonly schedule: { readonly sha256: string };
  readonly inputs: readonly { readonly name: string; readonly sha256: string }[];
  readonly outputs: readonly OutputReport[];
  readonly cycles: CyclesReport;
  /** What decides the end, from the start on: its cycles add up to the total. */
  readonly criticalPath: CriticalPath;
  /** The recorded profile that the run was held against; null where it was held against none. */
  readonly profile: ProfileSource | null;
  readonly match: Match | null;
  readonly ends: Ends | null;
  /** Signed errors by kernels, copies, exchange and sync, and what none of these explains. */
  readonly parts: PartsReport | null;
  /** One entry per output; null where the result was not checked. */
  readonly accuracy: readonly AccuracyReport[] | null;
  readonly findings: readonly FindingReport[];
  /** Choices that the run made where the chip's behaviour is not known. */
  readonly assumed: readonly string[];
  readonly wall: { readonly planMs: number; readonly runMs: number; readonly checkMs: number };
}

export interface PartsReport {
  /** Tiles whose every time is known: the parts are sums over these. */
  readonly tiles: number;
  readonly parts: readonly Part[];
  readonly residualCycles: number;
}

/** A profile to hold a run against. */
export interface Recorded {
  readonly source: ProfileSource;
  readonly profile: Profile;
  readonly certainty: Certainty | null;
  /** Whether the user named it; else it counts only where it is of this schedule. */
  readonly isAsked: boolean;
}

export interface OutputReport {
  readonly name: string;
  readonly shape: readonly number[];
  readonly dtype: string;
  readonly sha256: string;
}

export interface CyclesReport {
  /** From the first start to the last end. */
  readonly total: number;
  readonly recorded: number | null;
  readonly errorPercent: number | null;
  /** Summed over the tiles; adds up to total * tiles. */
  readonly tileCycles: {
    readonly compute: number;
    readonly copy: number;
    readonly exchange: number;
    readonly sync: number;
    readonly idle: number;
  };
  readonly kernels: readonly KernelReport[];
  readonly phases: readonly PhaseReport[];
}

export interface KernelReport {
  readonly operation: string;
  readonly kernel: string;
  /** What tells calls of one name apart: the bytes of a copy; null elsewhere. */
  readonly bytes: number | null;
  readonly invocations: number;
  /** Tiles that make the call, repeats counted each time. */
  readonly calls: number;
  /** One call's sample: all its invocations. */
  readonly cycles: number;
  /** Most frequent value measured; null where none was. */
  readonly recorded: number | null;
  readonly errorPercent: number | null;
  readonly origin: string;
}

export interface PhaseReport {
  readonly phase: number;
  readonly operation: string;
  readonly transfers: number;
  readonly eventCycles: number;
  readonly recorded: number | null;
  readonly errorPercent: number | null;
  /** Cycles of the busiest endpoint: no schedule of the phase is shorter. */
  readonly lowerBound: number;
}

export interface RunFacts {
  readonly version: string;
  readonly target: Target;
  readonly schedule: Schedule;
  readonly scheduleText: string;
  readonly timing: Timing;
  readonly numerics: Numerics;
  readonly exchange: ExchangeOrder;
  readonly backend: RunReport["backend"];
  readonly inputs: ReadonlyMap<string, HostTensor>;
  readonly outputs: ReadonlyMap<string, HostTensor>;
  readonly accuracy: readonly AccuracyReport[] | null;
  readonly findings: readonly Finding[];
  readonly recorded: Recorded | null;
  readonly wall: RunReport["wall"];
}

/** Share of a bundled profile's steps that a schedule must have to be the one that was recorded. */
const FEWEST_MATCHED = 0.5;

export function runReport(facts: RunFacts): RunReport {
  const { schedule, target, timing, numerics } = facts;
  const held = heldOf(facts);
  return {
    tilesim: facts.version,
    target: target.name,
    program: schedule.program,
    tiles: schedule.tiles,
    backend: facts.backend,
    rounding: numerics.rounding,
    seed: numerics.seed,
    exchange: facts.exchange,
    schedule: { sha256: sha256(facts.scheduleText) },
    inputs: [...facts.inputs].map(([name, { data }]) => ({ name, sha256: sha256(data) })),
    outputs: [...facts.outputs].map(([name, { shape, dtype, data }]) => ({
      name,
      shape,
      dtype,
      sha256: sha256(data),
    })),
    cycles: cyclesReport(timing, held),
    criticalPath: criticalPath(schedule, timing),
    profile: held && facts.recorded ? facts.recorded.source : null,
    match: held?.match ?? null,
    ends: held?.ends ?? null,
    parts: held && {
      tiles: held.wholeTiles,
      parts: held.parts,
      residualCycles: held.residualCycles,
    },
    accuracy: facts.accuracy,
    findings: [...facts.findings, ...mismatchFindings(held)].map(findingReport),
    assumed: metAssumptions(schedule, target, timing, facts.backend === null ? null : numerics),
    wall: facts.wall,
  };
}

function heldOf({ recorded, schedule, timing, target }: RunFacts): Held | null {
  if (!recorded) return null;
  const run = profileOfRun(schedule, timing, target, { activities: false });
  const held = holdAgainst(recorded.profile, recorded.certainty, run);
  const { matched, visible } = held.match;
  return recorded.isAsked || matched >= FEWEST_MATCHED * visible ? held : null;
}

function mismatchFindings(held: Held | null): Finding[] {
  if (!held) return [];
  if (held.match.visible === 0 || held.ends.visible === 0) {
    const lacks = held.match.visible === 0 ? "step" : "sample whose times are known";
    return [
      {
        code: "PROFILE_DIFFERS",
        severity: "error",
        what: `the profile has no ${lacks}: nothing could be held against it`,
        where: {},
        fix: "Give a profile that has some, as tilesim inspect shows",
      },
    ];
  }
  if (held.match.mismatches.length === 0) return [];
  const { visible, matched, mismatches } = held.match;
  const [first] = mismatches;
  return [
    {
      code: "PROFILE_DIFFERS",
      severity: "error",
      what:
        `${visible - matched} of ${visible} steps that the profile shows are not the schedule's at their place; ` +
        `the first has ${first.field} ${first.recorded ?? "none"}, the schedule ${first.scheduled ?? "none"}`,
      where: { tile: first.physicalTile, step: first.step, field: first.field },
      fix: "Give the program or the schedule that was recorded; --json lists the steps",
    },
  ];
}

function cyclesReport(timing: Timing, held: Held | null): CyclesReport {
  const rows = new Map<string, KernelReport>();
  for (const { call, cost, samples } of timing.kernels) {
    const bytes = "bytes" in call.spec ? call.spec.bytes : null;
    const invocations = call.invocations.length;
    const key = JSON.stringify([call.operation, call.kernel, bytes, invocations, cost.cycles]);
    const recorded = held?.kernelCycles.get(workKey(call.kernel, bytes, invocations)) ?? null;
    const before = rows.get(key)?.calls ?? 0;
    rows.set(key, {
      operation: call.operation,
      kernel: call.kernel,
      bytes,
      invocations,
      calls: before + samples,
      cycles: cost.cycles,
      recorded,
      errorPercent: errorPercent(cost.cycles, recorded),
      origin: cost.origin,
    });
  }
  return {
    total: timing.total,
    recorded: held?.recordedTotal ?? null,
    errorPercent: errorPercent(timing.total, held?.recordedTotal ?? null),
    tileCycles: timing.ledger.totals(),
    kernels: [...rows.values()],
    phases: timing.phases.map(({ step, schedule: phase }, index) => {
      const recorded = held?.phaseCycles.get(PHASE_BIT + index) ?? null;
      return {
        phase: index,
        operation: step.operation,
        transfers: step.transfers.length,
        eventCycles: phase.eventCycles,
        recorded,
        errorPercent: errorPercent(phase.eventCycles, recorded),
        lowerBound: phase.lowerBound,
      };
    }),
  };
}

/** Signed: positive where the simulated value is the larger. */
function errorPercent(simulated: number, recorded: number | null): number | null {
  return recorded === null ? null : (100 * (simulated - recorded)) / recorded;
}

/** The steps of a schedule, those of repeats once. */
export function allSteps(steps: readonly Step[]): Step[] {
  return steps.flatMap((step) =>
    step.kind === "repeat" ? [step, ...allSteps(step.body)] : [step],
  );
}
