import { gzipSync } from "node:zlib";
import { sha256 } from "../base/hash.ts";
import { VERSION } from "../base/version.ts";
import { readBytes, writeAside } from "../io/files.ts";
import { findingReport } from "../report/finding-report.ts";
import type { RecoverReport } from "../report/profile-report.ts";
import { timeSchedule } from "../sim/timing.ts";
import { validateSchedule } from "../sim/validate.ts";
import { IPU21 } from "../target/ipu21.ts";
import { MOST_CAPTURE_BYTES, readCapture } from "../trace/capture.ts";
import { CERTAINTIES, recoverProfile } from "../trace/recover.ts";
import type { Recovery } from "../trace/recover.ts";
import { profileOfRun } from "../trace/run-profile.ts";
import { writeProfile } from "../trace/write-profile.ts";
import { loadSchedule, planned } from "./actions.ts";
import type { LoadedSchedule } from "./actions.ts";
import type { RecoverOptions } from "./options.ts";
import { rejectOverwrites } from "./overwrites.ts";
import { certaintyFile, sourceOf } from "./profile-file.ts";
import { printRecovery } from "./print-recovery.ts";
import { printableJson } from "./printable.ts";
import { programFiles, rejectUnread } from "./programs.ts";
import { Progress } from "./progress.ts";

export interface RecoverArguments extends RecoverOptions {
  readonly capture: string;
}

/** `tilesim recover`. */
export async function recover(options: RecoverArguments): Promise<void> {
  const { output, capture, schedule: scheduleFile } = options;
  const read = [
    capture,
    ...(scheduleFile === undefined ? programFiles(options.program) : [scheduleFile]),
  ];
  rejectOverwrites([output, certaintyFile(output)], read);
  const progress = new Progress();
  try {
    progress.say(`reading ${options.capture}`);
    const bytes = readBytes(options.capture, MOST_CAPTURE_BYTES);
    const text = readCapture(bytes, options.capture);
    progress.say("planning what was recorded");
    const { schedule, scheduleText } = await recorded(options);
    validateSchedule(schedule, IPU21);
    const expected = profileOfRun(schedule, timeSchedule(schedule, IPU21), IPU21);
    progress.say("laying the capture beside it");
    const recovery = recoverProfile(text, expected, IPU21, options.capture);
    progress.say("writing the profile");
    const files = write(options.output, recovery, {
      tilesim: VERSION,
      target: IPU21.name,
      program: schedule.program,
      capture: sourceOf(options.capture, bytes),
      schedule: { sha256: sha256(scheduleText) },
    });
    progress.end();
    process.stdout.write(options.json ? `${printableJson(files)}\n` : printRecovery(files));
    if (files.findings.some(({ severity }) => severity === "error")) process.exitCode = 1;
  } finally {
    progress.end();
  }
}

async function recorded(options: RecoverArguments): Promise<LoadedSchedule> {
  if (options.schedule === undefined) return planned(options.program, options);
  rejectUnread(null, options);
  return loadSchedule(options.schedule);
}

type Made = Pick<RecoverReport, "tilesim" | "target" | "program" | "capture" | "schedule">;

/** The side file first: a profile is never without it. */
function write(output: string, recovery: Recovery, made: Made): RecoverReport {
  const isGzip = output.endsWith(".gz");
  const pack = (content: Uint8Array | string): Uint8Array | string =>
    isGzip ? gzipSync(content, { level: 9 }) : content;
  const sideFile = certaintyFile(output);
  const { summary, durations, certainty, findings, profile } = recovery;
  const found = {
    ...summary,
    durations: [...durations].map(([work, cycles]) => ({ work, cycles })),
  };
  const message = writeProfile(profile);
  const side = {
    format: "tilesim-certainty",
    version: 1,
    ...made,
    letters: CERTAINTIES,
    ...found,
    profile: { sha256: sha256(message) },
    tileCertainty: certainty,
  };
  const packed = pack(message);
  writeAside(sideFile, pack(`${JSON.stringify(side)}\n`));
  writeAside(output, packed);
  return {
    ...made,
    profile: sourceOf(output, packed),
    certainty: { file: sideFile },
    ...found,
    findings: findings.map(findingReport),
  };
}
