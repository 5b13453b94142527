import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { formatSchedule, parseSchedule } from "../src/sim/schedule-file.ts";
import type { Schedule } from "../src/sim/schedule.ts";
import { timeSchedule } from "../src/sim/timing.ts";
import { validateSchedule } from "../src/sim/validate.ts";
import { IPU21 } from "../src/target/ipu21.ts";
import { inFreshProcess } from "./support/fresh-process.ts";
import { median, timed } from "./support/paired.ts";
import { planBlock, SIGLIP } from "./support/block.ts";

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
  /** Read, parse and time. */
  readonly saved: number;
}

const PROCESSES = 5;
const ROUNDS = 7;

/** Cycles of the SigLIP block without values: planned anew, and from a saved schedule. */
export async function cyclesBench(): Promise<CyclesResults> {
  const text = formatSchedule(planBlock(SIGLIP).schedule);
  const folder = mkdtempSync(join(tmpdir(), "tilesim-bench-"));
  const first: CyclesTimes[] = [];
  try {
    const file = join(folder, "schedule.json");
    writeFileSync(file, text);
    for (let i = 0; i < PROCESSES; i++) {
      const planned = await inFreshProcess<Omit<CyclesTimes, "saved">>(import.meta.url, "");
      first.push({ ...planned, ...(await inFreshProcess<SavedTime>(import.meta.url, file)) });
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
  const warm: CyclesTimes[] = [];
  for (let i = 0; i < ROUNDS; i++) {
    warm.push({ ...(await plannedTimes()), saved: await timed(() => countSaved(text)) });
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

type SavedTime = Pick<CyclesTimes, "saved">;

/** What a fresh process does: times itself once, on the schedule file that it is given or on a plan of its own. */
export async function once(file: string): Promise<SavedTime | Omit<CyclesTimes, "saved">> {
  if (file === "") return plannedTimes();
  return { saved: await timed(() => countSaved(readFileSync(file, "utf8"))) };
}

async function plannedTimes(): Promise<Omit<CyclesTimes, "saved">> {
  let schedule: Schedule | undefined;
  const planMs = await timed(() => void (schedule = planBlock(SIGLIP).schedule));
  const timeMs = await timed(() => {
    if (schedule) count(schedule);
  });
  return { plan: planMs, time: timeMs, planned: planMs + timeMs };
}

function countSaved(text: string): void {
  count(parseSchedule(text, "saved"));
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
