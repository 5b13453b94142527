import fc from "fast-check";
import { ACTIVITY_KINDS, NEWEST_SCHEMA, STEP_KINDS } from "../../src/trace/profile.ts";
import type { Profile, Sample } from "../../src/trace/profile.ts";

/** Bytes of lines of hex; `#` begins a comment. */
export function hex(text: string): Uint8Array {
  return Uint8Array.from(Buffer.from(text.replaceAll(/#.*|\s/g, ""), "hex"));
}

/**
 * Schema 5, 1.5 GHz, tile 42 with one sample that has one of everything: a word a line, its number first. The
 * right half of a list pointer is 8 times the elements, or words of structs, plus the code of their size.
 */
export const WORDS: readonly string[] = [
  "00000000 02000100 #  0 root: struct, next word, 2 words of data, 1 pointer",
  "05000000 00000000 #  1 schemaVersion 5",
  "002f6859 00000000 #  2 clockHz 1,500,000,000",
  "01000000 17000000 #  3 tiles: list, next word, structs of 2 words in all",
  "04000000 01000100 #  4   tag: 1 tile of 1 word of data, 1 pointer",
  "2a000000 00000000 #  5   physicalTile 42",
  "01000000 17000000 #  6   samples: list, next word, structs of 2 words in all",
  "04000000 01000100 #  7     tag: 1 sample of 1 word of data, 1 pointer",
  "0a000000 10000000 #  8     startCycle 10, endCycle 16",
  "00000000 03000400 #  9     step: struct, next word, 3 words of data, 4 pointers",
  "01000000 02000080 # 10       localIndex 1, phase 2^31 + 2",
  "00000000 02000000 # 11       epoch 0, kind 2: synchronization",
  "03000000 00000000 # 12       exchangeEventCycles 3",
  "00000000 00000000 # 13       operation: null",
  "09000000 2a000000 # 14       kernel: list, 2 words on (17), 5 bytes",
  "09000000 17000000 # 15       metadata: list, 2 words on (18), structs of 2 words in all",
  "19000000 17000000 # 16       exchangeActivities: list, 6 words on (23), structs of 2 words in all",
  "73796e63 00000000 # 17       'sync'",
  "04000000 00000200 # 18         tag: 1 entry of 2 pointers",
  "05000000 32000000 # 19         name: list, 1 word on (21), 6 bytes",
  "05000000 12000000 # 20         value: list, 1 word on (22), 2 bytes",
  "76616c75 65000000 # 21         'value'",
  "37000000 00000000 # 22         '7'",
  "04000000 02000000 # 23         tag: 1 activity of 2 words of data",
  "02000000 05000000 # 24         kind 2: partnerBusy, startCycle 5",
  "09000000 00000000 # 25         endCycle 9",
];

/** `WORDS` with some replaced, as a file of one segment: word w stands at byte 8 + 8 * w. */
export function plain(replaced: Readonly<Record<number, string>> = {}): Uint8Array {
  const words = WORDS.map((word, w) => replaced[w] ?? word);
  return hex(`00000000 1a000000\n${words.join("\n")}`);
}

export const SAMPLE: Sample = {
  start: 10,
  end: 16,
  step: {
    localIndex: 1,
    phase: 0x80000002,
    epoch: 0,
    operation: "",
    kind: "synchronization",
    kernel: "sync",
    metadata: [{ name: "value", value: "7" }],
    activities: [{ kind: "partnerBusy", start: 5, end: 9 }],
    eventCycles: 3,
  },
};

export function profileOf(...samples: Sample[]): Profile {
  return { schemaVersion: 5, clockHz: 1_500_000_000, tiles: [{ physicalTile: 42, samples }] };
}

/** Packs a message as https://capnproto.org/encoding.html#packing has it; runs after 0xff stay empty. */
export function pack(bytes: Uint8Array): Uint8Array {
  const packed: number[] = [];
  for (let at = 0; at < bytes.length; at += 8) {
    const word = [...bytes.subarray(at, at + 8)];
    const tag = word.reduce((bits, byte, i) => bits | (byte === 0 ? 0 : 1 << i), 0);
    packed.push(tag, ...word.filter((byte) => byte !== 0));
    if (tag === 0xff || tag === 0) packed.push(0);
  }
  return Uint8Array.from(packed);
}

const u32 = fc.nat({ max: 2 ** 32 - 1 });
/** Texts that stand in any profile, some of them often. */
function textOf(unit: "binary" | "grapheme-ascii"): fc.Arbitrary<string> {
  return fc.oneof(
    fc.constantFrom("", "exchange", "operation.3", "kernelSpec", "7"),
    fc.string({ unit, maxLength: 40 }),
  );
}

function samplesWith(text: fc.Arbitrary<string>): fc.Arbitrary<Sample> {
  return fc.record({
    start: u32,
    end: u32,
    step: fc.record({
      localIndex: u32,
      phase: u32,
      epoch: u32,
      operation: text,
      kind: fc.constantFrom(...STEP_KINDS),
      kernel: text,
      metadata: fc.array(fc.record({ name: text, value: text }), { maxLength: 6 }),
      activities: fc.array(
        fc.record({ kind: fc.constantFrom(...ACTIVITY_KINDS), start: u32, end: u32 }),
        { maxLength: 6 },
      ),
      eventCycles: u32,
    }),
  });
}

/** Any profile of the newest schema, of up to a few thousand words, with any text or with ASCII alone. */
export const profiles: fc.Arbitrary<Profile> = profilesWith(textOf("binary"));
export const asciiProfiles: fc.Arbitrary<Profile> = profilesWith(textOf("grapheme-ascii"));

function profilesWith(text: fc.Arbitrary<string>): fc.Arbitrary<Profile> {
  const samples = fc.array(samplesWith(text), { maxLength: 8 });
  return fc.record({
    schemaVersion: fc.constant(NEWEST_SCHEMA),
    clockHz: fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }),
    tiles: fc
      .uniqueArray(fc.record({ physicalTile: u32, samples }), {
        maxLength: 12,
        selector: ({ physicalTile }) => physicalTile,
      })
      .map((tiles) => tiles.toSorted((a, b) => a.physicalTile - b.physicalTile)),
  });
}
