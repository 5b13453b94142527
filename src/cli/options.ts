import type { Options } from "yargs";
import type { Rounding } from "../numerics/rounding.ts";
import type { GemmOperation } from "../plan/program.ts";
import type { ExchangeOrder } from "../sim/timing.ts";
import {
  COMPARE_GROUPS,
  COMPARE_SORTS,
  type CompareGroup,
  type CompareSort,
} from "../trace/compare.ts";
import { LEFT_OUT, type LeftOut } from "../trace/cost-fit.ts";
import { STEP_KINDS, type StepKind } from "../trace/profile.ts";
import { SORT_KEYS, type SortKey } from "../trace/query.ts";

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

const JSON_OPTION: Options = { type: "boolean", default: false, describe: "print one JSON object" };

/** Options of `inspect`. */
export const INSPECT_OPTIONS: Readonly<Record<"json", Options>> = { json: JSON_OPTION };

export interface RecoverOptions extends ShapeOptions {
  readonly program: string;
  readonly schedule?: string;
  readonly output: string;
  readonly json: boolean;
}

/** Options of `recover`. */
export const RECOVER_OPTIONS: Readonly<Record<keyof RecoverOptions, Options>> = {
  program: {
    type: "string",
    default: "siglip-attention",
    describe: `program that was recorded: ${PROGRAM_NAMES.join(", ")} or a .json file`,
  },
  schedule: {
    type: "string",
    describe: "schedule file of what was recorded, instead of a program",
  },
  ...SHAPE_OPTIONS,
  output: {
    alias: "o",
    type: "string",
    demandOption: true,
    describe:
      "write the profile to this file, and how each field is known to FILE.certainty.json; with gzip where it ends in .gz",
  },
  json: JSON_OPTION,
};

export interface QueryOptions {
  readonly "group-by": readonly string[];
  readonly "sort-by": SortKey;
  readonly limit: number;
  readonly samples: number;
  readonly kind?: readonly StepKind[];
  readonly kernel?: readonly string[];
  readonly "kernel-contains"?: string;
  readonly "operation-contains"?: string;
  readonly tile?: readonly string[];
  readonly phase?: readonly string[];
  readonly metadata?: readonly string[];
  readonly "at-offset"?: number;
  readonly "shared-clock": boolean;
  readonly json: boolean;
}

/** Options of `query`: names as ipu-stack's profile-query has them. */
export const QUERY_OPTIONS: Readonly<Record<keyof QueryOptions, Options>> = {
  "group-by": {
    type: "string",
    array: true,
    default: ["kernel"],
    describe:
      "kernel, operation, phase, tile, kind or metadata:NAME; several give their combinations",
  },
  "sort-by": { choices: SORT_KEYS, default: "phase-cycles", describe: "what groups are ranked by" },
  limit: { type: "number", default: 20, describe: "groups to show; 0: all" },
  samples: { type: "number", default: 0, describe: "show as many of the longest samples" },
  kind: { choices: STEP_KINDS, array: true, describe: "only steps of this kind" },
  kernel: { type: "string", array: true, describe: "only steps of this kernel, the whole name" },
  "kernel-contains": { type: "string", describe: "only steps with this in their kernel's name" },
  "operation-contains": {
    type: "string",
    describe: "only steps with this in their operation's name",
  },
  tile: { type: "string", array: true, describe: "only this physical tile, or a range: 0-63" },
  phase: {
    type: "string",
    array: true,
    describe:
      "only this phase, as `query --group-by phase` shows it: 17, or 2^31+3 for an exchange",
  },
  metadata: { type: "string", array: true, describe: "only steps with this entry: NAME=VALUE" },
  "at-offset": { type: "number", describe: "only what runs at this cycle" },
  "shared-clock": {
    type: "boolean",
    default: false,
    describe: "count from the first tile's start, not from the last one's",
  },
  json: JSON_OPTION,
};

export interface CompareOptions {
  readonly "group-by": CompareGroup;
  readonly "sort-by": CompareSort;
  readonly limit: number;
  readonly samples: number;
  readonly json: boolean;
}

/** Options of `compare`. */
export const COMPARE_OPTIONS: Readonly<Record<keyof CompareOptions, Options>> = {
  "group-by": { choices: COMPARE_GROUPS, default: "step", describe: "what rows stand for" },
  "sort-by": {
    choices: COMPARE_SORTS,
    default: "moved",
    describe: "what rows are ranked by: |B - A| summed, B - A, or their name",
  },
  limit: { type: "number", default: 20, describe: "rows to show; 0: all" },
  samples: { type: "number", default: 0, describe: "show as many pairs that differ most" },
  json: JSON_OPTION,
};

export interface CalibrateOptions {
  readonly "leave-out": LeftOut;
  readonly output?: string;
  readonly json: boolean;
}

/** Options of `calibrate`. */
export const CALIBRATE_OPTIONS: Readonly<Record<keyof CalibrateOptions, Options>> = {
  "leave-out": {
    choices: LEFT_OUT,
    default: "kernel",
    describe: "what constants are not fitted on and then scored on, one after another",
  },
  output: { alias: "o", type: "string", describe: "write the database to this JSON file" },
  json: JSON_OPTION,
};
