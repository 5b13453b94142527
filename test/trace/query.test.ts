import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { clockOrigin, duration, entrySpan, offset } from "../../src/trace/counters.ts";
import { exchangeSummary } from "../../src/trace/exchange-summary.ts";
import { STEP_KINDS } from "../../src/trace/profile.ts";
import type { Profile, ProfileStep, Sample } from "../../src/trace/profile.ts";
import { SORT_KEYS, percentile, queryProfile } from "../../src/trace/query.ts";
import type {
  GroupKey,
  ProfileQuery,
  QueryGroup,
  QueryResult,
  SampleFilters,
} from "../../src/trace/query.ts";
import { parsePhase, phaseText } from "../../src/trace/step-names.ts";
import { COMPUTE, PHASE, exchange, recorded, recordings, shifted, tile, work } from "./recorded.ts";

const BY_KERNEL: ProfileQuery = {
  groupBy: [{ kind: "kernel" }],
  filters: {},
  sortBy: "phase-cycles",
  limit: 0,
  samples: 0,
  isSharedClock: true,
};

function ask(profile: Profile, query: Partial<ProfileQuery> = {}): QueryResult {
  return queryProfile(profile, { ...BY_KERNEL, ...query });
}

const COPY = work({ kernel: "copy", operation: "operation.1", phase: 1 });

/**
 * Two tiles at 1,000 Hz, the second 10 cycles later; the counter wraps after 106 cycles of tile 3.
 *
 *   tile 3   0 gemm 100 copy 140 exchange 180
 *   tile 7        10 gemm 130     exchange 180
 */
const TWO = recorded(
  tile(3, 2 ** 32 - 106, [100, COMPUTE], [40, COPY], [40, exchange(4, 25)]),
  tile(7, 2 ** 32 - 96, [120, COMPUTE], [50, exchange(4, 30)]),
);

describe("two tiles by kernel", () => {
  const { groups, ...rest } = ask(TWO);

  test("have the span of both", () => {
    expect(rest).toEqual({
      clockHz: 1_000,
      tileCount: 2,
      sampleCount: 5,
      droppedSampleCount: 0,
      matchedSampleCount: 5,
      groupCount: 3,
      profileSpanCycles: 180,
      profileSpanMs: 180,
      atOffset: null,
      samples: [],
    });
  });

  test("take what the drawing shows", () => {
    expect(groups).toEqual<QueryGroup[]>([
      {
        name: "gemm",
        samples: 2,
        tiles: 2,
        phases: 1,
        phaseCycles: 130, // 0 to 100 and 10 to 130
        phaseMs: 130,
        workCycles: 220,
        averageActiveTiles: 220 / 130,
        meanCycles: 110,
        p50Cycles: 100, // index floor(1 * 0.5) of 100, 120
        p95Cycles: 100, // index floor(1 * 0.95)
        maximumCycles: 120,
        firstOffset: 0,
        lastOffset: 130,
        arrivalWaitCycles: null,
        boundaryCycles: null,
      },
      {
        name: "exchange",
        samples: 2,
        tiles: 2,
        phases: 1,
        phaseCycles: 50, // 130 to 180
        phaseMs: 50,
        workCycles: 90,
        averageActiveTiles: 1.8,
        meanCycles: 45,
        p50Cycles: 40,
        p95Cycles: 40,
        maximumCycles: 50,
        firstOffset: 130,
        lastOffset: 180,
        arrivalWaitCycles: 10, // tile 7 arrives at 130, tile 3 at 140
        boundaryCycles: 10, // 180 - 140, less 30 event cycles
      },
      {
        name: "copy",
        samples: 1,
        tiles: 1,
        phases: 1,
        phaseCycles: 40,
        phaseMs: 40,
        workCycles: 40,
        averageActiveTiles: 1,
        meanCycles: 40,
        p50Cycles: 40,
        p95Cycles: 40,
        maximumCycles: 40,
        firstOffset: 100,
        lastOffset: 140,
        arrivalWaitCycles: null,
        boundaryCycles: null,
      },
    ]);
  });

  test("lose what is before the last tile's start where time is cropped", () => {
    const cropped = ask(TWO, { isSharedClock: false });
    expect([cropped.profileSpanCycles, cropped.droppedSampleCount]).toEqual([170, 0]);
    expect(cropped.groups[0]).toMatchObject({
      name: "gemm",
      phaseCycles: 120,
      workCycles: 90 + 120,
      firstOffset: 0,
      lastOffset: 120,
    });
  });

  test("wait in a phase as all tiles do, whichever are asked for", () => {
    const one = ask(TWO, { filters: { tiles: [[7, 7]] }, groupBy: [{ kind: "tile" }] });
    expect(one.groups).toMatchObject([
      { name: "tile 7", samples: 2, arrivalWaitCycles: 10, boundaryCycles: 10 },
    ]);
  });
});

test("a sample that ends before the last tile begins, or has no length, is in no group", () => {
  const profile = recorded(tile(0, 0, [5, COMPUTE], [20, COPY]), tile(1, 10, [0, COPY], [9, COPY]));
  const { groups, droppedSampleCount, matchedSampleCount } = ask(profile, { isSharedClock: false });
  expect([droppedSampleCount, matchedSampleCount]).toEqual([2, 2]);
  expect(groups).toMatchObject([{ name: "copy", samples: 2, workCycles: 15 + 9, tiles: 2 }]);
});

// prettier-ignore
test.each<[string, GroupKey[], string[]]>([
  ["kernel",               [{ kind: "kernel" }],                       ["gemm", "exchange", "copy"]],
  ["kind",                 [{ kind: "kind" }],                         ["compute", "exchange"]],
  ["operation",            [{ kind: "operation" }],                    ["operation.0", "operation.1"]],
  ["phase",                [{ kind: "phase" }],                        ["phase 0/0", "phase 2^31+4/0", "phase 1/0"]],
  ["tile",                 [{ kind: "tile" }],                         ["tile 3", "tile 7"]],
  ["metadata, missing",    [{ kind: "metadata", name: "bytes" }],      ["(missing)"]],
  ["two keys",             [{ kind: "tile" }, { kind: "kind" }],
    ["tile 3, compute", "tile 7, compute", "tile 7, exchange", "tile 3, exchange"]],
])("groups by %s are named", (_, groupBy, expected) => {
  expect(ask(TWO, { groupBy }).groups.map(({ name }) => name)).toEqual(expected);
});

test("samples without a name are a group, and of metadata the first entry counts", () => {
  const metadata = [
    { name: "bytes", value: "8" },
    { name: "bytes", value: "16" },
  ];
  const profile = recorded(tile(0, 0, [9, work({ kernel: "", operation: "", metadata })]));
  const name = (groupBy: GroupKey): string => ask(profile, { groupBy: [groupBy] }).groups[0].name;
  expect(name({ kind: "kernel" })).toBe("(no kernel)");
  expect(name({ kind: "operation" })).toBe("(no operation)");
  expect(name({ kind: "metadata", name: "bytes" })).toBe("8");
});

// prettier-ignore
test.each<[string, SampleFilters, number]>([
  ["nothing",                           {},                                            5],
  ["a kind",                            { kinds: ["exchange"] },                       2],
  ["either of two kinds",               { kinds: ["exchange", "compute"] },            5],
  ["a kernel",                          { kernels: ["copy"] },                         1],
  ["a kernel's beginning",              { kernels: ["cop"] },                          0],
  ["part of a kernel's name",           { kernelContains: "em" },                      2],
  ["part of an operation's name",       { operationContains: ".1" },                   1],
  ["a tile",                            { tiles: [[3, 3]] },                           3],
  ["a range of tiles",                  { tiles: [[0, 9]] },                           5],
  ["a tile or another",                 { tiles: [[3, 3], [7, 7]] },                   5],
  ["a phase",                           { phases: [PHASE + 4] },                       2],
  ["a work item of that number",        { phases: [4] },                               0],
  ["a tile and a kind",                 { tiles: [[3, 3]], kinds: ["compute"] },       2],
  ["the first cycle",                   { atOffset: 0 },                               1],
  ["a cycle at which one ends",         { atOffset: 100 },                             2],
  ["the last cycle",                    { atOffset: 179 },                             2],
  ["the cycle after it",                { atOffset: 180 },                             0],
  ["metadata that is not there",        { metadata: [{ name: "bytes", value: "8" }] }, 0],
])("filtered by %s", (_, filters, expected) => {
  expect(ask(TWO, { filters }).matchedSampleCount).toBe(expected);
});

test("of several metadata entries all must be there", () => {
  const metadata = [
    { name: "bytes", value: "8" },
    { name: "reason", value: "LocalCopy" },
  ];
  const profile = recorded(
    tile(0, 0, [9, work({ metadata })], [9, work({ metadata: [metadata[0]] })]),
  );
  const matched = (...of: typeof metadata): number =>
    ask(profile, { filters: { metadata: of } }).matchedSampleCount;
  expect([matched(metadata[0]), matched(...metadata)]).toEqual([2, 1]);
  expect(matched({ name: "bytes", value: "LocalCopy" })).toBe(0);
});

describe("groups are ranked", () => {
  const profile = recorded(
    tile(9, 0, [10, work({ kernel: "k10" })], [10, work({ kernel: "k9" })], [5, exchange(0, 1)]),
  );
  const names = (query: Partial<ProfileQuery>): string[] =>
    ask(profile, query).groups.map(({ name }) => name);

  // prettier-ignore
  test.each<[ProfileQuery["sortBy"], string[], string]>([
    ["phase-cycles",        ["k10", "k9", "exchange"], "ties by first offset"],
    ["name",                ["exchange", "k9", "k10"], "numbers by value"],
    ["first-offset",        ["k10", "k9", "exchange"], "time"],
    ["arrival-wait-cycles", ["exchange", "k10", "k9"], "what is not known comes last"],
    ["boundary-cycles",     ["exchange", "k10", "k9"], "the same"],
  ])("by %s: %j, %s", (sortBy, expected) => {
    expect(names({ sortBy })).toEqual(expected);
  });

  test("and cut at the limit", () => {
    expect(names({ limit: 2 })).toEqual(["k10", "k9"]);
    expect(ask(profile, { limit: 2 }).groupCount).toBe(3);
  });

  test("and the longest samples come by tile, then offset, where they are equally long", () => {
    expect(ask(profile, { samples: 2 }).samples).toMatchObject([
      { physicalTile: 9, offset: 0, duration: 10, kernel: "k10" },
      { physicalTile: 9, offset: 10, duration: 10, kernel: "k9" },
    ]);
  });
});

// prettier-ignore
test.each([
  // values                 p    value  why
  [[7],                    95,   7,     "one"],
  [[1, 2],                 50,   1,     "floor(0.5)"],
  [[1, 2, 3],              50,   2,     "the middle"],
  [[1, 2, 3, 4],           50,   2,     "floor(1.5)"],
  [[...Array(100).keys()], 95,   94,    "floor(94.05)"],
  [[...Array(101).keys()], 95,   95,    "exactly"],
  [[1, 9],                 100,  9,     "the largest"],
])("of %j, percentile %i is %i: %s", (ascending, percent, expected) => {
  expect(percentile(ascending, percent)).toBe(expected);
});

// prettier-ignore
test.each<[string, number | null]>([
  ["0", 0],  ["17", 17],  ["2^31+0", PHASE],  ["2^31+3", PHASE + 3],  ["2147483651", PHASE + 3],
  ["4294967295", 2 ** 32 - 1],  ["2^31+2147483647", 2 ** 32 - 1],
  ["4294967296", null],  ["2^31+2147483648", null],  ["", null],  ["-1", null],  ["2^31", null],  ["1e3", null],
])("the phase %j is %j", (text, phase) => {
  expect(parsePhase(text)).toBe(phase);
  if (phase !== null) expect(parsePhase(phaseText(phase))).toBe(phase);
});

/** A group as its definitions say, cycle by cycle. */
function slowGroup(name: string, profile: Profile, isSharedClock: boolean): object {
  const origin = clockOrigin(profile);
  const crop = isSharedClock ? 0 : entrySpan(profile, origin);
  const own: { tile: number; cycles: number[]; step: ProfileStep }[] = [];
  for (const { physicalTile, samples } of profile.tiles) {
    for (const sample of samples) {
      const cycles = cyclesOf(sample, origin).flatMap((t) => (t >= crop ? [t - crop] : []));
      const { step } = sample;
      if (cycles.length > 0 && nameOf(step) === name)
        own.push({ tile: physicalTile, cycles, step });
    }
  }
  const lengths = own.map(({ cycles }) => cycles.length).toSorted((a, b) => a - b);
  const all = own.flatMap(({ cycles }) => cycles);
  return {
    samples: own.length,
    tiles: new Set(own.map((one) => one.tile)).size,
    phases: new Set(own.map(({ step }) => `${step.phase} ${step.epoch}`)).size,
    phaseCycles: new Set(all).size,
    workCycles: all.length,
    p50Cycles: lengths[Math.floor((lengths.length - 1) * 0.5)],
    p95Cycles: lengths[Math.floor(((lengths.length - 1) * 95) / 100)],
    maximumCycles: Math.max(...lengths),
    firstOffset: Math.min(...all),
    lastOffset: Math.max(...all) + 1,
  };
}

function cyclesOf(sample: Sample, origin: number): number[] {
  const start = offset(sample.start, origin);
  return Array.from({ length: duration(sample) }, (_, i) => start + i);
}

function nameOf({ kind, operation }: ProfileStep): string {
  return `${kind}, ${operation === "" ? "(no operation)" : operation}`;
}

describe("laws", () => {
  const groupBy: GroupKey[] = [{ kind: "kind" }, { kind: "operation" }];

  test("groups are what counting cycle by cycle gives, and hold each matched sample once", () => {
    fc.assert(
      fc.property(
        recordings,
        fc.boolean(),
        fc.constantFrom(...SORT_KEYS),
        (profile, isSharedClock, sortBy) => {
          const result = ask(profile, { groupBy, isSharedClock, sortBy });
          for (const group of result.groups) {
            expect(group).toMatchObject(slowGroup(group.name, profile, isSharedClock));
            expect(group.averageActiveTiles).toBe(group.workCycles / group.phaseCycles);
            expect(group.meanCycles).toBe(group.workCycles / group.samples);
          }
          const inGroups = result.groups.reduce((sum, { samples }) => sum + samples, 0);
          expect(inGroups).toBe(result.matchedSampleCount);
          expect(inGroups + result.droppedSampleCount).toBe(result.sampleCount);
        },
      ),
    );
  });

  test("waits and boundaries are those of the group's phases", () => {
    fc.assert(
      fc.property(recordings, (profile) => {
        const { phases } = exchangeSummary(profile);
        for (const group of ask(profile, {
          groupBy: [{ kind: "phase" }],
          filters: { kinds: ["exchange"] },
        }).groups) {
          const phase = phases.find(
            (one) => group.name === `phase ${phaseText(one.phase)}/${one.epoch}`,
          );
          expect(group.arrivalWaitCycles).toBe(phase?.arrivalWaitCycles ?? null);
          expect(group.boundaryCycles).toBe(phase?.boundaryCycles ?? null);
        }
      }),
    );
  });

  test("kinds part the samples, and counters may stand at anything", () => {
    fc.assert(
      fc.property(recordings, fc.nat({ max: 2 ** 32 - 1 }), (profile, by) => {
        const whole = ask(profile);
        const parts = STEP_KINDS.map(
          (kind) => ask(profile, { filters: { kinds: [kind] } }).matchedSampleCount,
        );
        expect(parts.reduce((sum, part) => sum + part, 0)).toBe(whole.matchedSampleCount);
        expect(ask(shifted(profile, by))).toEqual(whole);
      }),
    );
  });
});
