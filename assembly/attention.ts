/** Softmax and merge, to the bits of src/kernels/attention-softmax.ts and attention-merge.ts. */
import {
  canonical1,
  canonical4,
  narrow4,
  narrow8,
  round4,
  widen1,
  widenHigh,
  widenLow,
} from "./convert";
import { expF32 } from "./exp";

/** Math.exp of the host: the definition of the update's factors. */
// @ts-ignore: decorator
@external("host", "exp")
declare function hostExp(x: f64): f64;

const LOWEST: f32 = -65504;

export const FORM_WIDE: i32 = 0;
export const FORM_NARROW: i32 = 1;
export const FORM_UNPADDED: i32 = 2;

/** exp4: halves in 32-bit lanes to halves, by a table of u16. */
// @ts-ignore: decorator
@inline
function storeExp(target: usize, x: v128, table: usize): void {
  store<u16>(target, load<u16>(table + ((<usize>i32x4.extract_lane(x, 0)) << 1)));
  store<u16>(target, load<u16>(table + ((<usize>i32x4.extract_lane(x, 1)) << 1)), 2);
  store<u16>(target, load<u16>(table + ((<usize>i32x4.extract_lane(x, 2)) << 1)), 4);
  store<u16>(target, load<u16>(table + ((<usize>i32x4.extract_lane(x, 3)) << 1)), 6);
}

/** f32(f32(s * scale) - max) of four scores. */
// @ts-ignore: decorator
@inline
function shift(scores: v128, scale: v128, max: v128): v128 {
  return f32x4.sub(f32x4.mul(scores, scale), max);
}

/** Eight weights of eight scores. */
// @ts-ignore: decorator
@inline
function weigh8(
  target: usize,
  scores: v128,
  scale: v128,
  max: v128,
  exact: bool,
  nanOnOverflow: bool,
  table: usize,
): void {
  const low = shift(widenLow(scores), scale, max);
  const high = shift(widenHigh(scores), scale, max);
  if (exact) {
    v128.store(target, narrow8(expF32(low), expF32(high), nanOnOverflow));
    return;
  }
  const a = i32x4.shl(narrow4(low, nanOnOverflow), 1);
  const b = i32x4.shl(narrow4(high, nanOnOverflow), 1);
  let w = v128.load16_splat(table + <usize>i32x4.extract_lane(a, 0));
  w = v128.load_lane<u16>(table + <usize>i32x4.extract_lane(a, 1), w, 1);
  w = v128.load_lane<u16>(table + <usize>i32x4.extract_lane(a, 2), w, 2);
  w = v128.load_lane<u16>(table + <usize>i32x4.extract_lane(a, 3), w, 3);
  w = v128.load_lane<u16>(table + <usize>i32x4.extract_lane(b, 0), w, 4);
  w = v128.load_lane<u16>(table + <usize>i32x4.extract_lane(b, 1), w, 5);
  w = v128.load_lane<u16>(table + <usize>i32x4.extract_lane(b, 2), w, 6);
  w = v128.load_lane<u16>(table + <usize>i32x4.extract_lane(b, 3), w, 7);
  v128.store(target, w);
}

/** output: weights, then the state; expTable: u16 for each half. */
export function softmax(
  output: usize,
  scores: usize,
  rows: i32,
  keys: i32,
  padded: i32,
  headDimension: i32,
  form: i32,
  exact: bool,
  nanOnOverflow: bool,
  expTable: usize,
): void {
  const scale: f32 = 1 / sqrt<f32>(<f32>headDimension);
  const state = output + ((rows * padded) << 1);
  const panelStep = rows << 5;
  const fullPanels = keys >> 4;
  const tail = keys & 15;
  for (let row = 0; row < rows; row++) {
    // The largest score.
    let source = scores + (row << 5);
    let lanes = f32x4.splat(LOWEST);
    for (let panel = 0; panel < fullPanels; panel++) {
      const a = v128.load(source);
      const b = v128.load(source, 16);
      lanes = f32x4.pmax(lanes, widenLow(a));
      lanes = f32x4.pmax(lanes, widenHigh(a));
      lanes = f32x4.pmax(lanes, widenLow(b));
      lanes = f32x4.pmax(lanes, widenHigh(b));
      source += panelStep;
    }
    let largest = f32x4.extract_lane(lanes, 0);
    let next = f32x4.extract_lane(lanes, 1);
    largest = next > largest ? next : largest;
    next = f32x4.extract_lane(lanes, 2);
    largest = next > largest ? next : largest;
    next = f32x4.extract_lane(lanes, 3);
    largest = next > largest ? next : largest;
    for (let lane = 0; lane < tail; lane++) {
      next = widen1(load<u16>(source + (lane << 1)));
      largest = next > largest ? next : largest;
    }
    // A zero has no sign here, whichever zero was met first.
    const max: f32 = largest * scale + 0;
    store<f32>(state + (row << 2), canonical1(max));

    // The weights.
    const scale4 = f32x4.splat(scale);
    const max4 = f32x4.splat(max);
    source = scores + (row << 5);
    let target = output + (row << 5);
    const panels = padded >> 4;
    for (let panel = 0; panel < panels; panel++) {
      const logical = min<i32>(16, keys - (panel << 4));
      if (logical <= 0) {
        memory.fill(target, 0, 32);
      } else if (logical == 16) {
        weigh8(target, v128.load(source), scale4, max4, exact, nanOnOverflow, expTable);
        weigh8(target + 16, v128.load(source, 16), scale4, max4, exact, nanOnOverflow, expTable);
      } else {
        for (let quarter: usize = 0; quarter < 32; quarter += 8) {
          const four = widenLow(v128.load64_zero(source + quarter));
          const x = shift(four, scale4, max4);
          if (exact) {
            const weights = narrow4(expF32(x), nanOnOverflow);
            store<u16>(target + quarter, <u16>i32x4.extract_lane(weights, 0));
            store<u16>(target + quarter, <u16>i32x4.extract_lane(weights, 1), 2);
            store<u16>(target + quarter, <u16>i32x4.extract_lane(weights, 2), 4);
            store<u16>(target + quarter, <u16>i32x4.extract_lane(weights, 3), 6);
          } else {
            storeExp(target + quarter, narrow4(x, nanOnOverflow), expTable);
          }
        }
        for (let lane = logical; lane < 16; lane++) store<u16>(target + (lane << 1), 0);
      }
      source += panelStep;
      target += panelStep;
    }

    // Their sum.
    const weights = output + (row << 5);
    let sum: f32;
    if (exact || form == FORM_UNPADDED) {
      sum = sumInOrder(weights, panelStep, keys);
    } else if (form == FORM_NARROW) {
      sum = sumNarrow(weights, panelStep, fullPanels, tail);
    } else {
      sum = sumOfWorker(weights, panelStep, 0, panels, nanOnOverflow);
      for (let worker = 1; worker < 6; worker++) {
        const part = sumOfWorker(weights, panelStep, worker, panels, nanOnOverflow);
        store<f32>(state + ((rows * (1 + worker) + row) << 2), canonical1(part));
        sum += part;
      }
    }
    store<f32>(state + ((rows + row) << 2), canonical1(sum));
  }
}

function sumOfWorker(
  weights: usize,
  panelStep: i32,
  worker: i32,
  panels: i32,
  nanOnOverflow: bool,
): f32 {
  let sum: f32 = 0;
  for (let panel = worker; panel < panels; panel += 6) {
    const at = weights + panel * panelStep;
    const a = v128.load(at);
    sum += sumOfLanes(widenLow(a), widenHigh(a), nanOnOverflow);
    const b = v128.load(at, 16);
    sum += sumOfLanes(widenLow(b), widenHigh(b), nanOnOverflow);
  }
  return sum;
}

/** Lanes c0 .. c3 and c4 .. c7: even and odd ones apart, by fours in f16, then together in f32. */
// @ts-ignore: decorator
@inline
function sumOfLanes(low: v128, high: v128, nanOnOverflow: bool): f32 {
  // c0 c1 c4 c5 + c2 c3 c6 c7
  const first = v128.shuffle<i32>(low, high, 0, 1, 4, 5);
  const second = v128.shuffle<i32>(low, high, 2, 3, 6, 7);
  const pairs = round4(f32x4.add(first, second), nanOnOverflow);
  const swapped = v128.shuffle<i32>(pairs, pairs, 2, 3, 0, 1);
  const fours = round4(f32x4.add(pairs, swapped), nanOnOverflow);
  return f32x4.extract_lane(fours, 0) + f32x4.extract_lane(fours, 1);
}

// @ts-ignore: decorator
@inline
function weightAt(weights: usize, panelStep: i32, column: i32): f32 {
  return widen1(load<u16>(weights + (column >> 4) * panelStep + ((column & 15) << 1)));
}

function sumInOrder(weights: usize, panelStep: i32, keys: i32): f32 {
  let sum: f32 = 0;
  let column = 0;
  for (; column + 8 <= keys; column += 8) {
    const eight = v128.load(weights + (column >> 4) * panelStep + ((column & 15) << 1));
    const low = widenLow(eight);
    const high = widenHigh(eight);
    sum += f32x4.extract_lane(low, 0);
    sum += f32x4.extract_lane(low, 1);
    sum += f32x4.extract_lane(low, 2);
    sum += f32x4.extract_lane(low, 3);
    sum += f32x4.extract_lane(high, 0);
    sum += f32x4.extract_lane(high, 1);
    sum += f32x4.extract_lane(high, 2);
    sum += f32x4.extract_lane(high, 3);
  }
  for (; column < keys; column++) sum += weightAt(weights, panelStep, column);
  return sum;
}

function sumNarrow(weights: usize, panelStep: i32, fullPanels: i32, tail: i32): f32 {
  let sum: f32 = 0;
  for (let panel = 0; panel < fullPanels; panel++) {
    for (let from = 0; from < 16; from += 6) {
      let group: f32 = 0;
      const end = min<i32>(16, from + 6);
      for (let lane = from; lane < end; lane++) {
        group += weightAt(weights, panelStep, (panel << 4) + lane);
      }
      sum += group;
    }
  }
  const start = fullPanels << 4;
  for (let lane = 0; lane < tail; lane += 2) {
    let pair = weightAt(weights, panelStep, start + lane);
    if (lane + 1 < tail) pair += weightAt(weights, panelStep, start + lane + 1);
    sum += pair;
  }
  return sum;
}

/** acc: f32 rows of `padded` words; state: the softmax state of the block. */
export function merge(
  acc: usize,
  values: usize,
  state: usize,
  rows: i32,
  columns: i32,
  padded: i32,
  initial: bool,
  final: bool,
): void {
  const panelStep = rows << 5;
  for (let row = 0; row < rows; row++) {
    const target = acc + ((row * padded) << 2);
    const maxAt = target + (columns << 2);
    const sumAt = maxAt + 4;
    const source = values + (row << 5);
    const blockMax = load<f32>(state + (row << 2));
    const blockSum = load<f32>(state + ((rows + row) << 2));
    let a: f32 = 0;
    let b: f32 = 1;
    if (initial) {
      store<f32>(maxAt, canonical1(blockMax));
      store<f32>(sumAt, canonical1(blockSum));
    } else {
      const old = load<f32>(maxAt);
      const max = blockMax > old ? blockMax : old;
      a = <f32>hostExp(<f64>(old - max));
      b = <f32>hostExp(<f64>(blockMax - max));
      store<f32>(sumAt, canonical1(load<f32>(sumAt) * a + blockSum * b));
      store<f32>(maxAt, canonical1(max));
    }
    const inverse: f32 = final ? 1 / load<f32>(sumAt) : 1;
    const a4 = f32x4.splat(a);
    const b4 = f32x4.splat(b);
    const inverse4 = f32x4.splat(inverse);
    let column = 0;
    for (; column + 4 <= columns; column += 4) {
      const at = target + (column << 2);
      const from = source + (column >> 4) * panelStep + ((column & 15) << 1);
      let x = widenLow(v128.load64_zero(from));
      if (!initial) x = f32x4.add(f32x4.mul(v128.load(at), a4), f32x4.mul(x, b4));
      if (final) x = f32x4.mul(x, inverse4);
      v128.store(at, canonical4(x));
    }
    for (; column < columns; column++) {
      const at = target + (column << 2);
      let x = widen1(load<u16>(source + (column >> 4) * panelStep + ((column & 15) << 1)));
      if (!initial) x = load<f32>(at) * a + x * b;
      if (final) x = x * inverse;
      store<f32>(at, canonical1(x));
    }
  }
}
