import { afterAll, describe, expect, test } from "vitest";
import { ReferenceBackend } from "../../src/backends/reference/reference-backend.ts";
import { createWasmBackend } from "../../src/backends/wasm/wasm-backend.ts";
import {
  AMP_LEFT,
  AMP_OUTPUT,
  AMP_TRANSPOSED_LEFT,
  AMP_TRANSPOSED_RIGHT,
  blockMajor,
} from "../../src/layouts/constructors.ts";
import type { KernelSpec } from "../../src/kernels/spec.ts";
import type { Numerics, Rounding } from "../../src/numerics/rounding.ts";
import { bytesAfter, DATA, placeCall } from "../support/operands.ts";

const gemm = (
  rows: number,
  innerBlock: number,
  outputColumns: number,
  mode: "initialize" | "accumulate" = "initialize",
): KernelSpec => ({
  kind: "gemm",
  multiply: "f16",
  accumulate: "f16",
  mode,
  weights: "standard",
  rows,
  innerBlock,
  outputColumns,
});
const softmax = (rows: number, keyColumns: number, paddedKeyColumns: number): KernelSpec => ({
  kind: "attention-softmax",
  rows,
  headDimension: 72,
  keyColumns,
  paddedKeyColumns,
});
const merge = (
  rows: number,
  columns: number,
  initial: boolean,
  finalBlock: boolean,
): KernelSpec => ({
  kind: "attention-merge",
  rows,
  valueDimension: columns,
  paddedValueDimension: Math.ceil((columns + 2) / 16) * 16,
  keyBlockColumns: 32,
  initial,
  finalBlock,
});
const extents = (
  matrices: number,
  rows: readonly [number, number],
  columns: readonly [number, number],
) => ({
  matrices,
  logicalRows: rows[0],
  physicalRows: rows[1],
  logicalColumns: columns[0],
  physicalColumns: columns[1],
});

const SPECS: readonly KernelSpec[] = [
  gemm(1, 16, 16),
  gemm(5, 32, 48),
  gemm(8, 80, 96),
  gemm(7, 96, 80),
  gemm(72, 64, 16),
  gemm(6, 48, 32, "accumulate"),
  {
    kind: "gemm",
    multiply: "f32",
    accumulate: "f32",
    mode: "initialize",
    weights: "standard",
    rows: 5,
    innerBlock: 64,
    outputColumns: 64,
  },
  {
    kind: "gemm",
    multiply: "f32",
    accumulate: "f32",
    mode: "accumulate",
    weights: "standard",
    rows: 6,
    innerBlock: 64,
    outputColumns: 64,
  },
  { kind: "reduce-sum", partials: 2, elements: 1152 },
  { kind: "reduce-sum", partials: 5, elements: 40 },
  { kind: "copy", bytes: 2304, rows: 1, sourceStride: 2304, outputStride: 2304 },
  { kind: "copy", bytes: 120, rows: 5, sourceStride: 40, outputStride: 32 },
  { kind: "copy", bytes: 6, rows: 1, sourceStride: 6, outputStride: 6 },
  { kind: "fill-zero", bytes: 264 },
  { kind: "unpack", order: AMP_TRANSPOSED_LEFT, ...extents(1, [9, 16], [72, 72]) },
  { kind: "unpack", order: AMP_TRANSPOSED_LEFT, ...extents(3, [16, 16], [5, 8]) },
  { kind: "unpack", order: AMP_OUTPUT, ...extents(2, [5, 7], [20, 32]) },
  { kind: "rearrange", order: AMP_LEFT, ...extents(1, [8, 8], [72, 80]), runTimeShape: false },
  { kind: "rearrange", order: AMP_LEFT, ...extents(3, [5, 6], [17, 32]), runTimeShape: false },
  {
    kind: "rearrange",
    order: AMP_TRANSPOSED_RIGHT,
    ...extents(1, [25, 64], [72, 80]),
    runTimeShape: true,
  },
  {
    kind: "rearrange",
    order: AMP_TRANSPOSED_RIGHT,
    ...extents(2, [16, 16], [16, 16]),
    runTimeShape: false,
  },
  {
    kind: "rearrange",
    order: blockMajor(64, 16),
    ...extents(1, [60, 64], [72, 80]),
    runTimeShape: false,
  },
  softmax(8, 729, 768),
  softmax(7, 97, 112),
  softmax(3, 40, 48),
  softmax(2, 91, 96),
  softmax(3, 33, 80),
  softmax(4, 64, 64),
  softmax(2, 128, 128),
  merge(8, 72, true, true),
  merge(3, 7, true, false),
  merge(3, 7, false, false),
  merge(7, 30, false, true),
  { kind: "gelu", elements: 4098 },
  { kind: "add", dtype: "f16", elements: 1003 },
  { kind: "add", dtype: "f32", elements: 77 },
  { kind: "cast", from: "f16", to: "f32", elements: 1001 },
  { kind: "cast", from: "f32", to: "f16", elements: 1001 },
  { kind: "cast", from: "f16", to: "f16", elements: 33 },
  { kind: "cast", from: "f32", to: "f32", elements: 33 },
];

const VARIANTS = [
  { simd: "strict", threads: 1 },
  { simd: "relaxed", threads: 1 },
  { simd: "auto", threads: 2 },
] as const;
const ROUNDINGS: readonly Rounding[] = ["nearest", "stochastic", "exact"];
const numericsOf = (rounding: Rounding, overflow: Numerics["overflow"]): Numerics => ({
  rounding,
  seed: 7,
  overflow,
});

const reference = new ReferenceBackend();

describe.each(VARIANTS)("the wasm backend, $simd SIMD on $threads threads", (variant) => {
  const wasm = createWasmBackend(variant);
  afterAll(() => wasm.close());

  test.each(SPECS.map((spec) => [spec.kind, JSON.stringify(spec), spec] as const))(
    "computes %s %s to the reference's bits, and writes nothing beside",
    async (_kind, _text, spec) => {
      for (const rounding of ROUNDINGS) {
        for (const data of DATA) {
          for (const overflow of ["saturate", "nan"] as const) {
            const numerics = numericsOf(rounding, overflow);
            const seed = data.length * 31 + rounding.length;
            const want = await bytesAfter(reference, placeCall(spec, 2, seed, data), numerics);
            const got = await bytesAfter(wasm, placeCall(spec, 2, seed, data), numerics);
            const differs = want.findIndex((byte, index) => byte !== got[index]);
            expect(differs, `${rounding}, ${data} data, ${overflow}: first differing byte`).toBe(
              -1,
            );
          }
        }
      }
    },
  );
});
