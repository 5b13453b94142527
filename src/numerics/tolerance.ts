import type { DType } from "./dtype.ts";
import { toF16 } from "./f16.ts";

/**
 * How far a number may be from the one that is wanted.
 *
 * - `exact`: the same number; zeros of both signs differ, any NaN is any NaN
 * - `ulp`: at most so many numbers of the dtype away, both rounded to it first
 * - `absolute`: |got - want| at most `error`; infinities and NaN only where they are wanted
 */
export type Tolerance =
  | { readonly kind: "exact" }
  | { readonly kind: "ulp"; readonly dtype: DType; readonly units: number }
  | { readonly kind: "absolute"; readonly error: number };

export function isWithin(got: number, want: number, tolerance: Tolerance): boolean {
  switch (tolerance.kind) {
    case "exact":
      return Object.is(got, want);
    case "ulp":
      return tolerance.dtype === "f16"
        ? ulpDistanceF16(toF16(got), toF16(want)) <= tolerance.units
        : ulpDistanceF32(got, want) <= tolerance.units;
    case "absolute":
      return Object.is(got, want) || Math.abs(got - want) <= tolerance.error;
  }
}

/**
 * Halves from one to the other, by their bits: 0 between the zeros and between any two NaN, infinite between a
 * NaN and a number. Infinity stands next to 65504.
 */
export function ulpDistanceF16(a: number, b: number): number {
  return distance(a & 0x8000, a & 0x7fff, b & 0x8000, b & 0x7fff, 0x7c00);
}

/** The same of two numbers of f32; others are rounded to it first. */
export function ulpDistanceF32(a: number, b: number): number {
  const [x, y] = new Uint32Array(Float32Array.of(a, b).buffer);
  return distance(x >>> 31, x & 0x7fffffff, y >>> 31, y & 0x7fffffff, 0x7f800000);
}

function distance(
  signA: number,
  magnitudeA: number,
  signB: number,
  magnitudeB: number,
  infinity: number,
): number {
  const nan = Number(magnitudeA > infinity) + Number(magnitudeB > infinity);
  if (nan > 0) return nan === 2 ? 0 : Infinity;
  return Math.abs((signA ? -magnitudeA : magnitudeA) - (signB ? -magnitudeB : magnitudeB));
}
