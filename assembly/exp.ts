/** expF32 of src/numerics/exp.ts, four lanes at a time, to the same bits. */

const LOG2_E: f32 = reinterpret<f32>(0x3fb8aa3b);
const LN2_HIGH: f32 = reinterpret<f32>(0x3f318000);
const LN2_LOW: f32 = reinterpret<f32>(0xb95e8083);

export function expF32(x: v128): v128 {
  const clamped = f32x4.pmin(f32x4.pmax(x, f32x4.splat(-104)), f32x4.splat(89));
  const n = f32x4.nearest(f32x4.mul(clamped, f32x4.splat(LOG2_E)));
  let r = f32x4.sub(clamped, f32x4.mul(n, f32x4.splat(LN2_HIGH)));
  r = f32x4.sub(r, f32x4.mul(n, f32x4.splat(LN2_LOW)));
  let p = f32x4.splat(<f32>(1.0 / 720.0));
  p = f32x4.add(f32x4.mul(p, r), f32x4.splat(<f32>(1.0 / 120.0)));
  p = f32x4.add(f32x4.mul(p, r), f32x4.splat(<f32>(1.0 / 24.0)));
  p = f32x4.add(f32x4.mul(p, r), f32x4.splat(<f32>(1.0 / 6.0)));
  p = f32x4.add(f32x4.mul(p, r), f32x4.splat(0.5));
  p = f32x4.add(f32x4.mul(p, r), f32x4.splat(1));
  p = f32x4.add(f32x4.mul(p, r), f32x4.splat(1));
  // 2^n in two steps, since n reaches beyond the exponents of f32 on both sides.
  const whole = i32x4.trunc_sat_f32x4_s(n);
  const half = i32x4.shr_s(whole, 1);
  const rest = i32x4.sub(whole, half);
  p = f32x4.mul(p, power(half));
  p = f32x4.mul(p, power(rest));
  return v128.bitselect(p, x, f32x4.eq(x, x));
}

/** 2^n of four integers, -126 .. 127. */
// @ts-ignore: decorator
@inline
function power(n: v128): v128 {
  return i32x4.shl(i32x4.add(n, i32x4.splat(127)), 23);
}
