import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { tileId } from "../../src/base/units.ts";
import {
  AMP_LEFT,
  AMP_OUTPUT,
  AMP_TRANSPOSED_RIGHT,
  axisTiling,
  blockMajor,
  fromEnd,
  layout,
  tiling,
} from "../../src/layouts/constructors.ts";
import type { KernelSpec, MatrixExtents } from "../../src/kernels/spec.ts";
import { plan } from "../../src/plan/plan.ts";
import { siglipAttention } from "../../src/plan/programs/siglip-attention.ts";
import type { Schedule } from "../../src/sim/schedule.ts";
import { formatSchedule, parseSchedule } from "../../src/sim/schedule-file.ts";
import { timeSchedule } from "../../src/sim/timing.ts";
import { validateSchedule } from "../../src/sim/validate.ts";
import { IPU21 } from "../../src/target/ipu21.ts";
import {
  AT,
  callOf,
  compute,
  exchange,
  expectCode,
  INTERLEAVED,
  onlySimErrors,
  rowsBinding,
  scheduleOf,
  transfer,
} from "./support.ts";

const EXTENTS: MatrixExtents = {
  matrices: 1,
  logicalRows: 16,
  physicalRows: 16,
  logicalColumns: 16,
  physicalColumns: 16,
};

/** One of each kind, on operands that lie well apart. */
const SPECS: readonly KernelSpec[] = [
  {
    kind: "gemm",
    multiply: "f16",
    accumulate: "f32",
    mode: "accumulate",
    weights: "interleaved",
    rows: 2,
    innerBlock: 16,
    outputColumns: 16,
  },
  { kind: "reduce-sum", partials: 3, elements: 16 },
  { kind: "copy", bytes: 96, rows: 3, sourceStride: 64, outputStride: 32 },
  { kind: "fill-zero", bytes: 64 },
  { kind: "unpack", order: AMP_OUTPUT, ...EXTENTS },
  { kind: "rearrange", order: blockMajor(16, 16), ...EXTENTS, runTimeShape: true },
  { kind: "rearrange", order: AMP_TRANSPOSED_RIGHT, ...EXTENTS, runTimeShape: false },
  {
    kind: "attention-softmax",
    rows: 2,
    headDimension: 8,
    keyColumns: 20,
    paddedKeyColumns: 32,
  },
  {
    kind: "attention-merge",
    rows: 2,
    valueDimension: 8,
    paddedValueDimension: 16,
    keyBlockColumns: 32,
    initial: false,
    finalBlock: true,
  },
  { kind: "gelu", elements: 8 },
  { kind: "add", dtype: "f32", elements: 8 },
  { kind: "cast", from: "f32", to: "f16", elements: 8 },
];
const INPUTS = [2, 2, 1, 0, 1, 1, 1, 1, 2, 1, 2, 1];
const PLACES = [AT, INTERLEAVED, INTERLEAVED + 0x8000];

/** All that a schedule can hold: every kernel, both widths, a repeat, tensors with and without tiles. */
const EVERYTHING: Schedule = scheduleOf(
  [
    ...SPECS.map((spec, index) => {
      const [first, second, third] = PLACES.map((place) => Math.ceil(place / 32) * 32);
      return compute(
        callOf(spec, [index % 4], {
          output: first,
          inputs: [second, third].slice(0, INPUTS[index]),
        }),
      );
    }),
    exchange(transfer(0, AT, 8, [1, 2], AT + 64), transfer(3, AT, 4, [1], AT + 128)),
    exchange(transfer(0, AT, 128, [2, 3], AT + 1024, 64)),
    {
      kind: "repeat",
      times: 3,
      body: [
        exchange(transfer(1, AT, 1, [0], AT)),
        {
          kind: "repeat",
          times: 2,
          body: [compute(callOf(SPECS[9], [0, 1], { output: AT, inputs: [AT] }))],
        },
      ],
    },
  ],
  {
    inputs: [
      rowsBinding("x", "input", INTERLEAVED, 4, 8, "f16"),
      {
        ...rowsBinding("w", "weight", INTERLEAVED + 0x10000, 2, 16),
        layout: layout(AMP_LEFT, tiling([axisTiling(fromEnd(2), 2, { tile_stride: 1 })])),
        tiles: [tileId(3), tileId(1)],
      },
    ],
    outputs: [rowsBinding("y", "output", AT, 4, 8, "f16")],
    buffers: [
      {
        name: "b",
        address: rowsBinding("b", "output", AT, 1, 1).address,
        bytes: 64,
        tiles: [tileId(0), tileId(2)],
        firstStep: -1,
        lastStep: 4,
        zeroFilled: true,
      },
    ],
  },
);

const planned = plan(
  siglipAttention({ tokens: 20, width: 48, heads: 2, headSize: 16, tiles: 12 }),
  IPU21,
);

describe("a schedule's text", () => {
  test.each([
    ["one of everything", EVERYTHING],
    ["a planned one", planned],
    ["no steps", scheduleOf([])],
    [
      "an empty repeat, no transfers, no calls",
      scheduleOf([{ kind: "repeat", times: 1, body: [] }, exchange(), compute()]),
    ],
  ])("reads back as the schedule, and formats to the same text: %s", (_what, schedule) => {
    const text = formatSchedule(schedule);
    const read = parseSchedule(text, "x.json");
    expect(read).toEqual(schedule);
    expect(formatSchedule(read)).toBe(text);
  });

  test("that holds one of everything is sound, so that what follows starts from a good file", () => {
    validateSchedule(EVERYTHING, IPU21);
    validateSchedule(planned, IPU21);
  });

  test("has a call or a transfer a line", () => {
    const lines = formatSchedule(planned).split("\n");
    const calls = planned.steps.map((step) => {
      if (step.kind === "repeat") return 0;
      return step.kind === "compute" ? step.calls.length : step.transfers.length;
    });
    const shown = lines.filter((line) => /^\s+\{"(kernel|source)":/.test(line));
    expect(shown).toHaveLength(calls.reduce((a, b) => a + b));
  });
});

const TEXT = formatSchedule(EVERYTHING);

/** `TEXT` with `from` replaced, which must be there. */
function edited(from: string, to: string): string {
  expect(TEXT).toContain(from);
  return TEXT.replace(from, to);
}

describe("a schedule file", () => {
  // prettier-ignore
  test.each<[string, string, string]>([
    // code               why                                  text
    ["FILE_MALFORMED",  "an empty file",                      ""],
    ["FILE_MALFORMED",  "not JSON",                           "schedule"],
    ["FILE_MALFORMED",  "JSON, but no object",                "[1, 2]"],
    ["FILE_MALFORMED",  "null",                               "null"],
    ["FILE_MALFORMED",  "an object of nothing",               "{}"],
    ["FILE_MALFORMED",  "cut short",                          TEXT.slice(0, -3)],
    ["FILE_MALFORMED",  "another format",                     edited('"tilesim-schedule"', '"tilesim-program"')],
    ["FILE_MALFORMED",  "a later version",                    edited('"version":1', '"version":2')],
    ["FILE_MALFORMED",  "an unknown key of the file",         edited('"version":1', '"version":1,"author":"x"')],
    ["FILE_MALFORMED",  "an unknown key of a call",           edited('"value":0,"spec"', '"value":0,"colour":1,"spec"')],
    ["FILE_MALFORMED",  "an unknown key of a specification",  edited('"kind":"gelu",', '"kind":"gelu","fast":true,')],
    ["FILE_MALFORMED",  "an unknown kind of step",            edited('"kind": "repeat"', '"kind": "while"')],
    ["FILE_MALFORMED",  "a repeat of a fraction",             edited('"times": 3', '"times": 2.5')],
    ["FILE_MALFORMED",  "a repeat of less than nothing",      edited('"times": 3', '"times": -1')],
    ["FILE_MALFORMED",  "a number beyond exact integers",     edited('"times": 3', '"times": 1e300')],
    ["FILE_MALFORMED",  "an address in text",                 edited(`"output":${AT}`, `"output":"${AT}"`)],
    ["FILE_MALFORMED",  "half a byte",                        edited(`"output":${AT}`, `"output":${AT}.5`)],
    ["FILE_MALFORMED",  "a tile that is none",                edited('"tiles":[1,2]', '"tiles":[1,null]')],
    ["FILE_MALFORMED",  "a width that no lane has",           edited('"width":64', '"width":48')],
    ["FILE_MALFORMED",  "a call of no invocation",            TEXT.replace(/"invocations":\[.*?\]\}\]/, '"invocations":[]')],
    ["FILE_MALFORMED",  "an order that no kernel unpacks",    edited('"order":{"kind":"amp-output"}', '"order":{"kind":"amp-left"}')],
    ["UNKNOWN_KERNEL",  "a kernel of an unknown kind",        edited('"kind":"gelu"', '"kind":"relu"')],
    ["UNKNOWN_KERNEL",  "a name that every object has",       edited('"kind":"gelu"', '"kind":"constructor"')],
    ["SCHEDULE_INVALID", "a repeat that would take for ever", edited('"times": 3', '"times": 9007199254740991')],
    ["SCHEDULE_INVALID", "an empty one, at that",             edited('"times": 3, "body": [', '"times": 9007199254740991, "body": [ { "kind": "repeat", "times": 9007199254740991, "body": [] },')],
    ["SCHEDULE_INVALID", "planned for another chip",          edited('"target":"ipu21"', '"target":"ipu1"')],
  ])("is refused with %s where it is or has: %s", (code, _why, text) => {
    expectCode(code, () => validateSchedule(parseSchedule(text, "x.json"), IPU21));
  });

  test.each([100, 10_000, 1_000_000])(
    "nested %i deep is read or refused, and overflows no stack",
    (depth) => {
      const open = '{ "kind": "repeat", "times": 1, "body": [';
      const steps = `${open.repeat(depth)}${"] }".repeat(depth)}`;
      const text = formatSchedule(scheduleOf([])).replace(
        /"steps": \[\s*\]/,
        `"steps": [${steps}]`,
      );
      expect(text.length).toBeGreaterThan(depth);
      onlySimErrors(() => {
        const schedule = parseSchedule(text, "x.json");
        validateSchedule(schedule, IPU21);
        timeSchedule(schedule, IPU21);
      });
    },
  );

  test("cut at any byte is refused", () => {
    fc.assert(
      fc.property(fc.nat(TEXT.trimEnd().length - 1), (length) => {
        expectCode("FILE_MALFORMED", () => parseSchedule(TEXT.slice(0, length), "x.json"));
      }),
      { numRuns: 60 },
    );
  });

  test("changed in any field is refused with an error of the user's, or runs", () => {
    fc.assert(
      fc.property(fc.nat(), hostile, fc.constantFrom(...CHANGES), (pick, value, change) => {
        const data = JSON.parse(TEXT) as Json;
        const places = placesIn(data);
        const { parent, key } = places[pick % places.length];
        apply(change, parent, key, value);
        onlySimErrors(() => {
          const schedule = parseSchedule(JSON.stringify(data), "x.json");
          validateSchedule(schedule, IPU21);
          timeSchedule(schedule, IPU21);
          formatSchedule(schedule);
        });
      }),
      { numRuns: 1500 },
    );
  });
});

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

const CHANGES = ["replace", "remove", "repeat", "nest"] as const;

const hostile: fc.Arbitrary<Json> = fc.oneof(
  fc.constantFrom<Json>(
    ...[0, -1, 1, 2, 3, 7, 16, 64, 0.5, 2 ** 31, 2 ** 32, 2 ** 53 - 1, 1e300, 360_448, 524_288],
    ...["", "gemm", "add", "constructor", "__proto__", "\ud800", "linear", "row-major"],
    ...[null, true, false, [], [0], [1e9], {}, { kind: "gelu" }],
  ),
  fc.integer(),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
);

interface JsonPlace {
  readonly parent: Json[] | { [key: string]: Json };
  readonly key: string;
}

/** Every field and every entry of a list, at any depth. */
function placesIn(data: Json): JsonPlace[] {
  if (typeof data !== "object" || data === null) return [];
  const entries = Object.entries(data as { [key: string]: Json });
  const parent = data as JsonPlace["parent"];
  return entries.flatMap(([key, value]) => [{ parent, key }, ...placesIn(value)]);
}

function apply(
  change: (typeof CHANGES)[number],
  parent: JsonPlace["parent"],
  key: string,
  value: Json,
): void {
  const fields = parent as { [key: string]: Json };
  switch (change) {
    case "replace":
      fields[key] = value;
      break;
    case "remove":
      if (Array.isArray(parent)) parent.splice(Number(key), 1);
      else delete fields[key];
      break;
    case "repeat":
      if (Array.isArray(parent)) parent.push(parent[Number(key)]);
      else fields[`${key}2`] = fields[key];
      break;
    case "nest":
      fields[key] = [fields[key]];
      break;
  }
}
