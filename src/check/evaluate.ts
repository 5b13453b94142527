import { assertNever, InternalError, SimError } from "../base/errors.ts";
import type { DType } from "../numerics/dtype.ts";
import { f16ToF32 } from "../numerics/f16.ts";
import type { Rounding } from "../numerics/rounding.ts";
import type { AttentionOperation, GemmOperation, Operation, Program } from "../plan/program.ts";
import { attendHead } from "./attention.ts";
import { multiplyTransposed } from "./matmul.ts";
import { describeValues, valueNamed, type Value, type Values } from "./program-values.ts";
import {
  indices,
  mark,
  noDemand,
  pick,
  pickVariances,
  range,
  readPart,
  transpose,
  type Demand,
  type Elements,
  type Part,
} from "./part.ts";
import { F16_FLOOR, F32_GEMM, roundingModel, storeUnit } from "./rounding-model.ts";

/**
 * Which part of each output is computed. `some`: two heads where the output is made of heads, else 32
 * rows. Heads are entries of an output's first axis, rows those of all its axes but the last, folded.
 */
export type Sample =
  "some" | "all" | { readonly heads: readonly number[] } | { readonly rows: readonly number[] };

export interface EvaluateOptions {
  readonly sample?: Sample;
  /** Rounding of the run that the result will be held against: decides the deviations alone. */
  readonly rounding?: Rounding;
}

/** An output, or some rows of it, in f64. */
export interface Evaluated {
  readonly name: string;
  readonly shape: readonly number[];
  /** Heads computed; null where the output is not made of heads. */
  readonly heads: readonly number[] | null;
  /** Rows computed, rising; axes before the last are folded into rows. */
  readonly rows: Int32Array;
  readonly columns: number;
  /** [rows, columns], row-major. */
  readonly values: Float64Array;
  /** How far rounding may move each element, one deviation: docs/accuracy.md. */
  readonly deviations: Float64Array;
  /** Deviations that a run may be off, in any element. */
  readonly factor: number;
  /** The narrowest type on the way to it. */
  readonly precision: DType;
}

/** Chance that a sound run is found outside its tolerance, in the model of docs/accuracy.md. */
const FALSE_ALARM = 1e-6;
const SAMPLED_ROWS = 32;

/** The chip's constants, as the halves that they are (F2.11). */
const GELU_CUBE: number = f16ToF32(0x29b9);
const GELU_SCALE: number = f16ToF32(0x3a62);

/**
 * The mathematics of a program's outputs in f64, none of the chip's roundings: computes what the sample
 * needs and no more, on head h that head's columns of the projections. Dtypes and casts change nothing.
 *
 * @param inputs By name: row-major f16 bits or f32.
 * @throws SimError `PROGRAM_INVALID`, `SHAPE_MISMATCH`, `DTYPE_MISMATCH` for a program that means nothing, `SHAPE_MISMATCH` for
 * an input that is missing or of another size, `BAD_USAGE` for a head or row that is not there.
 */
export function evaluate(
  program: Program,
  inputs: ReadonlyMap<string, Elements>,
  { sample = "some", rounding = "nearest" }: EvaluateOptions = {},
): Evaluated[] {
  const values = describeValues(program);
  const samples = program.outputs.map((name) => sampleOf(valueNamed(values, name), sample));
  const demands = new Map<string, Demand>(
    [...values.values()].map(({ name, rows, columns }) => [name, noDemand(rows, columns)]),
  );
  for (const { value, rows } of samples) mark(demandOf(demands, value.name), rows);
  for (const operation of program.operations.toReversed()) demandInputs(operation, values, demands);

  const compared = samples.reduce((sum, { value, rows }) => sum + rows.length * value.columns, 0);
  const factor = Math.sqrt(2 * Math.log((2 * Math.max(1, compared)) / FALSE_ALARM));
  const parts = new Map<string, Part>();
  for (const { name } of program.inputs) {
    const demand = demandOf(demands, name);
    if (demand.rows.some((needed) => needed)) {
      const value = valueNamed(values, name);
      parts.set(name, readPart(elementsOf(inputs, value), value.columns, demand));
    }
  }
  for (const operation of program.operations) {
    const demand = demandOf(demands, operation.output);
    if (demand.rows.some((needed) => needed)) {
      parts.set(operation.output, compute(operation, demand, values, parts, rounding, factor));
    }
  }
  return samples.map(({ value, heads, rows }) => {
    const part = partOf(parts, value.name);
    const whole = range(0, value.columns);
    const variances = pickVariances(part, rows, whole)?.values;
    return {
      name: value.name,
      shape: value.shape,
      heads,
      rows,
      columns: value.columns,
      values: pick(part, rows, whole).values,
      deviations: variances?.map(Math.sqrt) ?? new Float64Array(rows.length * value.columns),
      factor,
      precision: value.precision,
    };
  });
}

/** Adds to what the operation's inputs owe, from what its output owes. */
function demandInputs(
  operation: Operation,
  values: Values,
  demands: ReadonlyMap<string, Demand>,
): void {
  const wanted = demandOf(demands, operation.output);
  const rows = indices(wanted.rows);
  const columns = indices(wanted.columns);
  if (rows.length === 0) return;
  switch (operation.kind) {
    case "gemm":
      mark(demandOf(demands, operation.left), rows);
      mark(demandOf(demands, operation.right), undefined, columns);
      return;
    case "split-heads": {
      const split = headSplit(valueNamed(values, operation.output));
      const input = demandOf(demands, operation.input);
      for (const row of rows) {
        const { row: inputRow, firstColumn } = split(row);
        input.rows[inputRow] = 1;
        for (const column of columns) input.columns[firstColumn + column] = 1;
      }
      return;
    }
    case "attention": {
      const tokens = valueNamed(values, operation.output).shape[1];
      const keys = valueNamed(values, operation.key).shape[1];
      const heads = new Set(rows.map((row) => Math.floor(row / tokens)));
      const keyRows = [...heads].flatMap((head) => [...range(head * keys, keys)]);
      mark(demandOf(demands, operation.query), rows);
      mark(demandOf(demands, operation.key), keyRows);
      mark(demandOf(demands, operation.value), keyRows, columns);
      return;
    }
    case "add":
      for (const input of operation.inputs) mark(demandOf(demands, input), rows, columns);
      return;
    case "gelu":
    case "cast":
    case "rearrange":
      mark(demandOf(demands, operation.input), rows, columns);
      return;
    default:
      assertNever(operation);
  }
}

/** The demanded part of an operation's output, from those of its inputs. */
function compute(
  operation: Operation,
  demand: Demand,
  values: Values,
  parts: ReadonlyMap<string, Part>,
  rounding: Rounding,
  factor: number,
): Part {
  const rows = indices(demand.rows);
  const columns = indices(demand.columns);
  const output = valueNamed(values, operation.output);
  switch (operation.kind) {
    case "gemm":
      return gemm(operation, rows, columns, parts, rounding);
    case "split-heads": {
      const split = headSplit(output);
      return splitHeads(partOf(parts, operation.input), rows, columns, split);
    }
    case "attention": {
      const keys = valueNamed(values, operation.key).shape[1];
      return attention(operation, rows, columns, output.shape[1], keys, parts, rounding, factor);
    }
    case "gelu":
      return gelu(partOf(parts, operation.input), rows, columns, rounding);
    case "add": {
      const [left, right] = operation.inputs.map((input) => partOf(parts, input));
      return add(left, right, rows, columns, output.dtype);
    }
    case "cast":
      return cast(partOf(parts, operation.input), rows, columns, operation.to);
    case "rearrange": {
      const input = partOf(parts, operation.input);
      const picked = pick(input, rows, columns).values;
      const variances = pickVariances(input, rows, columns)?.values ?? null;
      return { rows, columns, values: picked, variances };
    }
    default:
      return assertNever(operation);
  }
}

function gemm(
  { left, right, grid, multiply = "f16" }: GemmOperation,
  rows: Int32Array,
  columns: Int32Array,
  parts: ReadonlyMap<string, Part>,
  rounding: Rounding,
): Part {
  const model = multiply === "f16" ? roundingModel(rounding) : F32_GEMM;
  const leftPart = partOf(parts, left);
  const rightPart = partOf(parts, right);
  const inner = leftPart.columns.length;
  const a = pick(leftPart, rows);
  const b = transpose(pick(rightPart, undefined, columns));
  const part = 16 * Math.ceil(inner / grid.k / 16);
  const { sums, squares } = multiplyTransposed(a, b, { group: model.gemmGroup, part });
  const groups = model.gemmGroup === Infinity ? grid.k : Math.ceil(inner / model.gemmGroup);
  const floor = (groups + grid.k - 1) * model.gemmFloor ** 2;
  const variances = squares.map((square) => model.gemmUnit ** 2 * square + floor);
  const leftVariances = pickVariances(leftPart, rows);
  const rightVariances = pickVariances(rightPart, undefined, columns);
  const whole = { group: Infinity, part: Infinity };
  if (leftVariances) {
    const squared = { ...b, values: b.values.map((x) => x * x) };
    addTo(variances, multiplyTransposed(leftVariances, squared, whole).sums);
  }
  if (rightVariances) {
    const squared = { ...a, values: a.values.map((x) => x * x) };
    addTo(variances, multiplyTransposed(squared, transpose(rightVariances), whole).sums);
  }
  return { rows, columns, values: sums, variances };
}

function addTo(sum: Float64Array, more: Float64Array): void {
  for (let i = 0; i < sum.length; i++) sum[i] += more[i];
}

/** Where a row of split heads comes from: the input's row, and the first of its columns. */
type HeadSplit = (row: number) => { readonly row: number; readonly firstColumn: number };

function headSplit({ shape: [, tokens, headSize] }: Value): HeadSplit {
  return (row) => ({
    row: row % tokens,
    firstColumn: Math.floor(row / tokens) * headSize,
  });
}

function splitHeads(input: Part, rows: Int32Array, columns: Int32Array, split: HeadSplit): Part {
  const values = new Float64Array(rows.length * columns.length);
  const variances = input.variances && new Float64Array(values.length);
  const rowPlaces = new Map([...input.rows].map((row, place) => [row, place]));
  const columnPlaces = new Map([...input.columns].map((column, place) => [column, place]));
  let next = 0;
  for (const row of rows) {
    const { row: inputRow, firstColumn } = split(row);
    const start = (rowPlaces.get(inputRow) ?? -1) * input.columns.length;
    for (const column of columns) {
      const from = start + (columnPlaces.get(firstColumn + column) ?? -1);
      values[next] = input.values[from];
      if (variances && input.variances) variances[next] = input.variances[from];
      next++;
    }
  }
  return { rows, columns, values, variances };
}

function attention(
  { query, key, value }: AttentionOperation,
  rows: Int32Array,
  columns: Int32Array,
  tokens: number,
  keys: number,
  parts: ReadonlyMap<string, Part>,
  rounding: Rounding,
  factor: number,
): Part {
  const [queryPart, keyPart, valuePart] = [query, key, value].map((name) => partOf(parts, name));
  const values = new Float64Array(rows.length * columns.length);
  const variances = new Float64Array(values.length);
  for (let first = 0, last = 0; first < rows.length; first = last) {
    const head = Math.floor(rows[first] / tokens);
    while (last < rows.length && rows[last] < (head + 1) * tokens) last++;
    const queryRows = rows.subarray(first, last);
    const keyRows = range(head * keys, keys);
    const result = attendHead(
      {
        query: pick(queryPart, queryRows),
        queryVariances: pickVariances(queryPart, queryRows),
        key: pick(keyPart, keyRows),
        keyVariances: pickVariances(keyPart, keyRows),
        value: pick(valuePart, keyRows, columns),
        valueVariances: pickVariances(valuePart, keyRows, columns),
      },
      roundingModel(rounding),
      factor,
    );
    values.set(result.values, first * columns.length);
    variances.set(result.variances, first * columns.length);
  }
  return { rows, columns, values, variances };
}

/** x/2 * (1 + tanh(scale * (x + cube * x^3))). */
function gelu(input: Part, rows: Int32Array, columns: Int32Array, rounding: Rounding): Part {
  const { stepUnit } = roundingModel(rounding);
  const x = pick(input, rows, columns).values;
  const inherited = pickVariances(input, rows, columns)?.values;
  const values = new Float64Array(x.length);
  const variances = new Float64Array(x.length);
  for (let i = 0; i < x.length; i++) {
    const inner = GELU_SCALE * (x[i] + GELU_CUBE * x[i] ** 3);
    const tanh = Math.tanh(inner);
    const slope = 1 - tanh * tanh;
    const gate = (1 + tanh) / 2;
    const derivative = gate + (x[i] / 2) * slope * GELU_SCALE * (1 + 3 * GELU_CUBE * x[i] ** 2);
    values[i] = x[i] * gate;
    // Five steps before tanh, each relative to what it makes; then tanh, 1 + tanh and its half.
    const gateError = (5 * Math.abs(inner) * slope + Math.abs(tanh) + 2 * (1 + tanh)) / 2;
    variances[i] =
      (stepUnit * x[i] * gateError) ** 2 +
      (storeUnit("f16") * values[i]) ** 2 +
      (F16_FLOOR * (1 + Math.abs(x[i]))) ** 2 +
      derivative ** 2 * (inherited?.[i] ?? 0);
  }
  return { rows, columns, values, variances };
}

function add(left: Part, right: Part, rows: Int32Array, columns: Int32Array, dtype: DType): Part {
  const a = pick(left, rows, columns).values;
  const b = pick(right, rows, columns).values;
  const leftVariances = pickVariances(left, rows, columns)?.values;
  const rightVariances = pickVariances(right, rows, columns)?.values;
  const values = a.map((x, i) => x + b[i]);
  const variances = values.map(
    (sum, i) =>
      (storeUnit(dtype) * sum) ** 2 + (leftVariances?.[i] ?? 0) + (rightVariances?.[i] ?? 0),
  );
  return { rows, columns, values, variances };
}

function cast(input: Part, rows: Int32Array, columns: Int32Array, to: DType): Part {
  const values = pick(input, rows, columns).values;
  const inherited = pickVariances(input, rows, columns)?.values;
  const floor = to === "f16" ? F16_FLOOR ** 2 : 0;
  const variances = values.map((x, i) => (storeUnit(to) * x) ** 2 + floor + (inherited?.[i] ?? 0));
  return { rows, columns, values, variances };
}

interface SampledValue {
  readonly value: Value;
  readonly heads: readonly number[] | null;
  readonly rows: Int32Array;
}

function sampleOf(value: Value, sample: Sample): SampledValue {
  const heads = value.ofHeads ? value.shape[0] : 0;
  if (typeof sample === "object") {
    if ("rows" in sample) return { value, heads: null, rows: chosen(sample.rows, value.rows) };
    return sampledHeads(value, chosen(sample.heads, heads));
  }
  const wanted = sample === "all" ? Infinity : value.ofHeads ? 2 : SAMPLED_ROWS;
  if (value.ofHeads) return sampledHeads(value, spread(wanted, heads));
  return { value, heads: null, rows: spread(wanted, value.rows) };
}

function sampledHeads(value: Value, heads: Int32Array): SampledValue {
  const rowsPerHead = value.rows / Math.max(1, value.shape[0]);
  const rows = [...heads].flatMap((head) => [...range(head * rowsPerHead, rowsPerHead)]);
  return { value, heads: [...heads], rows: Int32Array.from(rows) };
}

/** `wanted` of 0 .. available - 1, the first and the last among them. */
function spread(wanted: number, available: number): Int32Array {
  if (wanted >= available) return range(0, available);
  return range(0, wanted).map((i) => Math.round((i * (available - 1)) / (wanted - 1)));
}

/** Rising and each once. */
function chosen(wanted: readonly number[], available: number): Int32Array {
  for (const index of wanted) {
    if (Number.isInteger(index) && index >= 0 && index < available) continue;
    throw new SimError("BAD_USAGE", {
      what: `sample ${index} of an output that has ${available}`,
      where: { index, available },
      fix: available > 0 ? `Choose from 0 to ${available - 1}` : "Sample rows; it has no heads",
    });
  }
  return Int32Array.from(new Set(wanted)).sort();
}

function elementsOf(inputs: ReadonlyMap<string, Elements>, value: Value): Elements {
  const elements = inputs.get(value.name);
  const needed = value.rows * value.columns;
  if (elements?.length === needed) return elements;
  throw new SimError("SHAPE_MISMATCH", {
    what: `input "${value.name}" has ${elements?.length ?? 0} elements, its shape [${value.shape.join(", ")}] needs ${needed}`,
    where: { tensor: value.name, needed },
    fix: "Give the whole tensor, row-major",
  });
}

function partOf(parts: ReadonlyMap<string, Part>, name: string): Part {
  const part = parts.get(name);
  if (part) return part;
  throw new InternalError(`value "${name}" is demanded and not computed`);
}

function demandOf(demands: ReadonlyMap<string, Demand>, name: string): Demand {
  const demand = demands.get(name);
  if (demand) return demand;
  throw new InternalError(`value "${name}" has no demand`);
}
