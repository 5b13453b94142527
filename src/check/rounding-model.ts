import type { DType } from "../numerics/dtype.ts";
import type { Rounding } from "../numerics/rounding.ts";

/** Unit roundoff of f16: to nearest, a value changes by at most this part of itself. */
export const F16_UNIT: number = 2 ** -11;
/** The same for values too small to be normal: at most this much. */
export const F16_FLOOR: number = 2 ** -25;
const F32_UNIT = 2 ** -24;

/** Where kernels round, and how much a rounding may change: see docs/accuracy.md. */
export interface RoundingModel {
  /** Inner values of a GEMM from one rounding of the running sum to the next. */
  readonly gemmGroup: number;
  readonly gemmUnit: number;
  readonly gemmFloor: number;
  /** Of a sum of f16 values, and of each step inside softmax and GELU. */
  readonly stepUnit: number;
}

export function roundingModel(rounding: Rounding): RoundingModel {
  switch (rounding) {
    case "nearest":
      return {
        gemmGroup: 16,
        gemmUnit: F16_UNIT,
        gemmFloor: F16_FLOOR,
        stepUnit: F16_UNIT,
      };
    case "stochastic": // up or down, so by up to twice as much
      return {
        gemmGroup: 16,
        gemmUnit: 2 * F16_UNIT,
        gemmFloor: 2 * F16_FLOOR,
        stepUnit: F16_UNIT,
      };
    case "exact": // kernels round what they store, once
      return {
        gemmGroup: Infinity,
        gemmUnit: F16_UNIT,
        gemmFloor: F16_FLOOR,
        stepUnit: F32_UNIT,
      };
  }
}

/** The model of a GEMM that multiplies f32: 16 f32 roundings a group count as one of four times the size. */
export const F32_GEMM: RoundingModel = {
  gemmGroup: 16,
  gemmUnit: 4 * F32_UNIT,
  gemmFloor: 0,
  stepUnit: F32_UNIT,
};

/** Unit roundoff of storing as `dtype`. */
export function storeUnit(dtype: DType): number {
  return dtype === "f16" ? F16_UNIT : F32_UNIT;
}
