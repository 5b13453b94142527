import type { Options } from "yargs";
import { SimError } from "../base/errors.ts";
import type { Rounding } from "../numerics/rounding.ts";
import type { GemmOperation, Program } from "../plan/program.ts";
import { parseProgram } from "../plan/program-file.ts";
import { attention } from "../plan/programs/attention.ts";
import { gemm } from "../plan/programs/gemm.ts";
import { mlp } from "../plan/programs/mlp.ts";
import { siglipAttention } from "../plan/programs/siglip-attention.ts";
import { readBytes } from "../io/files.ts";

/** Largest schedule or program file that is read. */
export const MOST_FILE_BYTES: number = 512 * 2 ** 20;

export interface ShapeOptions {
  readonly tokens?: number;
  readonly width?: number;
  readonly heads?: number;
  readonly "head-size"?: number;
  readonly hidden?: number;
  readonly m?: number;
  readonly n?: number;
  readonly k?: number;
  readonly tiles?: number;
  readonly grid?: string;
  readonly orientation?: GemmOperation["orientation"];
  readonly "gemm-weights"?: GemmOperation["weights"];
  readonly "query-parts"?: number;
  readonly "key-block"?: number;
}

/** Options that give a built-in program its shape; each has the SigLIP block's value by default. */
export const SHAPE_OPTIONS: Readonly<Record<keyof ShapeOptions, Options>> = {
  tokens: { type: "number", describe: "rows of the input (default 729)" },
  width: { type: "number", describe: "columns of the input (default 1152)" },
  heads: { type: "number", describe: "attention heads (default 16)" },
  "head-size": { type: "number", describe: "columns of a head (default 72)" },
  hidden: { type: "number", describe: "mlp: columns of the hidden layer (default 4304)" },
  m: { type: "number", describe: "gemm: rows of the result (default 729)" },
  n: { type: "number", describe: "gemm: columns of the result (default 1152)" },
  k: { type: "number", describe: "gemm: inner length (default 1152)" },
  tiles: { type: "number", describe: "tiles that may be used (default 1472)" },
  grid: { type: "string", describe: "grid of the gemms, MxNxK tiles, 46x16x2 for instance" },
  orientation: {
    choices: ["plain", "swapped"],
    describe: "gemm: which operand the kernel takes as its coefficients",
  },
  "gemm-weights": {
    choices: ["standard", "interleaved"],
    describe: "gemm: memory class of the coefficients",
  },
  "query-parts": { type: "number", describe: "attention: parts of each head's queries" },
  "key-block": { type: "number", describe: "attention: keys that one tile owns" },
};

export interface RunOptions {
  readonly backend: "wasm" | "reference";
  readonly rounding: Rounding;
  readonly seed: number;
  readonly threads: number;
  readonly simd: "auto" | "strict" | "relaxed";
  readonly data: "gaussian" | "constant";
  readonly input?: readonly string[];
  readonly weights?: readonly string[];
  readonly "cycles-only": boolean;
  readonly check: "none" | "sample" | "full";
  readonly "save-output"?: string;
  readonly json: boolean;
}

/** Options of every command that runs a schedule. */
export const RUN_OPTIONS: Readonly<Record<keyof RunOptions, Options>> = {
  backend: {
    choices: ["wasm", "reference"],
    default: "wasm",
    describe: "what computes the values: SIMD code, or the slow reference kernels",
  },
  rounding: {
    choices: ["nearest", "stochastic", "exact"],
    default: "nearest",
    describe: "how kernels round to f16",
  },
  seed: {
    type: "number",
    default: 1,
    describe: "of the data made here and of stochastic rounding",
  },
  threads: { type: "number", default: 1, describe: "threads that compute values" },
  simd: {
    choices: ["auto", "strict", "relaxed"],
    default: "auto",
    describe: "wasm: which instructions; the bits are the same",
  },
  data: {
    choices: ["gaussian", "constant"],
    default: "gaussian",
    describe: "inputs that no file gives: normal with deviation 0.25, or the benchmark's constants",
  },
  input: {
    type: "string",
    array: true,
    describe: "a .npy file for the input, or NAME=FILE for one of several",
  },
  weights: {
    type: "string",
    array: true,
    describe: "a folder of NAME.npy files, or NAME=FILE",
  },
  "cycles-only": { type: "boolean", default: false, describe: "no values: cycles alone" },
  check: {
    choices: ["none", "sample", "full"],
    default: "sample",
    describe: "hold outputs against f64 on two heads, or on all and kernels against the reference",
  },
  "save-output": { type: "string", describe: "write the output to this .npy file, or to a folder" },
  json: { type: "boolean", default: false, describe: "print one JSON object" },
};

export const PROGRAM_NAMES: readonly string[] = ["siglip-attention", "attention", "gemm", "mlp"];

/**
 * A built-in program of the given shape, or the one in a JSON file.
 *
 * @throws SimError `BAD_USAGE`, `FILE_UNREADABLE`, `FILE_MALFORMED`
 */
export function programOf(name: string, options: ShapeOptions): Program {
  const shape = {
    tokens: positive("tokens", options.tokens, 729),
    width: positive("width", options.width, 1152),
    heads: positive("heads", options.heads, 16),
    headSize: positive("head-size", options["head-size"], 72),
    tiles: positive("tiles", options.tiles, 1472),
  };
  const grid = options.grid === undefined ? {} : { grid: parseGrid(options.grid) };
  const parts = {
    ...optional("queryParts", "query-parts", options["query-parts"]),
    ...optional("keyBlock", "key-block", options["key-block"]),
  };
  switch (name) {
    case "siglip-attention":
      return siglipAttention({ ...shape, ...grid, ...parts });
    case "attention":
      return attention({ ...shape, ...parts });
    case "gemm":
      return gemm({
        m: positive("m", options.m, 729),
        n: positive("n", options.n, 1152),
        k: positive("k", options.k, 1152),
        tiles: shape.tiles,
        ...grid,
        ...(options.orientation ? { orientation: options.orientation } : {}),
        ...(options["gemm-weights"] ? { weights: options["gemm-weights"] } : {}),
      });
    case "mlp":
      return mlp({ ...shape, hidden: positive("hidden", options.hidden, 4304) });
    default: {
      if (!name.endsWith(".json")) {
        throw new SimError("BAD_USAGE", {
          what: `no built-in program is called ${name}`,
          where: { program: name },
          fix: `Use ${PROGRAM_NAMES.join(", ")} or a .json file`,
        });
      }
      return parseProgram(new TextDecoder().decode(readBytes(name, MOST_FILE_BYTES)), name);
    }
  }
}

/** `value` as a whole number of at least one. @throws SimError `BAD_USAGE` */
export function positive(name: string, value: number | undefined, otherwise: number): number {
  if (value === undefined) return otherwise;
  if (Number.isSafeInteger(value) && value >= 1) return value;
  throw new SimError("BAD_USAGE", {
    what: `--${name} is ${value}`,
    where: { option: name },
    fix: "Give a whole number of at least 1",
  });
}

function optional<Key extends string>(
  key: Key,
  name: string,
  value: number | undefined,
): Partial<Record<Key, number>> {
  if (value === undefined) return {};
  return { [key]: positive(name, value, 1) } as Partial<Record<Key, number>>;
}

function parseGrid(text: string): GemmOperation["grid"] {
  const match = /^(\d{1,6})x(\d{1,6})x(\d{1,6})$/.exec(text);
  const [m, n, k] = match ? match.slice(1).map(Number) : [0, 0, 0];
  if (m > 0 && n > 0 && k > 0) return { m, n, k };
  throw new SimError("BAD_USAGE", {
    what: `--grid is ${JSON.stringify(text)}`,
    where: { option: "grid" },
    fix: "Give three whole numbers, rows x columns x inner parts: 46x16x2",
  });
}
