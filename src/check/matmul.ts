/** Rows by columns in f64, row-major. */
export interface Matrix {
  readonly rows: number;
  readonly columns: number;
  readonly values: Float64Array;
}

/** A product and what its rounding points saw. Both [left.rows, right.rows]. */
export interface Product {
  readonly sums: Float64Array;
  /** Sum of the squares of the values that the chip would round on the way to each element. */
  readonly squares: Float64Array;
}

/** Where running sums are rounded: after every `group` inner values, starting anew with each part. */
export interface RoundingPoints {
  readonly group: number;
  /** Inner values of one part; the parts' sums are added in order, and each addition is a rounding point. */
  readonly part: number;
}

const ROW_TILE = 4;
const COLUMN_TILE = 2;
/** Rows of the right operand that are used again while they are in cache: 300 KB at 1,152 inner values. */
const COLUMN_BLOCK = 32;

/** left [m, k] x right^T, right stored as [n, k]: both run along k. */
export function multiplyTransposed(
  left: Matrix,
  right: Matrix,
  { group, part }: RoundingPoints,
): Product {
  const { rows: m, columns: k } = left;
  const { rows: n } = right;
  const sums = new Float64Array(m * n);
  const squares = new Float64Array(m * n);
  // Whole numbers, however large the points are: an infinite one would make the loop's counter a double.
  const partStep = Math.min(part, k);
  const groupStep = Math.min(group, partStep);
  for (let start = 0; start < k; start += partStep) {
    const end = Math.min(k, start + partStep);
    addPart(left.values, right.values, sums, squares, m, n, k, start, end, groupStep);
    if (start > 0) for (let i = 0; i < sums.length; i++) squares[i] += sums[i] * sums[i];
  }
  return { sums, squares };
}

/** Adds the products of inner values start .. end - 1. */
function addPart(
  left: Float64Array,
  right: Float64Array,
  sums: Float64Array,
  squares: Float64Array,
  m: number,
  n: number,
  k: number,
  start: number,
  end: number,
  group: number,
): void {
  const tiledRows = m - (m % ROW_TILE);
  for (let block = 0; block < n; block += COLUMN_BLOCK) {
    const blockEnd = Math.min(n, block + COLUMN_BLOCK);
    const tiledEnd = blockEnd - ((blockEnd - block) % COLUMN_TILE);
    for (let r = 0; r < tiledRows; r += ROW_TILE) {
      for (let c = block; c < tiledEnd; c += COLUMN_TILE) {
        addTile(left, right, sums, squares, n, k, start, end, group, r, c);
      }
    }
    for (let r = 0; r < m; r++) {
      const from = r < tiledRows ? tiledEnd : block;
      for (let c = from; c < blockEnd; c++) {
        addElement(left, right, sums, squares, n, k, start, end, group, r, c);
      }
    }
  }
}

/** Four rows by two columns: as many sums as stay in registers. Locals, since an array would be memory. */
function addTile(
  left: Float64Array,
  right: Float64Array,
  sums: Float64Array,
  squares: Float64Array,
  n: number,
  k: number,
  start: number,
  end: number,
  group: number,
  r: number,
  c: number,
): void {
  const l0 = r * k;
  const l1 = l0 + k;
  const l2 = l1 + k;
  const l3 = l2 + k;
  const r0 = c * k;
  const r1 = r0 + k;
  let s00 = 0;
  let s01 = 0;
  let s10 = 0;
  let s11 = 0;
  let s20 = 0;
  let s21 = 0;
  let s30 = 0;
  let s31 = 0;
  let q00 = 0;
  let q01 = 0;
  let q10 = 0;
  let q11 = 0;
  let q20 = 0;
  let q21 = 0;
  let q30 = 0;
  let q31 = 0;
  for (let g = start; g < end; g += group) {
    const groupEnd = Math.min(end, g + group);
    for (let i = g; i < groupEnd; i++) {
      const x0 = left[l0 + i];
      const x1 = left[l1 + i];
      const x2 = left[l2 + i];
      const x3 = left[l3 + i];
      const y0 = right[r0 + i];
      const y1 = right[r1 + i];
      s00 += x0 * y0;
      s01 += x0 * y1;
      s10 += x1 * y0;
      s11 += x1 * y1;
      s20 += x2 * y0;
      s21 += x2 * y1;
      s30 += x3 * y0;
      s31 += x3 * y1;
    }
    q00 += s00 * s00;
    q01 += s01 * s01;
    q10 += s10 * s10;
    q11 += s11 * s11;
    q20 += s20 * s20;
    q21 += s21 * s21;
    q30 += s30 * s30;
    q31 += s31 * s31;
  }
  const o0 = r * n + c;
  const o1 = o0 + n;
  const o2 = o1 + n;
  const o3 = o2 + n;
  sums[o0] += s00;
  sums[o0 + 1] += s01;
  sums[o1] += s10;
  sums[o1 + 1] += s11;
  sums[o2] += s20;
  sums[o2 + 1] += s21;
  sums[o3] += s30;
  sums[o3 + 1] += s31;
  squares[o0] += q00;
  squares[o0 + 1] += q01;
  squares[o1] += q10;
  squares[o1 + 1] += q11;
  squares[o2] += q20;
  squares[o2 + 1] += q21;
  squares[o3] += q30;
  squares[o3 + 1] += q31;
}

/** One element, for the edges. */
function addElement(
  left: Float64Array,
  right: Float64Array,
  sums: Float64Array,
  squares: Float64Array,
  n: number,
  k: number,
  start: number,
  end: number,
  group: number,
  r: number,
  c: number,
): void {
  let sum = 0;
  let square = 0;
  for (let g = start; g < end; g += group) {
    const groupEnd = Math.min(end, g + group);
    for (let i = g; i < groupEnd; i++) sum += left[r * k + i] * right[c * k + i];
    square += sum * sum;
  }
  sums[r * n + c] += sum;
  squares[r * n + c] += square;
}
