import { SimError } from "../base/errors.ts";
import { readBytes, writeAside } from "../io/files.ts";
import { IPU21 } from "../target/ipu21.ts";
import type { Program } from "../plan/program.ts";
import type { Recorded } from "../report/run-report.ts";
import type { Schedule } from "../sim/schedule.ts";
import { execute } from "./execute.ts";
import type { RunOptions, ShapeOptions } from "./options.ts";
import { rejectOverwrites } from "./overwrites.ts";
import { printReport } from "./print.ts";
import { printable, printableJson } from "./printable.ts";
import {
  hasFreeGrids,
  MOST_FILE_BYTES,
  ownGrids,
  programFiles,
  programOf,
  rejectUnread,
} from "./programs.ts";
import { table } from "./table.ts";

export interface PlanArguments extends ShapeOptions {
  readonly program: string;
  readonly output?: string;
  readonly json: boolean;
}

export interface RunArguments extends RunOptions, ShapeOptions {
  readonly schedule: string;
  readonly against?: string;
}

export interface ReplayArguments extends RunOptions, ShapeOptions {
  readonly profile?: string;
  readonly schedule?: string;
}

/** `tilesim plan`. */
export async function planProgram(options: PlanArguments): Promise<void> {
  if (options.output !== undefined && options.json) {
    throw new SimError("BAD_USAGE", {
      what: "--output and --json both say where the schedule goes",
      where: { option: "json" },
      fix: "Drop one of them",
    });
  }
  if (options.output !== undefined) {
    rejectOverwrites([options.output], programFiles(options.program));
  }
  const { schedule, scheduleText } = await planned(options.program, options);
  const { validateSchedule } = await import("../sim/validate.ts");
  validateSchedule(schedule, IPU21);
  if (options.json) {
    process.stdout.write(scheduleText);
    return;
  }
  if (options.output !== undefined) writeAside(options.output, scheduleText);
  process.stdout.write(summary(schedule, options.output));
}

/** `tilesim run`. */
export async function runSchedule(options: RunArguments): Promise<void> {
  const start = performance.now();
  if (options.against === undefined) rejectUnread(null, options);
  const loaded = await loadSchedule(options.schedule);
  const program =
    options.against === undefined
      ? null
      : await programFor(loaded.schedule, options.against, options);
  const files = [options.schedule, ...programFiles(options.against)];
  const planMs = performance.now() - start;
  await runAndPrint({ ...loaded, program, files, planMs, options, recorded: null });
}

/** `tilesim replay`. */
export async function replay(options: ReplayArguments): Promise<void> {
  const profileFiles = options.profile === undefined ? [] : [options.profile];
  const start = performance.now();
  if (options.schedule === undefined) {
    const made = await planned("siglip-attention", options);
    const planMs = performance.now() - start;
    const recorded = await recordedOf(options, made.schedule);
    await runAndPrint({ ...made, files: profileFiles, planMs, options, recorded });
    return;
  }
  const isHeld = !options["cycles-only"] && options.check !== "none";
  if (!isHeld) rejectUnread(null, options);
  const loaded = await loadSchedule(options.schedule);
  const program = isHeld ? await programFor(loaded.schedule, "siglip-attention", options) : null;
  const planMs = performance.now() - start;
  const recorded = await recordedOf(options, loaded.schedule);
  const files = [options.schedule, ...profileFiles];
  await runAndPrint({ ...loaded, program, files, planMs, options, recorded });
}

/** The profile that was named, or the package's where the schedule may be the one that it recorded. */
async function recordedOf(
  { profile }: ReplayArguments,
  { program, tiles }: Schedule,
): Promise<Recorded | null> {
  const isBundled = program === "siglip-attention" && tiles === IPU21.tiles;
  if (profile === undefined && !isBundled) return null;
  const { bundledProfile, recordedProfile } = await import("./profile-file.ts");
  if (profile !== undefined) return recordedProfile(profile, true);
  return bundledProfile("siglip-attention.profile.gz");
}

/** Prints a run's report; the process ends with 1 where a finding is an error. */
async function runAndPrint(job: Parameters<typeof execute>[0]): Promise<void> {
  const report = await execute(job);
  process.stdout.write(
    job.options.json ? `${printableJson(report)}\n` : printReport(report, IPU21.clockHz),
  );
  if (report.findings.some(({ severity }) => severity === "error")) process.exitCode = 1;
}

export interface LoadedSchedule {
  readonly schedule: Schedule;
  readonly scheduleText: string;
}

/** A built-in program or a program file, planned. */
export async function planned(
  name: string,
  options: ShapeOptions,
): Promise<LoadedSchedule & { readonly program: Program }> {
  const program = await programOf(name, options);
  const { formatSchedule } = await import("../sim/schedule-file.ts");
  const made = hasFreeGrids(name, options)
    ? (await import("../plan/fit.ts")).planFitting(program, IPU21, ownGrids(name))
    : { program, schedule: (await import("../plan/plan.ts")).plan(program, IPU21) };
  return { ...made, scheduleText: formatSchedule(made.schedule) };
}

/**
 * The program that a schedule is held against, with the grids that the schedule has.
 *
 * @throws SimError `BAD_USAGE` for options that say otherwise than the schedule
 */
async function programFor(
  schedule: Schedule,
  name: string,
  options: ShapeOptions,
): Promise<Program> {
  const program = await programOf(name, options);
  const otherwise = (option: keyof ShapeOptions, what: string): SimError =>
    new SimError("BAD_USAGE", { what, where: { option }, fix: `Drop --${option}` });
  for (const option of ["query-parts", "key-block"] as const) {
    if (options[option] === undefined) continue;
    throw otherwise(
      option,
      `--${option} changes nothing that a schedule's outputs are held against`,
    );
  }
  if (options.tiles !== undefined && options.tiles !== schedule.tiles) {
    const what = `--tiles is ${options.tiles}, the schedule has ${schedule.tiles}`;
    throw otherwise("tiles", what);
  }
  const { hasGridsOf, plannedFrom } = await import("../plan/fit.ts");
  if (hasFreeGrids(name, options)) return plannedFrom(program, schedule, IPU21);
  if (options.grid !== undefined && !hasGridsOf(schedule, program)) {
    throw otherwise("grid", `--grid is ${options.grid}, the schedule's gemms are cut otherwise`);
  }
  return program;
}

/** @throws SimError `FILE_UNREADABLE`, `FILE_MALFORMED` */
export async function loadSchedule(file: string): Promise<LoadedSchedule> {
  const { parseSchedule } = await import("../sim/schedule-file.ts");
  const scheduleText = new TextDecoder().decode(readBytes(file, MOST_FILE_BYTES));
  return { schedule: parseSchedule(scheduleText, file), scheduleText };
}

function summary(schedule: Schedule, file: string | undefined): string {
  const steps = schedule.steps.map((step, index) => {
    if (step.kind === "exchange") {
      const words = step.transfers.reduce((sum, transfer) => sum + transfer.words, 0);
      return [String(index), step.operation, "exchange", step.transfers.length, 4 * words];
    }
    if (step.kind === "repeat") return [String(index), "", `repeat ${step.times}`, null, null];
    const [first] = step.calls;
    const tiles = step.calls.reduce((sum, call) => sum + call.tiles.length, 0);
    return [String(index), first?.operation ?? "", first?.kernel ?? "", tiles, null];
  });
  const end = Math.max(...schedule.buffers.map(({ address, bytes }) => address + bytes), 0);
  return (
    `${printable(schedule.program)} on ${schedule.tiles} tiles of ${schedule.target}: ${schedule.steps.length} steps, ` +
    `${schedule.buffers.length} buffers up to 0x${end.toString(16)}\n\n` +
    `${table(["step", "operation", "what", "tiles or transfers", "bytes sent"], steps)}\n` +
    (file === undefined ? "" : `\nwritten to ${printable(file)}\n`)
  );
}
