import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { clockOrigin, duration, offset } from "../../src/trace/counters.ts";
import { inspectProfile } from "../../src/trace/inspect.ts";
import type { Inspection, Losses } from "../../src/trace/inspect.ts";
import type { Profile, ProfileStep } from "../../src/trace/profile.ts";
import type { Target } from "../../src/target/target.ts";
import { IPU21 } from "../../src/target/ipu21.ts";
import { COMPUTE, exchange, recorded, recordings, shifted, tile, work } from "./recorded.ts";

/** A chip of ten tiles. */
const TEN: Target = { ...IPU21, tiles: 10 };

function inspect(profile: Profile): Inspection {
  return inspectProfile(profile, TEN);
}

const SPEC = "Planned(ReductionSum { partials: 2 })";
const reduce = work({
  kernel: "reduce",
  metadata: [
    { name: "kernelSpec", value: SPEC },
    { name: "outputElements", value: "8" },
  ],
});
const copy = work({
  kernel: "copy",
  operation: "",
  metadata: [
    { name: "bytes", value: "64" },
    { name: "pattern", value: "Contiguous" },
    { name: "pattern", value: "Again" },
  ],
});

test("what two tiles hold", () => {
  const activities = [
    { kind: "send", start: 0, end: 5 },
    { kind: "receive", start: 0, end: 5 },
    { kind: "send", start: 6, end: 7 },
  ] as const;
  const held = inspect(
    recorded(
      tile(2, 2 ** 32 - 20, [30, reduce], [10, reduce], [12, exchange(0, 10, { activities })]),
      tile(5, 2 ** 32 - 15, [40, copy]),
    ),
  );
  expect(held).toMatchObject({
    schemaVersion: 5,
    clockHz: 1_000,
    tileCount: 2,
    firstTile: 2,
    lastTile: 5,
    sampleCount: 4,
    elapsedCycles: 52,
    elapsedMs: 52,
    entrySpanCycles: 5,
    kinds: [
      { kind: "exchange", samples: 1, tiles: 1, cycles: 12 },
      { kind: "compute", samples: 3, tiles: 2, cycles: 80 },
      { kind: "synchronization", samples: 0, tiles: 0, cycles: 0 },
      { kind: "idle", samples: 0, tiles: 0, cycles: 0 },
    ],
    operations: [
      { name: "operation.0", samples: 3, tiles: 1, cycles: 52 },
      { name: "", samples: 1, tiles: 1, cycles: 40 },
    ],
    kernels: [
      { name: "reduce", samples: 2, tiles: 1, cycles: 40 },
      { name: "exchange", samples: 1, tiles: 1, cycles: 12 },
      { name: "copy", samples: 1, tiles: 1, cycles: 40 },
    ],
    specifications: [
      {
        text: SPEC,
        summary: "ReductionSum { partials: 2 }",
        spec: { kind: "reduce-sum", partials: 2 },
        samples: 2,
      },
    ],
    patterns: [
      { text: "Contiguous", pattern: { kind: "contiguous" }, samples: 1, tiles: 1, cycles: 40 },
    ],
    metadata: [
      { name: "kernelSpec", samples: 2, values: 1 },
      { name: "outputElements", samples: 2, values: 1 },
      { name: "bytes", samples: 1, values: 1 },
      { name: "pattern", samples: 1, values: 1 },
    ],
    activities: { send: 2, receive: 1, partnerBusy: 0 },
    exchange: { scheduledCycles: 10, measuredCycles: 12 },
    findings: [],
  });
});

test("a profile of nothing", () => {
  const { tileCount, firstTile, lastTile, elapsedCycles, questions, losses } = inspect(recorded());
  expect([tileCount, firstTile, lastTile, elapsedCycles]).toEqual([0, null, null, 0]);
  expect(questions.every(({ answer }) => answer === "no")).toBe(true);
  expect(losses.missingRanges).toEqual([[0, 9]]);
});

const NO_LOSS: Losses = {
  missingTiles: 8,
  missingRanges: [[2, 9]],
  emptyTiles: 0,
  untimedSamples: 0,
  untimedTiles: 0,
  missingSamples: 0,
  gaps: 0,
};

/** Two tiles, the second with other steps of 10 cycles each, at which it stands in its list. */
function withIndexes(...indexes: number[]): Profile {
  const second = tile(1, 0, ...indexes.map(() => [10, COMPUTE] as const));
  const samples = second.samples.map((sample, i) => ({
    ...sample,
    step: { ...COMPUTE, localIndex: indexes[i] },
  }));
  return recorded(tile(0, 0, [10, COMPUTE]), { ...second, samples });
}

const moved = withIndexes(0, 1);
const gap: Profile = {
  ...moved,
  tiles: moved.tiles.map((one, t) => ({
    ...one,
    samples: one.samples.map((sample, s) =>
      t === 1 && s === 1 ? { ...sample, start: 11 } : sample,
    ),
  })),
};

// prettier-ignore
test.each<[string, Profile, Partial<Losses>]>([
  ["nothing",                        withIndexes(0, 1),      {}],
  ["the second of three samples",    withIndexes(0, 2),      { missingSamples: 1 }],
  ["the first three samples",        withIndexes(3),         { missingSamples: 3 }],
  ["all samples of a tile",          withIndexes(),          { emptyTiles: 1 }],
  ["times of two samples",           recorded(tile(0, 0, [9, COMPUTE]), tile(1, 0, [0, COMPUTE], [0, COMPUTE])), { untimedSamples: 2, untimedTiles: 1 }],
  ["the time between two samples",   gap,                    { gaps: 1 }],
  ["tiles between others",           recorded(tile(0, 0, [9, COMPUTE]), tile(3, 0, [9, COMPUTE])), { missingRanges: [[1, 2], [4, 9]] }],
  ["no tile, for the chip is larger", recorded(tile(10, 0, [9, COMPUTE])), { missingTiles: null, missingRanges: [] }],
])("a profile that lost %s", (_, profile, losses) => {
  expect(inspect(profile).losses).toEqual({ ...NO_LOSS, ...losses });
});

// prettier-ignore
test.each<[string, string, string, string]>([
  ["kernelSpec", "Convolution { taps: 3 }",  "UNKNOWN_KERNEL", "Convolution"],
  ["kernelSpec", "Gemm { taps: 3 }",         "UNKNOWN_KERNEL", "Gemm"],
  ["kernelSpec", "Gemm {",                   "FILE_MALFORMED", "Gemm {"],
  ["pattern",    "Strided {",                "FILE_MALFORMED", "Strided {"],
])("%s %j is a finding, %s, that names %s, and all else is read", (name, value, code, says) => {
  const { findings, kernels, questions } = inspect(
    recorded(tile(0, 0, [9, work({ metadata: [{ name, value }] })], [9, work({ metadata: [{ name, value }] })])),
  );
  expect(findings).toMatchObject([{ code, severity: "warning", where: { field: name, samples: 2 } }]);
  expect(findings[0].what).toContain(says);
  expect(kernels).toMatchObject([{ name: "gemm", samples: 2, cycles: 18 }]);
  expect(questions.find(({ question }) => question.includes("shapes"))?.answer).toBe("no");
});

describe("questions", () => {
  const all = exchange(0, 9, { activities: [{ kind: "send", start: 0, end: 4 }] });
  const answers = (...steps: (readonly [number, ProfileStep])[]): Record<string, string> =>
    Object.fromEntries(
      inspect(recorded(tile(0, 0, ...steps))).questions.map(({ question, answer }) => [
        question,
        answer,
      ]),
    );
  const NEVER = [
    "Which tile sent to which?",
    "How many bytes did tiles exchange?",
    "At which addresses did operands lie?",
    "Which values did tensors hold?",
  ];

  // prettier-ignore
  test.each<[string, readonly [number, ProfileStep], string, string]>([
    ["how many cycles",   [9, COMPUTE],                 "yes", "with times"],
    ["how many cycles",   [0, COMPUTE],                 "no",  "without times"],
    ["which kernels",     [9, COMPUTE],                 "yes", "with names"],
    ["which kernels",     [9, work({ kernel: "" })],    "no",  "as schema 1 has it"],
    ["which shapes",      [9, reduce],                  "yes", "with a specification"],
    ["which shapes",      [9, copy],                    "no",  "of a copy"],
    ["local copies",      [9, copy],                    "yes", "of a copy"],
    ["local copies",      [9, reduce],                  "no",  "without a copy"],
    ["exchange phase",    [9, all],                     "yes", "with event cycles"],
    ["exchange phase",    [9, exchange(0, 0)],          "no",  "as schema 3 has it"],
    ["exchange phase",    [0, all],                     "no",  "without times"],
    ["send and receive",  [9, all],                     "yes", "with activities"],
    ["send and receive",  [9, exchange(0, 9)],          "no",  "without activities"],
  ])("%s of %j: %s, %s", (about, step, expected) => {
    const found = Object.entries(answers(step)).filter(([question]) => question.toLowerCase().includes(about));
    expect(found.map(([, answer]) => answer)).toEqual([expected]);
  });

  test("that no profile answers have the answer no", () => {
    const given = answers([9, all], [9, reduce], [9, copy]);
    for (const question of NEVER) expect([question, given[question]]).toEqual([question, "no"]);
  });
});

describe("laws", () => {
  test("each way to part the samples holds each once, with its cycles, whatever the counters stood at", () => {
    fc.assert(
      fc.property(recordings, fc.nat({ max: 2 ** 32 - 1 }), (profile, by) => {
        const held = inspect(profile);
        const all = profile.tiles.flatMap(({ samples }) => samples);
        const cycles = all.reduce((sum, sample) => sum + duration(sample), 0);
        for (const parts of [held.kinds, held.operations, held.kernels]) {
          expect(parts.reduce((sum, one) => sum + one.samples, 0)).toBe(all.length);
          expect(parts.reduce((sum, one) => sum + one.cycles, 0)).toBe(cycles);
        }
        for (const { name, ...tally } of held.kernels) {
          const tiles = profile.tiles.filter(({ samples }) =>
            samples.some(({ step }) => step.kernel === name),
          );
          expect(tally.tiles).toBe(tiles.length);
        }
        const origin = clockOrigin(profile);
        const ends = all.map((sample) => offset(sample.start, origin) + duration(sample));
        expect(held.elapsedCycles).toBe(Math.max(0, ...ends));
        expect(inspect(shifted(profile, by))).toEqual(held);
      }),
    );
  });
});
