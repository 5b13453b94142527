import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import type { Address } from "../../src/base/units.ts";
import { loadInputs } from "../../src/cli/data.ts";
import { parseNpy, readNpy, writeNpy, type NpyArray } from "../../src/io/npy.ts";
import type { RunReport } from "../../src/report/run-report.ts";
import type { ExchangeStep, Schedule } from "../../src/sim/schedule.ts";
import { formatSchedule, parseSchedule } from "../../src/sim/schedule-file.ts";
import { IPU21 } from "../../src/target/ipu21.ts";
import { expectRefused, report, SMALL, SMALL_GEMM, testFolder, tilesim } from "./support.ts";

const folder = testFolder();
const REPLAY = `replay ${SMALL}`;
let base: RunReport;

/** What a run computed and what it would take. */
function results({ outputs, cycles }: RunReport): unknown {
  return { outputs, cycles };
}

function outputOf({ outputs }: RunReport): string {
  return outputs[0].sha256;
}

function scheduleIn(name: string): ReturnType<typeof parseSchedule> {
  return parseSchedule(readFileSync(join(folder, name), "utf8"), name);
}

function sha256(data: NpyArray["data"]): string {
  return createHash("sha256")
    .update(new Uint8Array(data.buffer, data.byteOffset, data.byteLength))
    .digest("hex");
}

beforeAll(async () => {
  base = await report(folder, REPLAY);
  await tilesim(folder, `plan siglip-attention ${SMALL} -o block.json`);
  await tilesim(folder, `plan ${SMALL_GEMM} -o gemm.json`);
  mkdirSync(join(folder, "data"));
  mkdirSync(join(folder, "out"));
  const inputs = loadInputs(scheduleIn("block.json").inputs, { data: "gaussian", seed: 1 });
  for (const [name, tensor] of inputs) {
    writeNpy(join(folder, "data", `${name}.npy`), tensor as NpyArray);
  }
  writeFileSync(
    join(folder, "two.json"),
    JSON.stringify({
      format: "tilesim-program",
      version: 1,
      name: "two",
      tiles: 4,
      inputs: [{ name: "x", role: "input", shape: [4, 8], dtype: "f16" }],
      operations: [
        { kind: "gelu", output: "y", input: "x" },
        { kind: "cast", output: "z", input: "y", to: "f32" },
      ],
      outputs: ["y", "z"],
    }),
  );
  await tilesim(folder, "plan two.json -o two.schedule.json");
});

describe.concurrent("outputs and cycles are those of the replay", () => {
  test.each([
    ["planned, saved and run", "run block.json"],
    ["from the saved schedule", `${REPLAY} --schedule block.json`],
    ["on two threads", `${REPLAY} --threads 2`],
    ["on the reference kernels", `${REPLAY} --backend reference`],
    ["on plain SIMD", `${REPLAY} --simd strict`],
    ["with all heads and kernels checked", `${REPLAY} --check full`],
    ["with nothing checked", `${REPLAY} --check none`],
    [
      "from files of the same data",
      "run block.json --seed 5 --input data/input.npy --weights data",
    ],
    [
      "from files named one by one",
      "run block.json --seed 1 --input input=data/input.npy --weights key.weight=data/key.weight.npy",
    ],
  ])("%s", async (_how, line) => {
    expect(results(await report(folder, line))).toEqual(results(base));
  });
});

describe.concurrent("cycles are those of the replay, and outputs are not,", () => {
  test.each([
    ["from another seed", "--seed 2"],
    ["from constants", "--data constant"],
    ["rounded at random", "--rounding stochastic"],
    ["without rounding in kernels", "--rounding exact"],
  ])("%s", async (_how, options) => {
    const other = await report(folder, `${REPLAY} ${options}`);
    expect(other.cycles).toEqual(base.cycles);
    expect(outputOf(other)).not.toBe(outputOf(base));
  });

  test("where no values are computed", async () => {
    const other = await report(folder, `${REPLAY} --cycles-only`);
    expect(other.cycles).toEqual(base.cycles);
  });
});

test("a schedule that is held against nothing takes no shape", async () => {
  for (const option of ["--check none", "--cycles-only"]) {
    const line = `replay --schedule block.json ${option}`;
    expect((await tilesim(folder, line)).code).toBe(0);
    expectRefused(await tilesim(folder, `${line} --tokens 20`), "BAD_USAGE");
  }
  const held = `run gemm.json --against ${SMALL_GEMM} --grid 2x2x2`;
  expect((await report(folder, held)).accuracy).toMatchObject([{ within: true }]);
});

test("a program that was cut to fit is run and held against f64", async () => {
  const program = "mlp --tokens 96 --width 320 --hidden 1024 --tiles 12";
  await tilesim(folder, `plan ${program} -o mlp.json`);
  const given = await report(folder, `run mlp.json --check full --against ${program}`);
  expect(given.accuracy).toMatchObject([{ output: "output", within: true }]);
});

describe.concurrent("a run", () => {
  test("says the same twice, byte by byte, but for the time it took", async () => {
    const line = `${REPLAY} --rounding stochastic --check full --json`;
    const [a, b] = await Promise.all([tilesim(folder, line), tilesim(folder, line)]);
    const withoutWall = (text: string): string => text.replace(/"wall": \{[^}]*\}/, "");
    expect(withoutWall(a.stdout)).toBe(withoutWall(b.stdout));
    expect(withoutWall(a.stdout).length).toBeLessThan(a.stdout.length);
  });

  test("rounds at random by its seed, on the same data", async () => {
    const line = "run block.json --input data/input.npy --weights data --rounding stochastic";
    const [a, again, b] = await Promise.all(
      [1, 1, 2].map((seed) => report(folder, `${line} --seed ${seed}`)),
    );
    expect(a.inputs).toEqual(b.inputs);
    expect(results(again)).toEqual(results(a));
    expect(outputOf(b)).not.toBe(outputOf(a));
  });

  test("may order its exchanges in another way, with the same values", async () => {
    const other = await report(folder, `${REPLAY} --exchange list`);
    expect(other.outputs).toEqual(base.outputs);
    expect(other.exchange).toBe("list");
  });

  test("saves an output as it reports it, f32", async () => {
    await report(folder, `${REPLAY} --save-output block.npy`);
    const { dtype, shape, data } = readNpy(join(folder, "block.npy"));
    expect([dtype, shape, sha256(data)]).toEqual(["f32", [2, 20, 16], outputOf(base)]);
  });

  test("saves an output as it reports it, f16, over what was there", async () => {
    writeFileSync(join(folder, "gemm.npy"), "old");
    const given = await report(folder, "run gemm.json --save-output gemm.npy");
    const { dtype, shape, data } = readNpy(join(folder, "gemm.npy"));
    expect([dtype, shape, sha256(data)]).toEqual(["f16", [32, 32], outputOf(given)]);
  });

  test("saves several outputs to a folder, by name", async () => {
    const given = await report(folder, "run two.schedule.json --save-output out");
    expect(readdirSync(join(folder, "out")).sort()).toEqual(["y.npy", "z.npy"]);
    const saved = given.outputs.map(({ name }) =>
      sha256(readNpy(join(folder, "out", `${name}.npy`)).data),
    );
    expect(saved).toEqual(given.outputs.map((output) => output.sha256));
  });

  // prettier-ignore
  test.each<[string, (halves: Uint16Array) => Buffer]>([
    ["in f32",              (halves) => npyFile("<f4", false, f32Of(halves))],
    ["in f64",              (halves) => npyFile("<f8", false, Buffer.from(Float64Array.from(valuesOf(halves)).buffer))],
    ["in Fortran order",    (halves) => npyFile("<f2", true, Buffer.from(transposed(halves).buffer))],
    ["with bytes swapped",  (halves) => npyFile(">f2", false, Buffer.from(halves.slice().buffer).swap16())],
  ])("takes the same input from a file %s", async (how, fileOf) => {
    const inputs = loadInputs(scheduleIn("gemm.json").inputs, { data: "gaussian", seed: 1 });
    const halves = inputs.get("left")?.data as Uint16Array;
    const name = `${how.replaceAll(" ", "-")}.npy`;
    writeFileSync(join(folder, name), fileOf(halves));
    const [want, given] = await Promise.all([
      report(folder, "run gemm.json"),
      report(folder, `run gemm.json --input ${name}`),
    ]);
    expect(given.inputs).toEqual(want.inputs);
    expect(given.outputs).toEqual(want.outputs);
  });
});

const [ROWS, COLUMNS] = [32, 64];

function valuesOf(halves: Uint16Array): number[] {
  return Array.from(halves, (bits) => {
    const [exponent, fraction] = [(bits >> 10) & 31, bits & 1023];
    const size = exponent === 0 ? fraction * 2 ** -24 : (1024 + fraction) * 2 ** (exponent - 25);
    return bits >> 15 ? -size : size;
  });
}

function f32Of(halves: Uint16Array): Buffer {
  return Buffer.from(Float32Array.from(valuesOf(halves)).buffer);
}

function transposed(halves: Uint16Array): Uint16Array {
  return Uint16Array.from(halves, (_, i) => halves[(i % ROWS) * COLUMNS + Math.floor(i / ROWS)]);
}

/** A file of version 1 as NumPy writes it. */
function npyFile(descr: string, isFortran: boolean, data: Buffer): Buffer {
  const order = isFortran ? "True" : "False";
  const header = `{'descr': '${descr}', 'fortran_order': ${order}, 'shape': (${ROWS}, ${COLUMNS}), }`;
  const start = Buffer.from("\x93NUMPY\x01\x00\x76\x00", "latin1");
  return Buffer.concat([start, Buffer.from(`${header.padEnd(117)}\n`), data]);
}

describe.concurrent("what is not finite", () => {
  const HALF = { nan: 0x7e00, infinity: 0x7c00 };

  // prettier-ignore
  test.each([
    ["NaN",      HALF.nan,      (bits: number) => (bits & 0x7c00) === 0x7c00 && (bits & 0x3ff) !== 0],
    ["infinity", HALF.infinity, (bits: number) => (bits & 0x7c00) === 0x7c00],
  ])("is carried through: %s in row 3 of a gemm's input is in all of row 3 of its output, and is a finding", async (name, bits, isSo) => {
    const inputs = loadInputs(scheduleIn("gemm.json").inputs, { data: "gaussian", seed: 1 });
    const left = Uint16Array.from(inputs.get("left")?.data ?? []);
    left[3 * COLUMNS + 5] = bits;
    writeNpy(join(folder, `${name}.npy`), { dtype: "f16", shape: [ROWS, COLUMNS], data: left });
    const run = await tilesim(folder, `run gemm.json --input ${name}.npy --save-output ${name}-out.npy --json`);
    const { findings } = JSON.parse(run.stdout) as RunReport;
    expect([run.code, run.stderr]).toEqual([0, ""]);
    expect(findings).toMatchObject([
      { code: "NON_FINITE", severity: "warning", tensor: "output", element: 3 * 32 },
    ]);
    expect(findings[0].message).toMatch(/^NON_FINITE: 32 of 1024 elements of output/);
    const { data } = parseNpy(readFileSync(join(folder, `${name}-out.npy`)));
    const special = Array.from(data, isSo);
    expect(special.every((is, i) => is === (Math.floor(i / 32) === 3))).toBe(true);
  });
});

describe.concurrent("an input file", () => {
  const left = (value: (i: number) => number): NpyArray => ({
    dtype: "f32",
    shape: [ROWS, COLUMNS],
    data: Float32Array.from({ length: ROWS * COLUMNS }, (_, i) => value(i)),
  });
  const held = `--check full --against ${SMALL_GEMM}`;

  test("that makes every result NaN leaves nothing to compare: a warning", async () => {
    writeNpy(
      join(folder, "all.npy"),
      left(() => NaN),
    );
    const line = `run gemm.json --input all.npy ${held}`;
    const { findings, accuracy } = await report(folder, line);
    expect(accuracy).toMatchObject([{ elements: 0, worst: null, within: true }]);
    expect(findings).toMatchObject([
      { code: "NON_FINITE", severity: "warning", tensor: "output" },
      { code: "ACCURACY", severity: "warning", tensor: "output" },
    ]);
    expect(findings[1].what).toContain("all 1024 elements");
    const { code, stdout } = await tilesim(folder, line);
    expect([code, stdout]).toEqual([0, expect.stringContaining("nothing to compare, 1024 NaN")]);
    expect(stdout).not.toContain("within tolerance");
  });

  test("of numbers beyond f16 is read as infinite there: a warning that counts them", async () => {
    // One that is infinite in the file as well, and the largest that rounds to a half.
    const values = new Map([
      [5, 1e6],
      [6, Infinity],
      [64, -65520],
      [65, 65519],
    ]);
    writeNpy(
      join(folder, "wide.npy"),
      left((i) => values.get(i) ?? 0.5),
    );
    const { findings } = await report(folder, `run gemm.json --input wide.npy ${held}`);
    expect(findings[0]).toMatchObject({
      code: "NON_FINITE",
      severity: "warning",
      tensor: "left",
      element: 5,
    });
    expect(findings[0].what).toMatch(/^2 of 2048 elements of left are finite in wide.npy/);
    expect(findings.slice(1)).toMatchObject([{ code: "NON_FINITE", tensor: "output" }]);
  });
});

describe.concurrent("a schedule that reads what nothing wrote is run, with a warning:", () => {
  const { firstData } = IPU21.memory;

  // prettier-ignore
  test.each<[string, (schedule: Schedule) => Partial<Schedule>, RegExp]>([
    ["no steps",                 () => ({ steps: [] }),                  /^\d+ of 1024 elements of output were never written/],
    ["no inputs",                () => ({ inputs: [] }),                 /^transfer 0 reads .* which nothing wrote; the first of \d+ such reads/],
    ["an output somewhere else", ({ outputs }) => ({ outputs: [{ ...outputs[0], address: (firstData + 0x8000) as Address }] }), /^\d+ of 1024 elements of output/],
  ])("%s", async (what, change, says) => {
    const schedule = scheduleIn("gemm.json");
    const name = `${what.replaceAll(" ", "-")}.json`;
    writeFileSync(join(folder, name), formatSchedule({ ...schedule, ...change(schedule) }));
    const { findings } = await report(folder, `run ${name}`);
    expect(findings).toMatchObject([{ code: "UNWRITTEN_READ", severity: "warning" }]);
    expect(findings[0].what).toMatch(says);
  });
});

describe.concurrent("a schedule that computes something else", () => {
  test("than the program that it is held against is an error, with exit code 1", async () => {
    const schedule = scheduleIn("gemm.json");
    const index = schedule.steps.findIndex(({ kind }) => kind === "exchange");
    const step = schedule.steps[index] as ExchangeStep;
    // One operand block never arrives.
    const steps = schedule.steps.with(index, { ...step, transfers: step.transfers.slice(1) });
    writeFileSync(join(folder, "broken.json"), formatSchedule({ ...schedule, steps }));
    const run = await tilesim(
      folder,
      `run broken.json --json --check full --against ${SMALL_GEMM}`,
    );
    expect([run.code, run.stderr]).toEqual([1, ""]);
    const { findings, accuracy } = JSON.parse(run.stdout) as RunReport;
    expect(findings).toMatchObject([
      { code: "UNWRITTEN_READ", severity: "warning" },
      { code: "ACCURACY", severity: "error", tensor: "output" },
    ]);
    expect(accuracy).toMatchObject([{ within: false }]);
    const told = await tilesim(folder, `run broken.json --check full --against ${SMALL_GEMM}`);
    expect([told.code, told.stdout]).toEqual([1, expect.stringContaining("error ACCURACY: ")]);
    // The verdict's own numbers: the worst element's error is beyond its tolerance.
    const verdict =
      /OUTSIDE tolerance in \d+ elements, at most \S+ times it \((\S+) of (\S+) at \[/;
    const [, error, tolerance] = verdict.exec(told.stdout) ?? [];
    expect(Number(error)).toBeGreaterThan(Number(tolerance));
  });
});
