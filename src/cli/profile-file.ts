import { createHash } from "node:crypto";
import { readBytes } from "../io/files.ts";
import type { ProfileSource } from "../report/profile-report.ts";
import type { Profile } from "../trace/profile.ts";
import { readProfile } from "../trace/read-profile.ts";

/** Largest file that is read for a profile: one that packing made larger instead of smaller still fits. */
const MOST_PROFILE_BYTES = 2 ** 28 + 2 ** 26;

export interface LoadedProfile {
  readonly source: ProfileSource;
  readonly profile: Profile;
}

/**
 * The profile in a file: packed or not, plain or gzip.
 *
 * @throws SimError `FILE_UNREADABLE`, `FILE_MALFORMED`
 */
export function loadProfile(file: string): LoadedProfile {
  const bytes = readBytes(file, MOST_PROFILE_BYTES);
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  return {
    source: { file, sha256, bytes: bytes.length },
    profile: readProfile(bytes, file),
  };
}
