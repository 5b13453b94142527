import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ACTIVITY_KINDS, STEP_KINDS } from "../../src/trace/profile.ts";
import type { Profile, Sample } from "../../src/trace/profile.ts";
import { readProfile } from "../../src/trace/read-profile.ts";
import { writeProfile } from "../../src/trace/write-profile.ts";
import { SAMPLE, asciiProfiles, profileOf } from "./support.ts";

/**
 * The `capnp` tool (https://capnproto.org/capnp-tool.html; Debian's package `capnproto`) as a witness: it makes
 * files that no code of ours wrote, and reads those that ours wrote. Beyond ASCII its JSON is not to be relied on.
 */
const isThere = spawnSync("capnp", ["--version"]).status === 0;
const SCHEMA = fileURLToPath(new URL("profile.capnp", import.meta.url));

function capnp(command: readonly string[], input: Uint8Array | string): Buffer {
  const all = [...command, SCHEMA, "Profile"];
  const { status, stdout, stderr } = spawnSync("capnp", all, { input, maxBuffer: 2 ** 28 });
  if (status !== 0) throw new Error(`capnp ${all.join(" ")}: ${stderr.toString()}`);
  return stdout;
}

function convert(from: string, to: string, input: Uint8Array, ...options: string[]): Buffer {
  return capnp(["convert", "--quiet", ...options, `${from}:${to}`], input);
}

function encode(text: string, ...options: string[]): Buffer {
  return capnp(["encode", ...options], text);
}

/** A profile in the names of the schema, as the tool's JSON has it. */
function schemaForm({ schemaVersion, clockHz, tiles }: Profile): object {
  return {
    schemaVersion,
    clockHz: String(clockHz),
    tiles: tiles.map(({ physicalTile, samples }) => ({
      physicalTile,
      samples: samples.map(({ start, end, step }) => ({
        step: stepForm(step),
        startCycle: start,
        endCycle: end,
      })),
    })),
  };
}

function stepForm({ activities, eventCycles, ...same }: Sample["step"]): object {
  return {
    ...same,
    exchangeActivities: activities.map(({ kind, start, end }) => ({
      kind,
      startCycle: start,
      endCycle: end,
    })),
    exchangeEventCycles: eventCycles,
  };
}

/** A value as the tool's text form has it: `(kernel = "sync", kind = idle)`. */
function literal(value: unknown, field: string = ""): string {
  if (Array.isArray(value)) return `[${value.map((item) => literal(item)).join(", ")}]`;
  if (typeof value === "object" && value !== null) {
    const fields = Object.entries(value).map(([name, of]) => `${name} = ${literal(of, name)}`);
    return `(${fields.join(", ")})`;
  }
  const isBare = typeof value === "number" || field === "kind" || field === "clockHz";
  return isBare ? String(value) : quoted(String(value));
}

/** The tool counts brackets, also inside strings, to find a message's end. */
function quoted(text: string): string {
  const escaped = text.replaceAll(
    /[^\w .]/g,
    (letter) => `\\x${letter.charCodeAt(0).toString(16).padStart(2, "0")}`,
  );
  return `"${escaped}"`;
}

/** The tool's own file of a profile. */
function toolsFile(profile: Profile, ...options: string[]): Uint8Array {
  return encode(literal(schemaForm(profile)), ...options);
}

const segmentSizes = fc.constantFrom(
  ...[[], ["1"], ["2"], ["7"], ["64"], ["1024"]].map((sizes) =>
    sizes.map((size) => `--segment-size=${size}`),
  ),
);
const forms = fc.constantFrom([], ["--packed"]);

describe.skipIf(!isThere)("the capnp tool is a witness", () => {
  test.each([[[]], [["--packed"]]])(
    "a file of its own, made with %j, reads as what it was made of",
    (form) => {
      for (const kind of STEP_KINDS) {
        const one = profileOf({
          ...SAMPLE,
          step: { ...SAMPLE.step, kind, operation: "operation.7" },
        });
        expect(readProfile(toolsFile(one, ...form))).toEqual(one);
      }
    },
  );

  test("what it leaves out of a file is empty", () => {
    const text =
      "(schemaVersion = 1, clockHz = 1, tiles = [(samples = [(), (step = (kind = idle))]), (physicalTile = 9)])";
    const { tiles } = readProfile(encode(text));
    expect(tiles.map(({ samples }) => samples.length)).toEqual([2, 0]);
    expect(tiles[0].samples[0]).toEqual({
      start: 0,
      end: 0,
      step: {
        localIndex: 0,
        phase: 0,
        epoch: 0,
        operation: "",
        kind: "exchange",
        kernel: "",
        metadata: [],
        activities: [],
        eventCycles: 0,
      },
    });
    expect(tiles[0].samples[1].step.kind).toBe("idle");
  });

  test("texts beyond ASCII come through", () => {
    const text =
      '(schemaVersion = 5, clockHz = 1, tiles = [(samples = [(step = (kernel = "\u00e9\u{1f600}\\n"))])])';
    expect(readProfile(encode(text)).tiles[0].samples[0].step.kernel).toBe("\u00e9\u{1f600}\n");
  });

  test("activities of every kind come through", () => {
    const activities = ACTIVITY_KINDS.map((kind, i) => ({ kind, start: i, end: 2 ** 32 - 1 - i }));
    const one = profileOf({ ...SAMPLE, step: { ...SAMPLE.step, activities } });
    expect(readProfile(toolsFile(one))).toEqual(one);
    expect(JSON.parse(convert("binary", "json", writeProfile(one)).toString())).toEqual(
      schemaForm(one),
    );
  });

  test("files of its own in segments of any size, packed or not, read as what they were made of", () => {
    fc.assert(
      fc.property(asciiProfiles, segmentSizes, forms, (profile, options, form) => {
        expect(readProfile(toolsFile(profile, ...form, ...options))).toEqual(profile);
      }),
      { numRuns: 60 },
    );
  });

  test("it reads any file of ours as what was written", () => {
    fc.assert(
      fc.property(asciiProfiles, (profile) => {
        const json = convert("binary", "json", writeProfile(profile)).toString();
        expect(JSON.parse(json)).toEqual(schemaForm(profile));
      }),
      { numRuns: 30 },
    );
  });

  test("a file of ours that it packs is the same profile, of 1,472 tiles in a dozen segments", () => {
    const samples = Array.from({ length: 19 }, (_, i) => ({ ...SAMPLE, start: i, end: i + 1 }));
    const tiles = Array.from({ length: 1472 }, (_, t) => ({ physicalTile: t, samples }));
    const profile = { ...profileOf(), tiles };
    const bytes = writeProfile(profile);
    expect(readProfile(convert("binary", "packed", bytes))).toEqual(profile);
    expect(readProfile(convert("binary", "binary", bytes, "--segment-size=500"))).toEqual(profile);
  });
});
