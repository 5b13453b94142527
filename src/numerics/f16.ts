/**
 * Half precision as bits: IEEE 754 binary16 held in the low 16 bits of a number.
 *
 * Narrowing rounds once, from whatever binary64 value it is given, to nearest with ties to even.
 * Overflow follows the chip's NANOO flag (F1.6): clear saturates to 65504, set gives NaN; the flag's
 * value outside GEMM is not known, saturation is `assumed`. Infinities and NaN are kept; there is one NaN.
 */

export const F16_NAN = 0x7e00;
export const F16_INFINITY = 0x7c00;
/** Bits of the largest finite half, 65504. */
export const F16_MAX = 0x7bff;
/** From here on a finite value rounds beyond 65504. */
const OVERFLOW = 65520;

/** What a finite value beyond the range of f16 becomes. */
export type Overflow = "saturate" | "nan";

const scratch = new DataView(new ArrayBuffer(8));

/** The value of half `bits`, exactly. Slow and obvious; `F16_VALUES` is the table of it. */
export function f16ToF32(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 0x3ff;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  return sign * (1024 + fraction) * 2 ** (exponent - 25);
}

/** The value of every half, by its bits. */
export const F16_VALUES: Float32Array = new Float32Array(65536);
for (let bits = 0; bits < 65536; bits++) F16_VALUES[bits] = f16ToF32(bits);

/** Bits of the half nearest `x` (binary32 or binary64), ties to even. */
export function toF16(x: number, overflow: Overflow = "saturate"): number {
  if (x !== x) return F16_NAN;
  scratch.setFloat64(0, x);
  const sign = scratch.getUint8(0) & 0x80 ? 0x8000 : 0;
  const magnitude = Math.abs(x);
  if (magnitude === Infinity) return sign | F16_INFINITY;
  if (magnitude >= OVERFLOW) return overflow === "saturate" ? sign | F16_MAX : F16_NAN;
  if (magnitude < 2 ** -25) return sign;
  scratch.setFloat64(0, magnitude);
  const exponent = Math.max(-14, (scratch.getUint16(0) >> 4) - 1023);
  // Units in the last place: exact, since it scales by a power of two; then to an integer, ties to even.
  const ulps = magnitude * 2 ** (10 - exponent);
  const units = ulps + 2 ** 52 - 2 ** 52;
  // A carry out of the fraction raises the exponent by itself.
  return sign | (units + ((exponent + 14) << 10));
}

/** `x` rounded to the nearest half, as a number. */
export function roundToF16(x: number, overflow: Overflow = "saturate"): number {
  return F16_VALUES[toF16(x, overflow)];
}

/** Bits of half -65504, which stands for "no value" in a maximum. */
export const F16_LOWEST = 0xfbff;

/**
 * Bits of `x` rounded to f16 at random: up in magnitude with the probability of its distance from the half
 * below, in units of the distance between the two. `random` is a 32-bit unsigned integer: of the 2^32, the
 * first ceil(2^32 * distance) round up, so that an f32 `x` of 2^-33 or more is rounded without bias, subnormal
 * results too, and a smaller one with less than 2^-32 units of it. Halves stay as they are. Beyond 65504 as
 * `overflow` says.
 */
export function toF16Stochastic(x: number, random: number, overflow: Overflow): number {
  const magnitude = Math.abs(x);
  if (!(magnitude < Infinity)) return toF16(x, overflow);
  scratch.setFloat64(0, x);
  const sign = scratch.getUint8(0) & 0x80 ? 0x8000 : 0;
  scratch.setFloat64(0, magnitude);
  const exponent = Math.max(-14, (scratch.getUint16(0) >> 4) - 1023);
  const ulps = magnitude * 2 ** (10 - exponent);
  const below = Math.floor(ulps);
  const units = below + (random < (ulps - below) * 2 ** 32 ? 1 : 0);
  if (exponent > 15 || (exponent === 15 && units >= 2048)) {
    return overflow === "saturate" ? sign | F16_MAX : F16_NAN;
  }
  return sign | (units + ((exponent + 14) << 10));
}
