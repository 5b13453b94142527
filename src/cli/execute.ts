import { SimError } from "../base/errors.ts";
import { VERSION } from "../base/version.ts";
import type { Numerics } from "../numerics/rounding.ts";
import type { Program } from "../plan/program.ts";
import { runReport, type Recorded, type RunFacts, type RunReport } from "../report/run-report.ts";
import type { Schedule } from "../sim/schedule.ts";
import { timeSchedule } from "../sim/timing.ts";
import { validateSchedule } from "../sim/validate.ts";
import { IPU21 } from "../target/ipu21.ts";
import type { RunOptions } from "./options.ts";
import { positive } from "./programs.ts";
import { Progress } from "./progress.ts";

export interface Job {
  readonly schedule: Schedule;
  /** The schedule's file, or what would be its file. */
  readonly scheduleText: string;
  /** What the schedule computes, for the check against f64; null: not known. */
  readonly program: Program | null;
  /** Those that schedule and program were read from. */
  readonly files: readonly string[];
  readonly planMs: number;
  readonly options: RunOptions;
  /** A profile that the run is held against. */
  readonly recorded: Recorded | null;
}

/**
 * Runs a schedule as the options say, checks the result and saves it.
 *
 * @throws SimError for bad input, BackendError where the backend cannot run
 */
export async function execute(job: Job): Promise<RunReport> {
  const { schedule, scheduleText, planMs, options, recorded } = job;
  const progress = new Progress();
  checkThreads(options.threads);
  try {
    const numerics: Numerics = {
      rounding: options.rounding,
      seed: wholeSeed(options.seed),
      overflow: "saturate",
    };
    const facts = {
      version: VERSION,
      target: IPU21,
      schedule,
      scheduleText,
      numerics,
      exchange: options.exchange,
      recorded,
    };
    if (options["cycles-only"]) {
      progress.say("counting cycles");
      const start = performance.now();
      validateSchedule(schedule, IPU21);
      const timing = timeSchedule(schedule, IPU21, options.exchange);
      return runReport({
        ...facts,
        timing,
        backend: null,
        inputs: new Map(),
        outputs: new Map(),
        accuracy: null,
        findings: [],
        wall: { planMs, runMs: performance.now() - start, checkMs: 0 },
      });
    }
    // What computes values is loaded only where values are wanted.
    const { runValues } = await import("./run-values.ts");
    return runReport(await runValues(facts, job, progress));
  } finally {
    progress.end();
  }
}

/** What is known of a run before it begins. */
export type StartFacts = Pick<
  RunFacts,
  "version" | "target" | "schedule" | "scheduleText" | "numerics" | "exchange" | "recorded"
>;

function wholeSeed(seed: number): number {
  if (Number.isInteger(seed) && seed >= 0 && seed < 2 ** 32) return seed;
  throw new SimError("BAD_USAGE", {
    what: `--seed is ${seed}`,
    where: { option: "seed" },
    fix: "Give a whole number from 0 to 4294967295",
  });
}

const MOST_THREADS = 64;

function checkThreads(threads: number): void {
  if (positive("threads", threads, 1) <= MOST_THREADS) return;
  throw new SimError("BAD_USAGE", {
    what: `--threads is ${threads}`,
    where: { option: "threads" },
    fix: `Give 1 to ${MOST_THREADS}`,
  });
}
