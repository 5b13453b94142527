import type { Options } from "yargs";
import type { Rounding } from "../numerics/rounding.ts";
import type { GemmOperation } from "../plan/program.ts";
import type { ExchangeOrder } from "../sim/timing.ts";

export const PROGRAM_NAMES: readonly string[] = ["siglip-attention", "attention", "gemm", "mlp"];

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
  grid: {
    type: "string",
    describe: "grid of the gemms, MxNxK tiles, 46x16x2 for instance (default: one that fits)",
  },
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
  readonly exchange: ExchangeOrder;
  readonly "cycles-only": boolean;
  readonly check: "none" | "sample" | "full";
  readonly "save-output"?: string;
  readonly json: boolean;
}

/** Options of every command that runs a schedule. */
const RUN_OPTIONS: Readonly<Record<keyof RunOptions, Options>> = {
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
  exchange: {
    choices: ["compiler", "list"],
    default: "compiler",
    describe: "order of a phase's transfers: as the compiler repairs it, or list scheduling alone",
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

/** Options of `plan`. */
export const PLAN_OPTIONS: Readonly<Record<keyof ShapeOptions | "output" | "json", Options>> = {
  ...SHAPE_OPTIONS,
  output: { alias: "o", type: "string", describe: "write the schedule to this file" },
  json: { type: "boolean", default: false, describe: "print the schedule itself" },
};

type BlockOption = Exclude<
  keyof ShapeOptions,
  "hidden" | "m" | "n" | "k" | "orientation" | "gemm-weights"
>;

/** Shape options of the block that `replay` plans. */
export const BLOCK_OPTIONS: readonly BlockOption[] = [
  "tokens",
  "width",
  "heads",
  "head-size",
  "tiles",
  "grid",
  "query-parts",
  "key-block",
];

const BLOCK_SHAPE = Object.fromEntries(
  BLOCK_OPTIONS.map((name) => [name, SHAPE_OPTIONS[name]]),
) as Record<BlockOption, Options>;

/** Options of `replay`. */
export const REPLAY_OPTIONS: Readonly<
  Record<keyof RunOptions | BlockOption | "schedule", Options>
> = {
  ...RUN_OPTIONS,
  ...BLOCK_SHAPE,
  schedule: { type: "string", describe: "run this schedule file instead of planning one" },
};

/** Options of `run`. */
export const RUN_COMMAND_OPTIONS: Readonly<
  Record<keyof RunOptions | keyof ShapeOptions | "against", Options>
> = {
  ...RUN_OPTIONS,
  ...SHAPE_OPTIONS,
  against: {
    type: "string",
    describe: `program that the outputs are checked against in f64: ${PROGRAM_NAMES.join(", ")} or a .json file`,
  },
};
