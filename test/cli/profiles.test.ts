import { createHash } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { beforeAll, describe, expect, test } from "vitest";
import { VERSION } from "../../src/base/version.ts";
import type { CompareReport, InspectReport, QueryReport } from "../../src/report/profile-report.ts";
import type { Profile } from "../../src/trace/profile.ts";
import { writeProfile } from "../../src/trace/write-profile.ts";
import { COMPUTE, exchange, recorded, tile, work } from "../trace/recorded.ts";
import { pack } from "../trace/support.ts";
import { expectRefused, report, SMALL_GEMM, testFolder, tilesim } from "./support.ts";

const folder = testFolder();

function file(name: string, content: string | Uint8Array): string {
  writeFileSync(join(folder, name), content);
  return name;
}

function profileOf(gemmCycles: number): Profile {
  const metadata = [
    { name: "reason", value: "LocalCopy" },
    { name: "bytes", value: "64" },
  ];
  return recorded(
    tile(3, 2 ** 32 - 50, [gemmCycles, COMPUTE], [40, exchange(4, 25)]),
    tile(
      7,
      2 ** 32 - 40,
      [120, COMPUTE],
      [9, work({ kernel: "copy", metadata })],
      [50, exchange(4, 25)],
    ),
  );
}

const BYTES = writeProfile(profileOf(100));
const GZIP = gzipSync(BYTES);
const NAMES = ["a.profile", "packed.profile", "a.profile.gz", "packed.profile.gz"];

beforeAll(() => {
  file("a.profile", BYTES);
  file("packed.profile", pack(BYTES));
  file("a.profile.gz", GZIP);
  file("packed.profile.gz", gzipSync(pack(BYTES)));
  file("b.profile", writeProfile(profileOf(90)));
  mkdirSync(join(folder, "folder"));
});

async function json<Report>(line: string): Promise<Report> {
  const { code, stdout, stderr } = await tilesim(folder, `${line} --json`);
  expect([code, stderr]).toEqual([0, ""]);
  return JSON.parse(stdout) as Report;
}

async function text(line: string): Promise<string> {
  const { code, stdout, stderr } = await tilesim(folder, line);
  expect([code, stderr]).toEqual([0, ""]);
  return stdout;
}

/** A line's cells; what stands in columns is two spaces apart. */
function cells(output: string, start: string): string[] {
  const line = output.split("\n").find((one) => one.startsWith(start)) ?? "";
  return line.split(/ {2,}/);
}

describe.concurrent("in every form of the file", () => {
  test.each(NAMES)("%s is the same profile", async (name) => {
    const [plain, other] = await Promise.all([
      json<QueryReport>("query a.profile --samples 2"),
      json<QueryReport>(`query ${name} --samples 2`),
    ]);
    expect({ ...other, profile: plain.profile }).toEqual(plain);
    expect(other.profile.file).toBe(name);
  });
});

describe.concurrent("inspect", () => {
  test("says what made its JSON, and from what", async () => {
    const { tilesim: version, profile } = await json<InspectReport>("inspect a.profile.gz");
    expect(version).toBe(VERSION);
    const sha256 = createHash("sha256").update(GZIP).digest("hex");
    expect(profile).toEqual({ file: "a.profile.gz", sha256, bytes: GZIP.length });
  });

  test("has these fields in its JSON", async () => {
    const report = await json<InspectReport>("inspect a.profile");
    expect(Object.keys(report).sort()).toEqual(
      `activities clockHz elapsedCycles elapsedMs entrySpanCycles exchange findings firstTile kernels kinds lastTile losses
      metadata operations patterns profile questions sampleCount schemaVersion specifications tileCount tilesim`.split(
        /\s+/,
      ),
    );
    expect(report).toMatchObject({
      tileCount: 2,
      sampleCount: 5,
      elapsedCycles: 189,
      entrySpanCycles: 10,
    });
    expect(Object.keys(report.exchange.work).sort()).toEqual(
      "idleCycles partnerBusyCycles receiveCycles samples scheduledCycles sendCycles simultaneousCycles".split(
        " ",
      ),
    );
  });

  test("shows the same to people", async () => {
    const output = await text("inspect a.profile");
    expect(output).toContain("schema version 5, clock 1,000 Hz, 2 tiles (3 to 7), 5 samples");
    expect(output).toContain("189 cycles (189.0000 ms) from the first start to the last end");
    expect(cells(output, "gemm ")).toEqual(["gemm", "2", "2", "220"]);
    // Tile 7 arrives last, at 139; 25 of the 50 cycles until 189 are scheduled.
    expect(cells(output, "2^31+4/0")).toEqual([
      "2^31+4/0",
      "operation.0",
      "2",
      "25",
      "50",
      "39",
      "25",
    ]);
    expect(output).toContain("losses: 1,470 tiles of IPU21 missing: 0-2, 4-6, 8-1471;");
    expect(cells(output, "no      Which tile")).toEqual([
      "no",
      "Which tile sent to which?",
      expect.stringContaining("schedule"),
    ]);
  });

  test("names specifications that it cannot read as findings, and goes on", async () => {
    const metadata = [{ name: "kernelSpec", value: "Convolution { taps: 3 }" }];
    file("unknown.profile", writeProfile(recorded(tile(0, 0, [9, work({ metadata })]))));
    const { findings } = await json<InspectReport>("inspect unknown.profile");
    expect(findings).toMatchObject([
      { code: "UNKNOWN_KERNEL", severity: "warning", where: { samples: 1 } },
    ]);
    expect(await text("inspect unknown.profile")).toContain(
      "warning UNKNOWN_KERNEL: kernel specification Convolution",
    );
  });
});

describe.concurrent("query", () => {
  test("has these fields in its JSON", async () => {
    const report = await json<QueryReport>("query a.profile --samples 1");
    expect(Object.keys(report).sort()).toEqual(
      `atOffset clockHz droppedSampleCount groupCount groups matchedSampleCount profile profileSpanCycles profileSpanMs
      query sampleCount samples tileCount tilesim`.split(/\s+/),
    );
    expect(Object.keys(report.groups[0]).sort()).toEqual(
      `arrivalWaitCycles averageActiveTiles boundaryCycles firstOffset lastOffset maximumCycles meanCycles name p50Cycles
      p95Cycles phaseCycles phaseMs phases samples tiles workCycles`.split(/\s+/),
    );
    expect(report.samples).toEqual([
      {
        physicalTile: 7,
        offset: 0,
        duration: 120,
        phase: 0,
        epoch: 0,
        kind: "compute",
        operation: "operation.0",
        kernel: "gemm",
        metadata: [],
      },
    ]);
  });

  // prettier-ignore
  test.each<[string, string[]]>([
    ["",                                                 ["gemm", "exchange", "copy"]],
    ["--sort-by name",                                   ["copy", "exchange", "gemm"]],
    ["--sort-by p95-cycles --limit 1",                   ["gemm"]],
    ["--group-by tile",                                  ["tile 7", "tile 3"]],
    ["--group-by kind --group-by tile --limit 2",        ["compute, tile 7", "compute, tile 3"]],
    ["--group-by metadata:bytes",                        ["(missing)", "64"]],
    ["--kind exchange --group-by phase",                 ["phase 2^31+4/0"]],
    ["--kind exchange --kind compute --kernel copy",     ["copy"]],
    ["--kernel-contains e",                              ["gemm", "exchange"]],
    ["--operation-contains .1",                          []],
    ["--tile 0-5 --tile 9",                              ["gemm", "exchange"]],
    ["--phase 2^31+4",                                   ["exchange"]],
    ["--phase 2147483652",                               ["exchange"]],
    ["--metadata reason=LocalCopy --metadata bytes=64",  ["copy"]],
    ["--at-offset 125",                                  ["exchange", "copy"]],
    ["--at-offset 125 --shared-clock",                   ["gemm", "exchange"]],
  ])("%j gives %j", async (options, expected) => {
    const { groups } = await json<QueryReport>(`query a.profile ${options}`);
    expect(groups.map(({ name }) => name)).toEqual(expected);
  });

  test("shows groups to people", async () => {
    const output = await text("query a.profile --limit 2 --samples 1 --shared-clock");
    expect(output).toContain("2 tiles, 5/5 samples, 189 cycles (189.0000 ms)");
    expect(cells(output, "gemm ")).toEqual([
      "gemm",
      "2",
      "2",
      "1",
      "130",
      "1.692",
      "220",
      "110",
      "100",
      "100",
      "120",
      "-",
      "-",
      "0",
      "130",
    ]);
    expect(cells(output, "exchange ").slice(11, 13)).toEqual(["39", "25"]);
    expect(output).toContain("... and 1 more");
    expect(cells(output, "tile 7")).toEqual([
      "tile 7",
      "10",
      "120",
      "0/0",
      "compute",
      "operation.0",
      "gemm",
    ]);
  });

  test("says so where nothing matches", async () => {
    expect(await text("query a.profile --tile 5")).toContain("no sample matches");
  });

  test("lets no text of a profile command the terminal, and cuts long names", async () => {
    const kernel = `\u001b[31mred\n${"k".repeat(500)}`;
    file("odd.profile", writeProfile(recorded(tile(0, 0, [9, work({ kernel })]))));
    const output = await text("query odd.profile");
    expect(output).toContain("\\u001b[31mred\\u000akkk");
    expect(output).not.toContain("\u001b");
    expect(Math.max(...output.split("\n").map((line) => line.length))).toBeLessThan(300);
  });
});

describe.concurrent("compare", () => {
  test("has these fields in its JSON", async () => {
    const report = await json<CompareReport>("compare a.profile b.profile --samples 1");
    expect(Object.keys(report).sort()).toEqual(
      `a b clockHz elapsedCycles otherRowsDifference pairs parts phases query rowCount rows samples tileCycles tiles
      tilesim`.split(/\s+/),
    );
    expect(report).toMatchObject({
      a: { file: "a.profile", sha256: createHash("sha256").update(BYTES).digest("hex") },
      elapsedCycles: { a: 189, b: 189, difference: 0 },
      parts: {
        total: 0,
        same: -10,
        changed: 0,
        onlyA: 0,
        onlyB: 0,
        untimed: 0,
        residual: 10,
        exit: 10,
      },
      pairs: [{ physicalTile: 3, stepA: "gemm", cycles: { difference: -10 } }],
    });
    expect(Object.keys(report.rows[0]).sort()).toEqual(
      "changed cycles movedCycles name onlyA onlyB percent same tiles untimed".split(" "),
    );
  });

  test("shows what moved to people", async () => {
    const output = await text("compare a.profile b.profile");
    expect(output).toContain("elapsed cycles: 189 to 189, 0 (0.00 %)");
    expect(output).toContain(
      "samples: 5 the same, 0 changed, 0 without times, 0 only in A, 0 only in B",
    );
    expect(cells(output, "exit")).toEqual(["exit", "+10", "residual: after a tile's last sample"]);
    expect(cells(output, "operation.0: gemm")).toEqual([
      "operation.0: gemm",
      "2",
      "0",
      "0",
      "0",
      "2",
      "220",
      "210",
      "-10",
      "-4.55 %",
      "10",
    ]);
  });

  test("takes a schedule for the profile that its run would leave", async () => {
    const made = await tilesim(folder, `plan ${SMALL_GEMM} -o small.json`);
    expect(made.code).toBe(0);
    const { cycles } = await report(folder, "run small.json --cycles-only");
    const same = await json<CompareReport>("compare small.json small.json");
    expect(same.elapsedCycles).toEqual({ a: cycles.total, b: cycles.total, difference: 0 });
    expect(same.samples.same).toBe(same.samples.a);
    const { samples } = await json<CompareReport>("compare a.profile small.json");
    expect(samples.onlyB).toBeGreaterThan(0);
    file("broken.json", "{}");
    expectRefused(await tilesim(folder, "compare a.profile broken.json"), "FILE_MALFORMED");
  });

  test("says nothing moved between a profile and itself", async () => {
    const { parts, rows } = await json<CompareReport>("compare a.profile packed.profile.gz");
    expect(Object.values(parts).every((part) => part === 0)).toBe(true);
    expect(rows.every(({ movedCycles }) => movedCycles === 0)).toBe(true);
  });
});

describe.concurrent("a file that is no profile", () => {
  const LINES = ["inspect %", "query %", "compare a.profile %", "compare % a.profile"];

  // prettier-ignore
  test.each<[string, string, string | Uint8Array]>([
    ["empty",                           "empty.profile",      ""],
    ["a message cut short",             "short.profile",      BYTES.subarray(0, BYTES.length - 8)],
    ["a packed message cut short",      "short.packed",       pack(BYTES).subarray(0, 40)],
    ["prose",                           "notes.txt",          "a text that is no profile\n".repeat(9)],
    ["a schedule",                      "schedule.json",      '{"format":"tilesim-schedule","version":1}\n'],
    ["gzip of nothing",                 "nothing.gz",         gzipSync("")],
    ["gzip of prose",                   "prose.gz",           gzipSync("a text that is no profile\n")],
    ["gzip cut short",                  "short.gz",           GZIP.subarray(0, GZIP.length - 12)],
    ["gzip of 300 MB in 300 kB",        "bomb.gz",            gzipSync(Buffer.alloc(3e8))],
    ["zeros",                           "zeros.profile",      new Uint8Array(4096)],
  ])("is FILE_MALFORMED where it is %s", async (_, name, content) => {
    file(name, content);
    for (const line of LINES) {
      const run = await tilesim(folder, line.replace("%", name));
      expectRefused(run, "FILE_MALFORMED");
      expect(run.stderr).toContain(name);
    }
  });

  test.each(["folder", "nowhere.profile"])("is FILE_UNREADABLE where it is %s", async (name) => {
    for (const line of LINES)
      expectRefused(await tilesim(folder, line.replace("%", name)), "FILE_UNREADABLE");
  });
});
