import type * as FileSystem from "node:fs";
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { BackendError } from "../../src/base/errors.ts";
import { writeAside } from "../../src/io/files.ts";

const failing = vi.hoisted(() => ({ call: "" }));

vi.mock("node:fs", async (importOriginal) => {
  const fs = await importOriginal<typeof FileSystem>();
  const broken =
    <Call extends "writeSync" | "fsyncSync" | "renameSync">(name: Call) =>
    (...operands: Parameters<(typeof fs)[Call]>): unknown => {
      if (failing.call === name) {
        const error = new Error("ENOSPC: no space left on device, write");
        throw Object.assign(error, { code: "ENOSPC" });
      }
      return Reflect.apply(fs[name], fs, operands);
    };
  return {
    ...fs,
    writeSync: broken("writeSync"),
    fsyncSync: broken("fsyncSync"),
    renameSync: broken("renameSync"),
  };
});

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "files-"));
  writeFileSync(join(folder, "out"), "old");
});
afterEach(() => rmSync(folder, { recursive: true }));

test.each(["writeSync", "fsyncSync", "renameSync"])(
  "when %s fails, the old file stays and the new one goes",
  (call) => {
    failing.call = call;
    const write = (): void => writeAside(join(folder, "out"), "new");
    // The machine's fault, not that of the path.
    expect(write).toThrow(BackendError);
    expect(write).toThrow(/FILE_UNWRITABLE: cannot write .*: no space left on device/);
    expect(readdirSync(folder)).toEqual(["out"]);
    expect(readFileSync(join(folder, "out"), "utf8")).toBe("old");
  },
);

test("when nothing fails, the new file stands in its place", () => {
  failing.call = "";
  writeAside(join(folder, "out"), "new");
  expect(readFileSync(join(folder, "out"), "utf8")).toBe("new");
});
