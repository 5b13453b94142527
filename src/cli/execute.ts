import { SimError } from "../base/errors.ts";
import type { Finding } from "../base/errors.ts";
import { CheckedBackend } from "../backends/checked/checked-backend.ts";
import { ReferenceBackend } from "../backends/reference/reference-backend.ts";
import { createWasmBackend } from "../backends/wasm/wasm-backend.ts";
import { accuracy, type AccuracyReport } from "../check/accuracy.ts";
import { evaluate } from "../check/evaluate.ts";
import type { Backend } from "../kernels/backend.ts";
import type { Numerics } from "../numerics/rounding.ts";
import type { Program } from "../plan/program.ts";
import { runReport, type RunReport } from "../report/run-report.ts";
import type { HostTensor } from "../sim/host-io.ts";
import { Machine } from "../sim/machine.ts";
import { formatSchedule } from "../sim/schedule-file.ts";
import type { Schedule } from "../sim/schedule.ts";
import { timeSchedule } from "../sim/timing.ts";
import { validateSchedule } from "../sim/validate.ts";
import { IPU21 } from "../target/ipu21.ts";
import { VERSION } from "../base/version.ts";
import { loadInputs, saveOutputs } from "./data.ts";
import { positive, type RunOptions } from "./options.ts";
import { Progress } from "./progress.ts";

export interface Job {
  readonly schedule: Schedule;
  /** What the schedule computes, for the check against f64; null: not known. */
  readonly program: Program | null;
  readonly planMs: number;
  readonly options: RunOptions;
}

/**
 * Runs a schedule as the options say, checks the result and saves it.
 *
 * @throws SimError for bad input, BackendError where the backend cannot run
 */
export async function execute({ schedule, program, planMs, options }: Job): Promise<RunReport> {
  const progress = new Progress();
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
      scheduleText: formatSchedule(schedule),
      numerics,
    };
    if (options["cycles-only"]) {
      rejectValueOptions(options);
      progress.say("counting cycles");
      const start = performance.now();
      validateSchedule(schedule, IPU21);
      const timing = timeSchedule(schedule, IPU21);
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
    progress.say("making inputs");
    const inputs = loadInputs(schedule.inputs, options);
    const plain = backendOf(options);
    const checked = options.check === "full" ? new CheckedBackend(plain) : null;
    const backend = checked ?? plain;
    try {
      const machine = await Machine.create(schedule, IPU21, backend);
      for (const [name, tensor] of inputs) {
        progress.say(`writing ${name}`);
        machine.write(name, tensor);
      }
      const start = performance.now();
      const total = schedule.steps.length;
      const { outputs, timing } = await machine.run({
        numerics,
        observer: { stepDone: (executed) => progress.say(`step ${executed + 1} of ${total}`) },
      });
      const runMs = performance.now() - start;
      progress.say("checking against f64");
      const checkStart = performance.now();
      const reports = check(program, inputs, outputs, options);
      const checkMs = performance.now() - checkStart;
      const findings = [
        ...nonFiniteFindings(outputs),
        ...accuracyFindings(reports),
        ...(checked?.findings ?? []),
      ];
      if (options["save-output"] !== undefined) saveOutputs(outputs, options["save-output"]);
      return runReport({
        ...facts,
        timing,
        backend: { name: plain.name, description: plain.description },
        inputs,
        outputs,
        accuracy: reports,
        findings,
        wall: { planMs, runMs, checkMs },
      });
    } finally {
      await backend.close();
    }
  } finally {
    progress.end();
  }
}

function wholeSeed(seed: number): number {
  if (Number.isInteger(seed) && seed >= 0 && seed < 2 ** 32) return seed;
  throw new SimError("BAD_USAGE", {
    what: `--seed is ${seed}`,
    where: { option: "seed" },
    fix: "Give a whole number from 0 to 4294967295",
  });
}

/** Options that ask for values mean nothing where none are computed. */
function rejectValueOptions(options: RunOptions): void {
  for (const name of ["input", "weights", "save-output"] as const) {
    if (options[name] === undefined) continue;
    throw new SimError("BAD_USAGE", {
      what: `--${name} beside --cycles-only, which computes no values`,
      where: { option: name },
      fix: "Drop one of them",
    });
  }
}

function backendOf(options: RunOptions): Backend {
  const threads = positive("threads", options.threads, 1);
  if (threads > MOST_THREADS) {
    throw new SimError("BAD_USAGE", {
      what: `--threads is ${threads}`,
      where: { option: "threads" },
      fix: `Give 1 to ${MOST_THREADS}`,
    });
  }
  return options.backend === "reference"
    ? new ReferenceBackend()
    : createWasmBackend({ threads, simd: options.simd });
}

const MOST_THREADS = 64;

function check(
  program: Program | null,
  inputs: ReadonlyMap<string, HostTensor>,
  outputs: ReadonlyMap<string, HostTensor>,
  options: RunOptions,
): AccuracyReport[] | null {
  if (program === null || options.check === "none") return null;
  const elements = new Map([...inputs].map(([name, { data }]) => [name, data]));
  const wanted = evaluate(program, elements, {
    sample: options.check === "full" ? "all" : "some",
    rounding: options.rounding,
  });
  return wanted.flatMap((want) => {
    const output = outputs.get(want.name);
    return output ? [accuracy(want, output.data)] : [];
  });
}

function nonFiniteFindings(outputs: ReadonlyMap<string, HostTensor>): Finding[] {
  return [...outputs].flatMap(([name, { data, dtype }]): Finding[] => {
    let count = 0;
    let first = -1;
    data.forEach((element, index) => {
      const isFinite = dtype === "f16" ? (element & 0x7c00) !== 0x7c00 : Number.isFinite(element);
      if (isFinite) return;
      count++;
      if (first < 0) first = index;
    });
    if (count === 0) return [];
    return [
      {
        code: "NON_FINITE",
        severity: "warning",
        what: `${count} of ${data.length} elements of ${name} are infinite or NaN, the first at ${first}`,
        where: { tensor: name, element: first },
        fix: "Look for infinities, NaN or overflow in the inputs",
      },
    ];
  });
}

function accuracyFindings(reports: readonly AccuracyReport[] | null): Finding[] {
  return (reports ?? []).flatMap(({ output, within, tolerance, worst }): Finding[] => {
    if (within) return [];
    const { outside, largestPart, worst: place } = tolerance;
    const index = (place ?? worst)?.index ?? [];
    return [
      {
        code: "ACCURACY",
        severity: "error",
        what: `${outside} elements of ${output} are further from f64 than rounding explains, up to ${largestPart.toPrecision(3)} times the tolerance`,
        where: { tensor: output, element: index },
        fix: "Compare with --backend reference; if that differs, report it; else the schedule is wrong",
      },
    ];
  });
}
