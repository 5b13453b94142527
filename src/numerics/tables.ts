import { F16_VALUES, toF16 } from "./f16.ts";

/**
 * Functions of one half, as tables of halves by the argument's bits. Each entry is the half nearest to the
 * true value: f64 is so much finer that its own error cannot move an entry (a test shows the distance).
 * That the chip rounds so is `assumed` (no accuracy of f16v2exp and f16v2tanh is stated). Made on first use.
 */
function tableOf(of: (x: number) => number): () => Uint16Array {
  let table: Uint16Array | null = null;
  return () => {
    if (table === null) {
      table = new Uint16Array(65536);
      for (let bits = 0; bits < 65536; bits++) {
        const x = F16_VALUES[bits];
        const y = of(x);
        // Beyond f64 the value is still finite, so that it saturates.
        table[bits] = toF16(y === Infinity && x < Infinity ? Number.MAX_VALUE : y);
      }
    }
    return table;
  };
}

/** e^x; 0 for -65504, exactly 1 for 0, 65504 where e^x is larger, whatever the run's overflow: softmax has x <= 0. */
export const expTable: () => Uint16Array = tableOf(Math.exp);

/** The hyperbolic tangent. */
export const tanhTable: () => Uint16Array = tableOf(Math.tanh);
