import type { KernelSpec } from "../kernels/spec.ts";
import type { Numerics } from "../numerics/rounding.ts";
import type { Schedule } from "../sim/schedule.ts";
import type { Timing } from "../sim/timing.ts";
import type { Target } from "../target/target.ts";

interface Run {
  readonly kinds: ReadonlySet<KernelSpec["kind"]>;
  readonly schedule: Schedule;
  readonly timing: Timing;
  /** Null: cycles only, so that no assumption about values was met. */
  readonly numerics: Numerics | null;
}

const ROUNDING_KINDS = ["reduce-sum", "attention-softmax", "gelu", "add", "cast"] as const;
const ELEMENTARY_KINDS = ["attention-softmax", "attention-merge", "gelu"] as const;

/** When a run meets each of the target's assumptions, by name. */
const MET: Readonly<Record<string, (run: Run) => boolean>> = {
  roundingBase: ({ kinds, numerics }) => numerics !== null && hasAny(kinds, ROUNDING_KINDS),
  overflow: ({ kinds, numerics }) =>
    numerics !== null && hasAny(kinds, ["gemm", ...ROUNDING_KINDS]),
  subnormals: ({ kinds, numerics }) =>
    numerics !== null && hasAny(kinds, ["gemm", ...ROUNDING_KINDS]),
  ampSum: ({ kinds, numerics }) =>
    numerics !== null && numerics.rounding !== "exact" && kinds.has("gemm"),
  stochasticRounding: ({ kinds, numerics }) =>
    numerics?.rounding === "stochastic" && kinds.has("gemm"),
  elementary: ({ kinds, numerics }) => numerics !== null && hasAny(kinds, ELEMENTARY_KINDS),
  maxOfNaN: ({ kinds, numerics }) => numerics !== null && kinds.has("attention-softmax"),
  bankConflicts: ({ kinds }) => kinds.size > 0,
  gemmCosts: ({ kinds }) => kinds.has("gemm"),
  compiledKernels: ({ timing }) => timing.kernels.some(({ cost }) => cost.origin === "measured"),
  costs: ({ timing }) => timing.kernels.some(({ cost }) => cost.origin === "assumed"),
  barriers: ({ timing }) => timing.phases.length > 0,
  exchangeRepairs: ({ timing }) => timing.phases.length > 0,
  wideControls: ({ timing }) =>
    timing.phases.some(({ step }) => step.transfers.some(({ width }) => width === 64)),
  uninitialised: ({ schedule, numerics }) =>
    numerics !== null && schedule.buffers.some(({ zeroFilled }) => zeroFilled === true),
};

/** Names of the target's assumptions that a run met; one that we cannot tell counts as met. */
export function metAssumptions(
  schedule: Schedule,
  target: Target,
  timing: Timing,
  numerics: Numerics | null,
): string[] {
  const kinds = new Set(timing.kernels.map(({ call }) => call.spec.kind));
  const run = { kinds, schedule, timing, numerics };
  return Object.keys(target.assumed).filter((name) => MET[name]?.(run) ?? true);
}

function hasAny(
  kinds: ReadonlySet<KernelSpec["kind"]>,
  wanted: readonly KernelSpec["kind"][],
): boolean {
  return wanted.some((kind) => kinds.has(kind));
}
