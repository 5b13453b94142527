import { readBytes } from "../io/files.ts";
import { parseSchedule } from "../sim/schedule-file.ts";
import { timeSchedule } from "../sim/timing.ts";
import { validateSchedule } from "../sim/validate.ts";
import { IPU21 } from "../target/ipu21.ts";
import { profileOfRun } from "../trace/run-profile.ts";
import { sourceOf } from "./profile-file.ts";
import type { LoadedProfile } from "./profile-file.ts";
import { MOST_FILE_BYTES } from "./programs.ts";

/**
 * The profile that a run of a schedule file would leave.
 *
 * @throws SimError `FILE_UNREADABLE`, `FILE_MALFORMED`, and what `validateSchedule` refuses
 */
export function profileOfSchedule(file: string): LoadedProfile {
  const bytes = readBytes(file, MOST_FILE_BYTES);
  const schedule = parseSchedule(new TextDecoder().decode(bytes), file);
  validateSchedule(schedule, IPU21);
  return {
    source: sourceOf(file, bytes),
    profile: profileOfRun(schedule, timeSchedule(schedule, IPU21), IPU21),
  };
}
