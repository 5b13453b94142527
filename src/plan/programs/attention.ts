import type { Program, ProgramInput } from "../program.ts";
import { attentionGrid } from "./siglip-attention.ts";

export interface AttentionOptions {
  readonly tokens: number;
  readonly heads: number;
  readonly headSize: number;
  readonly tiles: number;
  readonly queryParts?: number;
  readonly keyBlock?: number;
}

/** Attention alone, on query, key and value of [heads, tokens, headSize] that lie where it wants them. */
export function attention(options: AttentionOptions): Program {
  const { tokens, heads, headSize, tiles } = options;
  const input = (name: string): ProgramInput => ({
    name,
    role: "input",
    shape: [heads, tokens, headSize],
    dtype: "f16",
  });
  return {
    format: "tilesim-program",
    version: 1,
    name: "attention",
    tiles,
    inputs: ["query", "key", "value"].map(input),
    operations: [
      {
        kind: "attention",
        output: "output",
        query: "query",
        key: "key",
        value: "value",
        ...attentionGrid(options),
      },
    ],
    outputs: ["output"],
  };
}
