import { joined } from "./capture.ts";
import { UNKNOWN } from "./expected.ts";

/** A stretch that capture and expectation share: characters `expected` to `expectedEnd`, with what is unknown in it. */
export interface Stretch {
  readonly expected: number;
  readonly expectedEnd: number;
  readonly captured: number;
  readonly capturedEnd: number;
}

/** Unknown bytes that lie close together, and what the capture shows of them; null: it breaks off there. */
export interface Hole {
  /** Characters of the expectation: the first unknown one, and the one behind the last. */
  readonly expected: number;
  readonly expectedEnd: number;
  readonly captured: number;
  readonly capturedEnd: number;
}

export interface Alignment {
  readonly stretches: readonly Stretch[];
  readonly holes: readonly Hole[];
}

/** Known characters between unknown ones that still belong to one hole. */
const BRIDGE = 12;
/** Characters that must agree before a stretch is believed. */
const PROBE = 24;
/** Known characters behind a hole by which its end is found. */
const BEHIND = 10;
/** How far behind the last agreement the text may go on, in characters of the expectation and of the capture. */
const MOST_LOST = 400_000;
const MOST_STRAY = 3000;
/** Characters that differ for no known reason, and those behind them that must agree. */
const MOST_PATCHED = 3;
const AFTER_PATCH = 8;

/**
 * Lays a capture beside what it should show. The capture lacks stretches, never has more: it is read from the
 * start, and where it departs, the place is sought ahead at which the longest text goes on alike.
 */
export function align(expected: string, captured: string): Alignment {
  const holesAhead = holesOf(expected);
  const stretches: Stretch[] = [];
  const holes: Hole[] = [];
  let e = 0;
  let c = 0;
  let nextHole = 0;
  let start = { e, c };
  const close = (): void => {
    if (e > start.e) {
      stretches.push({ expected: start.e, expectedEnd: e, captured: start.c, capturedEnd: c });
    }
  };

  while (c < captured.length && e < expected.length) {
    while (nextHole < holesAhead.length && holesAhead[nextHole].end <= e) nextHole++;
    const hole = holesAhead[nextHole] as { start: number; end: number } | undefined;
    if (hole && e >= hole.start) {
      const end = endOfHole(expected, captured, hole, c);
      if (end >= 0) {
        holes.push({ expected: e, expectedEnd: hole.end, captured: c, capturedEnd: end });
        e = hole.end;
        c = end;
        continue;
      }
    } else {
      const limit = hole?.start ?? expected.length;
      ({ e, c } = agree(expected, captured, e, c, limit));
      if (e === limit) continue;
      const patched = patch(expected, captured, e, c, limit);
      if (patched) {
        close();
        ({ e, c } = patched);
        start = patched;
        continue;
      }
    }
    const found = resume(expected, captured, e, c);
    if (!found) break;
    close();
    ({ e, c } = found);
    start = found;
  }
  close();
  return { stretches, holes };
}

function holesOf(expected: string): { start: number; end: number }[] {
  const holes: { start: number; end: number }[] = [];
  for (let i = expected.indexOf(UNKNOWN); i >= 0; i = expected.indexOf(UNKNOWN, i + 1)) {
    const last = holes.at(-1);
    if (last && i - last.end <= BRIDGE) last.end = i + 1;
    else holes.push({ start: i, end: i + 1 });
  }
  return holes;
}

/** Where the capture goes on behind a hole; -1: not near enough. */
function endOfHole(
  expected: string,
  captured: string,
  hole: { start: number; end: number },
  c: number,
): number {
  const behind = expected.slice(hole.end, hole.end + BEHIND);
  const known = behind.indexOf(UNKNOWN);
  const text = known >= 0 ? behind.slice(0, known) : behind;
  const most = hole.end - hole.start;
  const at = captured.slice(c, c + most + text.length).indexOf(text);
  return at < 0 ? -1 : c + at;
}

/** The nearest place ahead from which the most text agrees. */
function resume(
  expected: string,
  captured: string,
  e: number,
  c: number,
): { e: number; c: number } | null {
  const window = expected.slice(e, e + MOST_LOST);
  for (let stray = 0; stray < MOST_STRAY; stray += 5) {
    const probe = captured.slice(c + stray, c + stray + PROBE);
    if (probe.length < PROBE) return null;
    let best = -1;
    let bestLength = 0;
    for (let at = window.indexOf(probe); at >= 0; at = window.indexOf(probe, at + 1)) {
      const length = agreement(expected, captured, e + at, c + stray);
      if (length > bestLength) [best, bestLength] = [at, length];
    }
    if (best < 0) continue;
    // The text may have gone on before the probe.
    let back = 0;
    while (back < stray && expected[e + best - back - 1] === captured[c + stray - back - 1]) back++;
    return { e: e + best - back, c: c + stray - back };
  }
  return null;
}

/** Characters that agree from here on, small holes passed. */
function agreement(expected: string, captured: string, e: number, c: number): number {
  const first = e;
  for (;;) {
    ({ e, c } = agree(expected, captured, e, c, expected.length));
    if (expected[e] !== UNKNOWN) return e - first;
    let end = e;
    while (expected[end] === UNKNOWN) end++;
    if (end - e > 4) return e - first;
    const at = endOfHole(expected, captured, { start: e, end }, c);
    if (at < 0) return e - first;
    e = end;
    c = at;
  }
}

/** As far as both go on alike, two bytes that became one character among it. */
function agree(
  expected: string,
  captured: string,
  e: number,
  c: number,
  limit: number,
): { e: number; c: number } {
  while (e < limit && c < captured.length) {
    if (expected[e] === captured[c]) e++;
    else if (e + 1 < limit && joined(expected[e], expected[e + 1]) === captured[c]) e += 2;
    else break;
    c++;
  }
  return { e, c };
}

/** Past a few characters that nothing explains; null: more than a few. */
function patch(
  expected: string,
  captured: string,
  e: number,
  c: number,
  limit: number,
): { e: number; c: number } | null {
  for (let lost = 0; lost <= 2 * MOST_PATCHED; lost++) {
    for (let skip = Math.max(0, lost - MOST_PATCHED); skip <= Math.min(lost, MOST_PATCHED); skip++) {
      const from = e + lost - skip;
      if (from + AFTER_PATCH > limit) continue;
      const text = expected.slice(from, from + AFTER_PATCH);
      if (captured.startsWith(text, c + skip)) return { e: from, c: c + skip };
    }
  }
  return null;
}
