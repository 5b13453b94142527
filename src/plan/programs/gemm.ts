import type { GemmOperation, Program } from "../program.ts";
import { largestDivisor } from "./siglip-attention.ts";

export interface GemmOptions {
  readonly m: number;
  readonly n: number;
  readonly k: number;
  readonly tiles: number;
  readonly grid?: GemmOperation["grid"];
  readonly orientation?: GemmOperation["orientation"];
  readonly weights?: GemmOperation["weights"];
}

/** output[m, n] = left[m, k] x right[k, n]. */
export function gemm(options: GemmOptions): Program {
  const { m, n, k, tiles, orientation = "swapped", weights = "interleaved" } = options;
  return {
    format: "tilesim-program",
    version: 1,
    name: "gemm",
    tiles,
    inputs: [
      { name: "left", role: "input", shape: [m, k], dtype: "f16" },
      { name: "right", role: "weight", shape: [k, n], dtype: "f16" },
    ],
    operations: [
      {
        kind: "gemm",
        output: "output",
        left: "left",
        right: "right",
        grid: options.grid ?? gemmGrid({ m, n, k, tiles, orientation }),
        orientation,
        weights,
      },
    ],
    outputs: ["output"],
  };
}

/**
 * A grid that uses many of the tiles: rows in blocks of 16 first, then columns, then the inner length, each
 * cut no finer than the kernel's panels.
 */
export function gemmGrid(shape: {
  readonly m: number;
  readonly n: number;
  readonly k: number;
  readonly tiles: number;
  readonly orientation: GemmOperation["orientation"];
}): GemmOperation["grid"] {
  const rowBlocks = Math.ceil(shape.m / 16);
  const columnBlocks = Math.ceil(shape.n / 16);
  const m = Math.min(rowBlocks, shape.tiles);
  const n = Math.min(columnBlocks, Math.floor(shape.tiles / m));
  const k = largestDivisor(Math.ceil(shape.k / 16), Math.floor(shape.tiles / (m * n)));
  return { m, n, k };
}
