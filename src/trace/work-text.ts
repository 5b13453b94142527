import { assertNever } from "../base/errors.ts";
import type { KernelSpec, MatrixExtents } from "../kernels/spec.ts";
import type { RecordedKernel } from "./recorded-kernel.ts";

/** Longest text of dimensions that are not understood. */
const MOST_LETTERS = 60;

/** The shape of recorded work in few words: of its specification, or of its dimensions where that is not known. */
export function workText(spec: KernelSpec | null, { dimensions }: RecordedKernel): string {
  if (spec !== null) return specText(spec, Number(dimensions.outputElements));
  const text = Object.entries(dimensions)
    .map(([name, value]) => `${name} ${value}`)
    .join(", ");
  return text.length <= MOST_LETTERS ? text : `${text.slice(0, MOST_LETTERS - 3)}...`;
}

function specText(spec: KernelSpec, outputElements: number): string {
  switch (spec.kind) {
    case "gemm": {
      const { rows, innerBlock, outputColumns, weights } = spec;
      const shape = `${rows} x ${innerBlock} x ${outputColumns}${weights === "interleaved" ? ", interleaved" : ""}`;
      // Padding is computed too, and one shape may stand for several counts.
      return outputElements === rows * outputColumns
        ? shape
        : `${shape}, ${outputElements} elements`;
    }
    case "reduce-sum":
      return `${spec.elements} elements, ${spec.partials} partials`;
    case "copy":
      return spec.rows === 1
        ? `${spec.bytes} B`
        : `${spec.rows} rows of ${spec.bytes / spec.rows} B`;
    case "fill-zero":
      return `${spec.bytes} B of zeros`;
    case "unpack":
      return extents(spec);
    case "rearrange":
      return `${extents(spec)}${spec.runTimeShape ? ", at run time" : ""}`;
    case "attention-softmax":
      return `${spec.rows} x ${spec.keyColumns} in ${spec.paddedKeyColumns}`;
    case "attention-merge":
      return `${spec.rows} x ${spec.valueDimension}`;
    case "gelu":
    case "add":
    case "cast":
      return `${spec.elements} elements`;
    default:
      return assertNever(spec);
  }
}

function extents(spec: MatrixExtents): string {
  const { matrices, logicalRows, logicalColumns, physicalRows, physicalColumns } = spec;
  const several = matrices === 1 ? "" : `${matrices} of `;
  return `${several}${logicalRows} x ${logicalColumns} in ${physicalRows} x ${physicalColumns}`;
}
