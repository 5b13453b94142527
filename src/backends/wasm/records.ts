import { InternalError, assertNever } from "../../base/errors.ts";
import { MICRO, matricesOf, offset } from "../../layouts/order.ts";
import type { Order } from "../../layouts/layout.ts";
import { softmaxForm } from "../../kernels/attention-softmax.ts";
import type { KernelSpec, MatrixExtents } from "../../kernels/spec.ts";
import type { Numerics } from "../../numerics/rounding.ts";

/** Operations of the engine, by number; assembly/engine.ts has the same list. */
export const OPERATION = {
  packLeft: 0,
  packRight: 1,
  gemmNearest: 2,
  gemmExact: 3,
  gemmStochastic: 4,
  gemmF32: 5,
  reduceSum: 6,
  copy: 7,
  fillZero: 8,
  move: 9,
  softmax: 10,
  merge: 11,
  gelu: 12,
  addF16: 13,
  addF32: 14,
  castF16ToF32: 15,
  castF32ToF16: 16,
  castF16ToF16: 17,
  castF32ToF32: 18,
  same: 19,
} as const;

/** 32-bit words of a record. */
export const RECORD_WORDS = 16;

/** Where things are in the shared memory, in bytes. */
export interface Tables {
  readonly exp: number;
  readonly tanh: number;
  /** Element offsets of the first rows, then of the first columns, of a stored matrix. */
  readonly offsets: (matrix: StoredShape, listedRows: number, listedColumns: number) => number;
}

/** A matrix as it is stored. */
export interface StoredShape {
  readonly order: Order;
  readonly rows: number;
  readonly columns: number;
}

/**
 * The record of one invocation of any kernel but an f16 GEMM, its operands at byte offsets of the shared
 * memory.
 */
export function recordOf(
  spec: KernelSpec,
  output: number,
  inputs: readonly number[],
  { rounding, overflow }: Numerics,
  tables: Tables,
): readonly (readonly number[])[] {
  const isExact = Number(rounding === "exact");
  const nan = Number(overflow === "nan");
  switch (spec.kind) {
    case "gemm": {
      if (spec.multiply === "f16") throw new InternalError("an f16 GEMM has records of its own");
      const { rows, innerBlock, outputColumns, mode } = spec;
      const accumulate = Number(mode === "accumulate");
      return [[OPERATION.gemmF32, output, ...inputs, rows, innerBlock, outputColumns, accumulate]];
    }
    case "reduce-sum": {
      const { elements, partials } = spec;
      return [[OPERATION.reduceSum, output, ...inputs, elements, partials - 1, isExact, nan]];
    }
    case "copy": {
      const { bytes, rows, outputStride, sourceStride } = spec;
      return [
        [OPERATION.copy, output, inputs[0], 0, rows, bytes / rows, outputStride, sourceStride],
      ];
    }
    case "fill-zero":
      return [[OPERATION.fillZero, output, 0, 0, spec.bytes]];
    case "unpack": {
      const { physicalRows, physicalColumns } = spec;
      const rows = rowMajor(physicalRows, physicalColumns);
      return matrixMoves(spec, output, rows, inputs[0], packed(spec.order, spec), tables);
    }
    case "rearrange": {
      const { logicalRows, logicalColumns } = spec;
      const rows = rowMajor(logicalRows, logicalColumns);
      return matrixMoves(spec, output, packed(spec.order, spec), inputs[0], rows, tables);
    }
    case "attention-softmax": {
      const { rows, keyColumns, paddedKeyColumns, headDimension } = spec;
      const form = { wide: 0, narrow: 1, unpadded: 2 }[softmaxForm(spec)];
      return [
        [
          OPERATION.softmax,
          output,
          inputs[0],
          tables.exp,
          rows,
          keyColumns,
          paddedKeyColumns,
          headDimension,
          form,
          isExact,
          nan,
        ],
      ];
    }
    case "attention-merge": {
      const { rows, valueDimension, paddedValueDimension, keyBlockColumns } = spec;
      const state = inputs[1] + rows * keyBlockColumns * 2;
      const flags = [Number(spec.initial), Number(spec.finalBlock)];
      const shape = [rows, valueDimension, paddedValueDimension];
      return [[OPERATION.merge, output, inputs[0], state, ...shape, ...flags]];
    }
    case "gelu":
      return [[OPERATION.gelu, output, inputs[0], tables.tanh, spec.elements, isExact, nan]];
    case "add":
      return spec.dtype === "f16"
        ? [[OPERATION.addF16, output, ...inputs, spec.elements, nan]]
        : [[OPERATION.addF32, output, ...inputs, spec.elements]];
    case "cast":
      return [[castOperation(spec.from, spec.to), output, inputs[0], 0, spec.elements, nan]];
    default:
      return assertNever(spec);
  }
}

function castOperation(from: "f16" | "f32", to: "f16" | "f32"): number {
  if (from === "f16") return to === "f16" ? OPERATION.castF16ToF16 : OPERATION.castF16ToF32;
  return to === "f16" ? OPERATION.castF32ToF16 : OPERATION.castF32ToF32;
}

/** Matrices one after another, and where each begins, in elements. */
interface StoredMatrices extends StoredShape {
  readonly start: (matrix: number) => number;
}

function rowMajor(rows: number, columns: number): StoredMatrices {
  return {
    order: { kind: "row-major" },
    rows,
    columns,
    start: (matrix) => matrix * rows * columns,
  };
}

/**
 * The matrices of a packed operand. Left and output fold them into one: matrix i begins where its first row
 * does, since in these orders a row adds to the offset independently of the column.
 */
function packed(order: Order, extents: MatrixExtents): StoredMatrices {
  const { matrices, physicalRows, physicalColumns } = extents;
  const stored = matricesOf(order, [matrices, physicalRows, physicalColumns]);
  const { rows, cols: columns } = stored;
  const start =
    stored.matrices === 1
      ? (matrix: number) => offset(order, rows, columns, matrix * physicalRows, 0, MICRO.f16)
      : (matrix: number) => matrix * rows * columns;
  return { order, rows, columns, start };
}

/** A move a matrix. */
function matrixMoves(
  { matrices, physicalRows, physicalColumns, logicalRows, logicalColumns }: MatrixExtents,
  output: number,
  to: StoredMatrices,
  input: number,
  from: StoredMatrices,
  tables: Tables,
): readonly (readonly number[])[] {
  const outputTable = tables.offsets(to, physicalRows, physicalColumns);
  const inputTable = tables.offsets(from, physicalRows, physicalColumns);
  return Array.from({ length: matrices }, (_, matrix) => [
    OPERATION.move,
    output + 2 * to.start(matrix),
    input + 2 * from.start(matrix),
    outputTable,
    physicalRows,
    physicalColumns,
    logicalRows,
    logicalColumns,
    inputTable,
  ]);
}
