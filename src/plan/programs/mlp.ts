import type { GemmOperation, Program } from "../program.ts";
import { gemmGrid } from "./gemm.ts";

export interface MlpOptions {
  readonly tokens: number;
  readonly width: number;
  readonly hidden: number;
  readonly tiles: number;
}

/** output = gelu(input x up) x down, the two-layer perceptron of a transformer block, without bias. */
export function mlp({ tokens, width, hidden, tiles }: MlpOptions): Program {
  const layer = (
    output: string,
    left: string,
    right: string,
    n: number,
    k: number,
  ): GemmOperation => ({
    kind: "gemm",
    output,
    left,
    right,
    grid: gemmGrid({ m: tokens, n, k, tiles, orientation: "plain" }),
    // Left operands and results in one order: the second layer reads the first one's panels as they are.
    orientation: "plain",
    weights: "interleaved",
  });
  return {
    format: "tilesim-program",
    version: 1,
    name: "mlp",
    tiles,
    inputs: [
      { name: "input", role: "input", shape: [tokens, width], dtype: "f16" },
      { name: "up.weight", role: "weight", shape: [width, hidden], dtype: "f16" },
      { name: "down.weight", role: "weight", shape: [hidden, width], dtype: "f16" },
    ],
    operations: [
      layer("up", "input", "up.weight", hidden, width),
      { kind: "gelu", output: "active", input: "up" },
      layer("output", "active", "down.weight", width, hidden),
    ],
    outputs: ["output"],
  };
}
