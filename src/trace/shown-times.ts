import type { Gap } from "./seen.ts";
import { SHOWN } from "./capture.ts";
import { UNKNOWN } from "./expected.ts";
import { readTable } from "./sample-table.ts";
import type { ShownTimes } from "./sample-table.ts";
import { pairsByText } from "./time-bytes.ts";

/** Characters between unknown bytes of one list of samples: a pointer's. */
const BETWEEN = 12;
/** Of the texts of one list's times the most that are read: a longer one is no list. */
const LONGEST = 4096;
/** Share of all times that must have two high bytes for these to count as high bytes. */
const FEWEST_SHARE = 0.005;

/**
 * What a capture shows of each list of samples, in order: each boundary's candidates, null where it is not shown.
 */
export function shownTimes(
  expected: string,
  captured: string,
  gaps: readonly Gap[],
): (readonly number[] | null)[][] {
  const lists = listsOf(expected);
  const texts = lists.map((list) => textOf(list, captured, gaps));
  // What more is shown than the list is long is something else, and would say of other characters that they are common.
  const highs = highBytes(
    texts.flatMap((text, i) =>
      text !== null && text.text.length <= lists[i].end - lists[i].start ? [text.text] : [],
    ),
  );
  const pairs = pairsByText();
  return lists.map((list, index) => {
    const pointers = pointersOf(expected, list);
    const text = texts[index];
    const isRead = text !== null && (text.start || text.end) && text.text.length <= LONGEST;
    const times: ShownTimes = isRead
      ? readTable(text.text, pointers, (high) => highs.has(high), text)
      : Array.from({ length: pointers.length + 1 }, () => null);
    return times.map((shown) => (shown === null ? null : candidatesOf(shown, pairs)));
  });
}

interface List {
  readonly start: number;
  readonly end: number;
}

/** The lists of samples in an expectation: unknown bytes that lie close together. */
function listsOf(expected: string): List[] {
  const lists: { start: number; end: number }[] = [];
  for (let i = expected.indexOf(UNKNOWN); i >= 0; i = expected.indexOf(UNKNOWN, i + 1)) {
    const last = lists.at(-1);
    if (last && i - last.end < BETWEEN) last.end = i + 1;
    else lists.push({ start: i, end: i + 1 });
  }
  return lists;
}

/** What is shown of the pointer behind each sample's two times. */
function pointersOf(expected: string, { start, end }: List): string[] {
  const pointers: string[] = [];
  const times = UNKNOWN.repeat(8);
  for (let at = start; at < end;) {
    at += times.length;
    let next = expected.indexOf(times, at);
    if (next < 0 || next > end) next = end;
    pointers.push(expected.slice(at, next));
    at = next;
  }
  return pointers;
}

interface ListText {
  readonly text: string;
  /** Whether it reaches the list's start and its end. */
  readonly start: boolean;
  readonly end: boolean;
}

function textOf({ start, end }: List, captured: string, gaps: readonly Gap[]): ListText | null {
  const first = firstAfter(gaps, start);
  let last = first;
  while (last + 1 < gaps.length && gaps[last + 1].expected < end) last++;
  if (first >= gaps.length || gaps[first].expected >= end) return null;
  return {
    text: captured.slice(gaps[first].captured, gaps[last].capturedEnd),
    start: gaps[first].expected === start,
    end: gaps[last].expectedEnd === end,
  };
}

/** The first gap that ends behind a place; gaps ascend. */
function firstAfter(gaps: readonly Gap[], place: number): number {
  let low = 0;
  let high = gaps.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (gaps[middle].expectedEnd <= place) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The two characters of the times' high bytes: they hardly change while a program runs, and each time has them. */
function highBytes(texts: readonly string[]): Set<string> {
  const highest = new Map<string, number>();
  for (const text of texts) for (const character of text) count(highest, character);
  const [last = ["", 0]] = [...highest].sort((a, b) => b[1] - a[1]);
  const pairs = new Map<string, number>();
  let total = 0;
  for (const text of texts) {
    for (let i = text.indexOf(last[0], 1); i > 0; i = text.indexOf(last[0], i + 1)) {
      count(pairs, text.slice(i - 1, i + 1));
      total++;
    }
  }
  const often = [...pairs].filter(([, times]) => times >= FEWEST_SHARE * total);
  return new Set(often.map(([pair]) => pair));
}

function count(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

/** The times that a text of their bytes, two high ones last, may stand for. */
function candidatesOf(shown: string, pairs: ReadonlyMap<string, readonly number[]>): number[] {
  const low = pairs.get(shown.slice(0, -2)) ?? [];
  const [third, fourth] = [shown.at(-2), shown.at(-1)].map((character) =>
    SHOWN.flatMap((one, byte) => (one === character ? [byte] : [])),
  );
  const high = third.flatMap((a) => fourth.map((b) => a * 2 ** 16 + b * 2 ** 24));
  return high.flatMap((base) => low.map((value) => base + value));
}
