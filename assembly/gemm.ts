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
 * Let u = 2^-24, and p_0 .. p_15 the products, exact in f32. Both ways start from the same half. A rounding
 * changes a partial sum by at most u of it, and a partial sum is the final one less the products still to
 * come: at most |x| + sum |p_j| over those. The fast way rounds after each product, so that p_j is still to
 * come at j roundings; the definition rounds after every fourth, so that p_j is to come at floor(j / 4) of
 * its four (its f64 sums err by nothing that counts). Together, with w_j = j + floor(j / 4),
 *
 *   err <= u (20 |x| + sum w_j |p_j|) <= 20u |x| + bound,   bound = u SLACK |a|_w |b|_w
 *
 * by Cauchy and Schwarz, |a|_w being the length of a weighted by w.
 *
 * t = |x| - bound must be positive: then both have one sign. m is the power of two at or below t, at least
 * 2^-14: m <= |x| < 2m + bound. r is x on the grid of 2^-10 m, to nearest even: adding 1.5 * 2^13 m leaves no
 * finer bits. d = |x - r| is exact. Accepted if d < m 2^-11 - err, with err <= 40u m + bound, as 2^-11 - 41u
 * rounded down is FIRST. Then every value y within err of x is nearer to r than half a grid step, so y rounds
 * to r on that grid. It is also the half nearest to y:
 * - If |y| and |x| are in [m, 2m) the grid is that of the halves there.
 * - Where |x| >= 2m, since t < 2m, |x| < 2m + bound and bound is less than half a step: r is 2m, a half, and
 *   the steps of the halves above 2m are wider.
 * - Where |y| reaches 2m from below, the same.
 * - Where |y| < m, |x| - |y| <= bound + 20u|x| and |x| >= m + bound: |y| is below m by less than 40u m, far
 *   less than a quarter step, and rounds to m on the finer grid there; r is m, since d + bound < half a step.
 * - Below 2^-14 all halves lie on one grid of 2^-24.
 *
 * FIRST - SECOND m makes the limit zero from m = 2^15 on: overflow, infinities and NaN (whose comparison is
 * false) all take the slow way. A zero r gets the sign of x.
 */
const FIRST: f32 = 0.00048828125 * 0.9949;
const SECOND: f32 = FIRST / 32768;
const TO_GRID: f32 = 12288;
const SMALLEST_NORMAL: f32 = reinterpret<f32>(0x38800000);

/** bytes of packed operands */
export function packedLeftBytes(rows: i32, inner: i32): i32 {
  return rows * inner * 4 + (inner >> 4) * rows * 4;
}

export function packedRightBytes(inner: i32, columns: i32): i32 {
  return inner * columns * 4 + (inner >> 4) * columns * 4;
}

export function packLeft(target: usize, source: usize, rows: i32, inner: i32): void {
  const count = rows * (inner >> 4);
  let lengths = target + rows * inner * 4;
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
    const squares = f32x4.add(
      f32x4.add(
        f32x4.mul(f32x4.mul(a0, a0), f32x4(0, 1, 2, 3)),
        f32x4.mul(f32x4.mul(a1, a1), f32x4(5, 6, 7, 8)),
      ),
      f32x4.add(
        f32x4.mul(f32x4.mul(b0, b0), f32x4(10, 11, 12, 13)),
        f32x4.mul(f32x4.mul(b1, b1), f32x4(15, 16, 17, 18)),
      ),
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
}

export function packRight(target: usize, source: usize, inner: i32, columns: i32): void {
  const innerGroups = inner >> 4;
  const columnGroups = columns >> 4;
  let lengths = target + inner * columns * 4;
  for (let cg = 0; cg < columnGroups; cg++) {
    for (let kg = 0; kg < innerGroups; kg++) {
      for (let n = 0; n < 16; n++) {
        let sum: f32 = 0;
        for (let k = 0; k < 16; k++) {
          const value = widen1(load<u16>(source + ((n * 16 + k) << 1)));
          store<f32>(target + ((k * 16 + n) << 2), value);
          sum += value * value * <f32>(k + (k >> 2));
        }
        store<f32>(lengths + (n << 2), sqrt<f32>(sum) * UP * (UNIT * SLACK));
      }
      source += 512;
      target += 1024;
      lengths += 64;
    }
  }
}

// @ts-ignore: decorator
@inline
function madd(a: v128, b: v128, c: v128): v128 {
  // Products of two halves are exact in f32, so that a fused addition rounds as one apart does.
  if (ASC_FEATURE_RELAXED_SIMD) return f32x4.relaxed_madd(a, b, c);
  return f32x4.add(f32x4.mul(a, b), c);
}

/**
 * One output's 16 inner values as defined: returns the rounded sum. `a`: 16 values together, `b`: 16 values
 * 64 bytes apart.
 */
function addGroup(start: f32, a: usize, b: usize): f32 {
  let acc = start;
  for (let phase = 0; phase < 4; phase++) {
    let sum = <f64>acc + <f64>load<f32>(a) * <f64>load<f32>(b);
    sum += <f64>load<f32>(a, 4) * <f64>load<f32>(b, 64);
    sum += <f64>load<f32>(a, 8) * <f64>load<f32>(b, 128);
    sum += <f64>load<f32>(a, 12) * <f64>load<f32>(b, 192);
    acc = <f32>sum;
    a += 16;
    b += 256;
  }
  return acc;
}

/** Lanes whose bit of `accepted` is clear, as defined; the others from `r`. `old`: where the sums before are. */
function again(r: v128, accepted: i32, old: usize, a: usize, b: usize, nanOnOverflow: bool): v128 {
  let result = r;
  if (!(accepted & 1)) {
    result = f32x4.replace_lane(result, 0, redo(old, a, b, nanOnOverflow));
  }
  if (!(accepted & 2)) {
    result = f32x4.replace_lane(result, 1, redo(old + 4, a, b + 4, nanOnOverflow));
  }
  if (!(accepted & 4)) {
    result = f32x4.replace_lane(result, 2, redo(old + 8, a, b + 8, nanOnOverflow));
  }
  if (!(accepted & 8)) {
    result = f32x4.replace_lane(result, 3, redo(old + 12, a, b + 12, nanOnOverflow));
  }
  return result;
}

// @ts-ignore: decorator
@inline
function redo(old: usize, a: usize, b: usize, nanOnOverflow: bool): f32 {
  return widen1(narrow1(<f64>addGroup(load<f32>(old), a, b), nanOnOverflow));
}

/** x as a half, in f32; the slow way where that is not certain. See SPECULATE AND VERIFY. */
// @ts-ignore: decorator
@inline
function settle(
  x: v128,
  bound: v128,
  old: usize,
  a: usize,
  b: usize,
  nanOnOverflow: bool,
  exponentMask: v128,
  signMask: v128,
  smallest: v128,
  toGrid: v128,
  first: v128,
  second: v128,
): v128 {
  const t = f32x4.sub(v128.andnot(x, signMask), bound);
  const m = f32x4.pmax(v128.and(t, exponentMask), smallest);
  const magic = f32x4.mul(m, toGrid);
  let r = f32x4.sub(f32x4.add(x, magic), magic);
  const d = v128.andnot(f32x4.sub(x, r), signMask);
  const limit = f32x4.sub(f32x4.mul(m, f32x4.sub(first, f32x4.mul(m, second))), bound);
  // A negative t has its sign bit set.
  const accepted = i32x4.bitmask(v128.andnot(f32x4.lt(d, limit), t));
  r = v128.or(r, v128.and(x, signMask));
  if (accepted == 15) return r;
  return again(r, accepted, old, a, b, nanOnOverflow);
}

/** Constants of `settle`, four lanes each, in the first bytes of `at`; loaded, since V8 builds literals anew. */
function storeConstants(at: usize): void {
  v128.store(at, i32x4.splat(0x7f800000));
  v128.store(at, i32x4.splat(0x80000000), 16);
  v128.store(at, f32x4.splat(SMALLEST_NORMAL), 32);
  v128.store(at, f32x4.splat(TO_GRID), 48);
  v128.store(at, f32x4.splat(FIRST), 64);
  v128.store(at, f32x4.splat(SECOND), 80);
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
    memory.fill(sums, 0, 64);
  }
}

/**
 * `nearest`. output: halves in amp-left order; sums: 224 bytes of scratch.
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
  storeConstants(sums + 128);
  const exponentMask = v128.load(sums, 128);
  const signMask = v128.load(sums, 144);
  const smallest = v128.load(sums, 160);
  const toGrid = v128.load(sums, 176);
  const first = v128.load(sums, 192);
  const second = v128.load(sums, 208);
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
      let aLengths = leftLengths + (r << 2);
      let bLengths = panelLengths;
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
        const a0 = a - 64;
        const bs = b - 1024;
        const xLength = v128.load32_splat(aLengths);
        const yLength = v128.load32_splat(aLengths, 4);
        x0 = settle(x0, f32x4.mul(xLength, v128.load(bLengths)), sums, a0, bs, nanOnOverflow, exponentMask, signMask, smallest, toGrid, first, second);
        v128.store(sums, x0);
        x1 = settle(x1, f32x4.mul(xLength, v128.load(bLengths, 16)), sums + 16, a0, bs + 16, nanOnOverflow, exponentMask, signMask, smallest, toGrid, first, second);
        v128.store(sums, x1, 16);
        x2 = settle(x2, f32x4.mul(xLength, v128.load(bLengths, 32)), sums + 32, a0, bs + 32, nanOnOverflow, exponentMask, signMask, smallest, toGrid, first, second);
        v128.store(sums, x2, 32);
        x3 = settle(x3, f32x4.mul(xLength, v128.load(bLengths, 48)), sums + 48, a0, bs + 48, nanOnOverflow, exponentMask, signMask, smallest, toGrid, first, second);
        v128.store(sums, x3, 48);
        y0 = settle(y0, f32x4.mul(yLength, v128.load(bLengths)), sums + 64, a, bs, nanOnOverflow, exponentMask, signMask, smallest, toGrid, first, second);
        v128.store(sums, y0, 64);
        y1 = settle(y1, f32x4.mul(yLength, v128.load(bLengths, 16)), sums + 80, a, bs + 16, nanOnOverflow, exponentMask, signMask, smallest, toGrid, first, second);
        v128.store(sums, y1, 80);
        y2 = settle(y2, f32x4.mul(yLength, v128.load(bLengths, 32)), sums + 96, a, bs + 32, nanOnOverflow, exponentMask, signMask, smallest, toGrid, first, second);
        v128.store(sums, y2, 96);
        y3 = settle(y3, f32x4.mul(yLength, v128.load(bLengths, 48)), sums + 112, a, bs + 48, nanOnOverflow, exponentMask, signMask, smallest, toGrid, first, second);
        v128.store(sums, y3, 112);
        a += leftStep - 64;
        aLengths += rows << 2;
        bLengths += 64;
      }
      storeRow(out + (r << 5), x0, x1, x2, x3, nanOnOverflow);
      storeRow(out + (r << 5) + 32, y0, y1, y2, y3, nanOnOverflow);
    }
    if (r < rows) {
      startRow(sums, out + (r << 5), accumulate);
      let x0 = v128.load(sums);
      let x1 = v128.load(sums, 16);
      let x2 = v128.load(sums, 32);
      let x3 = v128.load(sums, 48);
      let a = left + (r << 6);
      let b = panel;
      let aLengths = leftLengths + (r << 2);
      let bLengths = panelLengths;
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
        const a0 = a - 64;
        const bs = b - 1024;
        const xLength = v128.load32_splat(aLengths);
        x0 = settle(x0, f32x4.mul(xLength, v128.load(bLengths)), sums, a0, bs, nanOnOverflow, exponentMask, signMask, smallest, toGrid, first, second);
        v128.store(sums, x0);
        x1 = settle(x1, f32x4.mul(xLength, v128.load(bLengths, 16)), sums + 16, a0, bs + 16, nanOnOverflow, exponentMask, signMask, smallest, toGrid, first, second);
        v128.store(sums, x1, 16);
        x2 = settle(x2, f32x4.mul(xLength, v128.load(bLengths, 32)), sums + 32, a0, bs + 32, nanOnOverflow, exponentMask, signMask, smallest, toGrid, first, second);
        v128.store(sums, x2, 32);
        x3 = settle(x3, f32x4.mul(xLength, v128.load(bLengths, 48)), sums + 48, a0, bs + 48, nanOnOverflow, exponentMask, signMask, smallest, toGrid, first, second);
        v128.store(sums, x3, 48);
        a += leftStep - 64;
        aLengths += rows << 2;
        bLengths += 64;
      }
      storeRow(out + (r << 5), x0, x1, x2, x3, nanOnOverflow);
    }
  }
}

// @ts-ignore: decorator
@inline
function storeRow(
  output: usize,
  x0: v128,
  x1: v128,
  x2: v128,
  x3: v128,
  nanOnOverflow: bool,
): void {
  v128.store(output, narrow8(x0, x1, nanOnOverflow));
  v128.store(output, narrow8(x2, x3, nanOnOverflow), 16);
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
      storeRow(out + (r << 5), x0, x1, x2, x3, nanOnOverflow);
      storeRow(out + (r << 5) + 32, y0, y1, y2, y3, nanOnOverflow);
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
      storeRow(out + (r << 5), x0, x1, x2, x3, nanOnOverflow);
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
