import { BYTES_PER_ELEMENT } from "../numerics/dtype.ts";
import { F16_LOWEST, F16_VALUES, roundToF16, toF16 } from "../numerics/f16.ts";
import { expF32 } from "../numerics/exp.ts";
import { expTable } from "../numerics/tables.ts";
import { checkMultiple, checkPositive, shapeMismatch } from "./checks.ts";
import { busiest, counted, fittedPart, perCall } from "./cost.ts";
import type { FittedCall } from "./cost.ts";
import type { CallContext, Kernel, OperandView } from "./kernel.ts";
import { canonical } from "./values.ts";
import type { AttentionSoftmaxSpec } from "./spec.ts";
import type { Target } from "../target/target.ts";

/** Columns of a panel. */
const PANEL = 16;
/** The definition splits panels over six workers: partial sums depend on it. */
const WORKERS = 6;
/** f32 words of state a row, behind the weights. */
const STATE_WORDS = 8;
/** Padded columns from which the wide kernel runs. */
const WIDE = 96;
const LOWEST = F16_VALUES[F16_LOWEST];

/** Which of the three kernels a shape runs (osmarks/ipu-stack, device/attention_stages_f16.S and .cpp). */
export function softmaxForm({
  keyColumns,
  paddedKeyColumns,
}: AttentionSoftmaxSpec): "wide" | "narrow" | "unpadded" {
  if (keyColumns === paddedKeyColumns) return "unpadded";
  return paddedKeyColumns >= WIDE ? "wide" : "narrow";
}

/**
 * Unnormalised softmax weights of each row, with its scaled maximum M and the sum D of its weights:
 *
 *   m = max(-65504, s[0], .., s[L-1]): s replaces m where s > m, so that a NaN never does (`assumed`)
 *   M = f32(m * scale), a zero as +0, scale = f32(1 / f32(sqrt(headDimension)))
 *   x[k] = f16(f32(f32(s[k] * scale) + (-M)))     weight[k] = f16(exp(x[k])), by a table
 *   padding: x = -65504, weight 0
 *
 * The state, f32 words behind rows * paddedKeyColumns halves: M of each row, then D of each row.
 * The sum of the weights c of a row (osmarks/ipu-stack, device/attention_stages_f16.S):
 *
 * - wide (padded >= 96 columns): worker w takes panels w, w + 6, ... of 16 columns; for each half of 8 lanes
 *     e = f16(f16(c0+c2) + f16(c4+c6)), o = f16(f16(c1+c3) + f16(c5+c7)), D_w = f32(D_w + f32(e + o));
 *   D = ((((D_0 + D_1) + D_2) + D_3) + D_4) + D_5, each sum in f32; D_1 .. D_5 stay behind in words
 *   rows*(1 + w) + row; words rows*7 .. rows*8 - 1 are not written.
 * - narrow: one f32 sum; for each full panel, for lanes 0..5, 6..11, 12..15: g = the f32 sum of these lanes in
 *   order, D = f32(D + g); of the last, partial panel, by pairs: D = f32(D + f32(a + b)), a lone last lane by
 *   itself (`assumed` beyond the sizes of the groups).
 * - unpadded: D = f32(D + c) for each column in order.
 *
 * `exact`: x stays f32; weight = f16(expF32(x)); D = f32(D + weight) for each logical
 * column in order, in all three forms; no other word of the state is written.
 */
export const attentionSoftmax: Kernel<AttentionSoftmaxSpec> = {
  check(spec) {
    checkPositive(spec, ["rows", "headDimension", "keyColumns", "paddedKeyColumns"]);
    checkMultiple(spec, "paddedKeyColumns", PANEL);
    if (spec.keyColumns <= spec.paddedKeyColumns) return;
    throw shapeMismatch(
      spec,
      `${spec.keyColumns} key columns in ${spec.paddedKeyColumns} stored ones`,
      "keyColumns",
      "Pad to at least as many columns as there are",
    );
  },

  operands({ rows, paddedKeyColumns }) {
    const weights = rows * paddedKeyColumns * BYTES_PER_ELEMENT.f16;
    return {
      output: {
        name: "weights and state",
        dtype: "f16",
        bytes: weights + rows * STATE_WORDS * BYTES_PER_ELEMENT.f32,
        alignment: 8,
      },
      inputs: [{ name: "scores", dtype: "f16", bytes: weights, alignment: 8 }],
      outputMayAlias: [],
      apart: [],
    };
  },

  cost(spec, invocations, target) {
    const { rows, paddedKeyColumns } = spec;
    if (softmaxForm(spec) !== "wide") {
      // One worker a row, at the wide form's cost of a panel: maximum, normalise, exp, sum.
      const panels = paddedKeyColumns / PANEL;
      const call =
        target.timing.launch +
        target.timing.cyclesPerBundle * busiest(rows, target) * (76 + panels * (48 + 61 + 8 + 26));
      return perCall(target, invocations, call, "assumed");
    }
    const form = softmaxCall(spec, target);
    const bundles = form.bundles + fittedPart(form, SOFTMAX_CONSTANTS);
    return counted(target, invocations, bundles, SOFTMAX_LAUNCHES, "fitted");
  },

  reference(spec, [scores], output, context) {
    const { rows, keyColumns, paddedKeyColumns, headDimension } = spec;
    const stateStart = (rows * paddedKeyColumns) / 2;
    const scale = Math.fround(1 / Math.fround(Math.sqrt(headDimension)));
    for (let row = 0; row < rows; row++) {
      const at = (column: number): number =>
        Math.floor(column / PANEL) * rows * PANEL + row * PANEL + (column % PANEL);
      let largest = LOWEST;
      for (let column = 0; column < keyColumns; column++) {
        const score = F16_VALUES[scores.u16[at(column)]];
        if (score > largest) largest = score;
      }
      const max = Math.fround(largest * scale) + 0;
      for (let column = 0; column < paddedKeyColumns; column++) {
        const score = F16_VALUES[scores.u16[at(column)]];
        const x = Math.fround(Math.fround(score * scale) - max);
        output.u16[at(column)] = column < keyColumns ? weight(x, context) : 0;
      }
      output.f32[stateStart + row] = canonical(max);
      const weights = (column: number): number => F16_VALUES[output.u16[at(column)]];
      const sum = sumOfRow(spec, row, weights, output, stateStart, context);
      output.f32[stateStart + rows + row] = canonical(sum);
    }
  },
};

/** Maxima, their combination, weights, their sum. */
export const SOFTMAX_LAUNCHES = 4;

export type SoftmaxConstant = "call" | "row" | "rowOfWorker" | "panel" | "earlyRow";

/**
 * Constants of the wide form's time, in bundles, over the four launches. The totals are counted at 8 and 7 rows of
 * 729 in 768 columns; how they split is fitted to these two.
 */
export const SOFTMAX_CONSTANTS: Readonly<Record<SoftmaxConstant, number>> = {
  call: 7 + 11 + 1 + 10 - 21,
  row: 22 + 43,
  rowOfWorker: 26 + 24,
  /** Of the busiest worker. */
  panel: 30,
  /** More a row up to the 21st: the trace shows 13 bundles less than the count at 8 rows and 14 less at 7. */
  earlyRow: 1,
};

/** One call of the wide form: the bundles of a panel's row, counted, and the fitted rest. */
export function softmaxCall(
  { rows, keyColumns, paddedKeyColumns }: AttentionSoftmaxSpec,
  target: Target,
): FittedCall<SoftmaxConstant> {
  const logicalPanels = busiest(Math.ceil(keyColumns / PANEL), target);
  const panels = busiest(paddedKeyColumns / PANEL, target);
  return {
    bundles: rows * (48 * logicalPanels + (61 + 8 + 26) * panels),
    counts: {
      call: 1,
      row: rows,
      rowOfWorker: busiest(rows, target),
      panel: panels,
      earlyRow: Math.min(rows, 21),
    },
  };
}

function weight(x: number, { rounding, overflow }: CallContext): number {
  return rounding === "exact" ? toF16(expF32(x), overflow) : expTable()[toF16(x, overflow)];
}

function sumOfRow(
  spec: AttentionSoftmaxSpec,
  row: number,
  weights: (column: number) => number,
  output: OperandView,
  stateStart: number,
  context: CallContext,
): number {
  const { keyColumns, paddedKeyColumns, rows } = spec;
  const form = softmaxForm(spec);
  if (context.rounding === "exact" || form === "unpadded")
    return sumInOrder(weights, 0, keyColumns);
  if (form === "narrow") return sumNarrow(weights, keyColumns);
  let total = 0;
  for (let worker = 0; worker < WORKERS; worker++) {
    let sum = 0;
    for (let panel = worker; panel < paddedKeyColumns / PANEL; panel += WORKERS) {
      for (const half of [0, 8]) {
        sum = Math.fround(sum + sumOfLanes(weights, panel * PANEL + half, context));
      }
    }
    if (worker > 0) output.f32[stateStart + rows * (1 + worker) + row] = canonical(sum);
    total = worker === 0 ? sum : Math.fround(total + sum);
  }
  return total;
}

/** Eight lanes: even and odd ones apart, by fours in f16, then together in f32. */
function sumOfLanes(
  c: (column: number) => number,
  first: number,
  { overflow }: CallContext,
): number {
  const add = (a: number, b: number): number => roundToF16(a + b, overflow);
  const even = add(add(c(first), c(first + 2)), add(c(first + 4), c(first + 6)));
  const odd = add(add(c(first + 1), c(first + 3)), add(c(first + 5), c(first + 7)));
  return Math.fround(even + odd);
}

function sumNarrow(weights: (column: number) => number, keyColumns: number): number {
  let sum = 0;
  const fullEnd = Math.floor(keyColumns / PANEL) * PANEL;
  for (let panel = 0; panel < fullEnd; panel += PANEL) {
    for (const [from, to] of [
      [0, 6],
      [6, 12],
      [12, 16],
    ]) {
      sum = Math.fround(sum + sumInOrder(weights, panel + from, panel + to));
    }
  }
  for (let column = fullEnd; column < keyColumns; column += 2) {
    const pair =
      column + 1 < keyColumns
        ? Math.fround(weights(column) + weights(column + 1))
        : weights(column);
    sum = Math.fround(sum + pair);
  }
  return sum;
}

/** The f32 sum of columns from .. to - 1, in order, from +0. */
function sumInOrder(weights: (column: number) => number, from: number, to: number): number {
  let sum = 0;
  for (let column = from; column < to; column++) sum = Math.fround(sum + weights(column));
  return sum;
}
