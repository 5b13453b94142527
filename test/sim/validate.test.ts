import { describe, expect, test } from "vitest";
import { tileId } from "../../src/base/units.ts";
import type { KernelSpec } from "../../src/kernels/spec.ts";
import {
  AMP_LEFT,
  axisTiling,
  fromEnd,
  layout,
  linearTiling,
  ROW_MAJOR,
  tiling,
} from "../../src/layouts/constructors.ts";
import type { Binding, Schedule, Step } from "../../src/sim/schedule.ts";
import { validateSchedule } from "../../src/sim/validate.ts";
import { IPU21 } from "../../src/target/ipu21.ts";
import {
  AT,
  callOf,
  compute,
  END,
  exchange,
  expectCode,
  INTERLEAVED,
  rowsBinding,
  scheduleOf,
  transfer,
} from "./support.ts";

const GELU: KernelSpec = { kind: "gelu", elements: 16 };
const ADD: KernelSpec = { kind: "add", dtype: "f16", elements: 16 };
const COPY: KernelSpec = {
  kind: "copy",
  bytes: 64,
  rows: 1,
  sourceStride: 64,
  outputStride: 64,
};
const GEMM: KernelSpec = {
  kind: "gemm",
  multiply: "f16",
  accumulate: "f16",
  mode: "initialize",
  weights: "interleaved",
  rows: 2,
  innerBlock: 16,
  outputColumns: 16,
};
/** 32-byte aligned places in memory elements of their own. */
const ELEMENT = 0x4000;
const [A, B, C] = [0x5c000, 0x5c000 + ELEMENT, 0x5c000 + 2 * ELEMENT];

function check(steps: readonly Step[], rest: Partial<Schedule> = {}): void {
  validateSchedule(scheduleOf(steps, rest), IPU21);
}

const one = (spec: KernelSpec, output: number, ...inputs: number[]): Step =>
  compute(callOf(spec, [0], { output, inputs }));

describe("a compute step", () => {
  // prettier-ignore
  test.each<[string, string, Step]>([
    ["",                  "in place, where the kernel allows it",      one(GELU, A, A)],
    ["",                  "both addends are the sum's own place",      one(ADD, A, A, A)],
    ["",                  "up to a tile's last byte",                  one(GELU, END - 32, A)],
    ["",                  "no calls at all",                           compute()],
    ["",                  "operands apart, weights interleaved",       one(GEMM, A, B, INTERLEAVED)],
    ["SCHEDULE_INVALID",  "a call on no tile",                         compute(callOf(GELU, [], { output: A, inputs: [A] }))],
    ["SCHEDULE_INVALID",  "two calls on one tile",                     compute(callOf(GELU, [0, 1], { output: A, inputs: [A] }), callOf(ADD, [1], { output: B, inputs: [B, B] }))],
    ["SCHEDULE_INVALID",  "one call that names a tile twice",          compute(callOf(GELU, [2, 2], { output: A, inputs: [A] }))],
    ["SCHEDULE_INVALID",  "an input too few",                          one(ADD, A, A)],
    ["SCHEDULE_INVALID",  "an input too many",                         one(GELU, A, A, B)],
    ["SCHEDULE_INVALID",  "an input for a kernel that takes none",     one({ kind: "fill-zero", bytes: 8 }, A, A)],
    ["SHAPE_MISMATCH",    "a specification that its kernel refuses",   one({ kind: "gelu", elements: 3 }, A, A)],
    ["UNKNOWN_KERNEL",    "a kernel that is not there",                one({ kind: "relu", elements: 4 } as unknown as KernelSpec, A, A)],
    ["OUT_OF_BOUNDS",     "an output below tile memory",               one(GELU, IPU21.memory.base - 4, A)],
    ["OUT_OF_BOUNDS",     "an output over its end",                    one(GELU, END - 28, A)],
    ["OUT_OF_BOUNDS",     "an input over its end",                     one(GELU, A, END - 4)],
    ["OUT_OF_BOUNDS",     "a tile that the schedule does not have",    compute(callOf(GELU, [0, 4], { output: A, inputs: [A] }))],
    ["OUT_OF_BOUNDS",     "a tile of less than nothing",               compute(callOf(GELU, [-1], { output: A, inputs: [A] }))],
    ["OUT_OF_BOUNDS",     "more bytes than a tile has",                one({ kind: "fill-zero", bytes: 2 ** 20 }, A)],
    ["MISALIGNED",        "an output between its words",               one(GELU, A + 2, B)],
    ["MISALIGNED",        "an input between its words",                one(GELU, A, B + 2)],
    ["MISALIGNED",        "a copy by 8 bytes from a multiple of 4",    one(COPY, A, B + 4)],
    ["OPERANDS_OVERLAP",  "a copy onto itself",                        one(COPY, A, A)],
    ["OPERANDS_OVERLAP",  "a copy onto its own tail",                  one(COPY, A + 56, A)],
    ["OPERANDS_OVERLAP",  "in place, but shifted",                     one(GELU, A + 4, A)],
    ["OPERANDS_OVERLAP",  "an output over the second input",           one(COPY, A, A + 32)],
    ["MEMORY_CLASS",      "16-byte loads of standard memory",          one(GEMM, A, B, C)],
    ["ELEMENT_CONFLICT",  "a gemm's output beside its left operand",   one(GEMM, A, A + 1024, INTERLEAVED)],
    ["OUT_OF_BOUNDS",     "a second invocation that leaves the tile",  compute(callOf(GELU, [0], { output: A, inputs: [A] }, { output: A, inputs: [END] }))],
  ])("gives %j where it has: %s", (code, _why, step) => {
    if (code === "") check([step]);
    else {
      expectCode(code, () => check([step]));
      // Inside a repeat, at any depth, all the same.
      expectCode(code, () => check([{ kind: "repeat", times: 2, body: [{ kind: "repeat", times: 0, body: [step] }] }]));
    }
  });

  // prettier-ignore
  test.each([
    ["UNKNOWN_KERNEL",   "no kernel",                 "made_up",                          GELU],
    ["UNKNOWN_KERNEL",   "a kind, which is no name",  "gelu",                             GELU],
    ["SCHEDULE_INVALID", "another kernel",            "ipu_stack_add_f16",                GELU],
    ["SCHEDULE_INVALID", "another type",              "ipu_stack_add_f32",                ADD],
    ["SCHEDULE_INVALID", "another way to copy",       "ipu_stack_copy_u32",               COPY],
  ])("gives %s where a call has the name of %s", (code, _why, kernel, spec) => {
    const call = callOf(spec, [0], { output: A, inputs: spec === ADD ? [B, C] : [B] });
    check([compute(call)]);
    expectCode(code, () => check([compute({ ...call, kernel })]));
  });

  // prettier-ignore
  test.each([
    ["",                 "none at all",                []],
    ["",                 "as many as there is room for", [32, 32, 256]],
    ["",                 "fewer: the rest is padding", [9, 9, 1]],
    ["SCHEDULE_INVALID", "of too few operands",        [32, 32]],
    ["SCHEDULE_INVALID", "of too many operands",       [32, 32, 256, 1]],
    ["SCHEDULE_INVALID", "more of the output",         [33, 32, 256]],
    ["SCHEDULE_INVALID", "more of the right operand",  [32, 32, 257]],
  ])("gives %j where a gemm of 2 x 16 x 16 has elements: %s", (code, _why, elements) => {
    const step = compute({ ...callOf(GEMM, [0], { output: A, inputs: [B, INTERLEAVED] }), elements });
    if (code === "") check([step]);
    else expectCode(code, () => check([step]));
  });

  test("says in which step of which repeat the fault is", () => {
    const inner: Step = { kind: "repeat", times: 1, body: [compute(), one(GELU, A, A, A)] };
    expect(() => check([compute(), compute(), inner])).toThrowError(/step 2\.1/);
  });
});

describe("an exchange step", () => {
  const [MOST] = [IPU21.exchange.maxTransferWords];

  // prettier-ignore
  test.each<[string, string, Step]>([
    ["",                  "to several tiles",                          exchange(transfer(0, A, 4, [1, 2, 3], B))],
    ["",                  "what is read is written over",              exchange(transfer(0, A, 4, [1], A), transfer(1, A, 4, [0], A))],
    ["",                  "landings side by side",                     exchange(transfer(0, A, 4, [1], B), transfer(2, A, 4, [1], B + 16))],
    ["",                  "one source, two destinations apart",        exchange({ ...transfer(0, A, 4, [1], B), destinations: [...transfer(0, A, 4, [1], B).destinations, ...transfer(0, A, 4, [2], C).destinations] })],
    ["",                  "as many words as the fabric carries",       exchange(transfer(0, A, MOST, [1], A))],
    ["",                  "64 bits to a whole pair",                   exchange(transfer(0, A, 128, [2, 3], A, 64))],
    ["EXCHANGE_INVALID",  "one word more",                             exchange(transfer(0, A, MOST + 1, [1], A))],
    ["EXCHANGE_INVALID",  "no words",                                  exchange(transfer(0, A, 0, [1], A))],
    ["EXCHANGE_INVALID",  "no destination",                            exchange({ ...transfer(0, A, 4, [1], B), destinations: [] })],
    ["EXCHANGE_INVALID",  "a destination of no tile",                  exchange(transfer(0, A, 4, [], B))],
    ["EXCHANGE_INVALID",  "a tile that sends to itself",               exchange(transfer(0, A, 4, [1, 0], B))],
    ["EXCHANGE_INVALID",  "a tile that receives one transfer twice",   exchange({ ...transfer(0, A, 4, [1], B), destinations: [...transfer(0, A, 4, [1], B).destinations, ...transfer(0, A, 4, [1], C).destinations] })],
    ["EXCHANGE_INVALID",  "64 bits of an odd number of words",         exchange(transfer(0, A, 129, [2, 3], A, 64))],
    ["EXCHANGE_INVALID",  "64 bits of too few words",                  exchange(transfer(0, A, 126, [2, 3], A, 64))],
    ["EXCHANGE_INVALID",  "64 bits to half a pair",                    exchange(transfer(0, A, 128, [2], A, 64))],
    ["EXCHANGE_INVALID",  "64 bits over the receiver's own lane",      exchange(transfer(0, A, 128, [1], A, 64))],
    ["EXCHANGE_INVALID",  "64 bits to a pair at two addresses",        exchange({ ...transfer(0, A, 128, [2], A, 64), destinations: [...transfer(0, A, 128, [2], A, 64).destinations, ...transfer(0, A, 128, [3], B, 64).destinations] })],
    ["MISALIGNED",        "64 bits from a multiple of 4",              exchange(transfer(0, A + 4, 128, [2, 3], A, 64))],
    ["MISALIGNED",        "from half a word",                          exchange(transfer(0, A + 2, 4, [1], A))],
    ["MISALIGNED",        "to half a word",                            exchange(transfer(0, A, 4, [1], A + 2))],
    ["OUT_OF_BOUNDS",     "from over the end",                         exchange(transfer(0, END - 12, 4, [1], A))],
    ["OUT_OF_BOUNDS",     "to over the end",                           exchange(transfer(0, A, 4, [1], END - 12))],
    ["OUT_OF_BOUNDS",     "from no tile",                              exchange(transfer(4, A, 4, [1], A))],
    ["OUT_OF_BOUNDS",     "to no tile",                                exchange(transfer(0, A, 4, [1, 1472], A))],
    ["EXCHANGE_RACE",     "two transfers on the same word",            exchange(transfer(0, A, 4, [2], B), transfer(1, A, 4, [2], B))],
    ["EXCHANGE_RACE",     "a last word on a first",                    exchange(transfer(0, A, 4, [3], B), transfer(1, A, 4, [2, 3], B + 12))],
    ["EXCHANGE_RACE",     "a short one inside a long one",             exchange(transfer(0, A, 64, [2], B), transfer(1, A, 1, [2], B + 8), transfer(3, A, 1, [2], B + 512))],
  ])("gives %j where it has: %s", (code, _why, step) => {
    if (code === "") check([step]);
    else expectCode(code, () => check([step]));
  });
});

describe("a tensor", () => {
  const x = rowsBinding("x", "input", A, 4, 8);
  const y = { ...x, name: "y", role: "output" as const };

  // prettier-ignore
  test.each<[string, string, Partial<Schedule>]>([
    ["",                  "a row on each tile",                       { inputs: [x], outputs: [y] }],
    ["",                  "one place for an input and an output",     { inputs: [x], outputs: [{ ...y, name: "x" }] }],
    ["",                  "on tiles of its own choice",               { inputs: [{ ...x, tiles: [3, 2, 1, 0].map(tileId) }] }],
    ["",                  "one input behind another",                 { inputs: [x, { ...x, name: "z", address: rowsBinding("", "input", A + 32, 1, 1).address }] }],
    ["",                  "one place on other tiles",                 { inputs: [{ ...rowsBinding("x", "input", A, 2, 8) }, { ...rowsBinding("z", "input", A, 2, 8), tiles: [3, 2].map(tileId) }] }],
    ["SCHEDULE_INVALID",  "two inputs in one place",                  { inputs: [x, { ...x, name: "z" }] }],
    ["SCHEDULE_INVALID",  "an input over the last row of another",    { inputs: [{ ...rowsBinding("z", "weight", A + 28, 1, 8), tiles: [tileId(3)] }, x] }],
    ["SCHEDULE_INVALID",  "an input inside another",                  { inputs: [rowsBinding("y", "input", A + 64, 1, 1), rowsBinding("z", "input", A, 4, 64)] }],
    ["SCHEDULE_INVALID",  "more tiles than the schedule has",         { inputs: [rowsBinding("x", "input", A, 5, 8)] }],
    ["SCHEDULE_INVALID",  "fewer tiles than its layout",              { inputs: [{ ...x, tiles: [3, 2].map(tileId) }] }],
    ["SCHEDULE_INVALID",  "two shards on one tile, one over another", { inputs: [{ ...x, tiles: [3, 2, 3, 0].map(tileId) }] }],
    ["SCHEDULE_INVALID",  "rows cut so that a tile has two shards",   { inputs: [{ ...x, shape: [3, 8], layout: layout(ROW_MAJOR, linearTiling(4)) }] }],
    ["SCHEDULE_INVALID",  "a name twice among the inputs",            { inputs: [x, { ...x }] }],
    ["SCHEDULE_INVALID",  "a name twice among the outputs",           { outputs: [y, { ...y }] }],
    ["SCHEDULE_INVALID",  "an input that is an output",               { inputs: [y] }],
    ["SCHEDULE_INVALID",  "an output that is a weight",               { outputs: [{ ...x, role: "weight" }] }],
    ["OUT_OF_BOUNDS",     "a tile that is not there",                 { inputs: [{ ...x, tiles: [3, 2, 1, 4].map(tileId) }] }],
    ["OUT_OF_BOUNDS",     "an address over the end",                  { outputs: [{ ...y, address: rowsBinding("", "input", END - 28, 1, 1).address }] }],
    ["OUT_OF_BOUNDS",     "a shape larger than a tile",               { inputs: [rowsBinding("x", "input", A, 4, 2 ** 20)] }],
    ["MISALIGNED",        "f32 between its words",                    { inputs: [{ ...x, address: rowsBinding("", "input", A + 2, 1, 1).address }] }],
    ["LAYOUT_INVALID",    "a layout that does not resolve",           { inputs: [{ ...x, layout: layout(ROW_MAJOR, { ...x.layout.tiling, replicas: 0 }) }] }],
    ["LAYOUT_INVALID",    "an axis that the shape does not have",     { inputs: [{ ...x, layout: layout(ROW_MAJOR, tiling([axisTiling(fromEnd(3), 2)])) }] }],
    ["LAYOUT_INVALID",    "columns that are no whole strips",         { inputs: [{ ...x, shape: [4, 12], layout: layout(AMP_LEFT, x.layout.tiling) }] }],
  ])("gives %j where it has: %s", (code, _why, rest) => {
    if (code === "") check([], rest);
    else expectCode(code, () => check([], rest));
  });

  test("of no elements on a tile may share that tile", () => {
    const empty: Binding = { ...x, shape: [3, 8], tiles: [0, 1, 2, 2].map(tileId) };
    check([], { inputs: [empty] });
  });
});

describe("a schedule", () => {
  const repeat = (times: number, body: readonly Step[]): Step => ({ kind: "repeat", times, body });
  const step = compute();

  // prettier-ignore
  test.each<[string, string, Partial<Schedule>]>([
    ["",                  "a million steps",                        { steps: [repeat(1_000_000, [step])] }],
    ["SCHEDULE_INVALID",  "one more",                               { steps: [step, repeat(1_000_000, [step])] }],
    ["SCHEDULE_INVALID",  "repeats whose product is too many",      { steps: [repeat(2 ** 26, [repeat(2 ** 26, [step])])] }],
    ["SCHEDULE_INVALID",  "repeats of nothing, for ever",           { steps: [repeat(2 ** 53 - 1, [])] }],
    ["SCHEDULE_INVALID",  "the same, nested",                       { steps: [repeat(2 ** 26, [repeat(2 ** 26, [])])] }],
    ["SCHEDULE_INVALID",  "a million steps of all tiles",           { tiles: 1472, steps: [repeat(1_000_000, [step])] }],
    ["SCHEDULE_INVALID",  "another target",                         { target: "ipu1" }],
    ["SCHEDULE_INVALID",  "no tiles",                               { tiles: 0 }],
    ["SCHEDULE_INVALID",  "a tile more than the target",            { tiles: 1473 }],
    ["",                  "all tiles of the target",                { tiles: 1472 }],
    ["OUT_OF_BOUNDS",     "a buffer over the end",                  { buffers: [{ name: "b", address: rowsBinding("", "input", END - 8, 1, 1).address, bytes: 16, tiles: [tileId(0)], firstStep: 0, lastStep: 0 }] }],
    ["OUT_OF_BOUNDS",     "a buffer on no tile of the schedule",    { buffers: [{ name: "b", address: rowsBinding("", "input", AT, 1, 1).address, bytes: 16, tiles: [tileId(9)], firstStep: 0, lastStep: 0 }] }],
  ])("gives %j where it has: %s", (code, _why, { steps = [], ...rest }) => {
    if (code === "") check(steps, rest);
    else expectCode(code, () => check(steps, rest));
  });
});
