import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { clockOrigin, duration, offset } from "../../src/trace/counters.ts";
import { exchangeSummary } from "../../src/trace/exchange-summary.ts";
import type { ExchangeWork } from "../../src/trace/exchange-summary.ts";
import type {
  ActivityKind,
  ExchangeActivity,
  Profile,
  ProfileStep,
} from "../../src/trace/profile.ts";
import { covered } from "../../src/trace/timeline.ts";
import { COMPUTE, PHASE, exchange, recorded, recordings, tile, work } from "./recorded.ts";

/** `send 0-5` and the like. */
function activities(...texts: readonly string[]): ExchangeActivity[] {
  return texts.map((text) => {
    const [kind, times] = text.split(" ");
    const [start, end] = times.split("-").map(Number);
    return { kind: kind as ActivityKind, start, end };
  });
}

/** Work of one sample of a phase of 20 cycles: send, receive, both, partner busy, idle. */
function workOf(...texts: readonly string[]): number[] {
  const step = exchange(0, 20, { activities: activities(...texts) });
  const { work: sums } = exchangeSummary(recorded(tile(0, 0, [30, step])));
  return partsOf(sums);
}

function partsOf(sums: ExchangeWork): number[] {
  const { sendCycles, receiveCycles, simultaneousCycles, partnerBusyCycles, idleCycles } = sums;
  return [sendCycles, receiveCycles, simultaneousCycles, partnerBusyCycles, idleCycles];
}

// prettier-ignore
test.each([
  // activities                                      send  receive  both  busy  idle  why
  [["send 0-5"],                                     [5,   0,       0,    0,    15],  "one"],
  [["send 2-5", "send 5-9"],                         [7,   0,       0,    0,    13],  "two that touch"],
  [["send 2-6", "send 5-9"],                         [7,   0,       0,    0,    13],  "two that overlap count once"],
  [["send 5-9", "send 2-6"],                         [7,   0,       0,    0,    13],  "in any order"],
  [["send 2-9", "send 3-4"],                         [7,   0,       0,    0,    13],  "one within another"],
  [["send 0-8", "receive 5-12"],                     [5,   4,       3,    0,    8],   "both at once are apart"],
  [["partnerBusy 0-10"],                             [0,   0,       0,    10,   10],  "a lane that is lent"],
  [["partnerBusy 0-10", "receive 5-12"],             [0,   7,       0,    5,    8],   "receiving goes before a lent lane"],
  [["send 15-25"],                                   [5,   0,       0,    0,    15],  "cut at the event cycles"],
  [["send 25-30"],                                   [0,   0,       0,    0,    20],  "all beyond"],
  [["send 9-3"],                                     [0,   0,       0,    0,    20],  "an end before its start is nothing"],
  [["send 4-4"],                                     [0,   0,       0,    0,    20],  "no length"],
])("%j in 20 cycles is %j: %s", (texts, expected) => {
  expect(workOf(...texts)).toEqual(expected);
});

test("without activities there is no work", () => {
  const { work: sums } = exchangeSummary(recorded(tile(0, 0, [30, exchange(0, 20)])));
  expect([sums.samples, ...partsOf(sums)]).toEqual([0, 0, 0, 0, 0, 0]);
});

test("a phase lasts from the last arrival to the last end", () => {
  const summary = exchangeSummary(
    recorded(
      tile(0, 2 ** 32 - 5, [10, COMPUTE], [50, exchange(2, 30)], [7, exchange(3, 9)]),
      tile(4, 2 ** 32 - 5, [25, COMPUTE], [40, exchange(2, 31)]),
    ),
  );
  expect(summary.phases).toEqual([
    {
      phase: PHASE + 2,
      epoch: 0,
      operation: "operation.0",
      samples: 2,
      untimedSamples: 0,
      scheduledCycles: 31,
      measuredCycles: 40, // from 25 to 65
      arrivalWaitCycles: 15, // from 10 to 25
      boundaryCycles: 9,
    },
    {
      phase: PHASE + 3,
      epoch: 0,
      operation: "operation.0",
      samples: 1,
      untimedSamples: 0,
      scheduledCycles: 9,
      measuredCycles: 7,
      arrivalWaitCycles: 0,
      boundaryCycles: 0, // not less
    },
  ]);
  expect(summary).toMatchObject({
    measuredCycles: 47,
    scheduledCycles: 40,
    arrivalWaitCycles: 15,
    boundaryCycles: 9,
  });
});

// prettier-ignore
test.each<[string, ProfileStep, number]>([
  ["has event cycles",       exchange(0, 1),                                          1],
  ["has none",               exchange(0, 0),                                          0],
  ["is a sync",              exchange(0, 5, { kind: "synchronization" }),             0],
  ["is work",                work({ eventCycles: 5 }),                                0],
])("a step that %s makes %#", (_, step, phases) => {
  expect(exchangeSummary(recorded(tile(0, 0, [9, step]))).phases.length).toBe(phases);
});

test("phases come by epoch, then by number", () => {
  const steps = [
    exchange(1, 9, { epoch: 1 }),
    exchange(2, 9),
    exchange(1, 9),
    exchange(0, 9, { epoch: 1 }),
  ];
  const { phases } = exchangeSummary(
    recorded(tile(0, 0, ...steps.map((step) => [9, step] as const))),
  );
  expect(phases.map(({ phase, epoch }) => [phase - PHASE, epoch])).toEqual([
    [1, 0],
    [2, 0],
    [0, 1],
    [1, 1],
  ]);
});

test("a sample without times counts for the schedule alone", () => {
  const timed = tile(0, 100, [40, exchange(0, 30)]);
  const untimed = tile(1, 100, [0, exchange(0, 35)]);
  expect(exchangeSummary(recorded(timed, untimed)).phases).toMatchObject([
    {
      samples: 2,
      untimedSamples: 1,
      scheduledCycles: 35,
      measuredCycles: 40,
      arrivalWaitCycles: 0,
    },
  ]);
  expect(exchangeSummary(recorded(untimed))).toMatchObject({
    phases: [{ measuredCycles: null, arrivalWaitCycles: null, boundaryCycles: null }],
    measuredCycles: 0,
    scheduledCycles: 35,
  });
});

/** What a tile does at each of a step's event cycles, one by one. */
function slowWork({ tiles }: Profile): number[] {
  const sums = [0, 0, 0, 0, 0];
  for (const { step } of tiles.flatMap(({ samples }) => samples)) {
    if (step.kind !== "exchange" || step.activities.length === 0) continue;
    for (let t = 0; t < step.eventCycles; t++) {
      const does = (kind: ActivityKind): boolean =>
        step.activities.some((one) => one.kind === kind && one.start <= t && t < one.end);
      const [sends, receives] = [does("send"), does("receive")];
      if (sends && receives) sums[2]++;
      else if (sends) sums[0]++;
      else if (receives) sums[1]++;
      else if (does("partnerBusy")) sums[3]++;
      else sums[4]++;
    }
  }
  return sums;
}

/** A phase's waits, from all its samples at once. */
function slowPhase(profile: Profile, phase: number, epoch: number): object {
  const origin = clockOrigin(profile);
  const own = profile.tiles
    .flatMap(({ samples }) => samples)
    .filter(({ step }) => step.kind === "exchange" && step.phase === phase && step.epoch === epoch)
    .filter(({ step }) => step.eventCycles > 0);
  const timed = own.filter(({ start, end }) => start !== end);
  const starts = timed.map(({ start }): number => offset(start, origin));
  const ends = timed.map((sample) => offset(sample.start, origin) + duration(sample));
  const scheduledCycles = Math.max(...own.map(({ step }) => step.eventCycles));
  const measuredCycles = timed.length === 0 ? null : Math.max(...ends) - Math.max(...starts);
  return {
    samples: own.length,
    untimedSamples: own.length - timed.length,
    scheduledCycles,
    measuredCycles,
    arrivalWaitCycles: timed.length === 0 ? null : Math.max(...starts) - Math.min(...starts),
    boundaryCycles: measuredCycles === null ? null : Math.max(0, measuredCycles - scheduledCycles),
  };
}

describe("laws", () => {
  test("work and phases are what counting one by one gives, and add up", () => {
    fc.assert(
      fc.property(recordings, (profile) => {
        const summary = exchangeSummary(profile);
        expect(partsOf(summary.work)).toEqual(slowWork(profile));
        const parts = partsOf(summary.work).reduce((sum, part) => sum + part, 0);
        expect(parts).toBe(summary.work.scheduledCycles);
        for (const phase of summary.phases) {
          expect(phase).toMatchObject(slowPhase(profile, phase.phase, phase.epoch));
        }
        const measured = summary.phases.map(({ measuredCycles }) => measuredCycles ?? 0);
        expect(summary.measuredCycles).toBe(measured.reduce((sum, one) => sum + one, 0));
      }),
    );
  });

  test("what intervals cover is what marking cycle by cycle gives", () => {
    const intervals = fc.array(
      fc.record({ start: fc.nat(50), end: fc.nat(60) }).filter(({ start, end }) => start <= end),
    );
    fc.assert(
      fc.property(intervals, (list) => {
        const marked = new Set(
          list.flatMap(({ start, end }) =>
            Array.from({ length: end - start }, (_, i) => start + i),
          ),
        );
        expect(covered(list)).toBe(marked.size);
      }),
    );
  });
});
