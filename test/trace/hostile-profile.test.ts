import { gzipSync } from "node:zlib";
import fc from "fast-check";
import { expect, test } from "vitest";
import { SimError } from "../../src/base/errors.ts";
import { readProfile } from "../../src/trace/read-profile.ts";
import { writeProfile } from "../../src/trace/write-profile.ts";
import { simError } from "../layouts/support.ts";
import { SAMPLE, WORDS, hex, pack, plain, profileOf, profiles } from "./support.ts";

const STEP = "profile.tiles[0].samples[0].step";

/** Where word `w` of `WORDS` stands in the file. */
function byteOf(w: number): number {
  return 8 + 8 * w;
}

// prettier-ignore
test.each<[string, string, number, Record<number, string>]>([
  // why                                           field of profile                offset       replaced words
  ["no root pointer's struct",                     "profile",                      byteOf(0),   { 0: "01000000 17000000" }],
  ["a schema older than the first",                "profile.schemaVersion",        byteOf(1),   { 1: "00000000 00000000" }],
  ["a schema newer than the newest",               "profile.schemaVersion",        byteOf(1),   { 1: "06000000 00000000" }],
  ["a null root",                                  "profile.schemaVersion",        byteOf(0),   { 0: "00000000 00000000" }],
  ["a clock of 0 Hz",                              "profile.clockHz",              byteOf(2),   { 2: "00000000 00000000" }],
  ["a clock beyond 2^53",                          "profile.clockHz",              byteOf(2),   { 2: "00000000 00002000" }],
  ["a list beyond the segment",                    "profile.tiles",                byteOf(3),   { 3: "fdffff7f 17000000" }],
  ["a list before the segment",                    "profile.tiles",                byteOf(3),   { 3: "c1ffffff 17000000" }],
  ["a list whose last word is outside",            "profile.tiles",                byteOf(3),   { 3: "01000000 b7000000" }],
  ["a struct where a list should be",              "profile.tiles",                byteOf(3),   { 3: "00000000 01000100" }],
  ["a capability where a list should be",          "profile.tiles",                byteOf(3),   { 3: "03000000 00000000" }],
  ["a list of bits",                               "profile.tiles",                byteOf(3),   { 3: "01000000 11000000" }],
  ["a tag that is a list pointer",                 "profile.tiles",                byteOf(4),   { 4: "05000000 01000100" }],
  ["more elements than words",                     "profile.tiles",                byteOf(4),   { 4: "08000000 01000100" }],
  ["2^30 - 1 elements of no size",                 "profile.tiles",                byteOf(3),   { 4: "fcffffff 00000000" }],
  ["2^29 - 1 elements of a list of nothing",       "profile.tiles",                byteOf(3),   { 3: "01000000 f8ffffff" }],
  ["2^21 + 1 samples of no size",                  "profile.tiles[0].samples",     byteOf(6),   { 6: "01000000 07000000", 7: "04008000 00000000" }],
  ["the same tile twice",                          "profile.tiles[1].physicalTile", byteOf(4) + 4, { 3: "01000000 14000000", 4: "2a000000 2a000000" }],
  ["samples that are the tiles again",             "profile.tiles[0].samples[0].step", byteOf(6), { 6: "f5ffffff 17000000" }],
  ["a step that is its own sample",                `${STEP}.operation`,            byteOf(9),   { 9: "f8ffffff 01000100" }],
  ["a step that is a list",                        STEP,                           byteOf(9),   { 9: "01000000 17000000" }],
  ["a step whose pointers are outside",            STEP,                           byteOf(9),   { 9: "00000000 0300ff00" }],
  ["a kind of step that is none",                  `${STEP}.kind`,                 byteOf(11) + 4, { 11: "00000000 04000000" }],
  ["a kind of activity that is none",              `${STEP}.exchangeActivities[0].kind`, byteOf(24), { 24: "03000000 05000000" }],
  ["a far pointer to no segment",                  STEP,                           byteOf(9),   { 9: "02000000 01000000" }],
  ["a far pointer beyond its segment",             STEP,                           byteOf(9),   { 9: "d2000000 00000000" }],
  ["a double far pointer with half a pad",         STEP,                           byteOf(9),   { 9: "ce000000 00000000" }],
  ["a far pointer to a far pointer",               STEP,                           byteOf(12),  { 9: "62000000 00000000", 12: "62000000 00000000" }],
  ["a double pad that begins with a struct",       STEP,                           byteOf(12),  { 9: "66000000 00000000" , 12: "00000000 03000400" }],
  ["a double pad that begins with a double far",   STEP,                           byteOf(12),  { 9: "66000000 00000000" , 12: "66000000 00000000" }],
  ["a double pad to no segment",                   STEP,                           byteOf(12),  { 9: "66000000 00000000" , 12: "02000000 07000000" }],
  ["a double pad whose tag is far",                STEP,                           byteOf(9),   { 9: "66000000 00000000" , 12: "02000000 00000000", 13: "02000000 00000000" }],
  ["a text of 16-bit numbers",                     `${STEP}.kernel`,               byteOf(14),  { 14: "09000000 2b000000" }],
  ["a text of no bytes, not even NUL",             `${STEP}.kernel`,               byteOf(14),  { 14: "09000000 02000000" }],
  ["a text longer than its segment",               `${STEP}.kernel`,               byteOf(14),  { 14: "09000000 02040000" }],
  ["a text without NUL at its end",                `${STEP}.kernel`,               byteOf(17) + 4, { 17: "73796e63 21000000" }],
  ["a text that is no UTF-8",                      `${STEP}.kernel`,               byteOf(17),  { 17: "73ff6e63 00000000" }],
])("%s is refused at %s", (_, field, offset, replaced) => {
  const { fault } = simError("FILE_MALFORMED", () => readProfile(plain(replaced), "some file"));
  expect(fault.where).toEqual({ file: "some file", field, offset });
});

const utf8 = new TextEncoder();

// prettier-ignore
test.each<[string, string, number, Uint8Array]>([
  ["an empty file",                      "segment table", 0,   new Uint8Array()],
  ["less than a word",                   "segment table", 0,   hex("00000000 010000")],
  ["a table longer than the file",       "segment table", 0,   hex("ffff0000 01000000")],
  ["2^32 segments",                      "segment table", 0,   hex("ffffffff ffffffff")],
  ["no word in the first segment",       "profile",       8,   hex("00000000 00000000")],
  ["a segment longer than the file",     "segment table", 4,   hex("00000000 02000000 00000000 00000000")],
  ["bytes after the message",            "segment table", 216, Buffer.concat([plain(), hex("00")])],
  ["two messages",                       "segment table", 216, Buffer.concat([plain(), plain()])],
  ["prose",                              "segment table", 0,   utf8.encode("hello, this is some text of no kind at all\n")],
  ["JSON",                               "segment table", 0,   utf8.encode('{"schemaVersion":5}')],
  ["a page",                             "segment table", 0,   utf8.encode("<!doctype html>\n<html></html>\n")],
  ["a packed word cut short",            "packed words",  2,   hex("10 07 50 02")],
  ["a run of zeros without its count",   "packed words",  5,   hex("10 07 50 02 01 00")],
  ["a run of words cut short",           "packed words",  2,   hex("10 07 ff 0102030405060708 02 0102030405060708")],
  ["gzip of nothing",                    "segment table", 0,   gzipSync("")],
  ["gzip of text",                       "segment table", 0,   gzipSync("hello, this is some text of no kind at all\n")],
  ["gzip with a wrong checksum",         "gzip",          0,   gzipSync(plain()).map((byte, at, { length }) => at === length - 8 ? byte ^ 1 : byte)],
  ["gzip's magic alone",                 "gzip",          0,   hex("1f8b")],
])("%s is refused in the %s", (_, field, offset, bytes) => {
  const { fault } = simError("FILE_MALFORMED", () => readProfile(bytes));
  expect(fault.where).toMatchObject({ field, offset });
});

test("an offset that is not the file's says what was undone", () => {
  const late = plain({ 24: "03000000 05000000" });
  const where = (bytes: Uint8Array): unknown =>
    simError("FILE_MALFORMED", () => readProfile(bytes)).fault.where.offsetAfterUndoing;
  expect(where(late)).toBeUndefined();
  expect(where(pack(late))).toBe("packed");
  expect(where(gzipSync(late))).toBe("gzip");
  expect(where(gzipSync(pack(late)))).toBe("gzip, packed");
});

test.each<[string, Uint8Array]>([
  ["plain", plain()],
  ["packed", pack(plain())],
  ["gzip", gzipSync(plain())],
  ["of several segments", writeProfile(profileOf(...Array.from({ length: 60 }, () => SAMPLE)))],
])("a %s file cut off anywhere is refused", (_, bytes) => {
  for (let length = 0; length < bytes.length; length++) {
    const { fault } = simError("FILE_MALFORMED", () => readProfile(bytes.subarray(0, length)));
    expect(fault.where).toHaveProperty("offset");
    expect(fault.where).toHaveProperty("field");
  }
});

/** A profile or a typed error with its place; anything else fails. Milliseconds that it took. */
function readOrRefuse(bytes: Uint8Array): number {
  const started = performance.now();
  try {
    readProfile(bytes);
  } catch (error) {
    expect(error).toBeInstanceOf(SimError);
    const { code, fault } = error as SimError;
    expect(code).toBe("FILE_MALFORMED");
    expect(fault.where).toHaveProperty("field");
    expect(fault.where.offset).toBeGreaterThanOrEqual(0);
  }
  return performance.now() - started;
}

test.each<[string, Uint8Array]>([
  ["plain", plain()],
  ["packed", pack(plain())],
  ["gzip", gzipSync(pack(plain()))],
])("a %s file with any one bit flipped is a profile or a typed error", (_, bytes) => {
  for (let bit = 0; bit < bytes.length * 8; bit++) {
    const flipped = bytes.slice();
    flipped[bit >> 3] ^= 1 << (bit & 7);
    readOrRefuse(flipped);
  }
});

interface Message {
  readonly bytes: Uint8Array;
  /** Both halves of word `w`. */
  readonly set: (w: number, low: number, high: number) => void;
}

/** A message of one segment, all zero. */
function message(words: number): Message {
  const bytes = new Uint8Array(8 + 8 * words);
  const view = new DataView(bytes.buffer);
  view.setUint32(4, words, true);
  const set = (w: number, low: number, high: number): void => {
    view.setUint32(8 + 8 * w, low, true);
    view.setUint32(12 + 8 * w, high, true);
  };
  return { bytes, set };
}

test("1,000 tiles that share a list of 1,000 samples that share a step are refused at once", () => {
  const count = 1000;
  const [samples, step] = [5 + 2 * count, 6 + 4 * count];
  const { bytes, set } = message(step + 7);
  set(0, 0, 0x10002);
  set(1, 5, 0);
  set(2, 1_500_000_000, 0);
  set(3, 1, ((2 * count) << 3) | 7);
  set(4, count << 2, 0x10001);
  for (let i = 0; i < count; i++) {
    const [tile, sample] = [5 + 2 * i, samples + 1 + 2 * i];
    set(tile, i, 0);
    set(tile + 1, ((samples - tile - 2) << 2) | 1, ((2 * count) << 3) | 7);
    set(sample + 1, (step - sample - 2) << 2, 0x40003);
  }
  set(samples, count << 2, 0x10001);
  const started = performance.now();
  const { fault } = simError("FILE_MALFORMED", () => readProfile(bytes));
  expect(fault.what).toContain("again and again");
  expect(performance.now() - started).toBeLessThan(1000);
});

/** 0x00 0xff of a packed file: 256 zero words from two bytes. */
function zeros(runs: number): Uint8Array {
  return new Uint8Array(2 * runs).fill(0xff).map((byte, at) => (at % 2 === 0 ? 0 : byte));
}

// prettier-ignore
test.each<[string, string, () => Uint8Array]>([
  ["257 KiB that unpack to more than 256 MiB", "segment table",
    () => Buffer.concat([hex("10 07 50 02 01"), zeros(2 ** 17 + 1)])],
  ["269 KiB that inflate to more than 256 MiB", "gzip",
    () => Buffer.concat(Array.from({ length: 17 }, () => gzipSync(new Uint8Array(2 ** 24))))],
  ["130 KiB that unpack to a tile of 2^23 + 1 samples, all zero", "profile.tiles[0].samples",
    () => {
      const runs = 2 ** 16 + 1;
      const [samples, words] = [2 ** 23 + 1, 8 + 256 * runs];
      const { bytes, set } = message(8);
      new DataView(bytes.buffer).setUint32(4, words, true);
      set(0, 0, 0x10002);
      set(1, 5, 0);
      set(2, 1_500_000_000, 0);
      set(3, 1, (2 << 3) | 7);
      set(4, 1 << 2, 0x10001);
      set(6, 1, ((2 * samples) << 3) | 7);
      set(7, samples << 2, 0x10001);
      return Buffer.concat([pack(bytes), zeros(runs)]);
    }],
])("%s are refused in the %s, and soon", (_, field, make) => {
  const bytes = make();
  const started = performance.now();
  const { fault } = simError("FILE_MALFORMED", () => readProfile(bytes));
  expect(fault.where.field).toBe(field);
  expect(performance.now() - started).toBeLessThan(20_000);
});

const SEED = 20_240_816;
const CASES = 4000;

/** A word that a pointer of any kind to a near place could be. */
const pointers = fc
  .tuple(
    fc.nat({ max: 3 }),
    fc.integer({ min: -40, max: 40 }),
    fc.nat({ max: 400 }),
    fc.nat({ max: 3 }),
  )
  .map(([kind, offset, high, pointerCount]) => [kind | (offset << 2), high | (pointerCount << 16)]);
const words = fc.oneof(
  pointers,
  fc.tuple(fc.integer(), fc.integer()),
  fc.constantFrom([0, 0], [-1, -1], [2, 0], [6, 1], [-4, 0]),
);

test(`${CASES} damaged files are profiles or typed errors, each in bounded time (seed ${SEED})`, () => {
  const samples = Array.from({ length: 20 }, () => SAMPLE);
  const seeds = [
    plain(),
    writeProfile(profileOf(...samples)),
    ...fc.sample(profiles, { seed: SEED, numRuns: 20 }).map((one) => writeProfile(one)),
  ];
  const damages = fc.array(fc.tuple(fc.nat(), words), { minLength: 1, maxLength: 5 });
  const forms = fc.constantFrom((bytes: Uint8Array) => bytes, pack);
  let longest = 0;
  fc.assert(
    fc.property(fc.constantFrom(...seeds), damages, forms, (seed, damage, form) => {
      const bytes = seed.slice();
      const view = new DataView(bytes.buffer);
      for (const [at, [low, high]] of damage) {
        const byte = (at % (bytes.length / 8)) * 8;
        view.setInt32(byte, low, true);
        view.setInt32(byte + 4, high, true);
      }
      longest = Math.max(longest, readOrRefuse(form(bytes)));
    }),
    { seed: SEED, numRuns: CASES },
  );
  expect(longest).toBeLessThan(1000);
});

test(`${CASES} random files are typed errors (seed ${SEED})`, () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), fc.boolean(), (bytes, isGzip) => {
      readOrRefuse(isGzip ? gzipSync(bytes) : bytes);
    }),
    { seed: SEED, numRuns: CASES },
  );
});

test("the words that the table of hostile files replaces are all there is", () => {
  expect(readProfile(plain())).toEqual(profileOf(SAMPLE));
  expect(plain()).toHaveLength(byteOf(WORDS.length));
});
