import {
  closeSync,
  fstatSync,
  fsyncSync,
  openSync,
  readSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { randomUUID } from "node:crypto";
import { dirname, join } from "node:path";
import { BackendError, SimError } from "../base/errors.ts";

/** The most that one call to the system moves; it takes no more than 2 GiB. */
const PIECE = 2 ** 26;

/**
 * Writes a file so that others see the old content or the new one, never a part: into a new file beside it,
 * which then takes its name. Through a symbolic link it writes what the link names.
 *
 * @throws FILE_UNWRITABLE where it cannot; nothing is left behind then
 */
export function writeAside(path: string, content: Uint8Array | string): void {
  const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
  attempt("write", path, () => {
    const target = replaceable(path);
    const aside = join(dirname(target), `.${randomUUID()}.tmp`);
    try {
      writeNew(aside, bytes);
      renameSync(aside, target);
    } catch (error) {
      rmSync(aside, { force: true });
      throw error;
    }
  });
}

/**
 * The bytes of a file, a pipe or a device.
 *
 * @throws FILE_UNREADABLE where it cannot be read, or holds more than `maxBytes`; no more is read then
 */
export function readBytes(path: string, maxBytes: number): Uint8Array<ArrayBuffer> {
  return attempt("read", path, () => {
    const file = openSync(path, "r");
    try {
      const stat = fstatSync(file);
      const expected = stat.isFile() ? stat.size : 0;
      if (expected > maxBytes) throw tooLarge(path, maxBytes);
      return readAll(file, path, expected, maxBytes);
    } finally {
      closeSync(file);
    }
  });
}

/**
 * That a file can take the place of what is at `path`, as far as it shows before.
 *
 * @throws FILE_UNWRITABLE
 */
export function checkReplaceable(path: string): void {
  attempt("write", path, () => replaceable(path));
}

/** Where to write for `path`: what it links to, if that is a file or not there yet. */
function replaceable(path: string): string {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (!stat) return path;
  if (!stat.isFile()) throw unusable("write", path, "is no regular file");
  return realpathSync(path);
}

function writeNew(path: string, bytes: Uint8Array): void {
  const file = openSync(path, "wx");
  try {
    for (let at = 0; at < bytes.length;) {
      at += writeSync(file, bytes, at, Math.min(PIECE, bytes.length - at));
    }
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** All of an open file. `expected` is its size, 0 where it is not known; a file can grow. */
function readAll(
  file: number,
  path: string,
  expected: number,
  maxBytes: number,
): Uint8Array<ArrayBuffer> {
  // One byte more than expected, so that the end shows without making room again.
  let bytes = new Uint8Array(expected + 1);
  let length = 0;
  for (;;) {
    if (length === bytes.length) {
      const more = new Uint8Array(Math.min(maxBytes + 1, Math.max(65_536, 2 * length)));
      more.set(bytes);
      bytes = more;
    }
    const read = readSync(file, bytes, length, Math.min(PIECE, bytes.length - length), null);
    if (read === 0) return bytes.subarray(0, length);
    length += read;
    if (length > maxBytes) throw tooLarge(path, maxBytes);
  }
}

/** Faults of a disk, not of a path: room, quota, the device itself. */
const DISK_FAULTS: readonly unknown[] = ["ENOSPC", "EDQUOT", "EIO"];

function attempt<T>(action: "read" | "write", path: string, run: () => T): T {
  try {
    return run();
  } catch (error) {
    if (error instanceof SimError) throw error;
    const { code } = error as { readonly code?: unknown };
    if (!DISK_FAULTS.includes(code)) throw unusable(action, path, reason(error), error);
    const fault = {
      what: `cannot ${action} ${path}: ${reason(error)}`,
      where: { path },
      fix: action === "read" ? "Look after the disk" : "Make room, or choose another disk",
    };
    throw new BackendError(codeOf(action), fault, { cause: error });
  }
}

function codeOf(action: "read" | "write"): "FILE_UNREADABLE" | "FILE_UNWRITABLE" {
  return action === "read" ? "FILE_UNREADABLE" : "FILE_UNWRITABLE";
}

/** The system's own words without the call and the path, which stand in the error anyway. */
function reason(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.message.replace(/^([A-Z]+: )?([^,]*).*$/s, "$2");
}

function tooLarge(path: string, maxBytes: number): SimError {
  return unusable("read", path, `holds more than ${maxBytes} bytes`);
}

function unusable(action: "read" | "write", path: string, why: string, cause?: unknown): SimError {
  return new SimError(
    codeOf(action),
    {
      what: `cannot ${action} ${path}: ${why}`,
      where: { path },
      fix:
        action === "read" ? "Check the path and its rights" : "Choose a path that can be written",
    },
    { cause },
  );
}
