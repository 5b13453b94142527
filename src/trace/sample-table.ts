import { takeApart } from "./capture.ts";

/**
 * What a capture shows of a tile's list of samples: for each boundary between two samples, the text of the time's
 * four bytes; null where that is not shown. Sample `i` lies between boundaries `i` and `i + 1`.
 */
export type ShownTimes = readonly (string | null)[];

/** Which ends of the list the capture's text must reach. */
export interface Reach {
  readonly start: boolean;
  readonly end: boolean;
}

/** Characters that at most show a time: two bytes may stand as three. */
const MOST_SHOWN = 6;
/** A time's high bytes are printable: `W2` to `]2`, where the clock ran on past 2^32 / 5. */
const MOST_STRAY = 16;

interface State {
  /** Boundary whose text was read last, as the end of a sample. */
  readonly boundary: number;
  readonly from: number;
  readonly to: number;
  /** Where the text of the sample behind it begins. */
  readonly at: number;
  readonly cost: number;
  readonly before: State | null;
}

/**
 * Reads the list whose samples end with the characters of `pointers`: each sample shows its start, which is the end
 * of the one before, its end, and its pointer. Of all readings the one with the fewest departures wins.
 */
export function readTable(
  text: string,
  pointers: readonly string[],
  isHigh: (high: string) => boolean,
  reach: Reach,
): ShownTimes {
  const count = pointers.length;
  let best: State | null = null;
  const isBetter = (state: State): boolean => {
    if (reach.end && reach.start) return state.cost < (best?.cost ?? Infinity);
    // Part of a list: the longest reading, then the cleanest.
    const length = (s: State | null): number => (s ? s.to - origin(s).from : 0);
    return length(state) - 3 * state.cost > length(best) - 3 * (best?.cost ?? 0);
  };
  let states = new Map<string, State>();
  const add = (to: Map<string, State>, state: State): void => {
    const key = `${state.from},${state.to},${state.at}`;
    const known = to.get(key);
    if (!known || known.cost > state.cost) to.set(key, state);
  };
  const timesAt = function* (at: number): Generator<number> {
    for (let length = 2; length <= MOST_SHOWN && at + length <= text.length; length++) {
      if (isHigh(text.slice(at + length - 2, at + length))) yield at + length;
    }
  };
  const lastStart = reach.start ? 0 : Math.min(MOST_STRAY, text.length);
  for (let boundary = 0; boundary <= count; boundary++) {
    if (boundary === 0 || !reach.start) {
      for (let from = 0; from <= lastStart; from++) {
        for (const to of timesAt(from)) {
          // Of the first sample the start stands alone; of a later one it is seen as a sample's start.
          add(states, { boundary, from, to, at: from, cost: from, before: null });
        }
      }
    }
    const next = new Map<string, State>();
    for (const state of states.values()) {
      if (boundary === count) {
        const isWhole = state.at === text.length;
        if ((!reach.end || isWhole) && isBetter(state)) best = state;
        continue;
      }
      if (!reach.end && isBetter(state)) best = state;
      const shown = text.slice(state.from, state.to);
      for (const { at: endAt, cost } of matches(text, state.at, shown)) {
        for (const to of timesAt(endAt)) {
          for (const { at, cost: more } of matches(text, to, pointers[boundary])) {
            add(next, {
              boundary: boundary + 1,
              from: endAt,
              to,
              at,
              cost: state.cost + cost + more,
              before: state,
            });
          }
        }
        if (!reach.end && endAt >= text.length && isBetter(state)) best = state;
      }
    }
    states = next;
  }

  const times = Array.from({ length: count + 1 }, (): string | null => null);
  for (let state: State | null = best; state; state = state.before) {
    times[state.boundary] = text.slice(state.from, state.to);
  }
  return times;
}

function origin(state: State): State {
  let first = state;
  while (first.before) first = first.before;
  return first;
}

/** Where a text that is known may end from a place on, and how far it then departs from what was expected. */
function matches(text: string, at: number, shown: string): { at: number; cost: number }[] {
  const found: { at: number; cost: number }[] = [];
  if (text.startsWith(shown, at)) found.push({ at: at + shown.length, cost: 0 });
  // A space is dropped beside another.
  if (shown.startsWith(" ") && text[at - 1] === " " && text.startsWith(shown.slice(1), at)) {
    found.push({ at: at + shown.length - 1, cost: 0.1 });
  }
  if (text.startsWith(" " + shown, at) && shown !== "") {
    found.push({ at: at + shown.length + 1, cost: 0.6 });
  }
  // Two bytes that were taken for one character, one of them of what stands before.
  const joined = joinedWith(text, at, shown);
  if (joined !== null) found.push({ at: joined, cost: 0.3 });
  if (found.length > 0) return found;
  // Anything in its place, where the rest goes on.
  for (let length = 0; length <= shown.length; length++) {
    if (at + length <= text.length) found.push({ at: at + length, cost: 2 });
  }
  return found;
}

/** The end of `shown` where its first character was joined to the character before it. */
function joinedWith(text: string, at: number, shown: string): number | null {
  const before = text.charCodeAt(at - 1);
  if (before < 0x80 || before > 0xff || shown === "") return null;
  const apart = takeApart(String.fromCharCode(before));
  return apart.length === 1 && text.startsWith(shown.slice(1), at) ? at + shown.length - 1 : null;
}
