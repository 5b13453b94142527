import {
  SOFTMAX_CONSTANTS,
  SOFTMAX_LAUNCHES,
  softmaxCall,
  softmaxForm,
} from "../kernels/attention-softmax.ts";
import { countedCalls } from "../kernels/copy.ts";
import type { FittedCall } from "../kernels/cost.ts";
import { GEMM_CONSTANTS, gemmCall } from "../kernels/gemm.ts";
import type { KernelSpec } from "../kernels/spec.ts";
import type { Target } from "../target/target.ts";
import type { Calibration, Observation } from "./calibration.ts";
import { NormalEquations } from "./least-squares.ts";
import type { Equation, Solution } from "./least-squares.ts";

/**
 * What is left out at a time: all measurements of one kernel, or those of one profile. One kernel is what costs count
 * alike: one of two such would tell the other.
 */
export const LEFT_OUT = ["kernel", "profile"] as const;
export type LeftOut = (typeof LEFT_OUT)[number];

export const FIT_FAMILIES = ["copy", "gemm", "softmax"] as const;
export type FitFamily = (typeof FIT_FAMILIES)[number];

/** Constants of one family's costs, fitted to all its measurements, and scored on those left out. */
export interface CostFit {
  readonly family: FitFamily;
  readonly constants: readonly FittedConstant[];
  /** Independent sums of constants that the measurements determine. */
  readonly rank: number;
  /** Among the measurements; what costs count alike is one. */
  readonly kernels: number;
  readonly rows: readonly FitRow[];
  /** Null where nothing is left out that the rest predicts. */
  readonly score: Score | null;
}

export interface FittedConstant {
  readonly name: string;
  readonly unit: "cycles" | "bundles";
  /** What the target's costs are made of. */
  readonly inUse: number;
  /** Null: the measurements do not determine it. */
  readonly fitted: number | null;
}

/** One measurement of a fit: the median duration of the samples with so many invocations, of one source. */
export interface FitRow {
  readonly measurement: number;
  readonly source: number;
  readonly invocations: number;
  readonly measuredCycles: number;
  readonly fittedCycles: number;
  /** Fitted - measured. */
  readonly residualCycles: number;
  /** By the constants that the rest determines; null where it does not. */
  readonly predictedCycles: number | null;
  /** 100 * (predicted - measured) / measured. */
  readonly errorPercent: number | null;
  /** The constants that it needs and the rest does not determine; empty where it is predicted. */
  readonly undetermined: readonly string[];
}

export interface Score {
  /** Measurements that are predicted, of all. */
  readonly predicted: number;
  readonly measurements: number;
  readonly meanAbsPercent: number;
  /** The error of the largest size, with its sign. */
  readonly worstPercent: number;
}

/** The constants that docs/costs.md calls fitted, by least squares over all measurements alike, for each family. */
export function fitCosts(
  { models, observations }: Calibration,
  leftOut: LeftOut,
  target: Target,
): readonly CostFit[] {
  return FIT_FAMILIES.map((name) => {
    const family = familyOf(name, target);
    const points = observations.flatMap((observation): Point[] => {
      const { spec } = models[observation.measurement];
      const cost = spec && family.cost(spec, observation.invocations);
      if (!spec || !cost) return [];
      const counts = family.constants.map(({ name: constant }) => cost.counts[constant]);
      const kernel = JSON.stringify(family.cost(spec, 1));
      const value = observation.medianDuration - cost.known;
      return [{ observation, kernel, known: cost.known, equation: { counts, value } }];
    });
    return fit(family, points, leftOut);
  });
}

type Constant = Omit<FittedConstant, "fitted">;

interface Family {
  readonly name: FitFamily;
  readonly constants: readonly Constant[];
  /** A sample's cycles: what is known, and how often each constant comes in; null for other kernels. */
  readonly cost: (
    spec: KernelSpec,
    invocations: number,
  ) => { readonly known: number; readonly counts: Readonly<Record<string, number>> } | null;
}

interface Point {
  readonly observation: Observation;
  readonly kernel: string;
  readonly known: number;
  readonly equation: Equation;
}

function familyOf(name: FitFamily, target: Target): Family {
  const { sample, launch, cyclesPerBundle } = target.timing;
  switch (name) {
    case "copy":
      return {
        name,
        constants: constantsOf({ sample, launch }, "cycles"),
        cost: (spec, invocations) => {
          if (spec.kind !== "copy" && spec.kind !== "fill-zero") return null;
          const counted = countedCalls(spec, target);
          if (!counted) return null;
          const calls = invocations * counted.calls;
          return {
            known: calls * cyclesPerBundle * counted.bundles,
            counts: { sample: 1, launch: calls },
          };
        },
      };
    case "gemm":
      return {
        name,
        constants: constantsOf(GEMM_CONSTANTS, "cycles"),
        cost: (spec, invocations) => {
          if (spec.kind !== "gemm" || spec.multiply !== "f16") return null;
          const call = gemmCall(spec, target);
          return {
            known: sample + invocations * cyclesPerBundle * call.bundles,
            counts: scaled(call, invocations),
          };
        },
      };
    case "softmax":
      return {
        name,
        constants: constantsOf(SOFTMAX_CONSTANTS, "bundles"),
        cost: (spec, invocations) => {
          if (spec.kind !== "attention-softmax" || softmaxForm(spec) !== "wide") return null;
          const call = softmaxCall(spec, target);
          const known = SOFTMAX_LAUNCHES * launch + cyclesPerBundle * call.bundles;
          return {
            known: sample + invocations * known,
            counts: scaled(call, invocations * cyclesPerBundle),
          };
        },
      };
  }
}

function constantsOf(
  values: Readonly<Record<string, number>>,
  unit: Constant["unit"],
): readonly Constant[] {
  return Object.entries(values).map(([name, inUse]) => ({ name, unit, inUse }));
}

function scaled<Name extends string>(
  { counts }: FittedCall<Name>,
  factor: number,
): Readonly<Record<string, number>> {
  return Object.fromEntries(
    Object.entries<number>(counts).map(([name, count]) => [name, factor * count]),
  );
}

function fit({ name, constants }: Family, points: readonly Point[], leftOut: LeftOut): CostFit {
  const all = new NormalEquations(constants.length);
  for (const { equation } of points) all.add(equation);
  const groups = new Map<string | number, Point[]>();
  for (const point of points) {
    const key = leftOut === "kernel" ? point.kernel : point.observation.source;
    const own = groups.get(key);
    if (own) own.push(point);
    else groups.set(key, [point]);
  }
  const rests = new Map<Point, Solution>();
  for (const group of groups.values()) {
    const rest = all.without(group.map(({ equation }) => equation)).solve();
    for (const point of group) rests.set(point, rest);
  }
  const whole = all.solve();
  const rows = points.map((point) => rowOf(point, whole, rests.get(point) ?? whole, constants));
  return {
    family: name,
    constants: constants.map((constant, j) => ({ ...constant, fitted: whole.values[j] })),
    rank: whole.rank,
    kernels: new Set(points.map(({ kernel }) => kernel)).size,
    rows,
    score: scoreOf(rows),
  };
}

function rowOf(
  { observation, known, equation }: Point,
  whole: Solution,
  rest: Solution,
  constants: readonly Constant[],
): FitRow {
  const { measurement, source, invocations, medianDuration } = observation;
  const { counts } = equation;
  // The fit of all determines each of its own equations.
  const residualCycles = (whole.predict(counts) ?? 0) - equation.value;
  const predicted = rest.predict(counts);
  const predictedCycles = predicted === null ? null : known + predicted;
  return {
    measurement,
    source,
    invocations,
    measuredCycles: medianDuration,
    fittedCycles: medianDuration + residualCycles,
    residualCycles,
    predictedCycles,
    errorPercent:
      predictedCycles === null ? null : (100 * (predictedCycles - medianDuration)) / medianDuration,
    undetermined: predicted === null ? rest.undetermined(counts).map((j) => constants[j].name) : [],
  };
}

function scoreOf(rows: readonly FitRow[]): Score | null {
  const errors = rows.flatMap(({ errorPercent }) => (errorPercent === null ? [] : [errorPercent]));
  if (errors.length === 0) return null;
  return {
    predicted: errors.length,
    measurements: rows.length,
    meanAbsPercent: errors.reduce((sum, error) => sum + Math.abs(error), 0) / errors.length,
    worstPercent: errors.reduce((worst, error) =>
      Math.abs(error) > Math.abs(worst) ? error : worst,
    ),
  };
}
