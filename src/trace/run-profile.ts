import { InternalError } from "../base/errors.ts";
import type { KernelCall } from "../kernels/call.ts";
import { ACTIVITY_KINDS } from "../exchange/phase.ts";
import { executed } from "../sim/schedule.ts";
import type { ExchangeStep, Schedule } from "../sim/schedule.ts";
import type { PhaseTiming, Timing } from "../sim/timing.ts";
import type { Target } from "../target/target.ts";
import { physicalTiles } from "../target/topology.ts";
import { printCopyPattern } from "./copy-pattern.ts";
import { printKernelSpec, type SpecForm } from "./kernel-spec.ts";
import {
  NEWEST_SCHEMA,
  type ExchangeActivity,
  type MetadataEntry,
  type Profile,
  type ProfileStep,
  type Sample,
} from "./profile.ts";
import { PHASE_BIT } from "./step-names.ts";

/**
 * The profile that the chip would have recorded of a run: each tile's steps as osmarks/ipu-stack describes them
 * (F6.5), with the cycles of `timing`. Counters start at 0. Exchange activities are the most of it, and can be left
 * out.
 */
export function profileOfRun(
  schedule: Schedule,
  timing: Timing,
  target: Target,
  { activities = true }: { readonly activities?: boolean } = {},
): Profile {
  const steps = stepsOf(schedule, timing, activities);
  const physical = physicalTiles(target);
  const tiles = steps.map((own, tile) => ({
    physicalTile: physical[tile],
    samples: own.map(({ step, end }, index): Sample => ({
      start: index === 0 ? timing.starts[tile] : own[index - 1].end,
      end,
      step,
    })),
  }));
  return {
    schemaVersion: NEWEST_SCHEMA,
    clockHz: target.clockHz,
    tiles: tiles.sort((a, b) => a.physicalTile - b.physicalTile),
  };
}

interface TimedStep {
  readonly step: ProfileStep;
  readonly end: number;
}

/** Each logical tile's steps in order, with the cycle at which each ended. */
function stepsOf(schedule: Schedule, timing: Timing, withActivities: boolean): TimedStep[][] {
  const { tiles } = schedule;
  const steps = Array.from({ length: tiles }, (): TimedStep[] => []);
  // Every step counts; a merged sample skips the numbers of the work items that it holds.
  const workItems = new Int32Array(tiles);
  let done = 0;
  let phase = 0;

  const compute = (calls: readonly KernelCall[]): void => {
    const ends = timing.ends[done++];
    for (const call of calls) {
      const described = describeCall(call);
      for (const tile of call.tiles) {
        const own = steps[tile];
        const place = { localIndex: own.length, phase: workItems[tile] };
        own.push({ step: { ...described, ...place }, end: ends[tile] });
        workItems[tile] += call.invocations.length;
      }
    }
  };
  const exchange = (step: ExchangeStep): void => {
    const ends = timing.ends[done++];
    const timed = timing.phases[phase];
    const number = PHASE_BIT + phase++;
    const { horizons } = timed.schedule;
    const activities = withActivities ? activitiesByTile(timed, tiles) : null;
    const active = describeExchange(step, timed.schedule.eventCycles);
    const inactive = describeSync(step);
    for (let tile = 0; tile < tiles; tile++) {
      const own = steps[tile];
      workItems[tile]++;
      const place = { localIndex: own.length, phase: number };
      const described =
        horizons[tile] > 0 ? { ...active, activities: activities?.[tile] ?? [] } : inactive;
      own.push({ step: { ...described, ...place }, end: ends[tile] });
    }
  };
  for (const step of executed(schedule.steps)) {
    if (step.kind === "compute") compute(step.calls);
    else exchange(step);
  }
  return steps;
}

type Described = Omit<ProfileStep, "localIndex" | "phase">;

function describeCall(call: KernelCall): Described {
  const { kernel, operation, reason, value, elements, spec, invocations } = call;
  const metadata: MetadataEntry[] = [entry("reason", reason), entry("value", value)];
  if (spec.kind === "copy" || spec.kind === "fill-zero") {
    metadata.push(entry("bytes", spec.bytes), entry("pattern", patternText(call)));
  } else {
    metadata.push(entry("kernelSpec", kernelSpecText(call)));
    elements.forEach((count, index) => {
      metadata.push(entry(index === 0 ? "outputElements" : `input${index - 1}Elements`, count));
    });
  }
  metadata.push(entry("invocations", invocations.length));
  return { epoch: 0, operation, kind: "compute", kernel, metadata, activities: [], eventCycles: 0 };
}

function describeExchange(
  { operation, reason, value }: ExchangeStep,
  eventCycles: number,
): Described {
  return {
    epoch: 0,
    operation,
    kind: "exchange",
    kernel: "exchange",
    metadata: [entry("reason", reason), entry("value", value), entry("invocations", 1)],
    activities: [],
    eventCycles,
  };
}

/** A phase in which a tile has no part: it only waits for its barrier. */
function describeSync({ operation, value }: ExchangeStep): Described {
  return {
    epoch: 0,
    operation,
    kind: "synchronization",
    kernel: "sync",
    metadata: [entry("reason", "ExchangeBarrier"), entry("value", value), entry("invocations", 1)],
    activities: [],
    eventCycles: 0,
  };
}

function entry(name: string, value: string | number): MetadataEntry {
  return { name, value: String(value) };
}

/** Each tile's activities, in the order in which their transfers were placed: so the recorded profile has them. */
function activitiesByTile({ schedule }: PhaseTiming, tiles: number): ExchangeActivity[][] {
  const { count, tile, kind, rank, start, end } = schedule.activities;
  const byTile = Array.from({ length: tiles }, (): number[] => []);
  for (let i = 0; i < count; i++) byTile[tile[i]].push(i);
  return byTile.map((own) =>
    own
      .sort((a, b) => rank[a] - rank[b] || a - b)
      .map((i) => ({ kind: ACTIVITY_KINDS[kind[i]], start: start[i], end: end[i] })),
  );
}

function patternText({ spec }: KernelCall): string {
  if (spec.kind !== "copy" || spec.rows === 1) return printCopyPattern({ kind: "contiguous" });
  const fields = {
    rows: spec.rows,
    row_bytes: spec.bytes / spec.rows,
    source_stride: spec.sourceStride,
    destination_stride: spec.outputStride,
  };
  return printCopyPattern({ kind: "strided", fields });
}

/** As the revision of the compiler printed it that recorded the SigLIP block. */
const FORM: SpecForm = { isPlanned: true, spelling: "profile" };

function kernelSpecText({ spec, conversion, kernel }: KernelCall): string {
  switch (spec.kind) {
    case "unpack":
    case "rearrange":
      if (!conversion) throw new InternalError(`${kernel} without its layouts`);
      return printKernelSpec({ kind: "rearrange", ...conversion }, FORM);
    case "copy":
    case "fill-zero":
      throw new InternalError(`${kernel} has no specification in a profile`);
    default:
      return printKernelSpec(spec, FORM);
  }
}
