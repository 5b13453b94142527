import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { gunzipSync } from "node:zlib";
import { SimError } from "../base/errors.ts";
import { sha256 } from "../base/hash.ts";
import { readBytes } from "../io/files.ts";
import type { ProfileSource } from "../report/profile-report.ts";
import type { Recorded } from "../report/run-report.ts";
import { parseCertainty } from "../trace/certainty.ts";
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
  return parsedProfile(file, readBytes(file, MOST_PROFILE_BYTES));
}

function parsedProfile(file: string, bytes: Uint8Array): LoadedProfile {
  return { source: sourceOf(file, bytes), profile: readProfile(bytes, file) };
}

/** What a report says of a file: its content as it is, packed or not. */
export function sourceOf(file: string, content: Uint8Array | string): ProfileSource {
  const bytes = typeof content === "string" ? Buffer.byteLength(content) : content.length;
  return { file, sha256: sha256(content), bytes };
}

/** A profile of the package, by its name. */
export function bundledProfile(name: string): Recorded {
  const file = join(packageRoot(), "data", name);
  const recorded = recordedProfile(file, false);
  return { ...recorded, source: { ...recorded.source, file: `${name} of the package` } };
}

/**
 * A profile to hold runs against, with the side file that `recover` wrote beside it, if there is one.
 *
 * @throws SimError `FILE_UNREADABLE`, `FILE_MALFORMED`
 */
export function recordedProfile(file: string, isAsked: boolean): Recorded {
  const bytes = readBytes(file, MOST_PROFILE_BYTES);
  const { source, profile } = parsedProfile(file, bytes);
  const sideFile = certaintyFile(file);
  if (!existsSync(sideFile)) return { source, profile, certainty: null, isAsked };
  const side = new TextDecoder().decode(plain(sideFile, readBytes(sideFile, MOST_PROFILE_BYTES)));
  const certainty = parseCertainty(side, sideFile, profile, sha256(plain(file, bytes)));
  return { source, profile, certainty, isAsked };
}

/** Where `recover` says how each field of a profile is known. */
export function certaintyFile(profile: string): string {
  return profile.endsWith(".gz")
    ? `${profile.slice(0, -".gz".length)}.certainty.json.gz`
    : `${profile}.certainty.json`;
}

/** A file's bytes, inflated where its name ends as gzip's do. */
function plain(file: string, bytes: Uint8Array): Uint8Array {
  if (!file.endsWith(".gz")) return bytes;
  try {
    return gunzipSync(bytes, { maxOutputLength: MOST_PROFILE_BYTES });
  } catch (cause) {
    throw new SimError(
      "FILE_MALFORMED",
      { what: `${file}: cannot be inflated`, where: { file }, fix: "Run recover again" },
      { cause },
    );
  }
}

/** The folder of package.json, from sources as from the build. */
function packageRoot(): string {
  let folder = import.meta.dirname;
  while (!existsSync(join(folder, "package.json"))) folder = dirname(folder);
  return folder;
}
