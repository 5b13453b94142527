import { describe, expect, test } from "vitest";
import { parseCertainty } from "../../src/trace/certainty.ts";
import { holdAgainst } from "../../src/trace/hold.ts";
import type { Profile, ProfileStep, Sample } from "../../src/trace/profile.ts";

const step = (localIndex: number, more: Partial<ProfileStep> = {}): ProfileStep => ({
  localIndex,
  phase: localIndex,
  epoch: 0,
  operation: "operation.0",
  kind: "compute",
  kernel: "gemm",
  metadata: [
    { name: "kernelSpec", value: "Gemm" },
    { name: "invocations", value: "1" },
  ],
  activities: [],
  eventCycles: 0,
  ...more,
});
const exchange = (localIndex: number, eventCycles: number): ProfileStep =>
  step(localIndex, {
    kind: "exchange",
    kernel: "exchange",
    phase: 2 ** 31,
    metadata: [],
    eventCycles,
  });

/** One tile's steps one after another from a start on. */
function profileOf(...tiles: { at: number; steps: [ProfileStep, number][] }[]): Profile {
  return {
    schemaVersion: 5,
    clockHz: 1_000_000,
    tiles: tiles.map(({ at, steps }, physicalTile) => {
      let start = at;
      const samples = steps.map(([own, length]): Sample => {
        const sample = { start: start >>> 0, end: (start + length) >>> 0, step: own };
        start += length;
        return sample;
      });
      return { physicalTile, samples };
    }),
  };
}

const recorded = profileOf(
  {
    at: 1000,
    steps: [
      [step(0), 60],
      [exchange(1, 30), 90],
    ],
  },
  {
    at: 1006,
    steps: [
      [step(0), 66],
      [exchange(1, 30), 84],
    ],
  },
);

describe("a run held against a profile", () => {
  test("that it equals matches in every step and end, whatever the counters began with", () => {
    const run = profileOf(
      {
        at: 0,
        steps: [
          [step(0), 60],
          [exchange(1, 30), 90],
        ],
      },
      {
        at: 6,
        steps: [
          [step(0), 66],
          [exchange(1, 30), 84],
        ],
      },
    );
    const { match, ends, residualCycles, recordedTotal } = holdAgainst(recorded, null, run);
    expect(match).toEqual({
      tiles: 2,
      visible: 4,
      matched: 4,
      hidden: 0,
      mismatches: [],
    });
    expect(ends).toMatchObject({ visible: 4, exact: 4, worst: null, totalErrorPercent: 0 });
    expect([residualCycles, recordedTotal]).toEqual([0, 156]);
  });

  test("across a counter that wraps is held the same", () => {
    const wrapped = profileOf(
      {
        at: 2 ** 32 - 100,
        steps: [
          [step(0), 60],
          [exchange(1, 30), 90],
        ],
      },
      {
        at: 2 ** 32 - 94,
        steps: [
          [step(0), 66],
          [exchange(1, 30), 84],
        ],
      },
    );
    expect(holdAgainst(wrapped, null, recorded).ends).toMatchObject({ visible: 4, exact: 4 });
  });

  test("shows signed errors by part, and by kind of step from the worst down", () => {
    const run = profileOf(
      {
        at: 0,
        steps: [
          [step(0), 72],
          [exchange(1, 30), 90],
        ],
      },
      {
        at: 6,
        steps: [
          [step(0), 66],
          [exchange(1, 30), 90],
        ],
      },
    );
    const { ends, parts, residualCycles, kernelCycles, phaseCycles } = holdAgainst(
      recorded,
      null,
      run,
    );
    // Ends: 72 for 60, 162 for 150; 72 for 72, 162 for 156.
    expect(ends).toMatchObject({ exact: 1, within12: 4, medianAbs: 6, p95Abs: 12 });
    expect(ends.worst).toMatchObject({
      physicalTile: 0,
      step: 0,
      predicted: 72,
      recorded: 60,
      error: 12,
    });
    expect(ends.totalErrorPercent).toBeCloseTo((100 * 6) / 156, 9);
    expect(
      ends.kinds.map(({ kernel, ends: count, meanError }) => [kernel, count, meanError]),
    ).toEqual([
      ["gemm", 2, 6],
      ["exchange 0", 2, 9],
    ]);
    expect(
      parts.map(({ part, recordedCycles, predictedCycles }) => [
        part,
        recordedCycles,
        predictedCycles,
      ]),
    ).toEqual([
      ["kernels", 126, 138],
      ["exchange", 174, 180],
    ]);
    // Total 162 for 156 on two tiles is 12; the parts are 18: tile 0 ended as early as it could before.
    expect(residualCycles).toBe(12 - 18);
    expect([...kernelCycles]).toEqual([["gemm  1", 60]]);
    expect([...phaseCycles]).toEqual([[2 ** 31, 30]]);
  });

  test("lists each field that differs, and steps that the one lacks", () => {
    const run = profileOf(
      {
        at: 0,
        steps: [
          [step(0, { kernel: "gelu", metadata: [{ name: "kernelSpec", value: "Gelu" }] }), 60],
        ],
      },
      {
        at: 6,
        steps: [
          [step(0), 66],
          [exchange(1, 31), 84],
        ],
      },
    );
    const { match } = holdAgainst(recorded, null, run);
    expect([match.visible, match.matched]).toEqual([4, 1]);
    expect(match.mismatches).toEqual([
      { physicalTile: 0, step: 0, field: "kernel", recorded: "gemm", scheduled: "gelu" },
      { physicalTile: 0, step: 0, field: "kernelSpec", recorded: "Gemm", scheduled: "Gelu" },
      { physicalTile: 0, step: 0, field: "invocations", recorded: "1", scheduled: null },
      { physicalTile: 0, step: 1, field: "step", recorded: "exchange 0", scheduled: null },
      { physicalTile: 1, step: 1, field: "eventCycles", recorded: "30", scheduled: "31" },
    ]);
  });

  test("leaves out times that are lost and texts that are not shown", () => {
    const side = {
      tiles: [
        { physicalTile: 0, endCycle: "rl", isShown: "yn" },
        { physicalTile: 1, endCycle: "ll", isShown: "ny" },
      ],
    };
    const { match, ends } = holdAgainst(recorded, side, recorded);
    expect([match.visible, match.matched, ends.visible]).toEqual([2, 2, 1]);
    const untimed = profileOf({
      at: 1000,
      steps: [
        [step(0), 0],
        [exchange(1, 30), 0],
      ],
    });
    expect(holdAgainst(untimed, null, recorded).ends.visible).toBe(0);
  });
});

describe("a side file", () => {
  const tiles = [0, 1].map((physicalTile) => ({
    physicalTile,
    startCycle: "rr",
    endCycle: "rd",
    isShown: "yn",
  }));
  const profile = { sha256: "abc" };
  const file = { format: "tilesim-certainty", version: 1, profile, tileCertainty: tiles };

  test("is read with its profile", () => {
    expect(parseCertainty(JSON.stringify(file), "side", recorded, "abc").tiles).toEqual(tiles);
  });

  test.each([
    ["no JSON", "{"],
    ["another JSON", "{}"],
    ["one of fewer tiles", JSON.stringify({ ...file, tileCertainty: tiles.slice(1) })],
    [
      "one of other samples",
      JSON.stringify({ ...file, tileCertainty: [tiles[0], { ...tiles[1], endCycle: "r" }] }),
    ],
    [
      "one with other letters",
      JSON.stringify({ ...file, tileCertainty: [tiles[0], { ...tiles[1], endCycle: "R1" }] }),
    ],
    [
      "one that knows a time which the profile lacks",
      JSON.stringify({ ...file, tileCertainty: [tiles[0], { ...tiles[1], endCycle: "rl" }] }),
    ],
    ["one of another profile", JSON.stringify({ ...file, profile: { sha256: "abd" } })],
  ])("is refused where it is %s", (_, text) => {
    expect(() => parseCertainty(text, "side", recorded, "abc")).toThrow(
      expect.objectContaining({ code: "FILE_MALFORMED" }),
    );
  });
});
