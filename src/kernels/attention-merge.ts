import { BYTES_PER_ELEMENT } from "../numerics/dtype.ts";
import { F16_VALUES } from "../numerics/f16.ts";
import { checkMultiple, checkPositive, shapeMismatch } from "./checks.ts";
import { busiest, counted } from "./cost.ts";
import type { Kernel } from "./kernel.ts";
import { canonical } from "./values.ts";
import type { AttentionMergeSpec } from "./spec.ts";

const PANEL = 16;

/**
 * Folds one key block's weighted values into the running result, and divides at the end
 * (osmarks/ipu-stack, device/attention_stages_f16.S). M and D are the softmax state of the block; acc is the
 * f32 output, row-major, paddedValueDimension words a row, V = valueDimension:
 *
 *   initial:  acc[q, c] = f32(pv[q, c]);  acc[q, V] = M;  acc[q, V + 1] = D
 *   else:     m = max(acc[q, V], M);  a = f32(exp(f32(acc[q, V] - m)));  b = f32(exp(f32(M - m)))
 *             acc[q, V + 1] = f32(f32(acc[q, V + 1] * a) + f32(D * b));  acc[q, V] = m
 *             acc[q, c] = f32(f32(acc[q, c] * a) + f32(pv[q, c] * b))
 *   final:    acc[q, c] = f32(acc[q, c] * f32(1 / acc[q, V + 1]))
 *
 * m is M where M > acc[q, V], else acc[q, V]. Words after V + 1 are not touched. That exp and the
 * reciprocal are correctly rounded is `assumed`; the modes of rounding change nothing here.
 */
export const attentionMerge: Kernel<AttentionMergeSpec> = {
  check(spec) {
    checkPositive(spec, ["rows", "valueDimension", "paddedValueDimension", "keyBlockColumns"]);
    checkMultiple(spec, "paddedValueDimension", PANEL);
    checkMultiple(spec, "keyBlockColumns", PANEL);
    if (spec.valueDimension + 2 <= spec.paddedValueDimension) return;
    throw shapeMismatch(
      spec,
      `a row of ${spec.paddedValueDimension} words has no room for ${spec.valueDimension} values, a maximum and a denominator`,
      "paddedValueDimension",
      `Pad to ${Math.ceil((spec.valueDimension + 2) / PANEL) * PANEL}`,
    );
  },

  operands({ rows, paddedValueDimension, keyBlockColumns }) {
    const { f16, f32 } = BYTES_PER_ELEMENT;
    const alignment = 8;
    return {
      output: { name: "output", dtype: "f32", bytes: rows * paddedValueDimension * f32, alignment },
      inputs: [
        { name: "values", dtype: "f16", bytes: rows * paddedValueDimension * f16, alignment },
        {
          name: "softmax state",
          dtype: "f16",
          bytes: rows * (keyBlockColumns * f16 + 2 * f32),
          alignment,
        },
      ],
      outputMayAlias: [],
      apart: [],
    };
  },

  cost({ rows, valueDimension, initial, finalBlock }, invocations, target) {
    const full = Math.floor(valueDimension / PANEL);
    const tail = Math.ceil((valueDimension % PANEL) / 2);
    // 34 by count of the source; the trace shows three more a row, as if the reciprocal took four issues.
    const bundles = 10 + busiest(rows, target) * (37 + 77 * full + 9 * tail);
    // Counted for a first block that is also the last; an update does the same loads and stores and more.
    return counted(target, invocations, bundles, 1, initial && finalBlock ? "counted" : "assumed");
  },

  reference(spec, [values, softmax], output) {
    const { rows, valueDimension, paddedValueDimension, keyBlockColumns } = spec;
    const stateStart = (rows * keyBlockColumns) / 2;
    const acc = output.f32;
    for (let row = 0; row < rows; row++) {
      const start = row * paddedValueDimension;
      const maxAt = start + valueDimension;
      const sumAt = maxAt + 1;
      const blockMax = softmax.f32[stateStart + row];
      const blockSum = softmax.f32[stateStart + rows + row];
      const value = (c: number): number =>
        F16_VALUES[values.u16[Math.floor(c / PANEL) * rows * PANEL + row * PANEL + (c % PANEL)]];
      if (spec.initial) {
        for (let c = 0; c < valueDimension; c++) acc[start + c] = canonical(value(c));
        acc[maxAt] = canonical(blockMax);
        acc[sumAt] = canonical(blockSum);
      } else {
        const max = blockMax > acc[maxAt] ? blockMax : acc[maxAt];
        const a = Math.fround(Math.exp(Math.fround(acc[maxAt] - max)));
        const b = Math.fround(Math.exp(Math.fround(blockMax - max)));
        acc[sumAt] = canonical(Math.fround(acc[sumAt] * a) + Math.fround(blockSum * b));
        acc[maxAt] = canonical(max);
        for (let c = 0; c < valueDimension; c++) {
          acc[start + c] = canonical(Math.fround(acc[start + c] * a) + Math.fround(value(c) * b));
        }
      }
      if (spec.finalBlock) {
        const inverse = Math.fround(1 / acc[sumAt]);
        for (let c = 0; c < valueDimension; c++) {
          acc[start + c] = canonical(acc[start + c] * inverse);
        }
      }
    }
  },
};
