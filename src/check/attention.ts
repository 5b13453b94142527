import { multiplyTransposed, type Matrix, type Product } from "./matmul.ts";
import { transpose } from "./part.ts";
import { F16_FLOOR, F16_UNIT, type RoundingModel } from "./rounding-model.ts";

/** One head's operands: query [rows, d], key [keys, d], value [keys, columns]; variances where inexact. */
export interface HeadOperands {
  readonly query: Matrix;
  readonly queryVariances: Matrix | null;
  readonly key: Matrix;
  readonly keyVariances: Matrix | null;
  readonly value: Matrix;
  readonly valueVariances: Matrix | null;
}

/** Query rows at once: their scores stay in cache, and the memory does not grow with the square of tokens. */
const ROW_BLOCK = 64;
/** Keeps exp(2 * this) finite. */
const LARGEST_EXPONENT = 300;

/**
 * softmax(query key^T / sqrt(d)) value, with the deviation of each element: docs/accuracy.md#attention.
 * Both results are [query.rows, value.columns].
 *
 * @param factor Deviations that the tolerance allows.
 */
export function attendHead(
  operands: HeadOperands,
  model: RoundingModel,
  factor: number,
): { readonly values: Float64Array; readonly variances: Float64Array } {
  const { query, queryVariances, key, keyVariances, value } = operands;
  const columns = value.columns;
  const values = new Float64Array(query.rows * columns);
  const variances = new Float64Array(query.rows * columns);
  const keySide = scoreVarianceOperand(key, keyVariances, "variances-first");
  const valueSide = valueOperand(value, operands.valueVariances);
  const sizes = columnSizes(value);
  for (let first = 0; first < query.rows; first += ROW_BLOCK) {
    const last = Math.min(query.rows, first + ROW_BLOCK);
    const block = rowsOf(query, first, last);
    const blockVariances = queryVariances && rowsOf(queryVariances, first, last);
    const points = { group: model.gemmGroup, part: Infinity };
    const scores = multiplyTransposed(block, key, points);
    const inherited = multiplyTransposed(
      scoreVarianceOperand(block, blockVariances, "squares-first"),
      keySide,
      { group: Infinity, part: Infinity },
    ).sums;
    const weights = softmax(scores, inherited, key.rows, query.columns, model, factor);
    const probabilities = { rows: last - first, columns: key.rows, values: scores.sums };
    const products = multiplyTransposed(probabilities, valueSide, points);
    for (let r = 0; r < probabilities.rows; r++) {
      const at = (first + r) * columns;
      writeRow(values, variances, at, r, products, sizes, weights, key.rows, model, factor);
    }
  }
  return { values, variances };
}

/**
 * Squares and variances side by side, so that one product over twice the inner length sums
 * q^2 var(k) + var(q) k^2.
 */
function scoreVarianceOperand(
  matrix: Matrix,
  variances: Matrix | null,
  order: "squares-first" | "variances-first",
): Matrix {
  const { rows, columns, values } = matrix;
  const both = new Float64Array(2 * values.length);
  const squaresAt = order === "squares-first" ? 0 : columns;
  const variancesAt = columns - squaresAt;
  for (let r = 0; r < rows; r++) {
    for (let c = 0; c < columns; c++) {
      const i = r * columns + c;
      both[2 * r * columns + squaresAt + c] = values[i] * values[i];
      both[2 * r * columns + variancesAt + c] = variances ? variances.values[i] : 0;
    }
  }
  return { rows, columns: 2 * columns, values: both };
}

/** Rows of value^T, of its squares, and of its deviations: [3 * columns, keys]. */
function valueOperand(value: Matrix, variances: Matrix | null): Matrix {
  const { rows: columns, columns: keys, values } = transpose(value);
  const all = new Float64Array(3 * values.length);
  all.set(values);
  for (let i = 0; i < values.length; i++) all[values.length + i] = values[i] * values[i];
  if (variances) {
    const transposed = transpose(variances).values;
    for (let i = 0; i < values.length; i++) all[2 * values.length + i] = Math.sqrt(transposed[i]);
  }
  return { rows: 3 * columns, columns: keys, values: all };
}

interface ColumnSizes {
  /** Sum of the magnitudes. */
  readonly sums: Float64Array;
  /** Largest less smallest: no weighted mean moves by more. */
  readonly spans: Float64Array;
}

function columnSizes({ rows, columns, values }: Matrix): ColumnSizes {
  const sums = new Float64Array(columns);
  const spans = new Float64Array(columns);
  for (let c = 0; c < columns; c++) {
    let least = Infinity;
    let most = -Infinity;
    for (let r = 0; r < rows; r++) {
      const value = values[r * columns + c];
      sums[c] += Math.abs(value);
      least = Math.min(least, value);
      most = Math.max(most, value);
    }
    spans[c] = most - least;
  }
  return { sums, spans };
}

interface RowWeights {
  /** Mean over the keys, by their weight, of the squared relative error that a weight may have. */
  readonly errors: Float64Array;
  /** Sum of the unnormalised weights, the largest being 1. */
  readonly denominators: Float64Array;
}

/** Turns scores into probabilities, in place. */
function softmax(
  { sums: scores, squares }: Product,
  inherited: Float64Array,
  keys: number,
  headSize: number,
  model: RoundingModel,
  factor: number,
): RowWeights {
  const rows = scores.length / keys;
  const errors = new Float64Array(rows);
  const denominators = new Float64Array(rows);
  const scale = 1 / Math.sqrt(headSize);
  const gemmVariance = model.gemmUnit ** 2;
  const floorVariance = groups(headSize, model) * model.gemmFloor ** 2;
  const stepVariance = model.stepUnit ** 2;
  for (let r = 0; r < rows; r++) {
    const start = r * keys;
    const end = start + keys;
    let max = -Infinity;
    for (let i = start; i < end; i++) max = Math.max(max, scores[i]);
    let denominator = 0;
    let error = 0;
    for (let i = start; i < end; i++) {
      const x = scale * (scores[i] - max);
      const weight = Math.exp(x);
      const scoreVariance = gemmVariance * squares[i] + floorVariance + inherited[i];
      const deviation = Math.sqrt(
        scale * scale * scoreVariance + stepVariance * x * x + F16_UNIT ** 2,
      );
      const relative = Math.expm1(Math.min(factor * deviation, LARGEST_EXPONENT)) / factor;
      scores[i] = weight;
      denominator += weight;
      error += weight * relative * relative;
    }
    for (let i = start; i < end; i++) scores[i] /= denominator;
    errors[r] = error / denominator;
    denominators[r] = denominator;
  }
  return { errors, denominators };
}

/** One row of the result, from `products` with value, its squares and its deviations. */
function writeRow(
  values: Float64Array,
  variances: Float64Array,
  at: number,
  row: number,
  { sums, squares }: Product,
  { sums: columnSums, spans }: ColumnSizes,
  { errors, denominators }: RowWeights,
  keys: number,
  model: RoundingModel,
  factor: number,
): void {
  const columns = spans.length;
  const denominator = denominators[row];
  const floorVariance = groups(keys, model) * (model.gemmFloor / denominator) ** 2;
  for (let c = 0; c < columns; c++) {
    const i = row * 3 * columns + c;
    const value = sums[i];
    const spread = Math.sqrt(Math.max(0, sums[i + columns] - value * value));
    const inherited = sums[i + 2 * columns];
    const fromWeights = spread > 0 ? Math.sqrt(errors[row]) * spread : 0;
    const tinyWeights = (F16_FLOOR / denominator) * (columnSums[c] + keys * Math.abs(value));
    values[at + c] = value;
    variances[at + c] =
      Math.min(fromWeights, spans[c] / factor) ** 2 +
      inherited ** 2 +
      tinyWeights ** 2 +
      model.gemmUnit ** 2 * squares[i] +
      floorVariance +
      (2 * model.stepUnit * value) ** 2;
  }
}

function groups(inner: number, { gemmGroup }: RoundingModel): number {
  return gemmGroup === Infinity ? 1 : Math.ceil(inner / gemmGroup);
}

function rowsOf({ columns, values }: Matrix, first: number, last: number): Matrix {
  return { rows: last - first, columns, values: values.subarray(first * columns, last * columns) };
}
