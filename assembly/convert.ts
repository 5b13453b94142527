/**
 * f16 and f32, four or eight lanes at a time. All roundings are to nearest even; see src/numerics/f16.ts for
 * the definitions that these are held to.
 */

/** Bits of the one NaN that is stored. */
export const F16_NAN: u32 = 0x7e00;
export const F32_NAN: f32 = reinterpret<f32>(0x7fc00000);
export const F16_MAX: f32 = 65504;

/** 1.5 * 2^13: added to x, it leaves no bits below the last one of a half with the exponent of x. */
const TO_GRID: f32 = 12288;
const SMALLEST_NORMAL: f32 = reinterpret<f32>(0x38800000); // 2^-14

/** Four halves in the low 16 bits of each lane, as f32. Exact; needs no table and meets no denormals. */
// @ts-ignore: decorator
@inline
export function widen4(bits: v128): v128 {
  const magnitude = v128.and(bits, i32x4.splat(0x7fff));
  const sign = i32x4.shl(v128.and(bits, i32x4.splat(0x8000)), 16);
  // Right for normal halves; 2^-15 * (1 + fraction) for subnormal ones, which stand for 2^-14 * fraction.
  const y = i32x4.add(i32x4.shl(magnitude, 13), i32x4.splat(0x38000000));
  const subnormal = f32x4.sub(f32x4.add(y, y), f32x4.splat(SMALLEST_NORMAL));
  const finite = f32x4.pmin(y, subnormal);
  const special = v128.and(
    i32x4.gt_s(magnitude, i32x4.splat(0x7bff)),
    i32x4.splat(0x7f800000),
  );
  return v128.or(v128.or(finite, special), sign);
}

/** The lower four of eight halves. */
// @ts-ignore: decorator
@inline
export function widenLow(halves: v128): v128 {
  return widen4(v128.extend_low<u16>(halves));
}

/** The upper four of eight halves. */
// @ts-ignore: decorator
@inline
export function widenHigh(halves: v128): v128 {
  return widen4(v128.extend_high<u16>(halves));
}

/** One half as f32. */
// @ts-ignore: decorator
@inline
export function widen1(bits: u32): f32 {
  const magnitude = bits & 0x7fff;
  const sign = (bits & 0x8000) << 16;
  if (magnitude > 0x7bff) return reinterpret<f32>(sign | 0x7f800000 | (magnitude << 13));
  const y = reinterpret<f32>((magnitude << 13) + 0x38000000);
  const value = magnitude < 0x400 ? y + y - SMALLEST_NORMAL : y;
  return reinterpret<f32>(reinterpret<u32>(value) | sign);
}

/**
 * Bits of the half nearest to the f64 `x`, ties to even. `nanOnOverflow`: a finite value beyond 65504 becomes
 * NaN, else 65504.
 */
export function narrow1(x: f64, nanOnOverflow: bool): u32 {
  if (x != x) return F16_NAN;
  const sign = <u32>(reinterpret<u64>(x) >> 48) & 0x8000;
  const magnitude = Math.abs(x);
  if (magnitude == Infinity) return sign | 0x7c00;
  if (magnitude >= 65520) return nanOnOverflow ? F16_NAN : sign | 0x7bff;
  if (magnitude < 2.98023223876953125e-8) return sign; // 2^-25
  const exponent = max<i32>(-14, <i32>(reinterpret<u64>(magnitude) >> 52) - 1023);
  const scale = reinterpret<f64>((<u64>(10 - exponent + 1023)) << 52);
  const units = <i32>nearest(magnitude * scale);
  return sign | (units + ((exponent + 14) << 10));
}

/** As `narrow1`, with the rounding at random: toF16Stochastic of src/numerics/f16.ts. */
export function narrowStochastic(x: f32, random: u32, nanOnOverflow: bool): u32 {
  const magnitude = <f64>abs(x);
  if (!(magnitude < Infinity)) return narrow1(<f64>x, nanOnOverflow);
  const sign = (reinterpret<u32>(x) >> 16) & 0x8000;
  const exponent = max<i32>(-14, <i32>(reinterpret<u64>(magnitude) >> 52) - 1023);
  const scale = reinterpret<f64>((<u64>(10 - exponent + 1023)) << 52);
  const ulps = magnitude * scale;
  const below = floor(ulps);
  const up = <f64>random < (ulps - below) * 4294967296.0;
  // Beyond all halves `units` may not fit 32 bits: decided before it is used.
  if (exponent > 15) return nanOnOverflow ? F16_NAN : sign | 0x7bff;
  const units = <i32>below + (up ? 1 : 0);
  if (exponent == 15 && units >= 2048) return nanOnOverflow ? F16_NAN : sign | 0x7bff;
  return sign | <u32>(units + ((exponent + 14) << 10));
}

/** Four f32 as bits of halves, in the low 16 bits of each lane. */
// @ts-ignore: decorator
@inline
export function narrow4(x: v128, nanOnOverflow: bool): v128 {
  const magnitude = f32x4.abs(x);
  // Not finite, or out of range: each lane for itself.
  if (v128.any_true(v128.not(f32x4.lt(magnitude, f32x4.splat(65520))))) {
    return narrowSpecial(x, nanOnOverflow);
  }
  const exponent = f32x4.pmax(
    v128.and(magnitude, i32x4.splat(0x7f800000)),
    f32x4.splat(SMALLEST_NORMAL),
  );
  const magic = f32x4.mul(exponent, f32x4.splat(TO_GRID));
  const units = i32x4.sub(f32x4.add(magnitude, magic), magic);
  const start = i32x4.sub(i32x4.shr_u(exponent, 13), i32x4.splat(113 << 10));
  const sign = v128.and(i32x4.shr_u(x, 16), i32x4.splat(0x8000));
  return v128.or(i32x4.add(units, start), sign);
}

function narrowSpecial(x: v128, nanOnOverflow: bool): v128 {
  let bits = i32x4.splat(0);
  bits = i32x4.replace_lane(bits, 0, narrow1(<f64>f32x4.extract_lane(x, 0), nanOnOverflow));
  bits = i32x4.replace_lane(bits, 1, narrow1(<f64>f32x4.extract_lane(x, 1), nanOnOverflow));
  bits = i32x4.replace_lane(bits, 2, narrow1(<f64>f32x4.extract_lane(x, 2), nanOnOverflow));
  return i32x4.replace_lane(bits, 3, narrow1(<f64>f32x4.extract_lane(x, 3), nanOnOverflow));
}

/** Eight f32 as eight halves. */
// @ts-ignore: decorator
@inline
export function narrow8(low: v128, high: v128, nanOnOverflow: bool): v128 {
  const a = narrow4(low, nanOnOverflow);
  const b = narrow4(high, nanOnOverflow);
  // The low halves of all eight lanes.
  return i8x16.shuffle(a, b, 0, 1, 4, 5, 8, 9, 12, 13, 16, 17, 20, 21, 24, 25, 28, 29);
}

/** Four f32 rounded to halves, still f32. */
// @ts-ignore: decorator
@inline
export function round4(x: v128, nanOnOverflow: bool): v128 {
  return widen4(narrow4(x, nanOnOverflow));
}

/** x with the one NaN for every NaN. */
// @ts-ignore: decorator
@inline
export function canonical4(x: v128): v128 {
  return v128.bitselect(x, f32x4.splat(F32_NAN), f32x4.eq(x, x));
}

// @ts-ignore: decorator
@inline
export function canonical1(x: f32): f32 {
  return x == x ? x : F32_NAN;
}

/** An f64 rounded to a half, as f64. */
// @ts-ignore: decorator
@inline
export function round1(x: f64, nanOnOverflow: bool): f64 {
  return <f64>widen1(narrow1(x, nanOnOverflow));
}
