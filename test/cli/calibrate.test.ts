import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { VERSION } from "../../src/base/version.ts";
import type { CalibrateReport } from "../../src/report/profile-report.ts";
import type { CalibrationDatabase } from "../../src/trace/calibration.ts";
import { writeProfile } from "../../src/trace/write-profile.ts";
import { copyStep, profileOf } from "../trace/calibrated.ts";
import { exchange, recorded, tile, work } from "../trace/recorded.ts";
import { expectRefused, namesIn, testFolder, tilesim } from "./support.ts";

const folder = testFolder();
const A = profileOf(
  [318, copyStep(256)],
  [534, copyStep(1152)],
  [3450, copyStep(2048, 5)],
  [9, work({ kernel: "mystery\u001b[31m" })],
);
const B = profileOf([324, copyStep(256)], [822, copyStep(2304)], [1248, copyStep(512, 4)]);
const BYTES = writeProfile(A);

beforeAll(() => {
  const file = (name: string, content: Uint8Array): void =>
    writeFileSync(join(folder, name), content);
  file("a.profile", BYTES);
  file("same.profile", BYTES);
  file("b.profile", writeProfile(B));
  file("clock.profile", writeProfile({ ...B, clockHz: 1_001 }));
  file("empty.profile", writeProfile(recorded()));
  file("waits.profile", writeProfile(recorded(tile(0, 0, [40, exchange(1, 25)]))));
  file("notes.txt", new TextEncoder().encode("a text that is no profile\n".repeat(9)));
});

async function json(line: string): Promise<CalibrateReport> {
  const { code, stdout, stderr } = await tilesim(folder, `${line} --json`);
  expect([code, stderr]).toEqual([0, ""]);
  return JSON.parse(stdout) as CalibrateReport;
}

async function text(line: string): Promise<string> {
  const { code, stdout, stderr } = await tilesim(folder, line);
  expect([code, stderr]).toEqual([0, ""]);
  return stdout;
}

/** Cells of the lines that begin so; what stands in columns is two spaces apart. */
function cells(output: string, start: string): string[][] {
  const lines = output.split("\n").filter((line) => line.startsWith(start));
  return lines.map((line) => line.split(/ {2,}/));
}

describe.concurrent("calibrate", () => {
  test("has these fields in its JSON", async () => {
    const report = await json("calibrate a.profile b.profile");
    expect(Object.keys(report).sort()).toEqual(
      "database findings fits leftOut models tilesim untimedSamples written".split(" "),
    );
    expect(report).toMatchObject({ tilesim: VERSION, leftOut: "kernel", written: null });
    const sha256 = createHash("sha256").update(BYTES).digest("hex");
    expect(report.database.sources[0]).toEqual({ file: "a.profile", sha256 });
    expect(Object.keys(report.database.measurements[0]).sort()).toEqual(
      "key maximumCycles medianCycles minimumCycles p95Cycles samples sources spreadCycles spreadPercent".split(
        " ",
      ),
    );
    expect(report.fits.map(({ family, rows }) => [family, rows.length])).toEqual([
      ["copy", 6],
      ["gemm", 0],
      ["softmax", 0],
    ]);
    expect(report.findings).toMatchObject([{ code: "UNKNOWN_KERNEL", severity: "warning" }]);
  });

  test("shows measurements, fits and scores to people", async () => {
    const output = await text("calibrate a.profile b.profile");
    expect(output).toContain("6 measurements of kernels on ipu21 at 1,000 Hz, 7 samples;");
    expect(cells(output, "copy_u64").filter(([, shape]) => shape === "256 B")).toEqual([
      // prettier-ignore
      ["copy_u64", "256 B", "2", "318", "318", "318", "324", "6", "318", "0.00 %", "counted"],
    ]);
    const [mystery] = cells(output, "mystery");
    expect(mystery.slice(-8)).toEqual(["9", "9", "9", "9", "0", "-", "-", "-"]);
    expect(output).toContain(
      "copy: 6 measurements of 5 kernels for 2 constants, of which they determine 2",
    );
    expect(output).toContain("gemm: no measurement to fit");
    expect(output).toMatch(
      /score, each kernel left out in turn: 6 of 6 measurements predicted, mean \|error\| \d+\.\d\d %, worst [+-]\d+\.\d\d %/,
    );
    expect(output).toContain("warning UNKNOWN_KERNEL: mystery");
    expect(output).not.toContain("\u001b");
  });

  test("says of the recorded block what it cannot decide, where no profile is named", async () => {
    const output = await text("calibrate");
    expect(output).toContain("siglip-attention.profile.gz of the package");
    expect(output).toContain("which they determine 3; not call, standardLoad, interleavedLoad");
    expect(output).toContain("none, for the rest determines none of 6 measurements");
    expect(output).toContain("not determined: call, interleavedLoad");
  });

  test("leaves out one profile after another if asked to", async () => {
    const { fits, leftOut } = await json("calibrate a.profile b.profile --leave-out profile");
    expect(leftOut).toBe("profile");
    const ofA = fits[0].rows.filter(({ source }) => source === 0);
    // B has 150 and 144 for one call beyond its bundles and 312 for four: a launch is 55, a sample 92.
    expect(ofA.map(({ predictedCycles }) => predictedCycles)).toEqual([
      534 + 3,
      3450 - 360 + 92 + 5 * 55,
      318 + 3,
    ]);
  });

  test("is the same each time", async () => {
    const [first, second] = await Promise.all([
      text("calibrate a.profile b.profile --json"),
      text("calibrate a.profile b.profile --json"),
    ]);
    expect(second).toBe(first);
  });

  test("writes the database that it shows", async () => {
    const report = await json("calibrate a.profile b.profile -o database.json");
    const written = readFileSync(join(folder, "database.json"), "utf8");
    expect(JSON.parse(written)).toEqual(report.database);
    expect(report.written).toBe("database.json");
    const [{ key }] = (JSON.parse(written) as CalibrationDatabase).measurements;
    expect(key).toEqual({
      kernel: "ipu_stack_copy_u64",
      dimensions: { bytes: "1152", pattern: "Contiguous" },
    });
  });

  test("is named by the help, whose options it has", async () => {
    expect(await text("--help")).toContain("tilesim calibrate [profiles..]");
    const help = await text("calibrate --help");
    for (const word of ["--leave-out", "--output", "--json", "the package's SigLIP block"]) {
      expect(help).toContain(word);
    }
  });
});

describe("calibrate refuses", () => {
  // prettier-ignore
  test.each<[Parameters<typeof expectRefused>[1], string, string]>([
    ["FILE_UNREADABLE",     "a file that is not there",       "calibrate nowhere.profile"],
    ["FILE_MALFORMED",      "a file that is no profile",      "calibrate a.profile notes.txt"],
    ["CALIBRATION_INVALID", "an empty profile",               "calibrate a.profile empty.profile"],
    ["CALIBRATION_INVALID", "a profile without computing",    "calibrate waits.profile"],
    ["CALIBRATION_INVALID", "profiles of different clocks",   "calibrate a.profile clock.profile"],
    ["CALIBRATION_INVALID", "one profile twice",              "calibrate a.profile same.profile"],
    ["BAD_USAGE",           "to leave out the only profile",  "calibrate a.profile --leave-out profile"],
    ["BAD_USAGE",           "to leave out something else",    "calibrate a.profile --leave-out tile"],
    ["BAD_USAGE",           "an option of query",             "calibrate a.profile --limit 3"],
  ])("%s: %s, and writes nothing", async (code, _, line) => {
    const before = namesIn(folder);
    expectRefused(await tilesim(folder, `${line} -o refused.json`), code);
    expect(namesIn(folder)).toEqual(before);
  });

  test.each([
    ["FILE_UNWRITABLE", "-o", "nowhere/database.json"],
    ["BAD_USAGE", "-o", ""],
    ["BAD_USAGE", "-o"],
  ] as const)("%s: %s %s", async (code, ...more) => {
    const before = namesIn(folder);
    expectRefused(await tilesim(folder, "calibrate a.profile", ...more), code);
    expect(namesIn(folder)).toEqual(before);
  });
});
