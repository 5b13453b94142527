/**
 * f16 GEMM, to the bits of src/kernels/gemm.ts.
 *
 * Packed operands, made once for all tiles that hold the same bytes:
 *   left   f32 [inner/16][rows][16], then f32 lengths [inner/16][rows]
 *   right  f32 [columns/16][inner][16], then f32 lengths [columns/16][inner/16][16]
 * A length is the square root of the sum of w_j x_j^2 over 16 inner values, rounded up; w: see below.
 *
 * Lanes are output columns and k ascends, so that neither lane width nor tiling can change a bit. k is not
 * unrolled: V8 would hoist the loads and spill the accumulators.
 */
import { narrow1, narrow8, narrowStochastic, widen1, widenHigh, widenLow } from "./convert";
import { stochasticBits } from "./random";

/** Lengths are this much too long, so that their own roundings cannot make them too short. */
const UP: f32 = 1.00001;
const UNIT: f32 = reinterpret<f32>(0x33800000); // 2^-24
/** Slack for second-order terms of the bound. */
const SLACK: f32 = 1.001;

/**
 * SPECULATE AND VERIFY. The definition adds four products at a time in f64; that is four times the work. So
 * x is summed in f32, one product at a time, and accepted only where no value within the error bound of x
 * rounds to another half than x does. Else the lane is computed again as defined.
 *
 * Let u = 2^-24, y the sum before and p_0 .. p_15 the products, exact in f32. A rounding changes a partial sum
 * by at most u of it. A partial sum is y and the products so far, or else x less the products still to come:
 * take the first for the first eight products, the second for the others. The fast way rounds after each
 * product, so that p_j counts 8 - j times there for j < 8, and j - 8 times after; the definition rounds after
 * every fourth, so that p_0 .. p_3 count twice more, p_4 .. p_7 and p_12 .. p_15 once (its f64 sums err by
 * nothing that counts). Together, with w = 10 9 8 7 5 4 3 2 0 1 2 3 5 6 7 8,
 *
 *   err <= u (10 |x| + 10 |y| + sum w_j |p_j|),   sum w_j |p_j| <= |a|_w |b|_w
 *
 * by Cauchy and Schwarz, |a|_w being the length of a weighted by w.
 *
 * Let e = SLOPE (|x| + |y|) + u SLACK |a|_w |b|_w, a little more than err, lo = |x| - e and hi = |x| + e: the definition's sum has a
 * magnitude between them and, if lo is not negative, the sign of x. (Both may be zero.) Let m be the power of
 * two at or below lo, at least 2^-14. Adding and taking away 1.5 * 2^13 m rounds to the grid of 2^-10 m, to
 * nearest even; that is monotone, so that if lo and hi go to one r, so does all between. And r is the half
 * nearest to all of these:
 * - On [m, 2m], and below 2^-14, the halves are that grid.
 * - Where hi is beyond 2m, r is at most 2m, being lo's; so all that is beyond 2m is within half a step of that
 *   grid from 2m, and the halves there lie twice as far apart.
 * r is given the sign of x, a zero too. Infinities and NaN never compare equal, and take the slow way. Where
 * sums can reach 2^15 (isGuarded) lanes that do so take it too, and with them all that overflows.
 */
const SLOPE: f32 = 10.02 * UNIT;
const TO_GRID: f32 = 12288;
const SMALLEST_NORMAL: f32 = reinterpret<f32>(0x38800000);
const GUARD: f32 = 32768;

/** Bytes of a packed operand: values, lengths, and in the last 64 the longest plain length of a group. */
export function packedLeftBytes(rows: i32, inner: i32): i32 {
  return ((rows * inner * 4 + (inner >> 4) * rows * 4 + 63) & ~63) + 64;
}

export function packedRightBytes(inner: i32, columns: i32): i32 {
  return packedLeftBytes(columns, inner);
}

export function packLeft(target: usize, source: usize, rows: i32, inner: i32): void {
  const count = rows * (inner >> 4);
  let lengths = target + rows * inner * 4;
  const longest = target + packedLeftBytes(rows, inner) - 64;
  let most = f32x4.splat(0);
  for (let i = 0; i < count; i++) {
    const a = v128.load(source);
    const b = v128.load(source, 16);
    const a0 = widenLow(a);
    const a1 = widenHigh(a);
    const b0 = widenLow(b);
    const b1 = widenHigh(b);
    v128.store(target, a0);
    v128.store(target, a1, 16);
    v128.store(target, b0, 32);
    v128.store(target, b1, 48);
    const a00 = f32x4.mul(a0, a0);
    const a11 = f32x4.mul(a1, a1);
    const b00 = f32x4.mul(b0, b0);
    const b11 = f32x4.mul(b1, b1);
    // A NaN stays: what cannot be bounded is guarded.
    most = f32x4.max(most, f32x4.add(f32x4.add(a00, a11), f32x4.add(b00, b11)));
    const squares = f32x4.add(
      f32x4.add(f32x4.mul(a00, f32x4(10, 9, 8, 7)), f32x4.mul(a11, f32x4(5, 4, 3, 2))),
      f32x4.add(f32x4.mul(b00, f32x4(0, 1, 2, 3)), f32x4.mul(b11, f32x4(5, 6, 7, 8))),
    );
    const sum =
      f32x4.extract_lane(squares, 0) +
      f32x4.extract_lane(squares, 1) +
      (f32x4.extract_lane(squares, 2) + f32x4.extract_lane(squares, 3));
    store<f32>(lengths, sqrt<f32>(sum) * UP);
    source += 32;
    target += 64;
    lengths += 4;
  }
  const total =
    f32x4.extract_lane(most, 0) +
    f32x4.extract_lane(most, 1) +
    (f32x4.extract_lane(most, 2) + f32x4.extract_lane(most, 3));
  store<f32>(longest, sqrt<f32>(total) * UP);
}

/** w of SPECULATE AND VERIFY. */
// @ts-ignore: decorator
@inline
function weight(k: i32): f32 {
  let w = k < 12 ? k - 8 : k - 7;
  if (k < 8) w = k < 4 ? 10 - k : 9 - k;
  return <f32>w;
}

export function packRight(target: usize, source: usize, inner: i32, columns: i32): void {
  const innerGroups = inner >> 4;
  const columnGroups = columns >> 4;
  let lengths = target + inner * columns * 4;
  const longest = target + packedRightBytes(inner, columns) - 64;
  let most: f32 = 0;
  for (let cg = 0; cg < columnGroups; cg++) {
    for (let kg = 0; kg < innerGroups; kg++) {
      for (let n = 0; n < 16; n++) {
        let sum: f32 = 0;
        let plain: f32 = 0;
        for (let k = 0; k < 16; k++) {
          const value = widen1(load<u16>(source + ((n * 16 + k) << 1)));
          store<f32>(target + ((k * 16 + n) << 2), value);
          plain += value * value;
          sum += value * value * weight(k);
        }
        most = max<f32>(most, plain);
        store<f32>(lengths + (n << 2), sqrt<f32>(sum) * UP * (UNIT * SLACK));
      }
      source += 512;
      target += 1024;
      lengths += 64;
    }
  }
  store<f32>(longest, sqrt<f32>(most) * UP);
}

// @ts-ignore: decorator
@inline
function madd(a: v128, b: v128, c: v128): v128 {
  // Products of two halves are exact in f32, so that a fused addition rounds as one apart does.
  if (ASC_FEATURE_RELAXED_SIMD) return f32x4.relaxed_madd(a, b, c);
  return f32x4.add(f32x4.mul(a, b), c);
}

/**
 * One output's 16 inner values as defined: returns the f32 sum. `a`: 16 values together, `b`: 16 values 64
 * bytes apart.
 */
function addGroup(start: f32, a: usize, b: usize): f32 {
  let acc = start;
  for (let phase = 0; phase < 4; phase++) {
    const first =
      <f64>load<f32>(a) * <f64>load<f32>(b) + <f64>load<f32>(a, 4) * <f64>load<f32>(b, 64);
    const second =
      <f64>load<f32>(a, 8) * <f64>load<f32>(b, 128) + <f64>load<f32>(a, 12) * <f64>load<f32>(b, 192);
    acc = <f32>(<f64>acc + (first + second));
    a += 16;
    b += 256;
  }
  return acc;
}

/** x as a half, in f32. */
// @ts-ignore: decorator
@inline
function roundToHalf(x: f32, nanOnOverflow: bool): f32 {
  const magnitude = abs<f32>(x);
  if (!(magnitude < 65504)) return widen1(narrow1(<f64>x, nanOnOverflow));
  const exponent = max<u32>(reinterpret<u32>(magnitude) & 0x7f800000, 0x38800000);
  const magic = reinterpret<f32>(exponent) * TO_GRID;
  return copysign<f32>(magnitude + magic - magic, x);
}

/**
 * The outputs of a block that have a bit in `open`, as defined; eight vectors of four lanes, four of them a row.
 */
function again(open: i32, sums: usize, old: usize, a: usize, b: usize, nanOnOverflow: bool): void {
  do {
    const lane = <usize>ctz(open);
    const at = lane << 2;
    const acc = addGroup(load<f32>(old + at), a + ((lane >> 4) << 6), b + ((lane & 15) << 2));
    store<f32>(sums + at, roundToHalf(acc, nanOnOverflow));
    open &= open - 1;
  } while (open != 0);
}

/**
 * x as a half, in f32, to `sums`. Returns a bit for each of the four lanes where that is not certain: see
 * SPECULATE AND VERIFY. Nothing is called here: V8 would keep every vector of the loop in memory around a call.
 */
// @ts-ignore: decorator
@inline
function settle(
  x: v128,
  bound: v128,
  old: usize,
  sums: usize,
  isGuarded: bool,
  constants: usize,
  signMask: v128,
  exponentMask: v128,
  smallest: v128,
  toGrid: v128,
  slope: v128,
): i32 {
  const magnitude = v128.andnot(x, signMask);
  // Fused or not, the error of these is far below the slack of the bound.
  const both = f32x4.add(magnitude, v128.andnot(v128.load(old), signMask));
  const error = madd(both, slope, bound);
  const lo = f32x4.sub(magnitude, error);
  const hi = f32x4.add(magnitude, error);
  const magic = f32x4.mul(f32x4.pmax(v128.and(lo, exponentMask), smallest), toGrid);
  const r = f32x4.sub(f32x4.add(lo, magic), magic);
  const top = f32x4.sub(f32x4.add(hi, magic), magic);
  v128.store(sums, v128.or(r, v128.and(x, signMask)));
  // A negative lo has its sign bit set.
  let certain = v128.andnot(f32x4.eq(r, top), lo);
  if (isGuarded) certain = v128.and(certain, f32x4.lt(hi, v128.load(constants, 80)));
  return i32x4.bitmask(certain) ^ 15;
}

/** Constants of `settle`, four lanes each; loaded, since V8 builds literals anew at every use. */
function storeConstants(at: usize): void {
  v128.store(at, i32x4.splat(0x80000000));
  v128.store(at, i32x4.splat(0x7f800000), 16);
  v128.store(at, f32x4.splat(SMALLEST_NORMAL), 32);
  v128.store(at, f32x4.splat(TO_GRID), 48);
  v128.store(at, f32x4.splat(SLOPE), 64);
  v128.store(at, f32x4.splat(GUARD), 80);
}

/** Loads 16 halves of the output as f32 into `sums`, or zeros. */
// @ts-ignore: decorator
@inline
function startRow(sums: usize, output: usize, accumulate: bool): void {
  if (accumulate) {
    const low = v128.load(output);
    const high = v128.load(output, 16);
    v128.store(sums, widenLow(low));
    v128.store(sums, widenHigh(low), 16);
    v128.store(sums, widenLow(high), 32);
    v128.store(sums, widenHigh(high), 48);
  } else {
    const zeros = i32x4.splat(0);
    v128.store(sums, zeros);
    v128.store(sums, zeros, 16);
    v128.store(sums, zeros, 32);
    v128.store(sums, zeros, 48);
  }
}

/**
 * `nearest`. output: halves in amp-left order; sums: 384 bytes of scratch.
 */
export function gemmNearest(
  output: usize,
  left: usize,
  right: usize,
  rows: i32,
  inner: i32,
  columns: i32,
  accumulate: bool,
  nanOnOverflow: bool,
  sums: usize,
): void {
  // No partial sum is beyond the longest left by the longest right of each group, if they start at zero.
  const reach = load<f32>(left + packedLeftBytes(rows, inner) - 64);
  const across = load<f32>(right + packedRightBytes(inner, columns) - 64);
  const isFar = !(reach * across * <f32>(inner >> 4) < GUARD);
  if (accumulate || isFar) {
    nearest_(output, left, right, rows, inner, columns, accumulate, nanOnOverflow, sums, true);
  } else {
    nearest_(output, left, right, rows, inner, columns, false, nanOnOverflow, sums, false);
  }
}

// @ts-ignore: decorator
@inline
function nearest_(
  output: usize,
  left: usize,
  right: usize,
  rows: i32,
  inner: i32,
  columns: i32,
  accumulate: bool,
  nanOnOverflow: bool,
  sums: usize,
  isGuarded: bool,
): void {
  const constants = sums + 256;
  storeConstants(constants);
  const innerGroups = inner >> 4;
  const columnGroups = columns >> 4;
  const leftLengths = left + rows * inner * 4;
  const rightLengths = right + inner * columns * 4;
  const leftStep = rows << 6;
  for (let cg = 0; cg < columnGroups; cg++) {
    const out = output + ((cg * rows) << 5);
    const panel = right + ((cg * inner) << 6);
    const panelLengths = rightLengths + ((cg * innerGroups) << 6);
    let r = 0;
    for (; r + 2 <= rows; r += 2) {
      // The running sums of two rows, and where the next ones go.
      let old = sums;
      let now = sums + 128;
      startRow(old, out + (r << 5), accumulate);
      startRow(old + 64, out + (r << 5) + 32, accumulate);
      let a = left + (r << 6);
      let b = panel;
      let aLengths = leftLengths + (r << 2);
      let bLengths = panelLengths;
      for (let kg = 0; kg < innerGroups; kg++) {
        let x0 = v128.load(old);
        let x1 = v128.load(old, 16);
        let x2 = v128.load(old, 32);
        let x3 = v128.load(old, 48);
        let y0 = v128.load(old, 64);
        let y1 = v128.load(old, 80);
        let y2 = v128.load(old, 96);
        let y3 = v128.load(old, 112);
        const end = b + 1024;
        for (; b < end; b += 64) {
          const b0 = v128.load(b);
          const b1 = v128.load(b, 16);
          const b2 = v128.load(b, 32);
          const b3 = v128.load(b, 48);
          const s = v128.load32_splat(a);
          x0 = madd(s, b0, x0);
          x1 = madd(s, b1, x1);
          x2 = madd(s, b2, x2);
          x3 = madd(s, b3, x3);
          const t = v128.load32_splat(a, 64);
          y0 = madd(t, b0, y0);
          y1 = madd(t, b1, y1);
          y2 = madd(t, b2, y2);
          y3 = madd(t, b3, y3);
          a += 4;
        }
        const signMask = v128.load(constants);
        const exponentMask = v128.load(constants, 16);
        const smallest = v128.load(constants, 32);
        const toGrid = v128.load(constants, 48);
        const slope = v128.load(constants, 64);
        const xLength = v128.load32_splat(aLengths);
        const yLength = v128.load32_splat(aLengths, 4);
        const l0 = v128.load(bLengths);
        const l1 = v128.load(bLengths, 16);
        const l2 = v128.load(bLengths, 32);
        const l3 = v128.load(bLengths, 48);
        const open =
          settle(x0, f32x4.mul(xLength, l0), old, now, isGuarded, constants, signMask, exponentMask, smallest, toGrid, slope) |
          (settle(x1, f32x4.mul(xLength, l1), old + 16, now + 16, isGuarded, constants, signMask, exponentMask, smallest, toGrid, slope) << 4) |
          (settle(x2, f32x4.mul(xLength, l2), old + 32, now + 32, isGuarded, constants, signMask, exponentMask, smallest, toGrid, slope) << 8) |
          (settle(x3, f32x4.mul(xLength, l3), old + 48, now + 48, isGuarded, constants, signMask, exponentMask, smallest, toGrid, slope) << 12) |
          (settle(y0, f32x4.mul(yLength, l0), old + 64, now + 64, isGuarded, constants, signMask, exponentMask, smallest, toGrid, slope) << 16) |
          (settle(y1, f32x4.mul(yLength, l1), old + 80, now + 80, isGuarded, constants, signMask, exponentMask, smallest, toGrid, slope) << 20) |
          (settle(y2, f32x4.mul(yLength, l2), old + 96, now + 96, isGuarded, constants, signMask, exponentMask, smallest, toGrid, slope) << 24) |
          (settle(y3, f32x4.mul(yLength, l3), old + 112, now + 112, isGuarded, constants, signMask, exponentMask, smallest, toGrid, slope) << 28);
        if (open != 0) again(open, now, old, a - 64, b - 1024, nanOnOverflow);
        const settled = now;
        now = old;
        old = settled;
        a += leftStep - 64;
        aLengths += rows << 2;
        bLengths += 64;
      }
      storeRow(out + (r << 5), old, nanOnOverflow);
      storeRow(out + (r << 5) + 32, old + 64, nanOnOverflow);
    }
    if (r < rows) {
      let old = sums;
      let now = sums + 128;
      startRow(old, out + (r << 5), accumulate);
      let a = left + (r << 6);
      let b = panel;
      let aLengths = leftLengths + (r << 2);
      let bLengths = panelLengths;
      for (let kg = 0; kg < innerGroups; kg++) {
        let x0 = v128.load(old);
        let x1 = v128.load(old, 16);
        let x2 = v128.load(old, 32);
        let x3 = v128.load(old, 48);
        const end = b + 1024;
        for (; b < end; b += 64) {
          const s = v128.load32_splat(a);
          x0 = madd(s, v128.load(b), x0);
          x1 = madd(s, v128.load(b, 16), x1);
          x2 = madd(s, v128.load(b, 32), x2);
          x3 = madd(s, v128.load(b, 48), x3);
          a += 4;
        }
        const signMask = v128.load(constants);
        const exponentMask = v128.load(constants, 16);
        const smallest = v128.load(constants, 32);
        const toGrid = v128.load(constants, 48);
        const slope = v128.load(constants, 64);
        const xLength = v128.load32_splat(aLengths);
        const open =
          settle(x0, f32x4.mul(xLength, v128.load(bLengths)), old, now, isGuarded, constants, signMask, exponentMask, smallest, toGrid, slope) |
          (settle(x1, f32x4.mul(xLength, v128.load(bLengths, 16)), old + 16, now + 16, isGuarded, constants, signMask, exponentMask, smallest, toGrid, slope) << 4) |
          (settle(x2, f32x4.mul(xLength, v128.load(bLengths, 32)), old + 32, now + 32, isGuarded, constants, signMask, exponentMask, smallest, toGrid, slope) << 8) |
          (settle(x3, f32x4.mul(xLength, v128.load(bLengths, 48)), old + 48, now + 48, isGuarded, constants, signMask, exponentMask, smallest, toGrid, slope) << 12);
        if (open != 0) again(open, now, old, a - 64, b - 1024, nanOnOverflow);
        const settled = now;
        now = old;
        old = settled;
        a += leftStep - 64;
        aLengths += rows << 2;
        bLengths += 64;
      }
      storeRow(out + (r << 5), old, nanOnOverflow);
    }
  }
}

// @ts-ignore: decorator
@inline
function storeRow(output: usize, sums: usize, nanOnOverflow: bool): void {
  v128.store(output, narrow8(v128.load(sums), v128.load(sums, 16), nanOnOverflow));
  v128.store(output, narrow8(v128.load(sums, 32), v128.load(sums, 48), nanOnOverflow), 16);
}

// @ts-ignore: decorator
@inline
function storeSums(sums: usize, x0: v128, x1: v128, x2: v128, x3: v128): void {
  v128.store(sums, x0);
  v128.store(sums, x1, 16);
  v128.store(sums, x2, 32);
  v128.store(sums, x3, 48);
}

/** `exact`: one f32 sum over all inner values, rounded at the store. */
export function gemmExact(
  output: usize,
  left: usize,
  right: usize,
  rows: i32,
  inner: i32,
  columns: i32,
  accumulate: bool,
  nanOnOverflow: bool,
  sums: usize,
): void {
  const innerGroups = inner >> 4;
  const columnGroups = columns >> 4;
  const leftStep = rows << 6;
  for (let cg = 0; cg < columnGroups; cg++) {
    const out = output + ((cg * rows) << 5);
    const panel = right + ((cg * inner) << 6);
    let r = 0;
    for (; r + 2 <= rows; r += 2) {
      startRow(sums, out + (r << 5), accumulate);
      startRow(sums + 64, out + (r << 5) + 32, accumulate);
      let x0 = v128.load(sums);
      let x1 = v128.load(sums, 16);
      let x2 = v128.load(sums, 32);
      let x3 = v128.load(sums, 48);
      let y0 = v128.load(sums, 64);
      let y1 = v128.load(sums, 80);
      let y2 = v128.load(sums, 96);
      let y3 = v128.load(sums, 112);
      let a = left + (r << 6);
      let b = panel;
      for (let kg = 0; kg < innerGroups; kg++) {
        const end = b + 1024;
        for (; b < end; b += 64) {
          const b0 = v128.load(b);
          const b1 = v128.load(b, 16);
          const b2 = v128.load(b, 32);
          const b3 = v128.load(b, 48);
          const s = v128.load32_splat(a);
          x0 = madd(s, b0, x0);
          x1 = madd(s, b1, x1);
          x2 = madd(s, b2, x2);
          x3 = madd(s, b3, x3);
          const t = v128.load32_splat(a, 64);
          y0 = madd(t, b0, y0);
          y1 = madd(t, b1, y1);
          y2 = madd(t, b2, y2);
          y3 = madd(t, b3, y3);
          a += 4;
        }
        a += leftStep - 64;
      }
      storeSums(sums, x0, x1, x2, x3);
      storeSums(sums + 64, y0, y1, y2, y3);
      storeRow(out + (r << 5), sums, nanOnOverflow);
      storeRow(out + (r << 5) + 32, sums + 64, nanOnOverflow);
    }
    if (r < rows) {
      startRow(sums, out + (r << 5), accumulate);
      let x0 = v128.load(sums);
      let x1 = v128.load(sums, 16);
      let x2 = v128.load(sums, 32);
      let x3 = v128.load(sums, 48);
      let a = left + (r << 6);
      let b = panel;
      for (let kg = 0; kg < innerGroups; kg++) {
        const end = b + 1024;
        for (; b < end; b += 64) {
          const s = v128.load32_splat(a);
          x0 = madd(s, v128.load(b), x0);
          x1 = madd(s, v128.load(b, 16), x1);
          x2 = madd(s, v128.load(b, 32), x2);
          x3 = madd(s, v128.load(b, 48), x3);
          a += 4;
        }
        a += leftStep - 64;
      }
      storeSums(sums, x0, x1, x2, x3);
      storeRow(out + (r << 5), sums, nanOnOverflow);
    }
  }
}

/** `stochastic`: the definition, one output at a time. `call`: the hash of seed, tile and step. */
export function gemmStochastic(
  output: usize,
  left: usize,
  right: usize,
  rows: i32,
  inner: i32,
  columns: i32,
  accumulate: bool,
  nanOnOverflow: bool,
  call: u32,
): void {
  const innerGroups = inner >> 4;
  for (let n = 0; n < columns; n++) {
    const panel = right + (((n >> 4) * inner) << 6) + ((n & 15) << 2);
    for (let r = 0; r < rows; r++) {
      const at = output + ((((n >> 4) * rows + r) * 16 + (n & 15)) << 1);
      let bits: u32 = 0;
      let running: f32 = accumulate ? widen1(load<u16>(at)) : 0;
      for (let kg = 0; kg < innerGroups; kg++) {
        const acc = addGroup(running, left + ((kg * rows + r) << 6), panel + (kg << 10));
        bits = narrowStochastic(acc, stochasticBits(call, r * columns + n, kg), nanOnOverflow);
        running = widen1(bits);
      }
      store<u16>(at, <u16>bits);
    }
  }
}

/** f32 operands, 64 x 64: left in strips of 8, right in panels of 16 x 8, output in drain order. */
export function gemmF32(
  output: usize,
  left: usize,
  right: usize,
  rows: i32,
  inner: i32,
  columns: i32,
  accumulate: bool,
): void {
  for (let r = 0; r < rows; r++) {
    for (let n = 0; n < columns; n++) {
      const pair = (n & 15) >> 1;
      const lane = ((pair & 3) << 1) + (pair >> 2);
      const at = output + ((((n >> 4) * rows + r) * 16 + (lane << 1) + (n & 1)) << 2);
      let acc: f32 = accumulate ? load<f32>(at) : 0;
      for (let k = 0; k < inner; k++) {
        const a = load<f32>(left + ((((k >> 3) * rows + r) * 8 + (k & 7)) << 2));
        const panel = (n >> 4) * (inner >> 3) + (k >> 3);
        const b = load<f32>(right + ((panel * 128 + (n & 15) * 8 + (k & 7)) << 2));
        acc = <f32>(<f64>acc + <f64>a * <f64>b);
      }
      store<f32>(at, acc == acc ? acc : reinterpret<f32>(0x7fc00000));
    }
  }
}
