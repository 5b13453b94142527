import { SimError } from "../base/errors.ts";
import { VERSION } from "../base/version.ts";
import { writeAside } from "../io/files.ts";
import { findingReport } from "../report/finding-report.ts";
import type { CalibrateReport } from "../report/profile-report.ts";
import { IPU21 } from "../target/ipu21.ts";
import { calibrate } from "../trace/calibration.ts";
import { fitCosts } from "../trace/cost-fit.ts";
import type { CalibrateOptions } from "./options.ts";
import { printCalibration } from "./print-calibration.ts";
import { rejectOverwrites } from "./overwrites.ts";
import { printableJson } from "./printable.ts";
import { bundledProfile, loadProfile } from "./profile-file.ts";
import type { LoadedProfile } from "./profile-file.ts";
import { Progress } from "./progress.ts";

export interface CalibrateArguments extends CalibrateOptions {
  readonly profiles: readonly string[];
}

/** `tilesim calibrate`. */
export function calibrateProfiles(options: CalibrateArguments): void {
  const { output, json } = options;
  if (output !== undefined) rejectOverwrites([output], options.profiles);
  const loaded = read(options.profiles);
  const leftOut = options["leave-out"];
  if (leftOut === "profile" && loaded.length < 2) {
    const what = "--leave-out profile leaves nothing of one profile";
    throw bad(what, "leave-out", "Give several profiles");
  }
  const calibration = calibrate(loaded, IPU21);
  const { database, models, untimedSamples, findings } = calibration;
  const report: CalibrateReport = {
    tilesim: VERSION,
    database,
    models,
    untimedSamples,
    leftOut,
    fits: fitCosts(calibration, leftOut, IPU21),
    written: output ?? null,
    findings: findings.map(findingReport),
  };
  if (output !== undefined) writeAside(output, jsonText(database));
  process.stdout.write(json ? jsonText(report) : printCalibration(report));
}

function read(files: readonly string[]): readonly LoadedProfile[] {
  if (files.length === 0) return [bundledProfile("siglip-attention.profile.gz")];
  const progress = new Progress();
  try {
    return files.map((file) => {
      progress.say(`reading ${file}`);
      return loadProfile(file);
    });
  } finally {
    progress.end();
  }
}

function jsonText(data: object): string {
  return `${printableJson(data)}\n`;
}

function bad(what: string, option: string, fix: string): SimError {
  return new SimError("BAD_USAGE", { what, where: { option }, fix });
}
