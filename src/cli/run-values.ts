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
import type { Schedule } from "../sim/schedule.ts";
import { unwrittenReads } from "../sim/unwritten.ts";
import { inputFiles, outputFiles, readInputs, saveOutputs } from "./data.ts";
import type { Job, StartFacts } from "./execute.ts";
import { accuracyFindings, nonFiniteFindings } from "./findings.ts";
import type { RunOptions } from "./options.ts";
import { rejectOverwrites } from "./overwrites.ts";
import type { Progress } from "./progress.ts";

/** Runs a schedule with values, checks the outputs and saves them. */
export async function runValues(
  facts: StartFacts,
  { program, files, planMs, options }: Job,
  progress: Progress,
): Promise<RunFacts> {
  const { schedule, target, numerics, exchange } = facts;
  const plain = backendOf(options);
  const checked = options.check === "full" ? new CheckedBackend(plain) : null;
  const backend = checked ?? plain;
  try {
    if (program !== null && options.check !== "none") checkAgainst(program, schedule);
    // Checks the schedule, whose tensors could be of any size until then.
    const machine = await Machine.create(schedule, target, backend, exchange);
    const saved = outputFiles(schedule.outputs, options["save-output"]);
    rejectOverwrites(saved.values(), [...files, ...inputFiles(schedule.inputs, options).values()]);
    progress.say("making inputs");
    const { inputs, findings: inputFindings } = readInputs(schedule.inputs, options);
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
      ...unwrittenReads(schedule),
      ...inputFindings,
      ...nonFiniteFindings(outputs),
      ...accuracyFindings(reports),
      ...(checked?.findings ?? []),
      ...(checked !== null && program === null ? [NOTHING_HELD] : []),
    ];
    saveOutputs(outputs, saved);
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

/** Of a full check of a run that names no program. */
const NOTHING_HELD: Finding = {
  code: "ACCURACY",
  severity: "note",
  what: "kernels were checked against the reference; outputs were held against nothing",
  where: {},
  fix: "Name the program that they come from with --against",
};

function backendOf(options: RunOptions): Backend {
  const { backend, threads, simd } = options;
  return backend === "reference" ? new ReferenceBackend() : createWasmBackend({ threads, simd });
}

/** That a schedule's run can be held against a program. @throws SimError `BAD_USAGE` */
function checkAgainst(program: Program, { inputs, outputs }: Schedule): void {
  const fault = (name: string, what: string): SimError =>
    new SimError("BAD_USAGE", {
      what: `the schedule cannot be held against ${program.name}: ${what}`,
      where: { tensor: name },
      fix: "Name the program, and the shape, that the schedule was planned from, or use --check none",
    });
  for (const { name, shape, dtype } of program.inputs) {
    const input = inputs.find((binding) => binding.name === name);
    if (!input) throw fault(name, `it reads no ${name}`);
    const isSame = input.dtype === dtype && input.shape.join() === shape.join();
    if (isSame) continue;
    const [has, wanted] = [input.shape, shape].map((extents) => `[${extents.join(", ")}]`);
    throw fault(name, `its ${name} is ${has} of ${input.dtype}, not ${wanted} of ${dtype}`);
  }
  for (const name of program.outputs) {
    if (!outputs.some((binding) => binding.name === name)) throw fault(name, `it gives no ${name}`);
  }
}

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
