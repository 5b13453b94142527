import fc from "fast-check";
import type {
  ExchangeActivity,
  Profile,
  ProfileStep,
  Sample,
  TileProfile,
} from "../../src/trace/profile.ts";
import { ACTIVITY_KINDS } from "../../src/trace/profile.ts";

/** Profiles as the chip records them: a tile's samples follow one another. */

export const PHASE: number = 2 ** 31;
const WRAP = 2 ** 32;

export const COMPUTE: ProfileStep = {
  localIndex: 0,
  phase: 0,
  epoch: 0,
  operation: "operation.0",
  kind: "compute",
  kernel: "gemm",
  metadata: [],
  activities: [],
  eventCycles: 0,
};

/** The same, but for what is given. */
export function work(step: Partial<ProfileStep> = {}): ProfileStep {
  return { ...COMPUTE, ...step };
}

/** A step of exchange phase `phase`. */
export function exchange(
  phase: number,
  eventCycles: number,
  step: Partial<ProfileStep> = {},
): ProfileStep {
  const place = { kind: "exchange", kernel: "exchange", phase: PHASE + phase } as const;
  return { ...COMPUTE, ...place, eventCycles, ...step };
}

/** A tile whose counter stands at `start`, and then at as many cycles later as each step takes. */
export function tile(
  physicalTile: number,
  start: number,
  ...steps: readonly (readonly [number, ProfileStep])[]
): TileProfile {
  let reading = start;
  const samples = steps.map(([length, step], localIndex): Sample => {
    const from = reading;
    reading = (reading + length) % WRAP;
    return { start: from, end: reading, step: { ...step, localIndex } };
  });
  return { physicalTile, samples };
}

export function recorded(...tiles: readonly TileProfile[]): Profile {
  return { schemaVersion: 5, clockHz: 1_000, tiles };
}

/** The same with counters that stood elsewhere; they wrap. */
export function shifted(profile: Profile, by: number): Profile {
  const moved = (reading: number): number => (reading + by) % WRAP;
  return {
    ...profile,
    tiles: profile.tiles.map(({ physicalTile, samples }) => ({
      physicalTile,
      samples: samples.map(({ start, end, step }) => ({
        start: moved(start),
        end: moved(end),
        step,
      })),
    })),
  };
}

const activity: fc.Arbitrary<ExchangeActivity> = fc
  .record({ kind: fc.constantFrom(...ACTIVITY_KINDS), start: fc.nat(40), length: fc.nat(20) })
  .map(({ kind, start, length }) => ({ kind, start, end: start + length }));

const names = {
  epoch: fc.constantFrom(0, 0, 0, 1),
  operation: fc.constantFrom("operation.0", "operation.1", ""),
};

const entries = fc.subarray(
  [
    { name: "reason", value: "OperatorKernel" },
    { name: "reason", value: "LocalCopy" },
    { name: "value", value: "7" },
    { name: "bytes", value: "64" },
    { name: "bytes", value: "128" },
  ],
  { maxLength: 3 },
);

const anyStep: fc.Arbitrary<ProfileStep> = fc.oneof(
  fc
    .record({
      ...names,
      phase: fc.nat(3),
      kind: fc.constantFrom("compute", "compute", "idle"),
      kernel: fc.constantFrom("gemm", "copy", ""),
      metadata: entries,
    })
    .map(work),
  fc
    .record({
      ...names,
      phase: fc.nat(3).map((phase) => PHASE + phase),
      kind: fc.constantFrom("exchange", "exchange", "synchronization"),
      activities: fc.array(activity, { maxLength: 5 }),
      eventCycles: fc.nat(50),
    })
    .map(({ phase, eventCycles, ...step }) =>
      exchange(phase - PHASE, eventCycles, { ...step, phase }),
    ),
);

/** Some are of no length: their times are not known. */
const length = fc.oneof({ weight: 5, arbitrary: fc.nat(60) }, fc.constant(0));

/** Few tiles with few steps each, so that a slow reference can count cycle by cycle. */
export const recordings: fc.Arbitrary<Profile> = fc
  .record({
    tiles: fc.uniqueArray(
      fc.record({
        physicalTile: fc.nat(9),
        start: fc.nat(50),
        steps: fc.array(fc.tuple(length, anyStep), { maxLength: 8 }),
      }),
      { maxLength: 5, selector: ({ physicalTile }) => physicalTile },
    ),
    shift: fc.oneof(fc.constant(0), fc.integer({ min: WRAP - 200, max: WRAP - 1 })),
  })
  .map(({ tiles, shift }) =>
    shifted(
      recorded(
        ...tiles
          .toSorted((a, b) => a.physicalTile - b.physicalTile)
          .map(({ physicalTile, start, steps }) => tile(physicalTile, start, ...steps)),
      ),
      shift,
    ),
  );
