import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import type { Code } from "../../src/base/errors.ts";
import { npyBytes, type NpyArray } from "../../src/io/npy.ts";
import { plan } from "../../src/plan/plan.ts";
import { gemm } from "../../src/plan/programs/gemm.ts";
import type { ComputeStep, ExchangeStep, Schedule, Step } from "../../src/sim/schedule.ts";
import { formatSchedule } from "../../src/sim/schedule-file.ts";
import { IPU21 } from "../../src/target/ipu21.ts";
import { expectRefused, namesIn, SMALL_GEMM, testFolder, tilesim } from "./support.ts";

const folder = testFolder();

const SHAPE = { m: 32, n: 32, k: 64, tiles: 8 };
const schedule = plan(gemm(SHAPE), IPU21);
const KEPT = "what was there before";

function file(name: string, content: string | Uint8Array): string {
  writeFileSync(join(folder, name), content);
  return name;
}

function npy(array: Partial<NpyArray>): Uint8Array {
  const halves = { dtype: "f16", shape: [32, 64], data: new Uint16Array(32 * 64) } as const;
  return npyBytes({ ...halves, ...array } as NpyArray);
}

const GOOD = npy({});

/** The good file with another dtype or order in its header, padded to the same length. */
function withHeader(from: string, to: string): Uint8Array {
  const text = Buffer.from(GOOD).toString("latin1");
  expect(text).toContain(from);
  const changed = text.replace(from, to);
  const extra = changed.length - text.length;
  return Buffer.from(extra > 0 ? changed.replace(" ".repeat(extra), "") : changed, "latin1");
}

beforeAll(() => {
  file("gemm.json", formatSchedule(schedule));
  file("kept.npy", KEPT);
  file("kept.json", KEPT);
  mkdirSync(join(folder, "folder"));
});

describe.concurrent("an input file", () => {
  // prettier-ignore
  test.each<[Code, string, string, string | Uint8Array | null]>([
    ["SHAPE_MISMATCH",  "of another shape",                 "transposed.npy", npy({ shape: [64, 32] })],
    ["SHAPE_MISMATCH",  "of one axis more",                 "batch.npy",      npy({ shape: [1, 32, 64] })],
    ["SHAPE_MISMATCH",  "of too few elements",              "fewer.npy",      npy({ shape: [31, 64], data: new Uint16Array(31 * 64) })],
    ["SHAPE_MISMATCH",  "of no elements",                   "none.npy",       npy({ shape: [0, 64], data: new Uint16Array(0) })],
    ["DTYPE_MISMATCH",  "of integers",                      "integers.npy",   withHeader("'<f2'", "'<i2'")],
    ["DTYPE_MISMATCH",  "of objects",                       "objects.npy",    withHeader("'<f2'", "'|O'")],
    ["FILE_MALFORMED",  "cut short",                        "short.npy",      GOOD.subarray(0, GOOD.length - 1)],
    ["FILE_MALFORMED",  "cut in its header",                "header.npy",     GOOD.subarray(0, 40)],
    ["FILE_MALFORMED",  "with a byte too many",             "long.npy",       Buffer.concat([GOOD, Buffer.alloc(1)])],
    ["FILE_MALFORMED",  "of items of another size",         "wide.npy",       withHeader("'<f2'", "'<f4'")],
    ["FILE_MALFORMED",  "of a shape that is no number",     "text.npy",       withHeader("(32, 64)", "(32, xx)")],
    ["FILE_MALFORMED",  "that is empty",                    "empty.npy",      ""],
    ["FILE_MALFORMED",  "that is text",                     "notes.npy",      "0.5 0.25\n"],
    ["FILE_UNREADABLE", "that is not there",                "nowhere.npy",    null],
    ["FILE_UNREADABLE", "that is a folder",                 "folder",         null],
  ])("gives %s where it is one %s", async (error, _why, name, content) => {
    if (content !== null) file(name, content);
    const run = await tilesim(folder, `run gemm.json --input ${name} --save-output kept.npy`);
    expectRefused(run, error);
    expect(run.stderr).toContain(name);
  });

  // prettier-ignore
  test.each<[Code, string, string, string]>([
    ["BAD_USAGE",       "for a tensor that is not there",   "--input bias=good.npy",                      "bias"],
    ["BAD_USAGE",       "without a name of a file",         "--input left=",                              "--input left= names no file"],
    ["BAD_USAGE",       "without a name of a tensor",       "--weights =good.npy",                        "--weights =good.npy names no tensor"],
    ["BAD_USAGE",       "given twice",                      "--input good.npy --input left=good.npy",     "left"],
    ["BAD_USAGE",       "of weights in no folder",          "--weights good.npy",                         "good.npy"],
    ["FILE_UNREADABLE", "of weights that the folder lacks", "--weights folder",                           "right.npy"],
    ["SHAPE_MISMATCH",  "of weights in another shape",      "--weights right=good.npy",                   "right"],
  ])("gives %s where it is one %s", async (error, _why, options, says) => {
    file("good.npy", GOOD);
    const run = await tilesim(folder, `run gemm.json ${options}`);
    expectRefused(run, error);
    expect(run.stderr).toContain(says);
  });
});

/** The schedule's steps with the first of a kind changed. */
function stepsWith<Kind extends Step["kind"]>(
  kind: Kind,
  change: (step: Extract<Step, { kind: Kind }>) => unknown,
): Schedule {
  const index = schedule.steps.findIndex((step) => step.kind === kind);
  const changed = change(schedule.steps[index] as Extract<Step, { kind: Kind }>) as Step;
  return { ...schedule, steps: schedule.steps.with(index, changed) };
}

/** With the first call of the first compute step changed. */
function callWith(change: (call: ComputeStep["calls"][number]) => object): Schedule {
  return stepsWith("compute", (step) => ({
    ...step,
    calls: step.calls.map((call, index) => (index === 0 ? { ...call, ...change(call) } : call)),
  }));
}

/** With the operands of that call's first invocation elsewhere. */
function placesWith(output: number, ...inputs: readonly number[]): Schedule {
  return callWith(({ invocations: [{ inputs: places }] }) => ({
    invocations: [{ output, inputs: places.map((place, index) => inputs[index] ?? place) }],
  }));
}

/** With its first transfer changed. */
function transferWith(change: object): Schedule {
  return stepsWith("exchange", (step: ExchangeStep) => ({
    ...step,
    transfers: [{ ...step.transfers[0], ...change }, ...step.transfers.slice(1)],
  }));
}

const text = formatSchedule(schedule);
const { firstData } = IPU21.memory;
const end = IPU21.memory.base + IPU21.memory.bytes;
const gemmSpec = callWith(({ spec }) => ({ spec: { ...spec, kind: "relu" } }));
const first = schedule.steps.find((step) => step.kind === "compute") as ComputeStep;
const [place] = first.calls[0].invocations;
const input = schedule.inputs[0];

describe.concurrent("a schedule file", () => {
  // prettier-ignore
  test.each<[Code, string, string | Schedule, RegExp]>([
    ["FILE_MALFORMED",   "empty",                           "",                                                     /not JSON/],
    ["FILE_MALFORMED",   "no JSON",                         "steps:",                                               /not JSON/],
    ["FILE_MALFORMED",   "cut short",                       text.slice(0, text.length / 2),                         /not JSON/],
    ["FILE_MALFORMED",   "another kind of JSON",            '{"name":"tilesim","dependencies":{}}',                 /format/],
    ["FILE_MALFORMED",   "a program",                       JSON.stringify(gemm(SHAPE)),                            /format/],
    ["FILE_MALFORMED",   "a list",                          "[]",                                                   /^FILE_MALFORMED: \(the whole file\): a list, no object/],
    ["FILE_MALFORMED",   "a number",                        "7",                                                    /\(the whole file\): .*Object/],
    ["FILE_MALFORMED",   "one with a list for a step",      text.replace('"steps": [', '"steps": [[],'), /steps\.0: a list, no object/],
    ["FILE_MALFORMED",   "of a later version",              text.replace('"version":1', '"version":2'),             /version/],
    ["FILE_MALFORMED",   "without steps",                   text.replace('"steps"', '"stops"'),                     /steps/],
    ["FILE_MALFORMED",   "one with an address of text",     text.replace(`"output":${place.output}`, '"output":"x"'), /steps\.\d+\.calls\.0\.invocations\.0\.output/],
    ["UNKNOWN_KERNEL",   "one with an unknown kernel",      gemmSpec,                                               /relu/],
    ["SCHEDULE_INVALID", "for another chip",                { ...schedule, target: "ipu1" },                        /ipu1/],
    ["SCHEDULE_INVALID", "of no tiles",                     { ...schedule, tiles: 0 },                              /0 tiles/],
    ["SCHEDULE_INVALID", "of more tiles than the chip",     { ...schedule, tiles: 1473 },                           /1473 tiles/],
    ["SCHEDULE_INVALID", "with an operand too few",         callWith(() => ({ invocations: [{ output: place.output, inputs: [] }] })), /takes 2 inputs/],
    ["SCHEDULE_INVALID", "that repeats for ever",           { ...schedule, steps: [{ kind: "repeat", times: 2 ** 53 - 1, body: schedule.steps }] }, /steps/],
    ["SHAPE_MISMATCH",   "with a specification of nothing", callWith(({ spec }) => ({ spec: { ...spec, rows: 0 } })), /rows is 0/],
    ["OUT_OF_BOUNDS",    "that writes below a tile",        placesWith(0),                                          /0x0/],
    ["OUT_OF_BOUNDS",    "that writes above a tile",        placesWith(end),                                        /0xe8000/],
    ["OUT_OF_BOUNDS",    "on a tile that is not there",     callWith(() => ({ tiles: [8] })),                       /tile 8/],
    ["OUT_OF_BOUNDS",    "with a tensor above a tile",      { ...schedule, inputs: [{ ...input, address: end - 8 } as typeof input] }, /0xe7ff8/],
    ["MISALIGNED",       "with an address between words",   placesWith(place.output + 2),                           /multiple/],
    ["OPERANDS_OVERLAP", "that writes over what it reads",  placesWith(place.inputs[1]),                            /over/],
    ["MEMORY_CLASS",     "with slow memory for fast loads", placesWith(place.output, place.inputs[0], firstData),   /interleaved/],
    ["EXCHANGE_INVALID", "with a transfer of no words",     transferWith({ words: 0 }),                             /0 words/],
    ["EXCHANGE_INVALID", "with a transfer to itself",       transferWith({ destinations: [{ tiles: [0], address: firstData }], source: 0 }), /itself/],
    ["EXCHANGE_RACE",    "with two writers of one byte",    stepsWith("exchange", (step) => ({ ...step, transfers: [...step.transfers, step.transfers[0]] })), /both write/],
    ["LAYOUT_INVALID",   "with a layout of no sense",       { ...schedule, inputs: [{ ...input, layout: { ...input.layout, tiling: { ...input.layout.tiling, replicas: 3 } } }] }, /tiles/],
    ["LAYOUT_INVALID",   "with a tensor beyond counting",   { ...schedule, inputs: [{ ...input, shape: [2 ** 40, 2 ** 40] }] }, /shape/],
    ["OUT_OF_BOUNDS",    "with a tensor beyond the chip",   { ...schedule, inputs: [{ ...input, shape: [2 ** 20, 2 ** 10] }] }, /B at/],
  ])("gives %s where it is one %s", async (error, why, content, says) => {
    const name = file(`${why.replace(/\W/g, "-")}.json`, typeof content === "string" ? content : formatSchedule(content));
    const run = await tilesim(folder, `run ${name} --save-output kept.npy`);
    expectRefused(run, error);
    expect(run.stderr).toMatch(says);
  });

  test("is checked where only its cycles are counted, too", async () => {
    const name = file("outside.json", formatSchedule(placesWith(end)));
    expectRefused(await tilesim(folder, `run ${name} --cycles-only`), "OUT_OF_BOUNDS");
  });

  test.each([
    ["BAD_USAGE", "that names a file elsewhere", "../stolen"],
    ["BAD_USAGE", "that names a file in no folder", "a/b"],
  ] as const)("gives %s where it has an output %s", async (error, _why, name) => {
    const outputs = schedule.outputs.map((output) => ({ ...output, name }));
    const path = file(`named-${name.length}.json`, formatSchedule({ ...schedule, outputs }));
    expectRefused(await tilesim(folder, `run ${path} --save-output folder`), error);
    expect(namesIn(join(folder, "folder"))).toEqual([]);
  });

  test.each([
    ["another shape", `${SMALL_GEMM.replace("--m 32", "--m 48")}`, /left/],
    ["other inputs", "mlp", /input/],
    [
      "other tiles",
      SMALL_GEMM.replace("--tiles 8", "--tiles 16"),
      /--tiles is 16, the schedule has 8/,
    ],
    ["another grid", `${SMALL_GEMM} --grid 1x2x4`, /--grid is 1x2x4/],
    ["other key blocks", "attention --key-block 16", /--key-block changes nothing/],
  ])("gives BAD_USAGE where it is held against a program of %s", async (_why, program, says) => {
    const run = await tilesim(folder, `run gemm.json --against ${program}`);
    expectRefused(run, "BAD_USAGE");
    expect(run.stderr).toMatch(says);
  });
});

describe.concurrent("a program file", () => {
  const program = gemm(SHAPE);

  // prettier-ignore
  test.each<[Code, string, string]>([
    ["FILE_MALFORMED",    "empty",                       ""],
    ["FILE_MALFORMED",    "no JSON",                     "y = x @ w"],
    ["FILE_MALFORMED",    "a schedule",                  text],
    ["FILE_MALFORMED",    "with a field too many",       JSON.stringify({ ...program, batch: 2 })],
    ["FILE_MALFORMED",    "with an unknown operation",   JSON.stringify({ ...program, operations: [{ kind: "conv", output: "output" }] })],
    ["PROGRAM_INVALID",   "without outputs",             JSON.stringify({ ...program, outputs: [] })],
    ["SHAPE_MISMATCH",    "of shapes that do not fit",   JSON.stringify(gemm(SHAPE)).replace("[64,32]", "[63,32]")],
    ["DTYPE_MISMATCH",    "of f32 operands",             JSON.stringify(gemm(SHAPE)).replace(/"f16"/g, '"f32"')],
    ["PLAN_DOES_NOT_FIT", "on more tiles than the chip", JSON.stringify({ ...program, tiles: 2000 })],
    ["TILE_MEMORY_FULL",  "of too large a tensor",       JSON.stringify({ ...program, inputs: [{ ...program.inputs[0], shape: [2 ** 20, 64] }, program.inputs[1]] })],
  ])("gives %s where it is one %s", async (error, why, content) => {
    const name = file(`program-${why.replace(/\W/g, "-")}.json`, content);
    expectRefused(await tilesim(folder, `plan ${name} -o kept.json`), error);
  });

  test("gives FILE_UNREADABLE where it is not there, or is a folder", async () => {
    mkdirSync(join(folder, "folder.json"));
    expectRefused(await tilesim(folder, "plan nowhere.json"), "FILE_UNREADABLE");
    expectRefused(await tilesim(folder, "plan folder.json"), "FILE_UNREADABLE");
    expectRefused(await tilesim(folder, "run nowhere.json"), "FILE_UNREADABLE");
    expectRefused(await tilesim(folder, "run folder"), "FILE_UNREADABLE");
    expectRefused(await tilesim(folder, "run gemm.json --against nowhere.json"), "FILE_UNREADABLE");
  });
});

describe.concurrent("a place for results", () => {
  // prettier-ignore
  test.each<[Code, string, string]>([
    ["BAD_USAGE",       "for outputs in no folder",         "run gemm.json --save-output nowhere/y.npy"],
    ["FILE_UNWRITABLE", "for a schedule in no folder",      `plan ${SMALL_GEMM} -o nowhere/gemm.json`],
    ["FILE_UNWRITABLE", "for a schedule that is a folder",  `plan ${SMALL_GEMM} -o folder`],
    ["FILE_UNWRITABLE", "for outputs that is a device",     "run gemm.json --save-output /dev/null"],
  ])("gives %s where it is one %s", async (error, _why, line) => {
    expectRefused(await tilesim(folder, line), error);
  });
});

describe.concurrent("control characters of a file", () => {
  const ESCAPE = "\u001b[31m\u009b2J\u202e\n";
  const named = {
    ...schedule,
    program: ESCAPE,
    outputs: [{ ...schedule.outputs[0], name: ESCAPE }],
  };

  test.each(["run named.json", "run named.json --json", "run wrong.json"])(
    "do not reach the terminal: %s",
    async (line) => {
      file("named.json", formatSchedule(named as Schedule));
      file("wrong.json", formatSchedule(callWith(() => ({ kernel: ESCAPE, operation: ESCAPE }))));
      const { stdout, stderr } = await tilesim(folder, line);
      expect(stdout + stderr).toContain("\\u001b[31m");
      expect(stdout + stderr).not.toMatch(/[^\n\P{Cc}]|\p{Cf}/u);
      if (line.endsWith("--json")) expect(JSON.parse(stdout)).toMatchObject({ program: ESCAPE });
    },
  );
});

test("what was there before stays as it was, and nothing half-written beside it", () => {
  expect(readFileSync(join(folder, "kept.npy"), "utf8")).toBe(KEPT);
  expect(readFileSync(join(folder, "kept.json"), "utf8")).toBe(KEPT);
  expect(namesIn(folder).filter((name) => name.startsWith(".") || name.endsWith(".tmp"))).toEqual(
    [],
  );
});
