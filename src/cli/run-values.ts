import { SimError, type Finding } from "../base/errors.ts";
import { CheckedBackend } from "../backends/checked/checked-backend.ts";
import { ReferenceBackend } from "../backends/reference/reference-backend.ts";
import { createWasmBackend } from "../backends/wasm/wasm-backend.ts";
import { accuracy, type AccuracyReport } from "../check/accuracy.ts";
import { evaluate } from "../check/evaluate.ts";
import type { Backend } from "../kernels/backend.ts";
import type { Program } from "../plan/program.ts";
import type { RunFacts } from "../report/run-report.ts";
import type { HostTensor } from "../sim/host-io.ts";
import { Machine } from "../sim/machine.ts";
import { loadInputs, saveOutputs } from "./data.ts";
import type { Job, StartFacts } from "./execute.ts";
import type { RunOptions } from "./options.ts";
import { positive } from "./programs.ts";
import type { Progress } from "./progress.ts";

/** Runs a schedule with values, checks the outputs and saves them. */
export async function runValues(
  facts: StartFacts,
  { program, planMs, options }: Job,
  progress: Progress,
): Promise<RunFacts> {
  const { schedule, target, numerics, exchange } = facts;
  progress.say("making inputs");
  const inputs = loadInputs(schedule.inputs, options);
  const plain = backendOf(options);
  const checked = options.check === "full" ? new CheckedBackend(plain) : null;
  const backend = checked ?? plain;
  try {
    const machine = await Machine.create(schedule, target, backend, exchange);
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
    return {
      ...facts,
      timing,
      backend: { name: plain.name, description: plain.description },
      inputs,
      outputs,
      accuracy: reports,
      findings,
      wall: { planMs, runMs, checkMs },
    };
  } finally {
    await backend.close();
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
