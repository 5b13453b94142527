import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { SimError, type Code } from "../../src/base/errors.ts";
import { readBytes, writeAside } from "../../src/io/files.ts";

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "files-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

function refused(code: Code, run: () => unknown): SimError {
  try {
    run();
  } catch (error) {
    expect(error).toBeInstanceOf(SimError);
    expect((error as SimError).code).toBe(code);
    return error as SimError;
  }
  throw new Error("nothing was thrown");
}

test("what is written replaces what was there, and leaves nothing beside it", () => {
  const path = join(folder, "out");
  writeFileSync(path, "a longer text than the new one");
  writeAside(path, Uint8Array.of(1, 2, 3));
  expect([...readFileSync(path)]).toEqual([1, 2, 3]);
  writeAside(path, "text");
  expect(readFileSync(path, "utf8")).toBe("text");
  writeAside(path, "");
  expect(readFileSync(path, "utf8")).toBe("");
  expect(readdirSync(folder)).toEqual(["out"]);
});

test("a link stays, and what it names is written", () => {
  const [path, link] = [join(folder, "out"), join(folder, "link")];
  writeFileSync(path, "old");
  symlinkSync(path, link);
  writeAside(link, "new");
  expect(readFileSync(path, "utf8")).toBe("new");
  expect(lstatSync(link).isSymbolicLink()).toBe(true);
});

test("a write that fails leaves what was there and nothing else", () => {
  mkdirSync(join(folder, "out"));
  writeFileSync(join(folder, "out", "inside"), "");
  refused("FILE_UNWRITABLE", () => writeAside(join(folder, "out"), "text"));
  expect(readdirSync(folder)).toEqual(["out"]);
  expect(existsSync(join(folder, "out", "inside"))).toBe(true);
});

test("a folder that is not there, or a name that none can hold, is an error", () => {
  refused("FILE_UNWRITABLE", () => writeAside(join(folder, "none", "out"), "text"));
  refused("FILE_UNWRITABLE", () => writeAside(join(folder, "x".repeat(300)), "text"));
  writeAside(join(folder, "x".repeat(255)), "text");
  expect(readdirSync(folder)).toEqual(["x".repeat(255)]);
});

test("a device is not replaced by a file", () => {
  refused("FILE_UNWRITABLE", () => writeAside("/dev/null", "text"));
  expect(lstatSync("/dev/null").isCharacterDevice()).toBe(true);
});

// prettier-ignore
test.each([
  [0, 0, "an empty file"],
  [5, 5, "as many bytes as are allowed"],
  [5, 2 ** 40, "fewer than are allowed"],
  [200_000, 200_000, "more than a first piece"],
])("%i bytes are read where %i may be: %s", (size, maxBytes) => {
  const path = join(folder, "in");
  writeFileSync(path, Buffer.alloc(size, 7));
  const bytes = readBytes(path, maxBytes);
  expect(bytes.length).toBe(size);
  expect(bytes.every((byte) => byte === 7)).toBe(true);
});

test("a file of more bytes than are allowed is refused", () => {
  const path = join(folder, "in");
  writeFileSync(path, "123456");
  const { fault } = refused("FILE_UNREADABLE", () => readBytes(path, 5));
  expect(fault.where).toEqual({ path });
});

test("a device without end is read no further than is allowed", () => {
  const { fault } = refused("FILE_UNREADABLE", () => readBytes("/dev/zero", 1_000_000));
  expect(fault.what).toContain("more than 1000000 bytes");
});

test.skipIf(!existsSync("/proc"))("a file of unknown size is read to its end", () => {
  expect(Buffer.from(readBytes("/proc/self/status", 1_000_000)).toString()).toMatch(/^Name:/);
});

// prettier-ignore
test.each([
  ["none", "no such file or directory"],
  [".", "illegal operation on a directory"],
  ["in/side", "not a directory"],
  ["nul\0", "must be a string"],
])("%j cannot be read, and the error says why: %s", (name, why) => {
  writeFileSync(join(folder, "in"), "");
  const { fault } = refused("FILE_UNREADABLE", () => readBytes(`${folder}/${name}`, 10));
  expect(fault.what).toContain(why);
});
