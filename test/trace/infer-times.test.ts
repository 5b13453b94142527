import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { inferTimes } from "../../src/trace/infer-times.ts";
import type { ShownStep, ShownTile } from "../../src/trace/infer-times.ts";
import { readProfile } from "../../src/trace/read-profile.ts";
import { generator } from "./damage.ts";

const CONTEXTS = 6;
const work = (key: string): ShownStep => ({ isPhase: false, key, horizon: 0 });
const phase = (key: string, horizon: number): ShownStep => ({ isPhase: true, key, horizon });
const STEPS = [work("a"), work("b"), phase("x", 40)];

describe("times of which some bytes are shown", () => {
  test("are read where all are", () => {
    const { tiles, turn } = inferTimes(
      [{ candidates: [[5], [17], [41], [101]], steps: STEPS }],
      CONTEXTS,
    );
    expect(tiles[0]).toEqual([5, 17, 41, 101].map((value) => ({ value, origin: "read" })));
    expect(turn).toBe(5);
  });

  test("are those at the turn of the worker that reads the counter", () => {
    const { tiles } = inferTimes(
      [{ candidates: [[5], [16, 17, 18], [41], [101]], steps: STEPS }],
      CONTEXTS,
    );
    expect(tiles[0][1]).toEqual({ value: 17, origin: "turn" });
  });

  test("follow from work whose length two other tiles show", () => {
    const shown: ShownTile = { candidates: [[5], [17], [41], [101]], steps: STEPS };
    const hidden: ShownTile = { candidates: [[11], null, [41, 47, 53], [107]], steps: STEPS };
    const { tiles, durations } = inferTimes([shown, shown, hidden], CONTEXTS);
    expect(Object.fromEntries(durations)).toEqual({ a: 12, b: 24 });
    expect(tiles[2].slice(1, 3)).toEqual([
      { value: 23, origin: "duration" },
      { value: 47, origin: "duration" },
    ]);
  });

  test("stay lost where two lengths serve as well", () => {
    const shown: ShownTile = { candidates: [[5], [17, 23], [41, 47], [101]], steps: STEPS };
    const { tiles, durations } = inferTimes([shown, shown], CONTEXTS);
    expect([...durations]).toEqual([]);
    expect(tiles[0].map(({ origin }) => origin)).toEqual(["read", "lost", "lost", "read"]);
  });

  test("of a phase's end lie where three other tiles show it, less each tile's own horizon", () => {
    const shown = (horizon: number): ShownTile => ({
      candidates: [[5], [17], [41], [61 + horizon]],
      steps: [work("a"), work("b"), phase("x", horizon)],
    });
    const hidden: ShownTile = {
      candidates: [[5], [17], [41], [107, 113, 119, 125]],
      steps: [work("a"), work("b"), phase("x", 52)],
    };
    const { tiles } = inferTimes([shown(40), shown(40), shown(46), hidden], CONTEXTS);
    expect(tiles[3][3]).toEqual({ value: 113, origin: "phase" });
  });

  test("that contradict the rest of their tile are named, and the rest is kept", () => {
    const shown: ShownTile = { candidates: [[5], [17], [41], [101]], steps: STEPS };
    const wrong: ShownTile = { candidates: [[5], [17], [35], [101]], steps: STEPS };
    const { tiles, contradictions } = inferTimes([shown, shown, shown, wrong], CONTEXTS);
    expect(contradictions).toEqual([{ tile: 3, boundary: 2 }]);
    expect(tiles[3][2]).toEqual({ value: 41, origin: "duration" });
  });
});

test.each([
  ["the low byte", 32],
  ["both low bytes", 1024],
])(
  "%s of a fifth of the recorded times hidden: what is inferred is what was recorded",
  (_, count) => {
    const file = join(import.meta.dirname, "../../data/siglip-attention.profile.gz");
    const random = generator(1);
    const truth = new Map<string, number>();
    const tiles = readProfile(readFileSync(file))
      .tiles.filter(({ samples }) => samples.every(({ start, end }) => end > start))
      .map(({ samples }, tile): ShownTile => ({
        candidates: [samples[0].start, ...samples.map(({ end }) => end)].map((time, boundary) => {
          // All tiles show when they began.
          if (boundary === 0 || random() > 0.2) return [time];
          truth.set(`${tile} ${boundary}`, time);
          return hidden(time, count);
        }),
        steps: samples.map(({ step }) => ({
          isPhase: step.kind !== "compute",
          key:
            step.kind === "compute"
              ? `${step.kernel} ${JSON.stringify(step.metadata.filter(({ name }) => name !== "value"))}`
              : `${step.kind} ${step.phase}`,
          horizon: Math.max(0, ...step.activities.map(({ end }) => end)),
        })),
      }));
    const { tiles: inferred } = inferTimes(tiles, CONTEXTS);
    let known = 0;
    for (const [place, time] of truth) {
      const [tile, boundary] = place.split(" ").map(Number);
      const { value } = inferred[tile][boundary];
      if (value === null) continue;
      known++;
      expect(value).toBe(time);
    }
    expect(truth.size).toBeGreaterThan(4000);
    expect(known / truth.size).toBeGreaterThan(0.9);
  },
);

/** Times that differ in the low five bits of one byte or of two: what a capture leaves of bytes that it drops. */
function hidden(time: number, count: number): number[] {
  const [low, high] = [time % 32, Math.floor(time / 256) % 32];
  const rest = time - low - 256 * high;
  return Array.from({ length: count }, (_, i) =>
    count === 32 ? time - low + i : rest + (i % 32) + 256 * Math.floor(i / 32),
  );
}
