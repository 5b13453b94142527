import { UNKNOWN } from "./expected.ts";

/** A run of characters that capture and expectation share. */
export interface Block {
  readonly expected: number;
  readonly captured: number;
  readonly length: number;
}

interface Range {
  readonly expected: number;
  readonly expectedEnd: number;
  readonly captured: number;
  readonly capturedEnd: number;
}

/** Lengths of the runs by which places are recognised: long ones first, short ones only between these. */
const RUNS = [24, 12, 8];

/**
 * Lays a capture beside what it should show, as patience diff lays two files: runs that stand once in either text
 * hold it in place, the longest chain of them in order is kept, and what lies between two of them is laid again by
 * itself. A run is never one with unknown characters. Blocks ascend in both texts.
 */
export function align(expected: string, captured: string): Block[] {
  const blocks: Block[] = [];
  alignRange(
    expected,
    captured,
    { expected: 0, expectedEnd: expected.length, captured: 0, capturedEnd: captured.length },
    0,
    blocks,
  );
  return blocks;
}

function alignRange(
  expected: string,
  captured: string,
  range: Range,
  runs: number,
  out: Block[],
): void {
  const run = RUNS[runs];
  const fits = Math.min(range.expectedEnd - range.expected, range.capturedEnd - range.captured);
  if (fits < run) {
    if (runs + 1 < RUNS.length) alignRange(expected, captured, range, runs + 1, out);
    return;
  }
  const anchors = longestChain(uniqueRuns(expected, captured, range, run));
  if (anchors.length === 0) {
    if (runs + 1 < RUNS.length) alignRange(expected, captured, range, runs + 1, out);
    return;
  }
  let { expected: e, captured: c } = range;
  const between = (expectedEnd: number, capturedEnd: number): void => {
    alignRange(
      expected,
      captured,
      { expected: e, expectedEnd, captured: c, capturedEnd },
      runs,
      out,
    );
  };
  for (const anchor of anchors) {
    if (anchor.expected < e || anchor.captured < c) continue;
    const block = widened(expected, captured, anchor, run, {
      ...range,
      expected: e,
      captured: c,
    });
    between(block.expected, block.captured);
    out.push(block);
    e = block.expected + block.length;
    c = block.captured + block.length;
  }
  between(range.expectedEnd, range.capturedEnd);
}

interface Anchor {
  readonly expected: number;
  readonly captured: number;
}

/** An anchor with all that goes on alike before and behind it. */
function widened(
  expected: string,
  captured: string,
  anchor: Anchor,
  run: number,
  within: Range,
): Block {
  let { expected: e, captured: c } = anchor;
  while (e > within.expected && c > within.captured && expected[e - 1] === captured[c - 1]) {
    e--;
    c--;
  }
  let length = anchor.expected - e + run;
  while (
    e + length < within.expectedEnd &&
    c + length < within.capturedEnd &&
    expected[e + length] === captured[c + length]
  ) {
    length++;
  }
  return { expected: e, captured: c, length };
}

/** Runs that stand once in the range of either text, in the order of the capture. */
function uniqueRuns(expected: string, captured: string, range: Range, run: number): Anchor[] {
  const count = range.expectedEnd - range.expected;
  const bits = Math.max(4, 33 - Math.clz32(count));
  const mask = 2 ** bits - 1;
  // Open addressing: where a run stands first, and what is known of it.
  const places = new Int32Array(mask + 1).fill(-1);
  const seen = new Uint8Array(mask + 1);
  const capturedAt = new Int32Array(mask + 1);
  const slotOf = (text: string, at: number, hash: number): number => {
    let slot = (hash ^ (hash >>> 15)) & mask;
    while (places[slot] >= 0 && !isSame(expected, places[slot], text, at, run)) {
      slot = (slot + 1) & mask;
    }
    return slot;
  };

  const unknown = UNKNOWN.charCodeAt(0);
  eachRun(expected, range.expected, range.expectedEnd, run, unknown, (at, hash) => {
    const slot = slotOf(expected, at, hash);
    if (places[slot] < 0) places[slot] = at;
    else seen[slot] = REPEATED;
  });
  eachRun(captured, range.captured, range.capturedEnd, run, unknown, (at, hash) => {
    const slot = slotOf(captured, at, hash);
    if (places[slot] < 0 || seen[slot] === REPEATED) return;
    seen[slot] = seen[slot] === 0 ? ONCE : REPEATED;
    capturedAt[slot] = at;
  });

  const anchors: Anchor[] = [];
  places.forEach((place, slot) => {
    if (seen[slot] === ONCE) anchors.push({ expected: place, captured: capturedAt[slot] });
  });
  return anchors.sort((a, b) => a.captured - b.captured);
}

const ONCE = 1;
const REPEATED = 2;

function isSame(a: string, at: number, b: string, bt: number, run: number): boolean {
  for (let i = 0; i < run; i++) if (a.charCodeAt(at + i) !== b.charCodeAt(bt + i)) return false;
  return true;
}

/** Multiplier of the rolling hash, odd so that no bit is lost. */
const BASE = 0x01000193;

function eachRun(
  text: string,
  from: number,
  to: number,
  run: number,
  unknown: number,
  visit: (at: number, hash: number) => void,
): void {
  let power = 1;
  for (let i = 0; i < run; i++) power = Math.imul(power, BASE);
  let hash = 0;
  let known = 0;
  for (let i = from; i < to; i++) {
    const code = text.charCodeAt(i);
    hash = (Math.imul(hash, BASE) + code) | 0;
    if (i - from >= run) hash = (hash - Math.imul(power, text.charCodeAt(i - run))) | 0;
    known = code === unknown ? 0 : known + 1;
    if (known >= run) visit(i - run + 1, hash);
  }
}

/** The longest chain of anchors that ascends in both texts; they ascend in the capture already. */
function longestChain(anchors: readonly Anchor[]): Anchor[] {
  const ends: number[] = [];
  const before = new Int32Array(anchors.length).fill(-1);
  anchors.forEach(({ expected }, i) => {
    let low = 0;
    let high = ends.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (anchors[ends[middle]].expected < expected) low = middle + 1;
      else high = middle;
    }
    if (low > 0) before[i] = ends[low - 1];
    ends[low] = i;
  });
  const chain: Anchor[] = [];
  for (let i = ends.at(-1) ?? -1; i >= 0; i = before[i]) chain.push(anchors[i]);
  return chain.reverse();
}
