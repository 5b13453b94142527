import { BYTES_PER_ELEMENT } from "../numerics/dtype.ts";
import { F16_VALUES, roundToF16, toF16 } from "../numerics/f16.ts";
import { checkMultiple, checkPositive, shapeMismatch } from "./checks.ts";
import { busiest, counted } from "./cost.ts";
import type { Kernel } from "./kernel.ts";
import type { ReduceSumSpec } from "./spec.ts";

/** Elements of one work item: 16 bytes. */
const ITEM = 8;

/**
 * out[i] = ((p0[i] + p1[i]) + p2[i]) + ...; each sum is rounded to f16, to nearest even, in every mode but
 * `exact`, which rounds sums to f32 and to f16 at the store (osmarks/ipu-stack, device/reduce_add_f16.S).
 */
export const reduceSum: Kernel<ReduceSumSpec> = {
  check(spec) {
    checkPositive(spec, ["partials", "elements"]);
    checkMultiple(spec, "elements", ITEM);
    if (spec.partials < 2) {
      throw shapeMismatch(spec, "one partial has nothing to be added to", "partials", "Copy it");
    }
  },

  operands({ partials, elements }) {
    const operand = (name: string, count: number) => ({
      name,
      dtype: "f16" as const,
      bytes: count * BYTES_PER_ELEMENT.f16,
      alignment: 8,
    });
    return {
      output: operand("output", elements),
      inputs: [operand("first partial", elements), operand("others", (partials - 1) * elements)],
      outputMayAlias: [0],
      apart: [],
    };
  },

  cost({ partials, elements }, invocations, target) {
    // 22 by count of the source; the trace shows one more.
    const bundles = 23 + busiest(elements / ITEM, target) * (9 + 6 * (partials - 1));
    return counted(target, invocations, bundles);
  },

  reference({ partials, elements }, [first, others], output, { rounding, overflow }) {
    const round = (x: number): number =>
      rounding === "exact" ? Math.fround(x) : roundToF16(x, overflow);
    for (let i = 0; i < elements; i++) {
      let sum: number = F16_VALUES[first.u16[i]];
      for (let partial = 0; partial < partials - 1; partial++) {
        sum = round(sum + F16_VALUES[others.u16[partial * elements + i]]);
      }
      output.u16[i] = toF16(sum, overflow);
    }
  },
};
