import { SimError } from "../base/errors.ts";
import type { DType } from "../numerics/dtype.ts";
import { F16_VALUES } from "../numerics/f16.ts";
import type { Evaluated } from "./evaluate.ts";
import type { Elements } from "./part.ts";

/** How far a run's output is from f64. Errors are got - want, over the elements that both have finite. */
export interface AccuracyReport {
  readonly output: string;
  readonly against: "f64";
  /** Heads compared; null: rows of an output that has no heads. */
  readonly heads: readonly number[] | null;
  /** Elements compared. */
  readonly elements: number;
  readonly maxAbs: number;
  readonly rms: number;
  /** Root of sum of squared errors over sum of squared f64 values; 0 for 0 over 0. */
  readonly relL2: number;
  readonly ulpHistogram: UlpHistogram;
  /** The largest error's element; null where nothing was compared. */
  readonly worst: Difference | null;
  readonly nonFinite: NonFinite;
  readonly tolerance: Tolerance;
  /** Every element is within its tolerance, and what is not finite is so on both sides alike. */
  readonly within: boolean;
}

export interface Difference {
  readonly index: readonly number[];
  readonly got: number;
  readonly want: number;
}

export interface UlpHistogram {
  /** Type whose unit in the last place, at the f64 value, is the unit: the narrowest on the way. */
  readonly dtype: DType;
  /** Errors of at most so many units and of more than the entry before; rising powers of two. */
  readonly counts: readonly { readonly atMost: number; readonly count: number }[];
}

/** Elements that are infinite or NaN on either side: not part of the errors. */
export interface NonFinite {
  readonly nan: number;
  readonly infinite: number;
  /** Those where the other side is not the same. f64 beyond the output's range counts as finite. */
  readonly unlike: number;
  /** The first unlike one. */
  readonly first: Difference | null;
}

/** docs/accuracy.md: |got - want| <= factor * deviation of the element. */
export interface Tolerance {
  readonly factor: number;
  /** Root mean square and largest of the elements' tolerances. */
  readonly rms: number;
  readonly max: number;
  /** Elements outside, and the largest error as a part of its tolerance, with its place. */
  readonly outside: number;
  readonly largestPart: number;
  readonly worst: Difference | null;
  /** Tolerance of that element. */
  readonly atWorst: number | null;
}

/**
 * Holds a whole output, row-major, against what was evaluated of it.
 *
 * @throws SimError `SHAPE_MISMATCH` for an output of another size.
 */
export function accuracy(want: Evaluated, output: Elements): AccuracyReport {
  const { rows, columns, values, deviations, factor, shape } = want;
  checkSize(want, output);
  const isHalf = output instanceof Uint16Array;
  const histogram = new Map<number, number>();
  let [elements, sumSquares, wantSquares, maxAbs, worstAt] = [0, 0, 0, 0, -1];
  let [nan, infinite, unlike, firstUnlike] = [0, 0, 0, -1];
  let [outside, largestPart, largestPartAt, toleranceAt] = [0, 0, -1, 0];
  let [toleranceSquares, largestTolerance] = [0, 0];
  const gotAt = (i: number): number => {
    const element = output[rows[Math.floor(i / columns)] * columns + (i % columns)];
    return isHalf ? F16_VALUES[element] : element;
  };
  for (let i = 0; i < values.length; i++) {
    const wanted = values[i];
    const got = gotAt(i);
    if (!Number.isFinite(got) || !Number.isFinite(wanted)) {
      if (Number.isNaN(got) || Number.isNaN(wanted)) nan++;
      else infinite++;
      if (!Object.is(got, wanted) && unlike++ === 0) firstUnlike = i;
      continue;
    }
    elements++;
    const error = Math.abs(got - wanted);
    sumSquares += error * error;
    wantSquares += wanted * wanted;
    if (error > maxAbs || worstAt < 0) [maxAbs, worstAt] = [error, i];
    const bucket = ulpBucket(error / ulp(wanted, want.precision));
    histogram.set(bucket, (histogram.get(bucket) ?? 0) + 1);

    const tolerance = factor * deviations[i] + storing(wanted, isHalf ? "f16" : "f32");
    toleranceSquares += tolerance * tolerance;
    largestTolerance = Math.max(largestTolerance, tolerance);
    const part = error / tolerance;
    if (part > 1) outside++;
    if (part > largestPart || largestPartAt < 0) {
      [largestPart, largestPartAt, toleranceAt] = [part, i, tolerance];
    }
  }
  const difference = (i: number): Difference | null =>
    i < 0
      ? null
      : {
          index: indexOf(rows[Math.floor(i / columns)] * columns + (i % columns), shape),
          got: gotAt(i),
          want: values[i],
        };
  const count = Math.max(1, elements);
  return {
    output: want.name,
    against: "f64",
    heads: want.heads,
    elements,
    maxAbs,
    rms: Math.sqrt(sumSquares / count),
    relL2: sumSquares === 0 ? 0 : Math.sqrt(sumSquares / wantSquares),
    ulpHistogram: { dtype: want.precision, counts: sortedCounts(histogram) },
    worst: difference(worstAt),
    nonFinite: { nan, infinite, unlike, first: difference(firstUnlike) },
    tolerance: {
      factor,
      rms: Math.sqrt(toleranceSquares / count),
      max: largestTolerance,
      outside,
      largestPart,
      worst: difference(largestPartAt),
      atWorst: largestPartAt < 0 ? null : toleranceAt,
    },
    within: outside === 0 && unlike === 0,
  };
}

const LEAST_EXPONENT: Readonly<Record<DType, number>> = { f16: -14, f32: -126 };
const FRACTION_BITS: Readonly<Record<DType, number>> = { f16: 10, f32: 23 };

/** From `x` to its neighbour away from zero, in a type without an upper limit. */
function ulp(x: number, dtype: DType): number {
  const exponent = x === 0 ? -Infinity : Math.floor(Math.log2(Math.abs(x)));
  return 2 ** (Math.max(LEAST_EXPONENT[dtype], exponent) - FRACTION_BITS[dtype]);
}

/** Half a unit in the last place: what writing the output down may always change. */
function storing(x: number, dtype: DType): number {
  return ulp(x, dtype) / 2;
}

/** The least of 0.5, 1, 2, 4, ... that is not below `ulps`. */
function ulpBucket(ulps: number): number {
  return ulps <= 0.5 ? 0.5 : 2 ** Math.ceil(Math.log2(ulps));
}

function sortedCounts(histogram: ReadonlyMap<number, number>): UlpHistogram["counts"] {
  return [...histogram]
    .map(([atMost, count]) => ({ atMost, count }))
    .toSorted((a, b) => a.atMost - b.atMost);
}

/** Index along each axis of row-major element `offset`. */
function indexOf(offset: number, shape: readonly number[]): number[] {
  const index: number[] = [];
  for (const extent of shape.toReversed()) {
    index.unshift(offset % extent);
    offset = Math.floor(offset / extent);
  }
  return index;
}

function checkSize({ name, shape }: Evaluated, output: Elements): void {
  const needed = shape.reduce((product, extent) => product * extent, 1);
  if (output.length === needed) return;
  throw new SimError("SHAPE_MISMATCH", {
    what: `output "${name}" has ${output.length} elements, its shape [${shape.join(", ")}] needs ${needed}`,
    where: { tensor: name, elements: output.length, needed },
    fix: "Hold an output against the program that made it",
  });
}
