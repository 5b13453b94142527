import { SimError } from "../base/errors.ts";
import type { Conversion } from "../kernels/call.ts";
import { kernelOf } from "../kernels/registry.ts";
import type { CopySpec, GemmSpec, KernelSpec, MatrixExtents } from "../kernels/spec.ts";
import { symbol } from "../kernels/symbol.ts";
import type { ProgramShape } from "../kernels/symbol.ts";
import { parseCopyPattern } from "./copy-pattern.ts";
import { parseKernelSpec } from "./kernel-spec.ts";

/** What a profile says of a kernel that was run: its symbol, and metadata that shape its work. */
export interface RecordedKernel {
  readonly kernel: string;
  /** By name. */
  readonly dimensions: Readonly<Record<string, string>>;
}

/** The specification that a recorded kernel ran; or why a profile does not tell it. */
export type FoundSpec =
  | { readonly spec: KernelSpec; readonly error: null }
  | { readonly spec: null; readonly error: SimError };

/**
 * The specification of each kernel: from its `kernelSpec` or `pattern`, its element counts, and the shapes in its
 * symbol. What is found would be given the same symbol. A rearrange whose shape was passed at run time has no shape in
 * its symbol, and takes the columns of those with the same layouts that have.
 */
export function specsOf(recorded: readonly RecordedKernel[]): readonly FoundSpec[] {
  const columns: KnownColumns = new Map();
  const isRunTime = ({ kernel }: RecordedKernel): boolean => RUN_TIME.test(kernel);
  const compiled = recorded.map((of) =>
    isRunTime(of) ? null : attempt(() => specOf(of, columns)),
  );
  return recorded.map((of, i) => compiled[i] ?? attempt(() => specOf(of, columns)));
}

/** By the text of a conversion's layouts: columns and matrices of the shapes compiled in. */
type KnownColumns = Map<string, Set<string>>;

function attempt(find: () => KernelSpec): FoundSpec {
  try {
    return { spec: find(), error: null };
  } catch (error) {
    if (error instanceof SimError) return { spec: null, error };
    throw error;
  }
}

function specOf(recorded: RecordedKernel, columns: KnownColumns): KernelSpec {
  const { kernel, dimensions } = recorded;
  const spec = "kernelSpec" in dimensions ? planned(recorded, columns) : moved(recorded);
  kernelOf(spec).check(spec);
  if (!shapesOf(spec, kernel).some((shape) => symbol(spec, shape) === kernel)) {
    throw unknown(`the symbol of what its metadata says would be ${symbol(spec, NO_SHAPE)}`);
  }
  return spec;
}

const NO_SHAPE: ProgramShape = { gemmRows: [], queryRows: [] };

/** Programs in which a specification might bear the symbol: what else runs in them is not known. */
function shapesOf(spec: KernelSpec, kernel: string): readonly ProgramShape[] {
  switch (spec.kind) {
    case "gemm": {
      const { small, large } = gemmRows(kernel);
      return [{ ...NO_SHAPE, gemmRows: small === large ? [small] : [small, large] }];
    }
    case "attention-softmax":
    case "attention-merge":
      return [NO_SHAPE, { ...NO_SHAPE, queryRows: [0, spec.rows] }];
    default:
      return [NO_SHAPE];
  }
}

/** A copy or a fill. */
function moved({ kernel, dimensions }: RecordedKernel): KernelSpec {
  const bytes = wholeOf(dimensions, "bytes");
  if (kernel === "ipu_stack_fill_zero_u64") return { kind: "fill-zero", bytes };
  const pattern = parseCopyPattern(dimensions.pattern ?? "");
  const contiguous: CopySpec = {
    kind: "copy",
    bytes,
    rows: 1,
    sourceStride: bytes,
    outputStride: bytes,
  };
  if (pattern.kind === "contiguous") return contiguous;
  if (pattern.kind === "other") throw unknown(`pattern ${pattern.text.slice(0, 40)} is not known`);
  const lacking = ["rows", "row_bytes", "source_stride", "destination_stride"].filter(
    (name) => !(name in pattern.fields),
  );
  if (lacking.length > 0) throw unknown(`its pattern lacks ${lacking.join(", ")}`);
  const { rows, row_bytes, source_stride, destination_stride } = pattern.fields;
  if (rows * row_bytes !== bytes) {
    throw unknown(`its pattern, rows of ${row_bytes} B, does not make ${bytes} B`);
  }
  return { ...contiguous, rows, sourceStride: source_stride, outputStride: destination_stride };
}

function planned(recorded: RecordedKernel, columns: KnownColumns): KernelSpec {
  const { kernel, dimensions } = recorded;
  const { spec } = parseKernelSpec(dimensions.kernelSpec);
  switch (spec.kind) {
    case "gemm":
      return { ...spec, rows: rowsOfGemm(kernel) };
    case "reduce-sum":
      return { ...spec, elements: wholeOf(dimensions, "outputElements") };
    case "attention-softmax":
      return { ...spec, rows: quotient(dimensions, "input0Elements", spec.paddedKeyColumns) };
    case "attention-merge":
      return { ...spec, rows: quotient(dimensions, "input0Elements", spec.paddedValueDimension) };
    case "rearrange":
      return converted(recorded, spec, columns);
    case "gelu":
    case "add":
    case "cast":
    case "fill-zero":
      throw unknown("a profile counts its logical elements, and its work goes by stored ones");
    case "flash-attention":
    case "other":
      throw unknown("its specification is not known to this version");
  }
}

const GEMM = /_(small|large)_rows(?:_interleaved)?_k\d+_c\d+_r(\d+)_r(\d+)$/;

function gemmRows(kernel: string): { small: number; large: number; isSmall: boolean } {
  const [, entry, small, large] = GEMM.exec(kernel) ?? [];
  if (entry === undefined) throw unknown("its symbol does not tell its rows");
  return { small: Number(small), large: Number(large), isSmall: entry === "small" };
}

/** Counts of elements are of logical ones, so the symbol tells: it stands for two row counts and says which. */
function rowsOfGemm(kernel: string): GemmSpec["rows"] {
  const { small, large, isSmall } = gemmRows(kernel);
  return isSmall ? small : large;
}

const MOVE =
  /^ipu_stack_(?:unpack_amp_to_row_major|rearrange_row_major_to_amp)_f16_o\d_r(\d+)_p(\d+)_c(\d+)_p(\d+)$/;
const RUN_TIME = /_o\d_r0_p\d+_c0_p\d+$/;

/** An unpack or a rearrange. */
function converted(
  { kernel, dimensions }: RecordedKernel,
  { from, to }: Conversion,
  columns: KnownColumns,
): KernelSpec {
  const [, ...digits] = MOVE.exec(kernel) ?? [];
  if (digits.length === 0) throw unknown("its symbol does not tell its shape");
  const [rows, physicalRows, cols, physicalColumns] = digits.map(Number);
  const physical = { physicalRows, physicalColumns };
  const runTimeShape = RUN_TIME.test(kernel);
  const elements = wholeOf(dimensions, "outputElements");
  const extents = runTimeShape
    ? extentsAtRunTime(elements, physical, columns.get(dimensions.kernelSpec))
    : {
        matrices: wholeQuotient(elements, rows * cols),
        logicalRows: rows,
        logicalColumns: cols,
        ...physical,
      };
  if (!runTimeShape) {
    const known = columns.get(dimensions.kernelSpec) ?? new Set();
    columns.set(dimensions.kernelSpec, known.add(`${cols} ${extents.matrices}`));
  }
  if (to.order.kind === "row-major") {
    const { order } = from;
    if (order.kind === "amp-output" || order.kind === "amp-transposed-left") {
      return { kind: "unpack", order, ...extents };
    }
  } else if (from.order.kind === "row-major") {
    const { order } = to;
    switch (order.kind) {
      case "amp-left":
      case "amp-transposed-right":
      case "block-major":
        return { kind: "rearrange", order, ...extents, runTimeShape };
      default:
    }
  }
  throw unknown(`no kernel goes from ${from.order.kind} to ${to.order.kind}`);
}

function extentsAtRunTime(
  elements: number,
  physical: Pick<MatrixExtents, "physicalRows" | "physicalColumns">,
  known: ReadonlySet<string> | undefined,
): MatrixExtents {
  if (known?.size !== 1) {
    throw unknown("its shape was passed at run time, and no other kernel tells its columns");
  }
  const [[logicalColumns, matrices]] = [...known].map((text) => text.split(" ").map(Number));
  const logicalRows = wholeQuotient(elements, matrices * logicalColumns);
  return { matrices, logicalRows, logicalColumns, ...physical };
}

function quotient(dimensions: RecordedKernel["dimensions"], name: string, divisor: number): number {
  return wholeQuotient(wholeOf(dimensions, name), divisor);
}

function wholeQuotient(elements: number, divisor: number): number {
  if (divisor > 0 && elements % divisor === 0) return elements / divisor;
  throw unknown(`${elements} elements do not make whole rows or matrices of ${divisor}`);
}

function wholeOf(dimensions: RecordedKernel["dimensions"], name: string): number {
  const text = dimensions[name];
  if (text !== undefined && /^\d{1,10}$/.test(text)) return Number(text);
  throw unknown(text === undefined ? `it has no ${name}` : `its ${name} is no count`);
}

function unknown(what: string): SimError {
  return new SimError("UNKNOWN_KERNEL", {
    what,
    where: {},
    fix: "Its cycles are in the database all the same; use a version of tilesim that knows it",
  });
}
