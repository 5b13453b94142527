import { cycles } from "../base/units.ts";
import type { Cycles } from "../base/units.ts";
import { clockOrigin, duration, entrySpan, offset } from "./counters.ts";
import type { Profile, Sample } from "./profile.ts";

/** Cycles from `start` up to `end`, `end` not among them. */
export interface Interval {
  readonly start: number;
  readonly end: number;
}

/** A sample on the time that all tiles share. */
export interface TimedSample extends Interval {
  readonly tile: number;
  readonly sample: Sample;
}

export interface Timeline {
  /** Cycles that were left out before 0: until the last tile began, or none. */
  readonly crop: Cycles;
  /** The largest end. */
  readonly span: Cycles;
  /** Tile by tile; those of no length, or that end before 0, are left out. */
  readonly samples: readonly TimedSample[];
}

/**
 * start = max(0, o - crop), end = max(0, o + duration - crop), with o the offset of the sample's start from the
 * first start of all tiles; crop is `entrySpan`, or 0 on the shared clock (F6.4, F6.6). Samples of no remaining
 * length are dropped: a recorded one takes cycles, so one of none has times that are not known.
 */
export function timelineOf(profile: Profile, { isCropped }: { isCropped: boolean }): Timeline {
  const origin = clockOrigin(profile);
  const crop = isCropped ? entrySpan(profile, origin) : cycles(0);
  const samples: TimedSample[] = [];
  let span = 0;
  for (const { physicalTile, samples: own } of profile.tiles) {
    for (const sample of own) {
      const from = offset(sample.start, origin) - crop;
      const start = Math.max(0, from);
      const end = Math.max(0, from + duration(sample));
      span = Math.max(span, end);
      if (end > start) samples.push({ tile: physicalTile, sample, start, end });
    }
  }
  return { crop, span: cycles(span), samples };
}

/** Cycles that one interval or more covers: the length of their union. */
export function covered(intervals: readonly Interval[]): Cycles {
  let sum = 0;
  let end = -Infinity;
  for (const interval of inOrder(intervals)) {
    if (interval.end <= end) continue;
    sum += interval.end - Math.max(interval.start, end);
    end = interval.end;
  }
  return cycles(sum);
}

/** By start. What a tile's record lists is mostly in order. */
function inOrder(intervals: readonly Interval[]): readonly Interval[] {
  const isSorted = intervals.every(({ start }, i) => i === 0 || intervals[i - 1].start <= start);
  return isSorted ? intervals : intervals.toSorted((a, b) => a.start - b.start);
}

/** Milliseconds that cycles take: cycles * 1000 / clockHz (F6.6). */
export function milliseconds(count: number, clockHz: number): number {
  return (count * 1000) / clockHz;
}
