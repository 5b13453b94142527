import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as v from "valibot";
import { beforeAll, describe, expect, test } from "vitest";
import { CODES } from "../../src/base/errors.ts";
import { VERSION } from "../../src/base/version.ts";
import type { RunReport } from "../../src/report/run-report.ts";
import { writeProfile } from "../../src/trace/write-profile.ts";
import { report, SMALL, SMALL_GEMM, testFolder, tilesim } from "./support.ts";

const folder = testFolder();
const BUNDLED = join(import.meta.dirname, "../../data/siglip-attention.profile.gz");

const number = v.pipe(v.number(), v.finite());
const count = v.pipe(v.number(), v.integer(), v.minValue(0));
const text = v.pipe(v.string(), v.minLength(1));
const sha256 = v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/));
const orNull = <Schema extends v.GenericSchema>(schema: Schema) => v.nullable(schema);
const difference = v.object({ index: v.array(count), got: number, want: number });
const measured = { recorded: orNull(count), errorPercent: orNull(number) };

/** The report that DESIGN.md promises; more may stand beside what it names. */
const promised = v.object({
  tilesim: v.literal(VERSION),
  target: v.literal("ipu21"),
  program: text,
  backend: orNull(v.object({ name: text, description: text })),
  rounding: v.picklist(["nearest", "stochastic", "exact"]),
  seed: count,
  exchange: v.picklist(["compiler", "list"]),
  inputs: v.array(v.object({ name: text, sha256 })),
  outputs: v.array(
    v.object({ name: text, shape: v.array(count), dtype: v.picklist(["f16", "f32"]), sha256 }),
  ),
  cycles: v.object({
    total: count,
    tileCycles: v.strictObject({
      compute: count,
      copy: count,
      exchange: count,
      sync: count,
      idle: count,
    }),
    kernels: v.array(
      v.object({ operation: text, kernel: text, calls: count, cycles: count, ...measured }),
    ),
    phases: v.array(
      v.object({
        phase: count,
        operation: text,
        eventCycles: count,
        lowerBound: count,
        ...measured,
      }),
    ),
  }),
  match: orNull(
    v.object({ tiles: count, visible: count, matched: count, mismatches: v.array(v.unknown()) }),
  ),
  ends: orNull(
    v.object({
      visible: count,
      within12: count,
      within30: count,
      medianAbs: number,
      p95Abs: number,
      worst: orNull(v.object({ physicalTile: count, step: count, error: number })),
      totalErrorPercent: number,
    }),
  ),
  accuracy: orNull(
    v.array(
      v.object({
        against: v.literal("f64"),
        heads: orNull(v.array(count)),
        maxAbs: number,
        rms: number,
        relL2: number,
        ulpHistogram: v.object({
          dtype: text,
          counts: v.array(v.object({ atMost: number, count })),
        }),
        worst: orNull(difference),
        tolerance: v.object({
          factor: number,
          outside: count,
          largestPart: number,
          worst: orNull(difference),
          atWorst: orNull(number),
        }),
      }),
    ),
  ),
  findings: v.array(
    v.object({
      code: v.picklist(Object.keys(CODES)),
      severity: v.picklist(["error", "warning", "note"]),
      tile: orNull(count),
      step: orNull(v.union([count, text])),
      address: orNull(count),
      tensor: orNull(text),
      element: orNull(v.union([count, v.array(count)])),
      message: text,
    }),
  ),
  assumed: v.array(text),
  wall: v.strictObject({ planMs: number, runMs: number, checkMs: number }),
});

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

/** A report with what it says of a whole run. */
function expectWhole(given: RunReport): void {
  const { cycles, tiles, outputs, accuracy } = given;
  const parsed = v.safeParse(promised, given);
  expect(parsed.issues?.map((issue) => `${v.getDotPath(issue)}: ${issue.message}`) ?? []).toEqual(
    [],
  );
  expect(cycles.total).toBeGreaterThan(0);
  expect(sum(Object.values(cycles.tileCycles))).toBe(cycles.total * tiles);
  const busy = sum(cycles.kernels.map(({ calls, cycles: each }) => calls * each));
  expect(busy).toBe(cycles.tileCycles.compute + cycles.tileCycles.copy);
  for (const { eventCycles, lowerBound } of cycles.phases) {
    expect(lowerBound).toBeGreaterThan(0);
    expect(eventCycles).toBeGreaterThanOrEqual(lowerBound);
  }
  expect(cycles.phases.map(({ phase }) => phase)).toEqual(cycles.phases.map((_, index) => index));
  for (const { recorded, errorPercent, cycles: simulated } of cycles.kernels) {
    expect(errorPercent).toBe(recorded && (100 * (simulated - recorded)) / recorded);
  }
  for (const { ulpHistogram, elements } of accuracy ?? []) {
    expect(sum(ulpHistogram.counts.map((entry) => entry.count))).toBe(elements);
  }
  expect(accuracy?.map(({ output }) => output) ?? []).toEqual(
    accuracy === null ? [] : outputs.map(({ name }) => name),
  );
}

beforeAll(async () => {
  await tilesim(folder, `plan siglip-attention ${SMALL} -o block.json`);
  await tilesim(folder, `plan ${SMALL_GEMM} -o gemm.json`);
});

describe.concurrent("the report of", () => {
  test("a replay has all that is promised", async () => {
    const given = await report(folder, `replay ${SMALL} --seed 7 --exchange list`);
    expectWhole(given);
    expect(given).toMatchObject({
      program: "siglip-attention",
      tiles: 8,
      seed: 7,
      exchange: "list",
      rounding: "nearest",
      backend: { name: "wasm" },
      outputs: [{ name: "output", shape: [2, 20, 16], dtype: "f32" }],
      accuracy: [{ heads: [0, 1], elements: 640, within: true }],
      findings: [],
    });
    expect(given.inputs.map(({ name }) => name)).toEqual([
      "input",
      "query.weight",
      "key.weight",
      "value.weight",
    ]);
  });

  test("a replay of cycles alone has no values, and the rest", async () => {
    const given = await report(folder, `replay ${SMALL} --cycles-only`);
    expectWhole(given);
    expect(given).toMatchObject({ backend: null, inputs: [], outputs: [], accuracy: null });
  });

  test("a schedule's run is not held against anything unless it is said what it computes", async () => {
    const given = await report(folder, "run gemm.json");
    expectWhole(given);
    expect(given).toMatchObject({ program: "gemm", accuracy: null, findings: [] });
    const full = await report(folder, "run gemm.json --check full");
    expect(full).toMatchObject({
      accuracy: null,
      findings: [{ code: "ACCURACY", severity: "note" }],
    });
    const held = await report(folder, `run gemm.json --check full --against ${SMALL_GEMM}`);
    expectWhole(held);
    expect(held.accuracy).toMatchObject([{ heads: null, elements: 32 * 32, within: true }]);
  });

  test("a schedule names the file's own bytes", async () => {
    const bytes = readFileSync(join(folder, "block.json"));
    const digest = createHash("sha256").update(bytes).digest("hex");
    expect((await report(folder, "run block.json --cycles-only")).schedule.sha256).toBe(digest);
    expect((await report(folder, `replay ${SMALL} --cycles-only`)).schedule.sha256).toBe(digest);
  });

  test("the recorded block stands beside what was measured, as near as is promised", async () => {
    const given = await report(folder, "replay --cycles-only");
    expectWhole(given);
    const { total, recorded, errorPercent, kernels, phases } = given.cycles;
    expect(errorPercent).toBe((100 * (total - (recorded ?? 0))) / (recorded ?? 0));
    expect(Math.abs(errorPercent ?? 100)).toBeLessThan(0.05);
    expect(phases.map((phase) => phase.recorded)).toEqual([
      ...[4989, 1375, 4989, 1375, 4989, 1375],
      ...[1661, 4395, 5249, 32153, 37865],
    ]);
    expect(kernels.filter(({ cycles, recorded: each }) => cycles !== each)).toEqual([]);
    const { match, ends, parts } = given;
    expect(match).toMatchObject({ tiles: 1472, visible: 30_081, matched: 30_081, mismatches: [] });
    expect(ends?.visible).toBe(30_714);
    expect(ends?.exact).toBeGreaterThanOrEqual(30_581);
    expect(ends?.worst?.kernel).toBe("exchange 6");
    expect(parts?.residualCycles).toBe(0);
  });

  test("a run that is not the one recorded is held against nothing unless that is asked for", async () => {
    const given = await report(folder, `replay ${SMALL} --cycles-only`);
    expect([given.match, given.ends, given.profile, given.cycles.recorded]).toEqual([
      null,
      null,
      null,
      null,
    ]);
    const asked = await tilesim(folder, `replay ${SMALL} --cycles-only --json`, BUNDLED);
    expect(asked.code).toBe(1);
    const held = JSON.parse(asked.stdout) as RunReport;
    expect(held.profile?.file).toBe(BUNDLED);
    expect(held.match?.mismatches.length).toBeGreaterThan(1000);
    expect(held.findings).toEqual([expect.objectContaining({ code: "PROFILE_DIFFERS" })]);
    const nothing = { schemaVersion: 5, clockHz: 1_500_000_000, tiles: [] };
    writeFileSync(join(folder, "nothing.profile"), writeProfile(nothing));
    const { code, stdout } = await tilesim(folder, `replay nothing.profile ${SMALL} --cycles-only`);
    expect(code).toBe(1);
    expect(stdout).toContain("PROFILE_DIFFERS: the profile has no step");
  });

  test("a run for people says the same, with no progress in a pipe", async () => {
    const [{ stdout, stderr, code }, given] = await Promise.all([
      tilesim(folder, `replay ${SMALL}`),
      report(folder, `replay ${SMALL}`),
    ]);
    expect([code, stderr]).toEqual([0, ""]);
    for (const control of ["\r", "\u001b"]) expect(stdout).not.toContain(control);
    const [output] = given.outputs;
    expect(stdout).toContain(`output output [2, 20, 16] f32, sha256 ${output.sha256.slice(0, 16)}`);
    expect(stdout).toMatch(/; within tolerance, at most 0\.\d+ times it \(\S+ of \S+ at \[/);
    expect(stdout).toContain(`total ${given.cycles.total.toLocaleString("en-US")} cycles`);
    for (const { kernel } of given.cycles.kernels) expect(stdout).toContain(kernel);
    for (const name of given.assumed) expect(stdout).toContain(name);
  });
});
