import { fstatSync, statSync, type BigIntStats } from "node:fs";
import { SimError } from "../base/errors.ts";
import { checkReplaceable } from "../io/files.ts";

/**
 * That outputs can be written, and that none takes the place of a file that was read, or of the one that the report goes to. Files are told
 * apart by device and number, so that no link hides one.
 *
 * @throws SimError `BAD_USAGE`, `FILE_UNWRITABLE`
 */
export function rejectOverwrites(outputs: Iterable<string>, inputs: Iterable<string>): void {
  const read = new Map<string, string>();
  for (const path of inputs) {
    const file = fileAt(path);
    if (file !== null) read.set(file, path);
  }
  const reports = new Set([1, 2].map((stream) => identity(fstatSync(stream, { bigint: true }))));
  for (const path of outputs) {
    checkReplaceable(path);
    const file = fileAt(path);
    if (file === null) continue;
    const input = read.get(file);
    if (input !== undefined) {
      const alias = input === path ? "" : `, read as ${input}`;
      throw overwrite(path, `the output ${path} is also an input${alias}`);
    }
    if (reports.has(file)) {
      throw overwrite(path, `the output ${path} is also where the command's own text goes`);
    }
  }
}

function overwrite(path: string, what: string): SimError {
  return new SimError("BAD_USAGE", { what, where: { path }, fix: "Name another file for it" });
}

/** Null where there is no regular file, or none that can be looked at. */
function fileAt(path: string): string | null {
  try {
    return identity(statSync(path, { bigint: true }));
  } catch {
    return null;
  }
}

function identity(stat: BigIntStats): string | null {
  return stat.isFile() ? `${stat.dev}:${stat.ino}` : null;
}
