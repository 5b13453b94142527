import { formatSchedule, parseSchedule } from "../src/sim/schedule-file.ts";
import type { Schedule } from "../src/sim/schedule.ts";
import { timeSchedule } from "../src/sim/timing.ts";
import { validateSchedule } from "../src/sim/validate.ts";
import { IPU21 } from "../src/target/ipu21.ts";
import { inFreshProcess } from "./support/fresh-process.ts";
import { median, timed } from "./support/paired.ts";
import { planBlock, SIGLIP } from "./support/replay.ts";

export interface CyclesResults {
  /** The first time in a process, as the command line does it; median of several. */
  readonly first: CyclesTimes;
  /** Once the code is compiled. */
  readonly warm: CyclesTimes;
  readonly scheduleBytes: number;
}

/** Milliseconds. */
export interface CyclesTimes {
  readonly plan: number;
  readonly time: number;
  /** Plan and time, nothing saved. */
  readonly planned: number;
  /** Parse and time. */
  readonly saved: number;
}

const PROCESSES = 5;
const ROUNDS = 7;

/** Cycles of the SigLIP block without values: planned anew, and from a saved schedule. */
export async function cyclesBench(): Promise<CyclesResults> {
  const first: CyclesTimes[] = [];
  for (let i = 0; i < PROCESSES; i++) {
    const planned = await inFreshProcess<CyclesTimes>(import.meta.url, "planned");
    const saved = await inFreshProcess<CyclesTimes>(import.meta.url, "saved");
    first.push({ ...planned, saved: saved.saved });
  }
  const warm: CyclesTimes[] = [];
  const { schedule } = planBlock(SIGLIP);
  const text = formatSchedule(schedule);
  for (let i = 0; i < ROUNDS; i++) {
    warm.push({ ...(await plannedTimes()), saved: await savedTime(text) });
  }
  const results = {
    first: medians(first),
    warm: medians(warm),
    scheduleBytes: Buffer.byteLength(text),
  };
  for (const [name, times] of [
    ["first", results.first] as const,
    ["warm", results.warm] as const,
  ]) {
    console.log(
      `cycles only, ${name}: ${times.planned.toFixed(0)} ms with its plan (${times.plan.toFixed(0)} + ` +
        `${times.time.toFixed(0)}), ${times.saved.toFixed(0)} ms from a saved schedule`,
    );
  }
  return results;
}

/** What a fresh process does: times itself once. */
export async function once(mode: string): Promise<CyclesTimes> {
  if (mode === "planned") return { ...(await plannedTimes()), saved: NaN };
  const text = formatSchedule(planBlock(SIGLIP).schedule);
  return { plan: NaN, time: NaN, planned: NaN, saved: await savedTime(text) };
}

async function plannedTimes(): Promise<Omit<CyclesTimes, "saved">> {
  let schedule: Schedule | undefined;
  const planMs = await timed(() => void (schedule = planBlock(SIGLIP).schedule));
  const timeMs = await timed(() => {
    if (schedule) count(schedule);
  });
  return { plan: planMs, time: timeMs, planned: planMs + timeMs };
}

function savedTime(text: string): Promise<number> {
  return timed(() => count(parseSchedule(text, "saved")));
}

/** As `--cycles-only` does. */
function count(schedule: Schedule): void {
  validateSchedule(schedule, IPU21);
  timeSchedule(schedule, IPU21);
}

function medians(all: readonly CyclesTimes[]): CyclesTimes {
  const of = (key: keyof CyclesTimes): number => median(all.map((times) => times[key]));
  return { plan: of("plan"), time: of("time"), planned: of("planned"), saved: of("saved") };
}
