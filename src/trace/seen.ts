import type { ByteRange } from "../io/capnp-reader.ts";
import type { Block } from "./align.ts";
import { SHOWN, takeApart } from "./capture.ts";
import type { ExpectedText } from "./expected.ts";

/** A stretch between two blocks: what should stand there, and what does. */
export interface Gap {
  readonly expected: number;
  readonly expectedEnd: number;
  readonly captured: number;
  readonly capturedEnd: number;
}

/** The stretches between blocks, those before the first and behind the last among them. */
export function gapsBetween(blocks: readonly Block[], expected: string, captured: string): Gap[] {
  const gaps: Gap[] = [];
  let e = 0;
  let c = 0;
  const end = { expected: expected.length, captured: captured.length, length: 0 };
  for (const block of [...blocks, end]) {
    if (block.expected > e || block.captured > c) {
      gaps.push({
        expected: e,
        expectedEnd: block.expected,
        captured: c,
        capturedEnd: block.captured,
      });
    }
    e = block.expected + block.length;
    c = block.captured + block.length;
  }
  return gaps;
}

/** What a capture shows of a byte whose value is known. */
const MISSING = 1;
const SEEN = 2;
/** Something else stands in its place. */
const DIFFERENT = 3;

/** Longest gap that may stand for the same bytes. */
const MOST_DIFFERENT = 48;
/** Characters by which another text of the same place may be shorter; else some of it is lost. */
const MOST_SHORTER = 6;

/** How much of a range is to be seen. */
export interface Sight {
  /** Bytes that a capture can show, and those that it does. */
  readonly shown: number;
  readonly seen: number;
  readonly isDifferent: boolean;
}

/** Which bytes of the expected message a capture shows. */
export class SeenBytes {
  readonly #state: Uint8Array;
  /** Captured characters outside blocks that stand for the expected ones all the same. */
  readonly explained: number;
  /** Captured characters that are not what should stand there. */
  readonly different: number;

  constructor(
    { bytes, text, at }: ExpectedText,
    captured: string,
    blocks: readonly Block[],
    gaps: readonly Gap[],
  ) {
    const state = new Uint8Array(bytes.length);
    for (const byte of at) state[byte] = MISSING;
    const mark = (from: number, to: number, as: number): void => {
      for (let i = from; i < to; i++) state[at[i]] = as;
    };
    for (const { expected, length } of blocks) mark(expected, expected + length, SEEN);
    let explained = 0;
    let different = 0;
    for (const { expected, expectedEnd, captured: from, capturedEnd } of gaps) {
      const should = text.slice(expected, expectedEnd);
      const does = captured.slice(from, capturedEnd);
      // Unknown bytes are read elsewhere.
      if (should.includes("\0")) {
        if (does.length > should.length) different += does.length;
        continue;
      }
      // The character behind may be half of one that begins here.
      const isSame =
        should.length <= MOST_DIFFERENT &&
        canonical(should + text.slice(expectedEnd, expectedEnd + 1)) ===
          canonical(does + captured.slice(capturedEnd, capturedEnd + 1));
      if (isSame) {
        mark(expected, expectedEnd, SEEN);
        explained += does.length;
      } else if (does !== "") {
        different += does.length;
        if (should.length <= does.length + MOST_SHORTER) mark(expected, expectedEnd, DIFFERENT);
      }
    }
    this.#state = state;
    this.explained = explained;
    this.different = different;
  }

  sight(ranges: readonly ByteRange[]): Sight {
    let shown = 0;
    let seen = 0;
    let isDifferent = false;
    for (const { start, end } of ranges) {
      for (let byte = start; byte < end; byte++) {
        const state = this.#state[byte];
        if (state !== 0) shown++;
        if (state === SEEN) seen++;
        if (state === DIFFERENT) isDifferent = true;
      }
    }
    return { shown, seen, isDifferent };
  }
}

const BYTE_OF: ReadonlyMap<string, number> = new Map(
  Array.from({ length: 256 }, (_, byte) => [SHOWN[byte], byte] as const)
    .filter(([shown]) => shown !== "")
    .reverse(),
);

/**
 * One text for all that a capture may make of the same bytes: characters of two bytes composed and decomposed, of
 * which 0xc2 0xad shows nothing; spaces dropped beside others; 0x8a and 0x8e before a byte from 0x80 to 0xbf shown as
 * 0xd0 and 0xde, and that byte then not always as itself; 0xc3 before a space as 0xe0.
 */
function canonical(text: string): string {
  const bytes = Array.from(text, (character) => BYTE_OF.get(character) ?? 0x3f);
  const out: string[] = [];
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i];
    const next = i + 1 < bytes.length ? bytes[i + 1] : 0;
    const follows = next >= 0x80 && next <= 0xbf;
    const swapped = SWAPPED.get(byte);
    if (swapped !== undefined) {
      out.push(swapped);
      if (follows) i++;
    } else if (follows && byte >= 0xc2 && byte <= 0xdf) {
      const code = ((byte & 0x1f) << 6) | (next & 0x3f);
      out.push(code < 0xa0 ? SHOWN[code] : takeApart(String.fromCharCode(code).normalize("NFKC")));
      i++;
    } else out.push(byte === 0xc3 && SHOWN[next] === " " ? "à" : SHOWN[byte]);
  }
  return out.join("").replace(/[ \u00a0Â]/g, "");
}

const SWAPPED: ReadonlyMap<number, string> = new Map([
  [0x8a, "Š"],
  [0xd0, "Š"],
  [0x8e, "Ž"],
  [0xde, "Ž"],
]);
