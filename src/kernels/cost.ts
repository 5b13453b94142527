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

/** What a call's time is made of where constants of it were fitted: whole numbers of each, and counted bundles. */
export interface FittedCall<Constant extends string> {
  /** Bundles of the busiest worker, by count. */
  readonly bundles: number;
  /** How often each constant comes in. */
  readonly counts: Readonly<Record<Constant, number>>;
}

/** The fitted part of a call, in the constants' unit. */
export function fittedPart<Constant extends string>(
  { counts }: FittedCall<Constant>,
  constants: Readonly<Record<Constant, number>>,
): number {
  const names = Object.keys(counts) as Constant[];
  return names.reduce((sum, name) => sum + counts[name] * constants[name], 0);
}
