import { describe, expect, test } from "vitest";
import { tileId } from "../../src/base/units.ts";
import type { KernelSpec } from "../../src/kernels/spec.ts";
import type { Schedule, Step } from "../../src/sim/schedule.ts";
import { unwrittenReads } from "../../src/sim/unwritten.ts";
import { validateSchedule } from "../../src/sim/validate.ts";
import { IPU21 } from "../../src/target/ipu21.ts";
import {
  callOf,
  compute,
  exchange,
  INTERLEAVED,
  rowsBinding,
  scheduleOf,
  transfer,
} from "./support.ts";

const [A, B, C] = [0x5c000, 0x60000, 0x64000];
const FILL: KernelSpec = { kind: "fill-zero", bytes: 32 };
const GELU: KernelSpec = { kind: "gelu", elements: 16 };
/** Reads 8 bytes of every 16. */
const STRIDED: KernelSpec = { kind: "copy", bytes: 32, rows: 4, sourceStride: 16, outputStride: 8 };
const gemm = (mode: "initialize" | "accumulate"): KernelSpec => ({
  kind: "gemm",
  multiply: "f16",
  accumulate: "f16",
  mode,
  weights: "standard",
  rows: 1,
  innerBlock: 16,
  outputColumns: 16,
});
const one = (spec: KernelSpec, output: number, ...inputs: number[]): Step =>
  compute(callOf(spec, [0], { output, inputs }));
/** 32 bytes on each of four tiles. */
const x = rowsBinding("x", "input", A, 4, 8);
const y = rowsBinding("y", "output", B, 4, 8);
const w = rowsBinding("w", "weight", INTERLEAVED, 1, 128);
const zeros = (firstStep: number): Schedule["buffers"] => [
  { ...y, bytes: 32, tiles: [0, 1, 2, 3].map(tileId), firstStep, lastStep: 9, zeroFilled: true },
];

// prettier-ignore
describe("what nothing wrote before", () => {
  test.each<[string, readonly Step[], Partial<Schedule>, readonly string[]]>([
    ["nothing is read",                          [],                                       { inputs: [x] },                 []],
    ["an output is an input",                    [],                                       { inputs: [x], outputs: [{ ...x, role: "output" }] }, []],
    ["an output that nothing writes",            [],                                       { inputs: [x], outputs: [y] },   ["32 of 32 elements of y were never written, the first is 0"]],
    ["an output written on one tile of four",    [one(FILL, B)],                           { outputs: [y] },                ["24 of 32 elements of y were never written, the first is 8"]],
    ["an output written but for its last word",  [one({ kind: "fill-zero", bytes: 24 }, B)], { outputs: [rowsBinding("y", "output", B, 1, 7)] }, ["1 of 7 elements of y were never written, the first is 6"]],
    ["an output in a buffer of zeros",           [one(FILL, C)],                           { outputs: [y], buffers: zeros(0) }, []],
    ["a kernel that reads an input",             [one(GELU, B, A)],                        { inputs: [x] },                 []],
    ["a kernel that reads beside it",            [one(GELU, B, A + 4)],                    { inputs: [x] },                 ["ipu_stack_gelu_tanh_approx_f16 reads input of tile 0 at 0x5c020, which nothing wrote"]],
    ["a kernel before the bytes are written",    [one(GELU, B, C), one(FILL, C)],          {},                              ["ipu_stack_gelu_tanh_approx_f16 reads input of tile 0 at 0x64000, which nothing wrote"]],
    ["a kernel after they are",                  [one(FILL, C), one(GELU, B, C)],          {},                              []],
    ["the same on another tile",                 [one(FILL, C), compute(callOf(GELU, [0, 1], { output: B, inputs: [C] }))], {},  ["ipu_stack_gelu_tanh_approx_f16 reads input of tile 1 at 0x64000, which nothing wrote"]],
    ["a buffer of zeros that is born later",     [one(GELU, C, B), one(FILL, C)],          { buffers: zeros(1) },           ["ipu_stack_gelu_tanh_approx_f16 reads input of tile 0 at 0x60000, which nothing wrote"]],
    ["in place, at first",                       [one(GELU, A, A)],                        {},                              ["ipu_stack_gelu_tanh_approx_f16 reads input of tile 0 at 0x5c000, which nothing wrote"]],
    ["an accumulation on nothing",               [one(gemm("accumulate"), B, A, INTERLEAVED)], { inputs: [x, w] },          ["ipu_stack_gemm_f16_accumulate_small_rows_k16_c16_r1_r1 reads output of tile 0 at 0x60000, which nothing wrote"]],
    ["an initialization there",                  [one(gemm("initialize"), B, A, INTERLEAVED)], { inputs: [x, w] },          []],
    ["every other 8 bytes, which are written",   [...[0, 16, 32, 48].map((at) => one({ kind: "fill-zero", bytes: 8 }, C + at)), one(STRIDED, B, C)], {}, []],
    ["every other 8 bytes, but for the last",    [...[0, 16, 32].map((at) => one({ kind: "fill-zero", bytes: 8 }, C + at)), one(STRIDED, B, C)], {}, ["ipu_stack_copy_strided_u64 reads input of tile 0 at 0x64030, which nothing wrote"]],
    ["a transfer of an input",                   [exchange(transfer(0, A, 8, [1, 2, 3], B))], { inputs: [x] },              []],
    ["a transfer of nothing",                    [exchange(transfer(0, B, 8, [1, 2, 3], A))], { inputs: [x] },              ["transfer 0 reads tile 0 at 0x60000, which nothing wrote"]],
    ["a transfer of what lands with it",         [exchange(transfer(1, A, 8, [0], B), transfer(0, B, 8, [1], C))], { inputs: [x] }, ["transfer 1 reads tile 0 at 0x60000, which nothing wrote"]],
    ["a kernel on what has landed",              [exchange(transfer(1, A, 8, [0], B)), one(GELU, C, B)], { inputs: [x] },   []],
    ["a repeat that reads its own last turn",    [{ kind: "repeat", times: 2, body: [one(GELU, B, C), one(GELU, C, B)] }], {}, ["ipu_stack_gelu_tanh_approx_f16 reads input of tile 0 at 0x64000, which nothing wrote"]],
    ["a repeat that never runs",                 [{ kind: "repeat", times: 0, body: [one(GELU, B, C)] }], {},               []],
    ["several",                                  [one(GELU, B, C), one(GELU, C + 32, A)],  { outputs: [y] },                ["ipu_stack_gelu_tanh_approx_f16 reads input of tile 0 at 0x64000, which nothing wrote; the first of 2 such reads", "24 of 32 elements of y were never written, the first is 8"]],
  ])("is found where it is read: %s", (_what, steps, rest, says) => {
    const schedule = scheduleOf(steps, rest);
    validateSchedule(schedule, IPU21);
    const findings = unwrittenReads(schedule);
    expect(findings.map(({ what }) => what)).toEqual(says);
    for (const { code, severity } of findings) expect([code, severity]).toEqual(["UNWRITTEN_READ", "warning"]);
  });
});
