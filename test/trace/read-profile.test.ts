import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import type { Profile, Sample } from "../../src/trace/profile.ts";
import { readProfile } from "../../src/trace/read-profile.ts";
import { SAMPLE, WORDS, hex, pack, plain, profileOf } from "./support.ts";

const EMPTY_TILE = `
  05000000 00000000  # schemaVersion 5
  002f6859 00000000  # clockHz
  01000000 17000000  # tiles: list, next word, structs of 2 words in all
  04000000 01000100  #   tag: 1 tile of 1 word of data, 1 pointer
  2a000000 00000000  #   physicalTile 42
  00000000 00000000  #   samples: null`;

test("a file with one of everything is read", () => {
  expect(readProfile(plain())).toEqual(profileOf(SAMPLE));
});

// prettier-ignore
test.each<[string, string]>([
  ["one segment", `
    00000000 07000000                    # segments - 1; words of segment 0
    00000000 02000100  ${EMPTY_TILE}`],
  ["an even number of segments: the table is padded", `
    01000000 07000000 00000000 00000000
    00000000 02000100  ${EMPTY_TILE}`],
  ["a far pointer: its landing pad points on", `
    01000000 01000000 07000000 00000000
    02000000 01000000                    # root: far, word 0 of segment 1
    00000000 02000100  ${EMPTY_TILE}     # pad: struct, next word`],
  ["a landing pad behind the value", `
    01000000 01000000 07000000 00000000
    32000000 01000000                    # root: far, word 6 of segment 1
    ${EMPTY_TILE}
    e4ffffff 02000100                    # pad: struct, 7 words back`],
  ["a double far pointer: pad and value in segments of their own", `
    02000000 01000000 06000000 02000000
    06000000 02000000                    # root: double far, word 0 of segment 2
    ${EMPTY_TILE}
    02000000 01000000                    # pad: far, word 0 of segment 1
    00000000 02000100                    # tag: struct, 2 words of data, 1 pointer`],
  ["a pointer backwards", `
    00000000 0d000000
    18000000 02000100                    # root: struct, 6 words on
    2a000000 00000000                    # unused
    2a000000 00000000
    2a000000 00000000
    04000000 01000100                    # tag: 1 tile
    2a000000 00000000                    #   physicalTile 42
    00000000 00000000                    #   samples: null
    05000000 00000000                    # schemaVersion 5
    002f6859 00000000                    # clockHz
    e9ffffff 17000000                    # tiles: list, 6 words back
    2a000000 00000000
    2a000000 00000000
    2a000000 00000000`],
  ["a root with a word of data and a pointer more than this schema has", `
    00000000 09000000
    00000000 03000200                    # root: 3 words of data, 2 pointers
    05000000 00000000
    002f6859 00000000
    ffffffff ffffffff                    # a later field
    05000000 17000000                    # tiles: list, 1 word on
    ffffffff ffffffff                    # a later pointer, whatever it is
    04000000 01000100
    2a000000 00000000
    00000000 00000000`],
  ["tiles as a list of numbers, which later became structs", `
    00000000 05000000
    00000000 02000100
    05000000 00000000
    002f6859 00000000
    01000000 0c000000                    # tiles: list, next word, 1 number of 4 bytes
    2a000000 00000000`],
  ["packed", `
    10 07                                # 0x10: byte 4 follows
    50 02 01                             # 0x50: bytes 4 and 6
    01 05
    0e 2f 68 59
    11 01 17
    51 04 01 01
    01 2a
    00 00                                # 0x00: a zero word, and no more of them`],
])("%s: tile 42 without samples", (_, bytes) => {
  expect(readProfile(hex(bytes))).toEqual(profileOf());
});

test("0x00 and 0xff of a packed file begin runs", () => {
  const packed = hex(`
    10 16                                # 22 words
    50 02 01
    01 05
    0e 2f 68 59
    11 01 17                             # tiles
    51 04 01 01
    01 2a
    11 01 17                             # samples
    51 04 01 01
    00 00                                # startCycle and endCycle 0
    50 03 04                             # step
    00 02                                # 0x00: its 3 words of data are zero
    11 0d 82                             # operation: list, 3 words on, 16 bytes
    00 02                                # 3 null pointers
    ff 6f7065726174696f 01               # 0xff: 'operatio'; 1 more word as it is
       6e2e313233343500                  # 'n.12345'
    00 02                                # 3 words that nothing points to`);
  const { step } = readProfile(packed).tiles[0].samples[0];
  expect(step.operation).toBe("operation.12345");
});

// prettier-ignore
test.each<[string, Record<number, string>, Partial<Sample["step"]>]>([
  ["a step of the first schema: no kernel, metadata or activities",
    { 9: "08000000 02000100", 12: "01000000 02000000", 13: "00000000 01000000", 14: "0d000000 1a000000", 18: "6f700000 00000000" },
    { phase: 2, kind: "compute", operation: "op", kernel: "", metadata: [], activities: [], eventCycles: 0 }],
  ["a null step",
    { 9: "00000000 00000000" },
    { localIndex: 0, phase: 0, epoch: 0, kind: "exchange", kernel: "", metadata: [], activities: [], eventCycles: 0 }],
  ["a struct of no size",
    { 9: "fcffffff 00000000" },
    { localIndex: 0, phase: 0, epoch: 0, kind: "exchange", kernel: "", metadata: [], activities: [], eventCycles: 0 }],
  ["null lists", { 15: "00000000 00000000", 16: "00000000 00000000" }, { metadata: [], activities: [] }],
  ["lists of no elements", { 15: "09000000 07000000", 18: "00000000 00000200" }, { metadata: [] }],
  ["an empty text that is no null pointer", { 14: "09000000 0a000000", 17: "00000000 00000000" }, { kernel: "" }],
  ["a text with NUL and two bytes a letter", { 17: "00c3a963 00000000" }, { kernel: "\0éc" }],
  ["metadata as a list of pointers, which later became structs",
    { 15: "09000000 16000000", 18: "09000000 32000000", 19: "09000000 12000000" },
    { metadata: [{ name: "value", value: "" }, { name: "7", value: "" }] }],
])("%s: its step is read", (_, replaced, expected) => {
  const { step } = readProfile(plain(replaced)).tiles[0].samples[0];
  expect(step).toEqual({ ...SAMPLE.step, ...expected });
});

test.each([1, 2, 3, 4, 5])("schema version %i is read", (version) => {
  const profile = readProfile(plain({ 1: `0${version}000000 00000000` }));
  expect(profile).toEqual<Profile>({ ...profileOf(SAMPLE), schemaVersion: version });
});

// prettier-ignore
test.each<[string, (bytes: Uint8Array) => Uint8Array]>([
  ["packed",          pack],
  ["gzip",            (bytes) => gzipSync(bytes)],
  ["packed and gzip", (bytes) => gzipSync(pack(bytes))],
  ["gzip in members", (bytes) => Buffer.concat([gzipSync(bytes.subarray(0, 50)), gzipSync(bytes.subarray(50))])],
  ["at an odd place", (bytes) => Uint8Array.of(1, 2, 3, ...bytes).subarray(3)],
])("%s, the file is the same", (_, form) => {
  expect(readProfile(form(plain()))).toEqual(profileOf(SAMPLE));
});

test("a plain file of 70,000 segments is not taken for a packed one", () => {
  const segments = 70_000;
  const table = new Uint32Array(segments + 2);
  table[0] = segments - 1;
  table[1] = WORDS.length;
  const bytes = Buffer.concat([new Uint8Array(table.buffer), plain().subarray(8)]);
  expect(readProfile(bytes)).toEqual(profileOf(SAMPLE));
});
