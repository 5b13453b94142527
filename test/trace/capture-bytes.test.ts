import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { align } from "../../src/trace/align.ts";
import { readCapture, SHOWN, takeApart } from "../../src/trace/capture.ts";
import { UNKNOWN } from "../../src/trace/expected.ts";
import { readTable } from "../../src/trace/sample-table.ts";
import { pairsByText, shownPair } from "../../src/trace/time-bytes.ts";

describe("what a capture shows of a byte", () => {
  test.each([
    [0x41, "A"],
    [0x00, ""],
    [0x08, ""],
    [0x09, " "],
    [0x0d, " "],
    [0x0e, ""],
    [0x7f, ""],
    [0x80, "€"],
    [0x81, "\ufffd"],
    [0xad, ""],
    [0xff, "ÿ"],
  ])("0x%s", (byte, shown) => {
    expect(SHOWN[byte]).toBe(shown);
  });

  test("two that are one character of UTF-8 are taken apart, but for those of Latin-1", () => {
    expect(takeApart("\u0429é€")).toBe("Ð©é€");
  });

  test("and of the next one: each by itself, or as what both make", () => {
    expect(shownPair(0x41, 0x42)).toEqual(["AB"]);
    expect(shownPair(0xc3, 0xa9)).toContain("é");
    expect(shownPair(0xc5, 0x89)).toContain("Ê¼n");
    expect(shownPair(0x8e, 0xb0)).toContain("Þ°");
    expect(shownPair(0x20, 0x09)).toEqual(["  ", " "]);
  });

  test("leaves at most 32 bytes where nothing is shown beside one that is", () => {
    const pairs = pairsByText();
    const low = (pairs.get("A") ?? []).filter((value) => value >> 8 === 0x41);
    expect(low.length).toBeLessThanOrEqual(32);
    expect(pairs.get("AB")).toEqual([0x4241]);
  });
});

describe("a capture's file", () => {
  test.each([
    ["nothing", new Uint8Array()],
    ["gzip of nothing", gzipSync("")],
    ["half of a gzip file", gzipSync("text of a profile").subarray(0, 20)],
    ["bytes that are no UTF-8", Uint8Array.of(0x41, 0xff, 0xfe)],
  ])("of %s is refused", (_, bytes) => {
    expect(() => readCapture(bytes, "x")).toThrow(
      expect.objectContaining({ code: "FILE_MALFORMED" }),
    );
  });

  test("may be plain or gzip", () => {
    const text = "operation.0ü";
    expect(readCapture(Buffer.from(text), "x")).toBe(text);
    expect(readCapture(gzipSync(text), "x")).toBe(text);
  });
});

describe("align", () => {
  const word = (i: number): string => `${"abcdefghijklmnopqrstuvwxyz"[i % 26]}${i * i * 7919};`;
  const whole = Array.from({ length: 500 }, (_, i) => word(i)).join("");

  test("lays equal texts in one block", () => {
    expect(align(whole, whole)).toEqual([{ expected: 0, captured: 0, length: whole.length }]);
  });

  test("finds the text behind a stretch that is missing", () => {
    const blocks = align(whole, whole.slice(0, 1000) + whole.slice(3000));
    expect(blocks.map(({ expected, captured }) => expected - captured)).toEqual([0, 2000]);
    expect(blocks.reduce((sum, { length }) => sum + length, 0)).toBe(whole.length - 2000);
  });

  test("never takes unknown characters for any that are captured", () => {
    const expected = whole.slice(0, 500) + UNKNOWN.repeat(8) + whole.slice(508);
    const blocks = align(expected, whole);
    for (const { expected: at, captured, length } of blocks) {
      expect(expected.slice(at, at + length)).toBe(whole.slice(captured, captured + length));
    }
    expect(blocks.reduce((sum, { length }) => sum + length, 0)).toBe(whole.length - 8);
  });

  test("of texts that share nothing is empty", () => {
    expect(align("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbb")).toEqual([]);
    expect(align("", whole)).toEqual([]);
  });
});

describe("readTable", () => {
  const isHigh = (high: string): boolean => high === "W2" || high === "X2";
  const pointers = ["p", "", "rr"];
  const both = { start: true, end: true };

  test("reads each time where it ends a sample and where it begins the next", () => {
    const text = "abW2" + "cW2" + "p" + "cW2" + "X2" + "" + "X2" + "deX2" + "rr";
    expect(readTable(text, pointers, isHigh, both)).toEqual(["abW2", "cW2", "X2", "deX2"]);
  });

  test("reads the part that is there from the front", () => {
    const text = "abW2" + "cW2" + "p" + "cW2";
    expect(readTable(text, pointers, isHigh, { start: true, end: false })).toEqual([
      "abW2",
      "cW2",
      null,
      null,
    ]);
  });

  test("reads the part that is there from the back", () => {
    const text = "X2" + "deX2" + "rr";
    expect(readTable(text, pointers, isHigh, { start: false, end: true })).toEqual([
      null,
      null,
      "X2",
      "deX2",
    ]);
  });

  test("of nothing gives nothing", () => {
    expect(readTable("", pointers, isHigh, { start: true, end: false })).toEqual([
      null,
      null,
      null,
      null,
    ]);
  });
});
