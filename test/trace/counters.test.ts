import fc from "fast-check";
import { expect, test } from "vitest";
import { clockOrigin, duration, entrySpan, offset } from "../../src/trace/counters.ts";
import type { Profile } from "../../src/trace/profile.ts";
import { SAMPLE } from "./support.ts";

const WRAP = 2 ** 32;

/** A tile for each list, its samples one after another from reading to reading. */
function profileOfReadings(...tiles: readonly (readonly number[])[]): Profile {
  return {
    schemaVersion: 5,
    clockHz: 1,
    tiles: tiles.map((readings, physicalTile) => ({
      physicalTile,
      samples: readings.slice(1).map((end, i) => ({ ...SAMPLE, start: readings[i], end })),
    })),
  };
}

// prettier-ignore
test.each([
  // start          end   cycles  why
  [          0,       0,        0, "nothing"],
  [        100,     142,       42, "no wrap"],
  [   WRAP - 1,       0,        1, "the last cycle before the wrap"],
  [  WRAP - 10,      32,       42, "across the wrap"],
  [          0, WRAP - 1, WRAP - 1, "the longest there is"],
  [          1,       0, WRAP - 1, "the longest, across the wrap"],
  [ 2 ** 31 - 1, 2 ** 31,       1, "across the sign bit"],
])("from reading %i to %i it takes %i cycles: %s", (start, end, expected) => {
  expect(duration({ start, end })).toBe(expected);
  expect(offset(end, start)).toBe(expected);
});

// prettier-ignore
test.each<[string, readonly (readonly number[])[], number, number]>([
  // why                                          tiles' readings                          origin     entry span
  ["no tiles",                                    [],                                      0,         0],
  ["tiles without samples",                       [[], []],                                0,         0],
  ["one tile",                                    [[700, 800]],                            700,       0],
  ["the first tile is the first to begin",        [[700, 800], [750, 900]],                700,       50],
  ["a later one is",                              [[700, 800], [650, 900], [710, 720]],    650,       60],
  ["a tile without samples is passed over",       [[], [700, 800], [690, 900]],            690,       10],
  ["the first begins after the wrap",             [[5, 9], [WRAP - 5, 9]],                 WRAP - 5,  10],
  ["a later one begins after the wrap",           [[WRAP - 5, 9], [5, 9]],                 WRAP - 5,  10],
  ["all around the sign bit",                     [[2 ** 31, 0], [2 ** 31 - 3, 0]],        2 ** 31 - 3, 3],
])("%s", (_, readings, origin, span) => {
  const profile = profileOfReadings(...readings);
  expect(clockOrigin(profile)).toBe(origin);
  expect(entrySpan(profile, origin)).toBe(span);
});

const readings = fc.array(fc.nat({ max: 2 ** 20 }), { minLength: 2, maxLength: 5 });

test("when the counters stood at something else, offsets and span are the same", () => {
  fc.assert(
    fc.property(fc.array(readings, { minLength: 1 }), fc.nat({ max: WRAP - 1 }), (tiles, shift) => {
      const times = tiles.map((of) => of.toSorted((a, b) => a - b));
      const at = profileOfReadings(...times);
      const shifted = profileOfReadings(...times.map((of) => of.map((t) => (t + shift) % WRAP)));
      const [origin, moved] = [clockOrigin(at), clockOrigin(shifted)];
      expect(offset(moved, shift)).toBe(origin);
      expect(entrySpan(shifted, moved)).toBe(entrySpan(at, origin));
      for (const [t, { samples }] of shifted.tiles.entries()) {
        for (const [s, sample] of samples.entries()) {
          expect(offset(sample.start, moved)).toBe(times[t][s] - origin);
          expect(duration(sample)).toBe(times[t][s + 1] - times[t][s]);
        }
      }
    }),
  );
});
