/** Reductions, bit moves and elementwise kernels, to the bits of src/kernels. */
import {
  canonical1,
  canonical4,
  narrow1,
  narrow8,
  round1,
  widen1,
  widenHigh,
  widenLow,
} from "./convert";

/** Math.tanh of the host: part of the definition of GELU without roundings. */
// @ts-ignore: decorator
@external("host", "tanh")
declare function hostTanh(x: f64): f64;

/** elements: a multiple of 8; others: `count` partials packed one after another. */
export function reduceSum(
  output: usize,
  first: usize,
  others: usize,
  elements: i32,
  count: i32,
  exact: bool,
  nanOnOverflow: bool,
): void {
  const step = elements << 1;
  for (let i = 0; i < step; i += 16) {
    const start = v128.load(first + i);
    let low = widenLow(start);
    let high = widenHigh(start);
    let bits = start;
    for (let partial = 0; partial < count; partial++) {
      const next = v128.load(others + partial * step + i);
      low = f32x4.add(low, widenLow(next));
      high = f32x4.add(high, widenHigh(next));
      if (!exact) {
        bits = narrow8(low, high, nanOnOverflow);
        low = widenLow(bits);
        high = widenHigh(bits);
      }
    }
    if (exact) bits = narrow8(low, high, nanOnOverflow);
    v128.store(output + i, bits);
  }
}

/**
 * Moves a matrix between orders: target[targetRow[r] + targetColumn[c]] = r and c logical ?
 * source[sourceRow[r] + sourceColumn[c]] : 0, halves; tables of u32 element offsets, `rows` then `columns`.
 */
export function move(
  target: usize,
  source: usize,
  targetTable: usize,
  sourceTable: usize,
  rows: i32,
  columns: i32,
  logicalRows: i32,
  logicalColumns: i32,
): void {
  const targetColumns = targetTable + (rows << 2);
  const sourceColumns = sourceTable + (rows << 2);
  for (let r = 0; r < rows; r++) {
    const to = target + ((<usize>load<u32>(targetTable + (r << 2))) << 1);
    let c = 0;
    if (r < logicalRows) {
      const from = source + ((<usize>load<u32>(sourceTable + (r << 2))) << 1);
      for (; c < logicalColumns; c++) {
        store<u16>(
          to + ((<usize>load<u32>(targetColumns + (c << 2))) << 1),
          load<u16>(from + ((<usize>load<u32>(sourceColumns + (c << 2))) << 1)),
        );
      }
    }
    for (; c < columns; c++) {
      store<u16>(to + ((<usize>load<u32>(targetColumns + (c << 2))) << 1), 0);
    }
  }
}

export function copyRows(
  target: usize,
  source: usize,
  rows: i32,
  rowBytes: i32,
  targetStride: i32,
  sourceStride: i32,
): void {
  for (let row = 0; row < rows; row++) {
    memory.copy(target + row * targetStride, source + row * sourceStride, rowBytes);
  }
}

/** tanhTable: u16 for each half. */
export function gelu(
  output: usize,
  input: usize,
  elements: i32,
  exact: bool,
  nan: bool,
  tanhTable: usize,
): void {
  const cube = <f64>widen1(0x29b9);
  const scale = <f64>widen1(0x3a62);
  for (let i = 0; i < elements; i++) {
    const x = <f64>widen1(load<u16>(input + (i << 1)));
    let bits: u32;
    if (exact) {
      const inner = scale * (x + cube * (x * x * x));
      bits = narrow1(0.5 * x * (1 + hostTanh(inner)), nan);
    } else {
      let t = round1(x * x, nan);
      t = round1(t * x, nan);
      t = round1(cube * t, nan);
      t = round1(x + t, nan);
      t = round1(scale * t, nan);
      t = <f64>widen1(load<u16>(tanhTable + ((<usize>narrow1(t, nan)) << 1)));
      t = round1(1 + t, nan);
      t = round1(0.5 * t, nan);
      bits = narrow1(x * t, nan);
    }
    store<u16>(output + (i << 1), <u16>bits);
  }
}

export function addF16(output: usize, a: usize, b: usize, elements: i32, nan: bool): void {
  let i = 0;
  for (; i + 8 <= elements; i += 8) {
    const x = v128.load(a + (i << 1));
    const y = v128.load(b + (i << 1));
    const low = f32x4.add(widenLow(x), widenLow(y));
    const high = f32x4.add(widenHigh(x), widenHigh(y));
    v128.store(output + (i << 1), narrow8(low, high, nan));
  }
  for (; i < elements; i++) {
    const sum = widen1(load<u16>(a + (i << 1))) + widen1(load<u16>(b + (i << 1)));
    store<u16>(output + (i << 1), <u16>narrow1(<f64>sum, nan));
  }
}

export function addF32(output: usize, a: usize, b: usize, elements: i32): void {
  for (let i = 0; i < elements; i++) {
    store<f32>(output + (i << 2), canonical1(load<f32>(a + (i << 2)) + load<f32>(b + (i << 2))));
  }
}

export function castF16ToF32(output: usize, input: usize, elements: i32): void {
  let i = 0;
  for (; i + 8 <= elements; i += 8) {
    const x = v128.load(input + (i << 1));
    v128.store(output + (i << 2), canonical4(widenLow(x)));
    v128.store(output + (i << 2), canonical4(widenHigh(x)), 16);
  }
  for (; i < elements; i++) {
    store<f32>(output + (i << 2), canonical1(widen1(load<u16>(input + (i << 1)))));
  }
}

export function castF32ToF16(output: usize, input: usize, elements: i32, nan: bool): void {
  let i = 0;
  for (; i + 8 <= elements; i += 8) {
    const low = v128.load(input + (i << 2));
    const high = v128.load(input + (i << 2), 16);
    v128.store(output + (i << 1), narrow8(low, high, nan));
  }
  for (; i < elements; i++) {
    store<u16>(output + (i << 1), <u16>narrow1(<f64>load<f32>(input + (i << 2)), nan));
  }
}

/** Same dtype: the values, with one NaN for all. */
export function castF16ToF16(output: usize, input: usize, elements: i32): void {
  for (let i = 0; i < elements; i++) {
    const bits = <u32>load<u16>(input + (i << 1));
    store<u16>(output + (i << 1), <u16>((bits & 0x7fff) > 0x7c00 ? 0x7e00 : bits));
  }
}

export function castF32ToF32(output: usize, input: usize, elements: i32): void {
  for (let i = 0; i < elements; i++) {
    store<f32>(output + (i << 2), canonical1(load<f32>(input + (i << 2))));
  }
}

/** Whether two runs of bytes are the same. */
export function same(a: usize, b: usize, bytes: i32): bool {
  let i = 0;
  for (; i + 64 <= bytes; i += 64) {
    const d = v128.or(
      v128.or(
        v128.xor(v128.load(a + i), v128.load(b + i)),
        v128.xor(v128.load(a + i, 16), v128.load(b + i, 16)),
      ),
      v128.or(
        v128.xor(v128.load(a + i, 32), v128.load(b + i, 32)),
        v128.xor(v128.load(a + i, 48), v128.load(b + i, 48)),
      ),
    );
    if (v128.any_true(d)) return false;
  }
  for (; i < bytes; i++) {
    if (load<u8>(a + i) != load<u8>(b + i)) return false;
  }
  return true;
}
