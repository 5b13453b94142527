import { toF16, F16_VALUES, roundToF16 } from "../../src/numerics/f16.ts";
import type { GemmOperation, Operation, Program, ProgramInput } from "../../src/plan/program.ts";

export const GRID = { m: 1, n: 1, k: 1 } as const;

export function program(
  inputs: readonly (Pick<ProgramInput, "name" | "shape"> & Partial<ProgramInput>)[],
  operations: readonly Operation[],
  ...outputs: readonly string[]
): Program {
  return {
    format: "tilesim-program",
    version: 1,
    name: "test",
    tiles: 1,
    inputs: inputs.map((input) => ({ role: "input", dtype: "f16", ...input })),
    operations,
    outputs,
  };
}

export function gemm(output: string, left: string, right: string, k = 1): GemmOperation {
  const grid = { ...GRID, k };
  return { kind: "gemm", output, left, right, grid, orientation: "plain", weights: "standard" };
}

/** Projections, heads and attention of `x` [1, tokens, width]. */
export function attentionProgram(tokens: number, width: number, heads: number, k = 1): Program {
  const weight = (name: string) => ({ name, shape: [width, width] });
  return program(
    [{ name: "x", shape: [1, tokens, width] }, weight("wq"), weight("wk"), weight("wv")],
    [
      gemm("q", "x", "wq", k),
      gemm("k", "x", "wk", k),
      gemm("v", "x", "wv", k),
      { kind: "split-heads", output: "qh", input: "q", heads },
      { kind: "split-heads", output: "kh", input: "k", heads },
      { kind: "split-heads", output: "vh", input: "v", heads },
      {
        kind: "attention",
        output: "y",
        query: "qh",
        key: "kh",
        value: "vh",
        queryParts: 1,
        keyBlock: 16,
      },
    ],
    "y",
  );
}

/** f16 bits, Gaussian of deviation `size`, from a seed. */
export function gaussian(length: number, seed: number, size = 0.25): Uint16Array {
  let state = seed >>> 0;
  const uniform = (): number => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return (state + 0.5) / 2 ** 32;
  };
  return Uint16Array.from({ length }, () =>
    toF16(size * Math.sqrt(-2 * Math.log(uniform())) * Math.cos(2 * Math.PI * uniform())),
  );
}

/** The inputs of `attentionProgram`. */
export function attentionInputs(
  tokens: number,
  width: number,
  seed: number,
): Map<string, Uint16Array> {
  return new Map([
    ["x", gaussian(tokens * width, seed)],
    ["wq", gaussian(width * width, seed + 1)],
    ["wk", gaussian(width * width, seed + 2)],
    ["wv", gaussian(width * width, seed + 3)],
  ]);
}

/** sum over k of left(k) * right(k), rounded to f16 after every 16, in `parts` parts that are added in f16 (F2.3, F2.4). */
export function chipDot(
  inner: number,
  left: (k: number) => number,
  right: (k: number) => number,
  parts = 1,
): number {
  const partLength = 16 * Math.ceil(inner / parts / 16);
  let total: number | undefined;
  for (let start = 0; start < inner; start += partLength) {
    const end = Math.min(inner, start + partLength);
    let sum = 0;
    for (let k = start; k < end; k++) {
      sum += left(k) * right(k);
      if ((k - start) % 16 === 15) sum = roundToF16(sum);
    }
    sum = roundToF16(sum);
    total = total === undefined ? sum : roundToF16(total + sum);
  }
  return total ?? 0;
}

/** What the chip makes of `attentionProgram`, rounding as in F2.3, F2.4, F2.9 and F2.10, but without its layouts. */
export function chipAttention(
  inputs: ReadonlyMap<string, Uint16Array>,
  tokens: number,
  width: number,
  heads: number,
  parts: number,
): Float32Array {
  const of = (name: string): Float32Array =>
    Float32Array.from(inputs.get(name) ?? [], (bits) => F16_VALUES[bits]);
  const x = of("x");
  const project = (weights: Float32Array): Float32Array =>
    Float32Array.from({ length: tokens * width }, (_, i) => {
      const [r, c] = [Math.floor(i / width), i % width];
      const left = (k: number): number => x[r * width + k];
      return chipDot(width, left, (k) => weights[k * width + c], parts);
    });
  const [q, k, v] = ["wq", "wk", "wv"].map((name) => project(of(name)));
  const size = width / heads;
  const scale = Math.fround(1 / Math.fround(Math.sqrt(size)));
  const y = new Float32Array(heads * tokens * size);
  for (let h = 0; h < heads; h++) {
    for (let r = 0; r < tokens; r++) {
      const scores = Array.from({ length: tokens }, (_, key) =>
        chipDot(
          size,
          (c) => q[r * width + h * size + c],
          (c) => k[key * width + h * size + c],
        ),
      );
      const max = Math.fround(Math.max(...scores) * scale);
      const weights = scores.map((s) =>
        roundToF16(Math.exp(roundToF16(Math.fround(Math.fround(s * scale) - max)))),
      );
      const denominator = chipDenominator(weights);
      const inverse = Math.fround(1 / denominator);
      for (let c = 0; c < size; c++) {
        const value = (key: number): number => v[key * width + h * size + c];
        const pv = chipDot(tokens, (key) => weights[key], value);
        y[(h * tokens + r) * size + c] = Math.fround(pv * inverse);
      }
    }
  }
  return y;
}

/** Fours of one parity summed in f16, the rest in f32. */
function chipDenominator(weights: readonly number[]): number {
  const at = (i: number): number => weights[i] ?? 0;
  let sum = 0;
  for (let half = 0; half < weights.length; half += 8) {
    const lanes = [0, 1].map((lane) => {
      const first = roundToF16(at(half + lane) + at(half + lane + 2));
      return roundToF16(first + roundToF16(at(half + lane + 4) + at(half + lane + 6)));
    });
    sum = Math.fround(sum + Math.fround(lanes[0] + lanes[1]));
  }
  return sum;
}
