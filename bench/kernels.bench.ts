import { ReferenceBackend } from "../src/backends/reference/reference-backend.ts";
import { createWasmBackend } from "../src/backends/wasm/wasm-backend.ts";
import type { Backend } from "../src/kernels/backend.ts";
import type { KernelSpec } from "../src/kernels/spec.ts";
import { AMP_LEFT, AMP_TRANSPOSED_LEFT } from "../src/layouts/constructors.ts";
import { NEAREST } from "../src/numerics/rounding.ts";
import { placeCall } from "../test/support/operands.ts";
import { paired, PAIRED_HEADER, type PairedResult } from "./support/paired.ts";

/** Kernels of the SigLIP block, each as one tile runs it. */
const KERNELS: readonly (readonly [string, KernelSpec])[] = [
  ["gemm 72 x 576 x 16", gemm(72, 576, 16)],
  ["gemm 8 x 80 x 768", gemm(8, 80, 768)],
  ["gemm 8 x 768 x 80", gemm(8, 768, 80)],
  [
    "softmax 8 x 729",
    {
      kind: "attention-softmax",
      rows: 8,
      headDimension: 72,
      keyColumns: 729,
      paddedKeyColumns: 768,
    },
  ],
  [
    "merge 8 x 72",
    {
      kind: "attention-merge",
      rows: 8,
      valueDimension: 72,
      paddedValueDimension: 80,
      keyBlockColumns: 768,
      initial: true,
      finalBlock: true,
    },
  ],
  ["reduce 2 x 1152", { kind: "reduce-sum", partials: 2, elements: 1152 }],
  ["unpack 16 x 72", { kind: "unpack", order: AMP_TRANSPOSED_LEFT, ...extents(16, 72, 72) }],
  [
    "rearrange 8 x 72",
    { kind: "rearrange", order: AMP_LEFT, ...extents(8, 72, 80), runTimeShape: false },
  ],
  ["gelu 4096", { kind: "gelu", elements: 4096 }],
];

const TILES = 4;
const ROUNDS = 9;

/** Each kernel on a few tiles: SIMD code against the plain TypeScript of the definition, and relaxed SIMD against strict. */
export async function kernelsBench(): Promise<readonly PairedResult[]> {
  const reference = new ReferenceBackend();
  const strict = createWasmBackend({ simd: "strict" });
  const relaxed = createWasmBackend({ simd: "auto" });
  const results: PairedResult[] = [];
  console.log(PAIRED_HEADER);
  for (const [name, spec] of KERNELS) {
    const [plain, slow, fast] = await Promise.all(
      [reference, strict, relaxed].map((backend) => ready(backend, spec)),
    );
    results.push(
      await paired({
        name: `${name}: wasm / TypeScript`,
        candidate: fast,
        baseline: plain,
        rounds: ROUNDS,
      }),
    );
    if (spec.kind !== "gemm") continue;
    results.push(
      await paired({
        name: `${name}: relaxed / strict SIMD`,
        candidate: fast,
        baseline: slow,
        rounds: ROUNDS,
      }),
    );
  }
  await Promise.all([reference, strict, relaxed].map((backend) => backend.close()));
  return results;
}

/** A run of the kernel on tiles with operands of their own. */
async function ready(backend: Backend, spec: KernelSpec): Promise<() => Promise<void>> {
  const { call, memory } = placeCall(spec, TILES, 1, "ordinary");
  const map = memory;
  await backend.attach(map);
  return async () => {
    await backend.compute([call], NEAREST, 0);
  };
}

function gemm(rows: number, innerBlock: number, outputColumns: number): KernelSpec {
  return {
    kind: "gemm",
    multiply: "f16",
    accumulate: "f16",
    mode: "initialize",
    weights: "standard",
    rows,
    innerBlock,
    outputColumns,
  };
}

function extents(
  rows: number,
  logicalColumns: number,
  physicalColumns: number,
): {
  readonly matrices: number;
  readonly logicalRows: number;
  readonly physicalRows: number;
  readonly logicalColumns: number;
  readonly physicalColumns: number;
} {
  return { matrices: 1, logicalRows: rows, physicalRows: rows, logicalColumns, physicalColumns };
}
