import { SimError } from "../base/errors.ts";
import { attentionMerge } from "./attention-merge.ts";
import { attentionSoftmax } from "./attention-softmax.ts";
import { copy, fillZero } from "./copy.ts";
import { add, cast, gelu } from "./elementwise.ts";
import { gemm } from "./gemm.ts";
import type { Kernel } from "./kernel.ts";
import { reduceSum } from "./reduce.ts";
import type { KernelSpec } from "./spec.ts";
import { rearrange, unpack } from "./unpack.ts";

type Registry = {
  readonly [Kind in KernelSpec["kind"]]: Kernel<Extract<KernelSpec, { kind: Kind }>>;
};

/** The one list of kernels. */
export const KERNELS: Registry = {
  gemm,
  "reduce-sum": reduceSum,
  copy,
  "fill-zero": fillZero,
  unpack,
  rearrange,
  "attention-softmax": attentionSoftmax,
  "attention-merge": attentionMerge,
  gelu,
  add,
  cast,
};

/** The kernel of a specification. @throws SimError `UNKNOWN_KERNEL` */
export function kernelOf<Spec extends KernelSpec>(spec: Spec): Kernel<Spec> {
  if (Object.hasOwn(KERNELS, spec.kind)) return KERNELS[spec.kind] as unknown as Kernel<Spec>;
  throw new SimError("UNKNOWN_KERNEL", {
    what: `no kernel is called ${JSON.stringify(spec.kind)}`,
    where: { kernel: String(spec.kind) },
    fix: `Use one of: ${Object.keys(KERNELS).join(", ")}`,
  });
}
