import { assertNever } from "../base/errors.ts";
import { copyHelper } from "./copy.ts";
import type { KernelSpec, MatrixExtents } from "./spec.ts";

/** What a kernel's name needs to know of the whole program: its compiler makes one object for two shapes. */
export interface ProgramShape {
  /** Row counts of the program's GEMM calls, ascending. */
  readonly gemmRows: readonly number[];
  /** Query rows of the program's softmax and merge calls, ascending. */
  readonly queryRows: readonly number[];
}

/** The symbol that osmarks/ipu-stack gives a kernel (crates/ipu-codegen/src/kernel.rs). */
export function symbol(spec: KernelSpec, shape: ProgramShape): string {
  return `ipu_stack_${stem(spec, shape)}`;
}

/** What a kernel may be called at all. */
const KNOWN = new RegExp(
  `^ipu_stack_(${[
    "gemm_f(16|32)_(init|accumulate)_(small|large)_rows(_interleaved)?_k\\d+_c\\d+_r\\d+_r\\d+",
    "reduce_sum_f16",
    "copy_(u64|strided_u64|u32|u16)",
    "fill_zero_u64",
    "(unpack_amp_to_row_major|rearrange_row_major_to_amp)_f16_o\\d_r\\d+_p\\d+_c\\d+_p\\d+",
    "attention_(softmax_(small|large)_query_small_key|merge_(small|large)_query)_f16",
    "gelu_tanh_approx_f16",
    "add_f(16|32)",
    "cast_f(16|32)_f(16|32)",
  ].join("|")})$`,
);

/** Whether some kernel has this name. */
export function isSymbol(name: string): boolean {
  return KNOWN.test(name);
}

/** Whether a kernel of this specification is called so in some program. */
export function isSymbolOf(name: string, spec: KernelSpec): boolean {
  return programsOf(name, spec).some((shape) => symbol(spec, shape) === name);
}

/** Of the programs that would name the specification in different ways, those that could name it so. */
function programsOf(name: string, spec: KernelSpec): readonly ProgramShape[] {
  switch (spec.kind) {
    case "gemm": {
      const rows = new Set((/_r(\d+)_r(\d+)$/.exec(name) ?? []).slice(1).map(Number));
      return [{ gemmRows: [...rows].sort((a, b) => a - b), queryRows: [] }];
    }
    case "attention-softmax":
    case "attention-merge":
      return [[], [0, spec.rows]].map((queryRows) => ({ gemmRows: [], queryRows }));
    default:
      return [LONE];
  }
}

/** A program of one call. */
export const LONE: ProgramShape = { gemmRows: [], queryRows: [] };

function stem(spec: KernelSpec, { gemmRows, queryRows }: ProgramShape): string {
  switch (spec.kind) {
    case "gemm": {
      const mode = spec.mode === "initialize" ? "init" : "accumulate";
      const [small, large] = pairOf(spec.rows, gemmRows);
      const entry = spec.rows === small ? "small" : "large";
      const weights = spec.weights === "interleaved" ? "_interleaved" : "";
      return `gemm_${spec.multiply}_${mode}_${entry}_rows${weights}_k${spec.innerBlock}_c${spec.outputColumns}_r${small}_r${large}`;
    }
    case "reduce-sum":
      return "reduce_sum_f16";
    case "copy":
      return copyHelper(spec);
    case "fill-zero":
      return "fill_zero_u64";
    case "unpack":
      return `unpack_amp_to_row_major_f16_o${spec.order.kind === "amp-output" ? 0 : 1}_${extents(spec, false)}`;
    case "rearrange": {
      const order = { "amp-left": 0, "amp-transposed-right": 1, "block-major": 2 }[spec.order.kind];
      return `rearrange_row_major_to_amp_f16_o${order}_${extents(spec, spec.runTimeShape)}`;
    }
    case "attention-softmax":
      return `attention_softmax_${querySize(spec.rows, queryRows)}_small_key_f16`;
    case "attention-merge":
      return `attention_merge_${querySize(spec.rows, queryRows)}_f16`;
    case "gelu":
      return "gelu_tanh_approx_f16";
    case "add":
      return `add_${spec.dtype}`;
    case "cast":
      return `cast_${spec.from}_${spec.to}`;
    default:
      return assertNever(spec);
  }
}

/** Row counts are taken two by two, ascending; a lone one, or one that is not listed, stands twice. */
function pairOf(rows: number, all: readonly number[]): readonly [number, number] {
  const at = all.indexOf(rows);
  if (at < 0) return [rows, rows];
  const small = all[at - (at % 2)];
  return [small, all[at - (at % 2) + 1] ?? small];
}

/** The largest of several query row counts is `large`; one alone is `small`. */
function querySize(rows: number, all: readonly number[]): string {
  return all.length > 1 && rows === all[all.length - 1] ? "large_query" : "small_query";
}

/** Shape pieces; zero: passed at run time. */
function extents(spec: MatrixExtents, isRunTime: boolean): string {
  const { logicalRows, physicalRows, logicalColumns, physicalColumns } = spec;
  return `r${isRunTime ? 0 : logicalRows}_p${physicalRows}_c${isRunTime ? 0 : logicalColumns}_p${physicalColumns}`;
}
