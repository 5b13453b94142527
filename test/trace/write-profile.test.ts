import fc from "fast-check";
import { expect, test } from "vitest";
import type { MetadataEntry, Profile, Sample } from "../../src/trace/profile.ts";
import { readProfile } from "../../src/trace/read-profile.ts";
import { writeProfile } from "../../src/trace/write-profile.ts";
import { SAMPLE, hex, pack, profileOf, profiles } from "./support.ts";

test("what is written stands in the order in which the compiler's tools write it", () => {
  expect(writeProfile(profileOf(SAMPLE))).toEqual(
    hex(`
    00000000 1b000000 # 27 words
    00000000 02000100 # root
    05000000 00000000 # schemaVersion
    002f6859 00000000 # clockHz
    01000000 17000000 # tiles
    04000000 01000100
    2a000000 00000000 #   physicalTile
    01000000 17000000 #   samples
    04000000 01000100
    0a000000 10000000 #     startCycle, endCycle
    00000000 03000400 #     step
    01000000 02000080 #       localIndex, phase
    00000000 02000000 #       epoch, kind
    03000000 00000000 #       exchangeEventCycles
    0d000000 0a000000 #       operation: an empty text, not null
    0d000000 2a000000 #       kernel
    0d000000 17000000 #       metadata
    1d000000 17000000 #       exchangeActivities
    00000000 00000000 #       ''
    73796e63 00000000 #       'sync'
    04000000 00000200 #       tag: 1 entry
    05000000 32000000 #         name
    05000000 12000000 #         value
    76616c75 65000000
    37000000 00000000
    04000000 02000000 #       tag: 1 activity
    02000000 05000000 #         kind, startCycle
    09000000 00000000 #         endCycle`),
  );
});

/** Words of the segments, from the table. */
function segmentWords(bytes: Uint8Array): number[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  const segments = view.getUint32(0, true) + 1;
  return Array.from({ length: segments }, (_, s) => view.getUint32(4 + 4 * s, true));
}

/** Entries of six words each: two pointers, texts of two words. */
function entries(count: number): MetadataEntry[] {
  return Array.from({ length: count }, () => ({ name: "a longer name", value: "a longer value" }));
}

function stepWith(metadata: readonly MetadataEntry[]): Sample {
  return { ...SAMPLE, step: { ...SAMPLE.step, metadata, activities: [] } };
}

// prettier-ignore
test.each<[string, Profile, readonly number[]]>([
  // From the root to the last tag, a step with n entries and no activities takes 21 + 6n words.
  ["all that fits in the first segment's 1,024 words",
    profileOf(stepWith(entries(167))), [1023]],
  ["two texts of 2 words and a tag go to the next segment, each with a landing pad",
    profileOf(stepWith(entries(168))), [1024, 8]],
  ["1,472 tiles are a list in a segment of just its size; 510 pads and tags fill the first one, 962 the third",
    { ...profileOf(), tiles: Array.from({ length: 1472 }, (_, t) => ({ physicalTile: t, samples: [] })) },
    [1024, 0xb82, 1924]],
])("%s", (_, profile, words) => {
  const bytes = writeProfile(profile);
  expect(segmentWords(bytes)).toEqual(words);
  expect(readProfile(bytes)).toEqual(profile);
});

test("segments grow as in the recorded profile, up to the words that no value fitted", () => {
  const samples = Array.from({ length: 28 }, () => stepWith(entries(8)));
  const tiles = Array.from({ length: 1472 }, (_, t) => ({ physicalTile: t, samples }));
  const words = segmentWords(writeProfile({ ...profileOf(), tiles })).slice(0, 9);
  const recorded = [0x400, 0xb82, 0x1382, 0x2704, 0x4e08, 0x9c10, 0x13820, 0x27040, 0x4e080];
  for (const [s, capacity] of recorded.entries()) {
    expect(words[s]).toBeLessThanOrEqual(capacity);
    expect(words[s]).toBeGreaterThan(capacity - 3);
  }
});

test("any profile, written and read again, is the same, packed too", () => {
  fc.assert(
    fc.property(profiles, (profile) => {
      const bytes = writeProfile(profile);
      expect(readProfile(bytes)).toEqual(profile);
      expect(readProfile(pack(bytes))).toEqual(profile);
      expect(writeProfile(readProfile(bytes))).toEqual(bytes);
    }),
  );
});
