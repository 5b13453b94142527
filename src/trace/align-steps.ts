import type { Profile, ProfileStep, Sample } from "./profile.ts";
import { isExchangePhase, metadataOf, phaseKey } from "./step-names.ts";

/** Two steps that say the same of themselves, two that differ in shape, kernel or kind, or one alone. */
export type Likeness = "same" | "changed" | "onlyA" | "onlyB";

export interface NamedSample {
  readonly sample: Sample;
  /** What the step is within its operation: the kernel, with a copy's bytes; or `exchange 1`, the second. */
  readonly name: string;
}

/** A step of both lists, or of one: then the other is null. */
export interface StepPair {
  readonly a: NamedSample | null;
  readonly b: NamedSample | null;
  readonly likeness: Likeness;
}

/** Which exchange of its operation a step's phase is, from 0. */
export type PhaseRanks = (step: Pick<ProfileStep, "phase" | "epoch" | "operation">) => number;

/** Phases have other numbers in other programs: their order within an operation tells them apart. */
export function phaseRanks({ tiles }: Profile): PhaseRanks {
  const byOperation = new Map<string, Map<string, ProfileStep>>();
  for (const { samples } of tiles) {
    for (const { step } of samples) {
      if (!isExchangePhase(step.phase)) continue;
      const phases = byOperation.get(step.operation) ?? new Map<string, ProfileStep>();
      byOperation.set(step.operation, phases);
      phases.set(phaseKey(step), step);
    }
  }
  const ranks = new Map(
    [...byOperation].map(([operation, phases]) => {
      const inOrder = [...phases].sort(([, x], [, y]) => x.epoch - y.epoch || x.phase - y.phase);
      return [operation, new Map(inOrder.map(([key], rank) => [key, rank]))];
    }),
  );
  return (step) => ranks.get(step.operation)?.get(phaseKey(step)) ?? 0;
}

/** What steps must share, in one attempt after another; what is still alone then is in one list only. */
const ATTEMPTS = [sameStep, sameKernel, sameReason] as const;

/**
 * Pairs the steps of one tile in two profiles, the first with the first that share an operation and, in this order:
 *
 * 1. kernel, kind and all metadata but `value`, which numbers the compiler's values: `same`;
 * 2. the kernel;
 * 3. the reason that the compiler gives for the step.
 *
 * Steps of exchange phases share the phase's place among those of the operation instead of kernel and reason.
 */
export function alignSteps(
  a: readonly Sample[],
  b: readonly Sample[],
  ranks: { readonly a: PhaseRanks; readonly b: PhaseRanks },
): readonly StepPair[] {
  const pairs: (StepPair & { readonly order: number })[] = [];
  let leftA = a.map((sample, order) => ({ ...described(sample, ranks.a), order }));
  let leftB = b.map((sample, order) => ({ ...described(sample, ranks.b), order }));
  for (const keyOf of ATTEMPTS) {
    const waiting = new Map<string, { readonly list: Described[]; next: number }>();
    for (const one of leftB) {
      const key = keyOf(one);
      if (key === null) continue;
      const queue = waiting.get(key) ?? { list: [], next: 0 };
      waiting.set(key, queue);
      queue.list.push(one);
    }
    const paired = new Set<Described>();
    leftA = leftA.filter((one) => {
      const key = keyOf(one);
      const queue = key === null ? undefined : waiting.get(key);
      if (queue === undefined || queue.next === queue.list.length) return true;
      const other = queue.list[queue.next++];
      paired.add(other);
      const likeness = keyOf === sameStep ? "same" : "changed";
      pairs.push({ a: one, b: other, likeness, order: one.order });
      return false;
    });
    leftB = leftB.filter((one) => !paired.has(one));
    if (leftA.length === 0 || leftB.length === 0) break;
  }
  for (const one of leftA) pairs.push({ a: one, b: null, likeness: "onlyA", order: one.order });
  for (const one of leftB) pairs.push({ a: null, b: one, likeness: "onlyB", order: one.order });
  return pairs.sort((x, y) => x.order - y.order);
}

interface Described extends NamedSample {
  /** The phase's place among those of its operation; null for work. */
  readonly rank: number | null;
}

function described(sample: Sample, ranks: PhaseRanks): Described {
  const { step } = sample;
  if (isExchangePhase(step.phase)) {
    const rank = ranks(step);
    return { sample, rank, name: `${step.kernel || step.kind} ${rank}` };
  }
  const bytes = metadataOf(step, "bytes");
  const kernel = step.kernel || `(${step.kind})`;
  return { sample, rank: null, name: bytes === null ? kernel : `${kernel} ${bytes} B` };
}

function sameStep({ sample: { step }, rank }: Described): string {
  const { operation, kind, kernel, metadata } = step;
  const shape = metadata.flatMap(({ name, value }) => (name === "value" ? [] : [name, value]));
  return [operation, rank ?? "", kind, kernel, ...shape].join(SEPARATOR);
}

function sameKernel({ sample: { step }, rank }: Described): string {
  return [step.operation, rank ?? "", rank === null ? step.kernel : ""].join(SEPARATOR);
}

/** Null: it gives none. */
function sameReason({ sample: { step }, rank }: Described): string | null {
  const reason = rank === null ? metadataOf(step, "reason") : null;
  return reason === null ? null : [step.operation, reason].join(SEPARATOR);
}

/** Stands in no text of a compiler; where it does, steps are the same that look the same. */
const SEPARATOR = "\u0000";
