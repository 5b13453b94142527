import { SimError } from "../../base/errors.ts";
import type { GemmOperation, Program, ProgramInput } from "../program.ts";

export interface SiglipAttentionOptions {
  readonly tokens: number;
  /** Columns of the input. */
  readonly width: number;
  readonly heads: number;
  readonly headSize: number;
  readonly tiles: number;
  /** Grid of the three projections; chosen from the tiles where absent. */
  readonly grid?: { readonly m: number; readonly n: number; readonly k: number };
  readonly queryParts?: number;
  readonly keyBlock?: number;
}

/**
 * The attention block of SigLIP-So400m, as osmarks/ipu-stack's `siglip-attention-benchmark` builds it: three
 * projections without bias, heads split, attention in f32; no output projection and no residual
 * (crates/ipu-tests/src/main.rs).
 */
export function siglipAttention(options: SiglipAttentionOptions): Program {
  const { tokens, width, heads, headSize, tiles } = options;
  const grid = options.grid ?? projectionGrid(options);
  const projected = heads * headSize;
  const weight = (name: string): ProgramInput => ({
    name: `${name}.weight`,
    role: "weight",
    shape: [width, projected],
    dtype: "f16",
  });
  const names = ["query", "key", "value"];
  const projection = (name: string): GemmOperation => ({
    kind: "gemm",
    output: name,
    left: "input",
    right: `${name}.weight`,
    grid,
    orientation: "swapped",
    weights: "interleaved",
  });
  return {
    format: "tilesim-program",
    version: 1,
    name: "siglip-attention",
    tiles,
    inputs: [
      { name: "input", role: "input", shape: [1, tokens, width], dtype: "f16" },
      ...names.map(weight),
    ],
    operations: [
      ...names.map(projection),
      ...names.map((name) => ({
        kind: "split-heads" as const,
        output: `${name}.heads`,
        input: name,
        heads,
      })),
      {
        kind: "attention",
        output: "output",
        query: "query.heads",
        key: "key.heads",
        value: "value.heads",
        ...attentionGrid(options),
      },
    ],
    outputs: ["output"],
  };
}

/**
 * As the compiler cut the block: a column part a head, then a row block per 16 tokens, then the inner length
 * over what is left, in equal parts.
 */
function projectionGrid({ tokens, width, heads, tiles }: SiglipAttentionOptions): {
  m: number;
  n: number;
  k: number;
} {
  const n = largestDivisor(heads, tiles);
  const m = Math.max(1, Math.min(Math.ceil(tokens / 16), Math.floor(tiles / n)));
  const k = Math.max(1, largestDivisor(Math.ceil(width / 16), Math.floor(tiles / (m * n))));
  return { m, n, k };
}

/** As many query parts as there are tiles for a head, and key blocks of 64 keys or more. */
export function attentionGrid(options: {
  readonly tokens: number;
  readonly heads: number;
  readonly tiles: number;
  readonly queryParts?: number;
  readonly keyBlock?: number;
}): { queryParts: number; keyBlock: number } {
  const { tokens, heads, tiles } = options;
  const tilesPerHead = Math.floor(tiles / heads);
  if (tilesPerHead === 0) {
    throw new SimError("PLAN_DOES_NOT_FIT", {
      what: `${heads} heads need a tile each, there are ${tiles}`,
      where: { heads, tiles },
      fix: `Use at least ${heads} tiles or at most ${tiles} heads`,
    });
  }
  const queryParts = options.queryParts ?? Math.min(tokens, tilesPerHead);
  const smallest = Math.ceil(tokens / tilesPerHead / 16) * 16;
  return { queryParts, keyBlock: options.keyBlock ?? Math.max(64, smallest) };
}

/** The largest divisor of `value` that is at most `most`, at least 1. */
export function largestDivisor(value: number, most: number): number {
  for (let divisor = Math.min(value, most); divisor > 1; divisor--) {
    if (value % divisor === 0) return divisor;
  }
  return 1;
}
