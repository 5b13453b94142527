import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { SimError } from "../../src/base/errors.ts";
import { plan } from "../../src/plan/plan.ts";
import { parseProgram } from "../../src/plan/program-file.ts";
import type { Program } from "../../src/plan/program.ts";
import { validateSchedule } from "../../src/sim/validate.ts";
import { IPU21 } from "../../src/target/ipu21.ts";
import { thrownBy } from "../sim/support.ts";
import { wrongOutputs } from "./run.ts";
import { scheduleFaults } from "./schedule-faults.ts";

const GEMM = {
  kind: "gemm",
  output: "y",
  left: "x",
  right: "w",
  grid: { m: 2, n: 2, k: 2 },
  orientation: "plain",
  weights: "interleaved",
};
const ATTENTION = {
  kind: "attention",
  output: "y",
  query: "q",
  key: "q",
  value: "q",
  queryParts: 2,
  keyBlock: 16,
};
const ROWS = {
  order: { kind: "row-major" },
  tiling: {
    tile_count: 4,
    replicas: 1,
    axes: [
      {
        axis: { kind: "from-end", index: 2 },
        partitions: 4,
        padding_groups: 1,
        block_size: 1,
        padding_multiple: 1,
        shard_padding_multiple: 1,
        padding: "reject",
        tile_stride: null,
      },
    ],
  },
  memory_class: "standard",
};
/** 34 columns as 32 and 2. */
const COLUMNS = {
  ...ROWS,
  tiling: {
    tile_count: 2,
    replicas: 1,
    axes: [
      {
        ...ROWS.tiling.axes[0],
        axis: { kind: "from-end", index: 1 },
        partitions: 2,
        block_size: 32,
        padding_multiple: 32,
        padding: "zero",
      },
    ],
  },
};
/** Two groups of rows on two tiles each: of one row, the second tile has none. */
const GROUPS = {
  ...ROWS,
  tiling: { ...ROWS.tiling, axes: [{ ...ROWS.tiling.axes[0], padding_groups: 2 }] },
};
/** Matrices by fours. */
const PADDED = {
  order: { kind: "amp-left" },
  tiling: {
    tile_count: 1,
    replicas: 1,
    axes: [
      {
        ...ROWS.tiling.axes[0],
        axis: { kind: "from-end", index: 3 },
        partitions: 1,
        padding_multiple: 4,
        padding: "zero",
      },
    ],
  },
  memory_class: "standard",
};
const x = { name: "x", role: "input", shape: [32, 48], dtype: "f16" };
const w = { name: "w", role: "weight", shape: [48, 64], dtype: "f16" };
const q = { name: "q", role: "input", shape: [2, 20, 16], dtype: "f16" };

/** As the text of a file. */
function file(operations: readonly object[], rest: object = {}): string {
  return JSON.stringify({
    format: "tilesim-program",
    version: 1,
    name: "test",
    tiles: 16,
    inputs: [x, w, q],
    operations,
    outputs: ["y"],
    ...rest,
  });
}

function planned(text: string): Program {
  const program = parseProgram(text, "program.json");
  validateSchedule(plan(program, IPU21), IPU21);
  return program;
}

describe("a program file", () => {
  // prettier-ignore
  test.each<[string, string]>([
    ["a gemm",                    file([GEMM])],
    ["a gemm, swapped",           file([{ ...GEMM, orientation: "swapped", weights: "standard", multiply: "f16" }])],
    ["heads and their attention", file([
      { kind: "split-heads", output: "h", input: "a", heads: 2 },
      { ...ATTENTION, query: "h", key: "h", value: "h" },
    ], { inputs: [{ ...q, name: "a", shape: [1, 20, 64] }] })],
    ["attention of one input",    file([ATTENTION], { inputs: [q] })],
    ["queries of another length", file([{ ...ATTENTION, key: "k", value: "v" }], { inputs: [q, { ...q, name: "k", shape: [2, 34, 16] }, { ...q, name: "v", shape: [2, 34, 24] }] })],
    ["gelu",                      file([{ kind: "gelu", output: "y", input: "x" }], { inputs: [x] })],
    ["a sum with itself",         file([{ kind: "add", output: "y", inputs: ["x", "x"] }], { inputs: [x] })],
    ["a sum in f32",              file([{ kind: "cast", output: "a", input: "x", to: "f32" }, { kind: "add", output: "y", inputs: ["a", "a"] }], { inputs: [x] })],
    ["a cast there and back",     file([{ kind: "cast", output: "a", input: "x", to: "f32" }, { kind: "cast", output: "y", input: "a", to: "f16" }], { inputs: [x] })],
    ["another layout",            file([{ kind: "rearrange", output: "y", input: "x", layout: ROWS }], { inputs: [x] })],
    ["a layer and its residual",  file([
      { ...GEMM, output: "a" },
      { kind: "gelu", output: "b", input: "a" },
      { ...GEMM, output: "c", left: "b", right: "w2", orientation: "swapped" },
      { kind: "rearrange", output: "d", input: "c", layout: ROWS },
      { kind: "cast", output: "e", input: "d", to: "f16" },
      { kind: "add", output: "y", inputs: ["e", "x"] },
    ], { inputs: [x, w, { ...w, name: "w2", shape: [64, 48] }] })],
    ["a square, by itself",       file([{ ...GEMM, left: "s", right: "s" }], { inputs: [{ ...x, name: "s", shape: [32, 32] }] })],
    ["an input as an output too", file([{ kind: "gelu", output: "y", input: "x" }], { inputs: [x], outputs: ["x", "y"] })],
    ["gelu of one axis",          file([{ kind: "gelu", output: "y", input: "a" }], { inputs: [{ ...x, name: "a", shape: [32] }] })],
    ["gelu of four axes",         file([{ kind: "gelu", output: "y", input: "a" }], { inputs: [{ ...x, name: "a", shape: [2, 3, 4, 6] }] })],
    ["padding alone on a tile",   file([{ kind: "cast", output: "a", input: "x", to: "f16" }, { ...GEMM, left: "a", grid: { m: 1, n: 1, k: 3 } }], { inputs: [{ ...x, shape: [32, 64] }, { ...w, shape: [64, 64] }] })],
    ["an empty shard where the next one begins", file([{ kind: "cast", output: "b", input: "a", to: "f16" }, { kind: "rearrange", output: "y", input: "b", layout: GROUPS }], { inputs: [{ ...x, name: "a", shape: [2, 32] }] })],
    ["copies between 8 bytes",    file([{ kind: "cast", output: "b", input: "a", to: "f16" }, { kind: "rearrange", output: "y", input: "b", layout: COLUMNS }], { inputs: [{ ...x, name: "a", shape: [8, 34] }], tiles: 2 })],
  ])("of %s is planned and right", async (_why, text) => {
    const program = planned(text);
    const schedule = plan(program, IPU21);
    expect(scheduleFaults(schedule, IPU21)).toEqual([]);
    expect(await wrongOutputs(program, schedule, 3)).toEqual([]);
  });
});

test("the program that docs/program.md shows is planned and right", async () => {
  const docs = readFileSync(join(import.meta.dirname, "../../docs/program.md"), "utf8");
  const program = planned(/```json\n(.*?)```/s.exec(docs)?.[1] ?? "");
  expect(await wrongOutputs(program, plan(program, IPU21), 3)).toEqual([]);
});

/** The file of a gemm with one thing changed, which must be there. */
function edited(from: string, to: string): string {
  const text = file([GEMM], { inputs: [x, w] });
  expect(text).toContain(from);
  return text.replace(from, to);
}

describe("a program file is refused", () => {
  const gelu = { kind: "gelu", output: "y", input: "x" };
  const rearrange = { kind: "rearrange", output: "y", input: "x", layout: ROWS };
  const many = 2 ** 16;

  // prettier-ignore
  test.each<[string, string, string]>([
    // code               where it has                            text
    ["FILE_MALFORMED",    "nothing",                              ""],
    ["FILE_MALFORMED",    "no JSON",                              "y = x @ w"],
    ["FILE_MALFORMED",    "a list",                               "[]"],
    ["FILE_MALFORMED",    "its end cut off",                      file([GEMM]).slice(0, -1)],
    ["FILE_MALFORMED",    "a schedule's format",                  edited("tilesim-program", "tilesim-schedule")],
    ["FILE_MALFORMED",    "a later version",                      edited('"version":1', '"version":2')],
    ["FILE_MALFORMED",    "a field too many",                     edited('"version":1', '"version":1,"author":"x"')],
    ["FILE_MALFORMED",    "no outputs field",                     edited(',"outputs":["y"]', "")],
    ["FILE_MALFORMED",    "no tiles",                             edited('"tiles":16', '"tiles":0')],
    ["FILE_MALFORMED",    "a part of a tile",                     edited('"tiles":16', '"tiles":1.5')],
    ["FILE_MALFORMED",    "an unknown operation",                 edited('"kind":"gemm"', '"kind":"conv"')],
    ["FILE_MALFORMED",    "an operation that every object has",   edited('"kind":"gemm"', '"kind":"constructor"')],
    ["FILE_MALFORMED",    "an operation's field too many",        edited('"left":"x"', '"left":"x","bias":"b"')],
    ["FILE_MALFORMED",    "an operation's field too few",         edited('"left":"x",', "")],
    ["FILE_MALFORMED",    "a grid of nothing",                    edited('"m":2', '"m":0')],
    ["FILE_MALFORMED",    "a name of no character",               edited('"name":"x"', '"name":""')],
    ["FILE_MALFORMED",    "a number for a name",                  edited('"left":"x"', '"left":7')],
    ["FILE_MALFORMED",    "an unknown dtype",                     edited('"dtype":"f16"', '"dtype":"f64"')],
    ["FILE_MALFORMED",    "a tensor of no axis",                  edited('"shape":[32,48]', '"shape":[]')],
    ["FILE_MALFORMED",    "an empty axis",                        edited('"shape":[32,48]', '"shape":[32,0]')],
    ["FILE_MALFORMED",    "an axis of less than nothing",         edited('"shape":[32,48]', '"shape":[32,-48]')],
    ["FILE_MALFORMED",    "more elements than any chip holds",    edited('"shape":[32,48]', '"shape":[2147483648,2147483648]')],
    ["FILE_MALFORMED",    "a sum of three",                       file([{ kind: "add", output: "y", inputs: ["x", "x", "x"] }])],
    ["FILE_MALFORMED",    "a layout of an unknown order",         file([{ ...rearrange, layout: { ...ROWS, order: { kind: "zigzag" } } }])],
    ["PROGRAM_INVALID",   "no outputs",                           file([GEMM], { outputs: [] })],
    ["PROGRAM_INVALID",   "an output that nothing gives",         file([GEMM], { outputs: ["z"] })],
    ["PROGRAM_INVALID",   "an output twice",                      file([gelu], { inputs: [x], outputs: ["y", "y"] })],
    ["PROGRAM_INVALID",   "an operand that nothing gives",        file([{ ...gelu, input: "z" }])],
    ["PROGRAM_INVALID",   "an operand that comes later",          file([{ ...gelu, input: "a" }, { ...gelu, output: "a" }])],
    ["PROGRAM_INVALID",   "a result of itself",                   file([{ ...gelu, input: "y" }])],
    ["PROGRAM_INVALID",   "two values of one name",               file([{ ...gelu, output: "x" }])],
    ["PROGRAM_INVALID",   "two inputs of one name",               file([gelu], { inputs: [x, x] })],
    ["SHAPE_MISMATCH",    "inner lengths that differ",            file([{ ...GEMM, right: "x" }])],
    ["SHAPE_MISMATCH",    "a gemm of one axis",                   file([GEMM], { inputs: [{ ...x, shape: [48] }, w] })],
    ["SHAPE_MISMATCH",    "a batch of gemms",                     file([GEMM], { inputs: [{ ...x, shape: [2, 32, 48] }, w] })],
    ["SHAPE_MISMATCH",    "heads that do not divide the columns", file([{ kind: "split-heads", output: "y", input: "a", heads: 3 }], { inputs: [{ ...x, name: "a", shape: [1, 4, 32] }] })],
    ["SHAPE_MISMATCH",    "heads of a batch",                     file([{ kind: "split-heads", output: "y", input: "q", heads: 2 }])],
    ["SHAPE_MISMATCH",    "heads of a matrix",                    file([{ kind: "split-heads", output: "y", input: "x", heads: 2 }])],
    ["SHAPE_MISMATCH",    "keys of another head",                 file([{ ...ATTENTION, key: "k" }], { inputs: [q, { ...q, name: "k", shape: [3, 20, 16] }] })],
    ["SHAPE_MISMATCH",    "more values than keys",                file([{ ...ATTENTION, value: "v" }], { inputs: [q, { ...q, name: "v", shape: [2, 21, 16] }] })],
    ["SHAPE_MISMATCH",    "a key block that is no panel",         file([{ ...ATTENTION, keyBlock: 24 }])],
    ["SHAPE_MISMATCH",    "a sum of two shapes",                  file([{ kind: "add", output: "y", inputs: ["x", "w"] }])],
    ["DTYPE_MISMATCH",    "a sum of two dtypes",                  file([{ kind: "cast", output: "a", input: "x", to: "f32" }, { kind: "add", output: "y", inputs: ["x", "a"] }])],
    ["DTYPE_MISMATCH",    "gelu of f32",                          file([{ ...gelu, input: "a" }], { inputs: [{ ...x, name: "a", dtype: "f32" }] })],
    ["DTYPE_MISMATCH",    "attention of f32",                     file([ATTENTION], { inputs: [{ ...q, dtype: "f32" }] })],
    ["DTYPE_MISMATCH",    "a gemm that multiplies f32",           file([{ ...GEMM, multiply: "f32" }], { inputs: [{ ...x, dtype: "f32" }, { ...w, dtype: "f32" }] })],
    ["DTYPE_MISMATCH",    "a gemm of f32 operands",               file([GEMM], { inputs: [{ ...x, dtype: "f32" }, w] })],
    ["PLAN_DOES_NOT_FIT", "more tiles than the chip",             file([GEMM], { tiles: 1473 })],
    ["PLAN_DOES_NOT_FIT", "a grid larger than its tiles",         file([GEMM], { tiles: 7 })],
    ["PLAN_DOES_NOT_FIT", "rows finer than one a tile",           file([{ ...GEMM, grid: { m: 33, n: 1, k: 1 } }], { tiles: 64 })],
    ["PLAN_DOES_NOT_FIT", "columns finer than a panel",           file([{ ...GEMM, grid: { m: 1, n: 5, k: 1 } }])],
    ["PLAN_DOES_NOT_FIT", "an inner length finer than a panel",   file([{ ...GEMM, grid: { m: 1, n: 1, k: 4 } }])],
    ["PLAN_DOES_NOT_FIT", "more query parts than rows",           file([{ ...ATTENTION, queryParts: 21 }], { tiles: 64 })],
    ["PLAN_DOES_NOT_FIT", "more query parts than tiles",          file([{ ...ATTENTION, queryParts: 9 }])],
    ["PLAN_DOES_NOT_FIT", "more key blocks than tiles",           file([ATTENTION], { inputs: [{ ...q, shape: [2, 160, 16] }] })],
    ["PLAN_DOES_NOT_FIT", "odd rows of halves to be moved",       file([{ kind: "add", output: "y", inputs: ["a", "a"] }], { inputs: [{ ...x, name: "a", shape: [3, 15] }], tiles: 2 })],
    ["PLAN_DOES_NOT_FIT", "an odd number of halves for gelu",     file([{ ...gelu, input: "a" }], { inputs: [{ ...x, name: "a", shape: [3, 15] }] })],
    ["PLAN_DOES_NOT_FIT", "one axis to be moved",                 file([{ kind: "add", output: "y", inputs: ["a", "a"] }], { inputs: [{ ...x, name: "a", shape: [32] }] })],
    ["PLAN_DOES_NOT_FIT", "four axes to be moved",                file([{ kind: "add", output: "y", inputs: ["a", "a"] }], { inputs: [{ ...x, name: "a", shape: [2, 2, 8, 8] }] })],
    ["PLAN_DOES_NOT_FIT", "f32 to be rearranged",                 file([{ kind: "cast", output: "a", input: "x", to: "f32" }, { ...rearrange, input: "a", layout: { ...ROWS, order: { kind: "amp-left" } } }], { inputs: [x] })],
    ["PLAN_DOES_NOT_FIT", "padded matrices to be rearranged",     file([{ kind: "cast", output: "a", input: "q", to: "f16" }, { ...rearrange, input: "a", layout: PADDED }], { inputs: [{ ...q, shape: [3, 8, 16] }] })],
    ["PLAN_DOES_NOT_FIT", "an order that no kernel makes",        file([{ kind: "cast", output: "a", input: "x", to: "f16" }, { ...rearrange, input: "a", layout: { ...ROWS, order: { kind: "amp-output" } } }], { inputs: [x] })],
    ["PLAN_DOES_NOT_FIT", "a layout on more tiles than there are", file([rearrange], { inputs: [x], tiles: 3 })],
    ["PLAN_DOES_NOT_FIT", "all axes cut as one",                  file([{ ...rearrange, layout: { ...ROWS, tiling: { ...ROWS.tiling, axes: [{ ...ROWS.tiling.axes[0], axis: { kind: "linear" } }] } } }], { inputs: [x] })],
    ["LAYOUT_INVALID",    "a layout that does not add up",        file([{ ...rearrange, layout: { ...ROWS, tiling: { ...ROWS.tiling, replicas: 2 } } }], { inputs: [x] })],
    ["LAYOUT_INVALID",    "a layout of an axis that is not there", file([{ ...rearrange, layout: { ...ROWS, tiling: { ...ROWS.tiling, axes: [{ ...ROWS.tiling.axes[0], axis: { kind: "from-end", index: 9 } }] } } }], { inputs: [x] })],
    ["TILE_MEMORY_FULL",  "an operand larger than a tile",        file([gelu], { inputs: [{ ...x, shape: [many, 16] }], tiles: 1 })],
    ["TILE_MEMORY_FULL",  "a tensor larger than the chip",        file([{ kind: "add", output: "y", inputs: ["x", "x"] }], { inputs: [{ ...x, shape: [many, many / 4] }], tiles: 1472 })],
    ["TILE_MEMORY_FULL",  "a key block of very many rows",        file([{ kind: "cast", output: "a", input: "q", to: "f16" }, { ...ATTENTION, query: "a", key: "a", value: "a", keyBlock: 1_000_000_000 }], { inputs: [q] })],
    ["TILE_MEMORY_FULL",  "more live values than a tile holds",   file([1, 2, 3].map((i) => ({ ...gelu, output: i === 3 ? "y" : `a${i}` })), { inputs: [{ ...x, shape: [1024, 128] }], tiles: 1, outputs: ["a1", "a2", "y"] })],
  ])("with %s where it has %s", (code, _why, text) => {
    expect(() => planned(text)).toThrow(expect.objectContaining({ name: "SimError", code }));
  });

  test("naming the first field that does not fit", () => {
    const thrown = (text: string): unknown =>
      (thrownBy(() => planned(text)) as SimError).fault.where;
    const where = (field: string) => ({ file: "program.json", field });
    expect(thrown(edited('"m":2', '"m":-2'))).toEqual(where("operations.0.grid.m"));
    expect(thrown(edited('"shape":[32,48]', '"shape":[32,"48"]'))).toEqual(
      where("inputs.0.shape.1"),
    );
  });
});
