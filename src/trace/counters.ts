import { cycles } from "../base/units.ts";
import type { Cycles } from "../base/units.ts";
import type { Profile, Sample } from "./profile.ts";

/**
 * Times of samples, from readings of counters that show 32 bits and wrap (F6.4). All tiles count from one time;
 * a sample is shorter than 2^32 cycles, and so is what lies between the origin and any start (2.86 s at 1.5 GHz).
 */

/** Cycles that a sample took. */
export function duration({ start, end }: Pick<Sample, "start" | "end">): Cycles {
  return cycles((end - start) >>> 0);
}

/** Cycles from the origin to a reading. The end of a sample is the offset of its start plus its duration. */
export function offset(reading: number, origin: number): Cycles {
  return cycles((reading - origin) >>> 0);
}

/**
 * The reading at which the first of all tiles began; 0 where none has samples. First starts lie less than 2^31
 * cycles to either side of that of the first tile, wrapped or not.
 */
export function clockOrigin({ tiles }: Profile): number {
  const starts = firstStarts(tiles);
  if (starts.length === 0) return 0;
  const [reference] = starts;
  const earliest = starts.reduce((least, start) => Math.min(least, (start - reference) | 0), 0);
  return (reference + earliest) >>> 0;
}

/** Cycles from the origin until the last tile began: what views leave out, so that all tiles are in from 0 on. */
export function entrySpan({ tiles }: Profile, origin: number): Cycles {
  const starts = firstStarts(tiles);
  return cycles(starts.reduce((span, start) => Math.max(span, offset(start, origin)), 0));
}

function firstStarts(tiles: Profile["tiles"]): readonly number[] {
  return tiles.flatMap(({ samples }) => (samples.length > 0 ? [samples[0].start] : []));
}
