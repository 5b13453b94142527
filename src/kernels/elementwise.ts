import { BYTES_PER_ELEMENT, type DType } from "../numerics/dtype.ts";
import { F16_VALUES, f16ToF32, roundToF16, toF16 } from "../numerics/f16.ts";
import { tanhTable } from "../numerics/tables.ts";
import { checkMultiple, checkPositive } from "./checks.ts";
import { perCall } from "./cost.ts";
import type { CallContext, Kernel, Operand } from "./kernel.ts";
import { canonical } from "./values.ts";
import type { AddSpec, CastSpec, GeluSpec } from "./spec.ts";

/** A launch by the compiler's own estimate (osmarks/ipu-stack, crates/ipu-codegen/src/cost.rs). */
const LAUNCH_ESTIMATE = 11;
/** Halves of GELU's constants: 0.0447083 and 0.7978516. */
export const GELU_CUBE: number = f16ToF32(0x29b9);
export const GELU_SCALE: number = f16ToF32(0x3a62);

function operand(name: string, dtype: DType, elements: number): Operand {
  return { name, dtype, bytes: elements * BYTES_PER_ELEMENT[dtype], alignment: 4 };
}

/**
 * t = f16(x*x); t = f16(t*x); t = f16(0.0447083*t); t = f16(x + t); t = f16(0.7978516*t); t = tanh(t), by
 * a table; t = f16(1 + t); t = f16(0.5*t); y = f16(x*t) (osmarks/ipu-stack, gelu_tanh_approx_f16).
 * `exact`: y = f16(0.5*x*(1 + tanh(0.7978516*(x + 0.0447083*(x*x*x))))) in f64. An even number of elements.
 */
export const gelu: Kernel<GeluSpec> = {
  check(spec) {
    checkPositive(spec, ["elements"]);
    checkMultiple(spec, "elements", 2);
  },

  operands({ elements }) {
    return {
      output: operand("output", "f16", elements),
      inputs: [operand("input", "f16", elements)],
      outputMayAlias: [0],
      apart: [],
    };
  },

  cost({ elements }, invocations, target) {
    return perCall(target, invocations, LAUNCH_ESTIMATE + 10 * elements, "assumed");
  },

  reference({ elements }, [input], output, context) {
    for (let i = 0; i < elements; i++) {
      output.u16[i] = geluOf(F16_VALUES[input.u16[i]], context);
    }
  },
};

/** Bits of GELU of one half. */
function geluOf(x: number, { rounding, overflow }: CallContext): number {
  if (rounding === "exact") {
    const inner = GELU_SCALE * (x + GELU_CUBE * (x * x * x));
    return toF16(0.5 * x * (1 + Math.tanh(inner)), overflow);
  }
  const round = (value: number): number => roundToF16(value, overflow);
  let t = round(x * x);
  t = round(t * x);
  t = round(GELU_CUBE * t);
  t = round(x + t);
  t = round(GELU_SCALE * t);
  t = F16_VALUES[tanhTable()[toF16(t, overflow)]];
  t = round(1 + t);
  t = round(0.5 * t);
  return toF16(x * t, overflow);
}

/** out = a + b, rounded once to the dtype, to nearest even. */
export const add: Kernel<AddSpec> = {
  check(spec) {
    checkPositive(spec, ["elements"]);
  },

  operands({ elements, dtype }) {
    return {
      output: operand("output", dtype, elements),
      inputs: [operand("first", dtype, elements), operand("second", dtype, elements)],
      outputMayAlias: [0, 1],
      apart: [],
    };
  },

  cost({ elements }, invocations, target) {
    return perCall(target, invocations, LAUNCH_ESTIMATE + Math.ceil(elements / 16), "assumed");
  },

  reference({ elements, dtype }, [a, b], output, { overflow }) {
    for (let i = 0; i < elements; i++) {
      if (dtype === "f16") {
        output.u16[i] = toF16(F16_VALUES[a.u16[i]] + F16_VALUES[b.u16[i]], overflow);
      } else {
        output.f32[i] = canonical(a.f32[i] + b.f32[i]);
      }
    }
  },
};

/** out = in as another dtype: to f16 to nearest even, to f32 exactly; one NaN for all. */
export const cast: Kernel<CastSpec> = {
  check(spec) {
    checkPositive(spec, ["elements"]);
  },

  operands({ elements, from, to }) {
    return {
      output: operand("output", to, elements),
      inputs: [operand("input", from, elements)],
      outputMayAlias: from === to ? [0] : [],
      apart: [],
    };
  },

  cost({ elements, from, to }, invocations, target) {
    const bytes = elements * (BYTES_PER_ELEMENT[from] + BYTES_PER_ELEMENT[to]);
    return perCall(target, invocations, LAUNCH_ESTIMATE + Math.ceil(bytes / 8), "assumed");
  },

  reference({ elements, from, to }, [input], output, { overflow }) {
    for (let i = 0; i < elements; i++) {
      const x = from === "f16" ? F16_VALUES[input.u16[i]] : input.f32[i];
      if (to === "f16") output.u16[i] = toF16(x, overflow);
      else output.f32[i] = canonical(x);
    }
  },
};
