import { F16_VALUES, toF16 } from "./f16.ts";

/**
 * Functions of one half, as tables of halves by the argument's bits. Each entry is the half nearest to the
 * true value: f64 is so much finer that its own error cannot move an entry (a test shows the distance).
 * That the chip rounds so is `assumed` (F1.7: no accuracy is stated for f16v2exp and f16v2tanh).
 */

/** e^x; 0 for -65504, exactly 1 for 0, 65504 where e^x is larger. */
export const EXP_F16: Uint16Array = Uint16Array.from(F16_VALUES, (x) => toF16(Math.exp(x)));

/** The hyperbolic tangent. */
export const TANH_F16: Uint16Array = Uint16Array.from(F16_VALUES, (x) => toF16(Math.tanh(x)));
