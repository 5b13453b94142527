import type { CopySpec, GemmSpec } from "../../src/kernels/spec.ts";
import { symbol } from "../../src/kernels/symbol.ts";
import { printKernelSpec } from "../../src/trace/kernel-spec.ts";
import type { Profile, ProfileStep } from "../../src/trace/profile.ts";
import { recorded, tile, work } from "./recorded.ts";

/** Steps of kernels as the compiler describes them. */

const ALONE = { gemmRows: [], queryRows: [] };

function step(kernel: string, dimensions: Readonly<Record<string, unknown>>): ProfileStep {
  const metadata = Object.entries({ reason: "OperatorKernel", ...dimensions });
  return work({ kernel, metadata: metadata.map(([name, value]) => ({ name, value: `${value}` })) });
}

export function copyStep(bytes: number, invocations = 1): ProfileStep {
  const spec: CopySpec = {
    kind: "copy",
    bytes,
    rows: 1,
    sourceStride: bytes,
    outputStride: bytes,
  };
  return step(symbol(spec, ALONE), { bytes, pattern: "Contiguous", invocations });
}

export function gemmStep(
  rows: number,
  innerBlock: number,
  outputColumns: number,
  weights: GemmSpec["weights"] = "standard",
): ProfileStep {
  const spec: GemmSpec = {
    kind: "gemm",
    multiply: "f16",
    accumulate: "f16",
    mode: "initialize",
    weights,
    rows,
    innerBlock,
    outputColumns,
  };
  return step(symbol(spec, ALONE), {
    kernelSpec: printKernelSpec(spec, { isPlanned: true, spelling: "profile" }),
    outputElements: rows * outputColumns,
    invocations: 1,
  });
}

export function softmaxStep(
  rows: number,
  keyColumns: number,
  paddedKeyColumns: number,
): ProfileStep {
  const spec = {
    kind: "attention-softmax",
    rows,
    headDimension: 72,
    keyColumns,
    paddedKeyColumns,
  } as const;
  return step(symbol(spec, ALONE), {
    kernelSpec: printKernelSpec(spec, { isPlanned: false, spelling: "current" }),
    outputElements: rows * (paddedKeyColumns + 16),
    input0Elements: rows * paddedKeyColumns,
    invocations: 1,
  });
}

/** One tile that runs these, one after another. */
export function profileOf(...steps: readonly (readonly [number, ProfileStep])[]): Profile {
  return recorded(tile(3, 100, ...steps));
}

/** Profiles as `calibrate` takes them, named for their places. */
export function sourced(
  ...profiles: readonly Profile[]
): readonly { source: { file: string; sha256: string }; profile: Profile }[] {
  return profiles.map((profile, i) => ({
    source: { file: `${i}.profile`, sha256: `${i}` },
    profile,
  }));
}
