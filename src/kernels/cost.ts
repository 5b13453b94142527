import { cycles } from "../base/units.ts";
import type { Target } from "../target/target.ts";
import type { Cost } from "./kernel.ts";

/** Rows, or other items, of the worker that has the most. */
export function busiest(items: number, { workers }: Target): number {
  return Math.ceil(items / workers);
}

/**
 * One sample of `invocations` equal calls, each of `launches` launches of the workers and, in sum, `bundles`
 * bundles of the busiest one: sample + invocations * (launch * launches + 6 * bundles). Exact on every copy
 * of the SigLIP trace.
 */
export function counted(
  { timing }: Target,
  invocations: number,
  bundles: number,
  launches = 1,
  origin: Cost["origin"] = "counted",
): Cost {
  const call = timing.launch * launches + timing.cyclesPerBundle * bundles;
  return { cycles: cycles(timing.sample + invocations * call), origin };
}

/** One sample of `invocations` calls of `call` cycles each, nothing of the sample in them. */
export function perCall(
  { timing }: Target,
  invocations: number,
  call: number,
  origin: Cost["origin"],
): Cost {
  return { cycles: cycles(timing.sample + Math.round(invocations * call)), origin };
}
