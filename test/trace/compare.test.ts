import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { alignSteps, phaseRanks } from "../../src/trace/align-steps.ts";
import type { Likeness } from "../../src/trace/align-steps.ts";
import { COMPARE_GROUPS, COMPARE_SORTS, compareProfiles } from "../../src/trace/compare.ts";
import type { CompareParts, CompareQuery, Comparison } from "../../src/trace/compare.ts";
import type { Profile, ProfileStep, Sample } from "../../src/trace/profile.ts";
import { COMPUTE, PHASE, exchange, recorded, recordings, shifted, tile, work } from "./recorded.ts";

const ALL: CompareQuery = { groupBy: "step", sortBy: "moved", limit: 0, samples: 0 };

function compare(a: Profile, b: Profile, query: Partial<CompareQuery> = {}): Comparison {
  return compareProfiles(a, b, { ...ALL, ...query });
}

function copyOf(bytes: number, kernel = "copy"): ProfileStep {
  return work({
    kernel,
    metadata: [
      { name: "reason", value: "LocalCopy" },
      { name: "value", value: String(bytes + 1) },
      { name: "bytes", value: String(bytes) },
    ],
  });
}

const SYNC = exchange(1, 0, { kind: "synchronization", kernel: "sync" });

describe("two runs of two tiles", () => {
  // Tile 0: the gemm is 10 faster, its exchange waits 5 less. Tile 1: the copy is gone, another kernel is new.
  const a = recorded(
    tile(0, 100, [50, COMPUTE], [30, exchange(1, 20)]),
    tile(1, 104, [40, COMPUTE], [6, copyOf(8)], [30, exchange(1, 20)]),
    tile(2, 100, [80, SYNC]),
  );
  const b = recorded(
    tile(0, 2 ** 32 - 9, [40, COMPUTE], [25, exchange(3, 20)]),
    tile(1, 2 ** 32 - 9, [41, COMPUTE], [7, work({ kernel: "new" })], [23, exchange(3, 20)]),
  );
  const result = compare(a, b, { samples: 2 });

  test("took 80 and 71 cycles", () => {
    expect(result.elapsedCycles).toEqual({ a: 80, b: 71, difference: -9 });
    expect(result.tileCycles).toEqual({ a: 240, b: 142, difference: -98 });
  });

  test("differ by parts that add up", () => {
    expect(result.parts).toEqual<CompareParts>({
      total: -98,
      same: -10 - 5 + 1 - 7,
      changed: 0,
      onlyA: -6 - 80,
      onlyB: 7,
      untimed: 0,
      residual: -4 + 6,
      entry: -4, // tile 1 began 4 later in A
      between: 0,
      exit: 6, // tile 0 ends at 65 of 71 in B
    });
    expect(result.samples).toEqual({
      a: 6,
      b: 5,
      same: 4,
      changed: 0,
      onlyA: 2,
      onlyB: 1,
      untimed: 0,
    });
    expect(result.tiles).toEqual({ both: 2, onlyA: 1, onlyB: 0 });
  });

  test("are ranked by cycles moved", () => {
    expect(
      result.rows.map(({ name, movedCycles, cycles }) => [name, movedCycles, cycles.difference]),
    ).toEqual([
      ["operation.0: sync 0", 80, -80],
      ["operation.0: exchange 0", 12, -12],
      ["operation.0: gemm", 11, -9],
      ["operation.0: new", 7, 7],
      ["operation.0: copy 8 B", 6, -6],
    ]);
    expect(result.rows[2]).toEqual({
      name: "operation.0: gemm",
      same: 2,
      changed: 0,
      onlyA: 0,
      onlyB: 0,
      untimed: 0,
      tiles: 2,
      cycles: { a: 90, b: 81, difference: -9 },
      movedCycles: 11,
      percent: -10,
    });
  });

  test("have the phase of the same place", () => {
    expect(result.phases).toEqual([
      {
        name: "operation.0: exchange 0",
        scheduled: { a: 20, b: 20, difference: 0 },
        measured: { a: 30, b: 23, difference: -7 },
        arrivalWait: { a: 0, b: 8, difference: 8 },
        boundary: { a: 10, b: 3, difference: -7 },
      },
    ]);
  });

  test("differ most in these pairs", () => {
    expect(result.pairs).toMatchObject([
      {
        physicalTile: 0,
        stepA: "gemm",
        stepB: "gemm",
        offset: { a: 0, b: 0 },
        cycles: { a: 50, b: 40, difference: -10 },
      },
      {
        physicalTile: 1,
        stepA: "exchange 0",
        offset: { a: 50, b: 48 },
        cycles: { difference: -7 },
      },
    ]);
  });

  test("may be grouped, ranked and cut otherwise", () => {
    const names = (query: Partial<CompareQuery>): string[] =>
      compare(a, b, query).rows.map(({ name }) => name);
    expect(names({ groupBy: "tile" })).toEqual(["tile 2", "tile 1", "tile 0"]);
    expect(names({ groupBy: "kind", sortBy: "name" })).toEqual([
      "compute",
      "exchange",
      "synchronization",
    ]);
    expect(names({ groupBy: "operation" })).toEqual(["operation.0"]);
    expect(names({ groupBy: "kernel", sortBy: "difference", limit: 2 })).toEqual(["new", "copy"]);
    const cut = compare(a, b, { limit: 1 });
    expect([cut.rowCount, cut.otherRowsDifference]).toEqual([5, -12 - 9 + 7 - 6]);
  });
});

test("a sample without times is no difference of its step", () => {
  const a = recorded(tile(0, 0, [50, COMPUTE], [9, copyOf(8)]));
  const b = recorded(tile(0, 0, [0, COMPUTE], [59, copyOf(8)]));
  const { parts, rows, samples } = compare(a, b);
  expect(parts).toMatchObject({ total: 0, same: 50, untimed: -50, residual: 0 });
  expect(samples).toMatchObject({ same: 1, untimed: 1 });
  expect(rows).toMatchObject([
    { name: "operation.0: copy 8 B", movedCycles: 50 },
    {
      name: "operation.0: gemm",
      untimed: 1,
      movedCycles: 0,
      cycles: { a: 0, b: 0 },
      percent: null,
    },
  ]);
});

test("gaps and overlaps between samples are residual", () => {
  const whole = recorded(tile(0, 0, [10, COMPUTE], [10, COMPUTE]));
  const [{ samples }] = whole.tiles;
  const open: Profile = {
    ...whole,
    tiles: [{ physicalTile: 0, samples: [samples[0], { ...samples[1], start: 13, end: 23 }] }],
  };
  expect(compare(whole, open).parts).toMatchObject({ total: 3, same: 0, residual: 3, between: 3 });
});

test("the last end is the largest one, though another sample comes last", () => {
  const one = recorded(tile(0, 0, [10, COMPUTE], [10, COMPUTE]));
  const [{ samples }] = one.tiles;
  const within = [
    { ...samples[0], end: 30 },
    { ...samples[1], start: 5, end: 15 },
  ];
  const { elapsedCycles, parts } = compare(one, recorded({ physicalTile: 0, samples: within }));
  expect(elapsedCycles).toEqual({ a: 20, b: 30, difference: 10 });
  expect(parts).toMatchObject({ total: 10, same: 20, between: -25, exit: 15 });
});

/** Names and likeness of the pairs of one tile. */
function aligned(a: readonly ProfileStep[], b: readonly ProfileStep[]): string[] {
  const profiles = [a, b].map((steps) =>
    recorded(tile(0, 0, ...steps.map((step) => [9, step] as const))),
  );
  const [ranksA, ranksB] = profiles.map(phaseRanks);
  const [samplesA, samplesB] = profiles.map(({ tiles }) => tiles[0].samples);
  return alignSteps(samplesA, samplesB, { a: ranksA, b: ranksB }).map(
    (pair) => `${pair.a?.name ?? "-"} | ${pair.b?.name ?? "-"}: ${pair.likeness}`,
  );
}

// prettier-ignore
test.each<[string, ProfileStep[], ProfileStep[], string[]]>([
  ["the same steps pair in order",
    [COMPUTE, copyOf(8), COMPUTE], [COMPUTE, copyOf(8), COMPUTE],
    ["gemm | gemm: same", "copy 8 B | copy 8 B: same", "gemm | gemm: same"]],
  ["one less of several is the last one's",
    [COMPUTE, COMPUTE], [COMPUTE],
    ["gemm | gemm: same", "gemm | -: onlyA"]],
  ["a step of the same shape goes before one of another",
    [copyOf(8), copyOf(16)], [copyOf(16)],
    ["copy 8 B | -: onlyA", "copy 16 B | copy 16 B: same"]],
  ["another shape is a change",
    [copyOf(8)], [copyOf(16)],
    ["copy 8 B | copy 16 B: changed"]],
  ["the number of a value is none",
    [work({ metadata: [{ name: "value", value: "1" }] })], [work({ metadata: [{ name: "value", value: "2" }] })],
    ["gemm | gemm: same"]],
  ["another kernel for the same reason is a change",
    [copyOf(8)], [copyOf(8, "copy_fast")],
    ["copy 8 B | copy_fast 8 B: changed"]],
  ["another kernel without a reason is another step",
    [work({ kernel: "x" })], [work({ kernel: "y" })],
    ["x | -: onlyA", "- | y: onlyB"]],
  ["another operation is another step",
    [COMPUTE], [work({ operation: "operation.1" })],
    ["gemm | -: onlyA", "- | gemm: onlyB"]],
  ["phases pair by their place in the operation, whatever their numbers",
    [exchange(4, 9), exchange(7, 9)], [exchange(0, 9), exchange(1, 9)],
    ["exchange 0 | exchange 0: same", "exchange 1 | exchange 1: same"]],
  ["a tile that takes no part any more is a change",
    [exchange(1, 9)], [SYNC],
    ["exchange 0 | sync 0: changed"]],
  ["work of the number of a phase is no phase",
    [work({ phase: 1 })], [exchange(1, 9)],
    ["gemm | -: onlyA", "- | exchange 0: onlyB"]],
])("%s", (_, a, b, expected) => {
  expect(aligned(a, b)).toEqual(expected);
});

/** The same alignment, each step held against each. */
function slowPairs(
  a: readonly Sample[],
  b: readonly Sample[],
  rankOf: (step: ProfileStep, side: "a" | "b") => number | null,
): [number, number, Likeness][] {
  const shape = ({ metadata }: ProfileStep): string =>
    JSON.stringify(metadata.filter(({ name }) => name !== "value"));
  const reason = ({ metadata }: ProfileStep): string | undefined =>
    metadata.find(({ name }) => name === "reason")?.value;
  const attempts: ((x: ProfileStep, y: ProfileStep, isPhase: boolean) => boolean)[] = [
    (x, y) => x.kind === y.kind && x.kernel === y.kernel && shape(x) === shape(y),
    (x, y, isPhase) => isPhase || x.kernel === y.kernel,
    (x, y, isPhase) => !isPhase && reason(x) !== undefined && reason(x) === reason(y),
  ];
  const pairs: [number, number, Likeness][] = [];
  for (const [attempt, isAlike] of attempts.entries()) {
    for (const [i, { step: x }] of a.entries()) {
      for (const [j, { step: y }] of b.entries()) {
        if (pairs.some(([p, q]) => p === i || q === j)) continue;
        const ranks = [rankOf(x, "a"), rankOf(y, "b")];
        if (x.operation !== y.operation || ranks[0] !== ranks[1]) continue;
        if (isAlike(x, y, ranks[0] !== null))
          pairs.push([i, j, attempt === 0 ? "same" : "changed"]);
      }
    }
  }
  return pairs.sort(([i], [j]) => i - j);
}

/** Of all phases of an operation, how many come before that of the step; null for work. */
function slowRank({ tiles }: Profile, step: ProfileStep): number | null {
  if (step.phase < PHASE) return null;
  const before = tiles
    .flatMap(({ samples }) => samples.map((sample) => sample.step))
    .filter((one) => one.operation === step.operation && one.phase >= PHASE)
    .filter(
      (one) => one.epoch < step.epoch || (one.epoch === step.epoch && one.phase < step.phase),
    );
  return new Set(before.map(({ phase, epoch }) => `${phase} ${epoch}`)).size;
}

function negated(value: number): number {
  return value === 0 ? 0 : -value;
}

describe("laws", () => {
  const groups = fc.constantFrom(...COMPARE_GROUPS);
  const sorts = fc.constantFrom(...COMPARE_SORTS);

  test("parts add up to the total, and so do rows, what the limit leaves out, and the residual", () => {
    fc.assert(
      fc.property(
        recordings,
        recordings,
        groups,
        sorts,
        fc.nat(4),
        (a, b, groupBy, sortBy, limit) => {
          const { parts, rows, otherRowsDifference, tileCycles, elapsedCycles, samples } = compare(
            a,
            b,
            { groupBy, sortBy, limit },
          );
          const { same, changed, onlyA, onlyB, untimed, residual, entry, between, exit } = parts;
          expect(same + changed + onlyA + onlyB + untimed + residual).toBe(parts.total);
          expect(entry + between + exit).toBe(residual);
          expect(tileCycles.difference).toBe(parts.total);
          const busy = ({ tiles }: Profile): number =>
            tiles.filter((one) => one.samples.length > 0).length;
          expect(elapsedCycles.b * busy(b) - elapsedCycles.a * busy(a)).toBe(parts.total);
          const moved = rows.reduce(
            (sum, { cycles }) => sum + cycles.difference,
            otherRowsDifference,
          );
          expect(moved + untimed + residual).toBe(parts.total);
          const pairs = samples.same + samples.changed + samples.untimed;
          expect([pairs + samples.onlyA, pairs + samples.onlyB]).toEqual([samples.a, samples.b]);
        },
      ),
    );
  });

  test("a profile is itself, also with counters that stood elsewhere", () => {
    fc.assert(
      fc.property(recordings, fc.nat({ max: 2 ** 32 - 1 }), groups, (profile, by, groupBy) => {
        const { parts, samples, rows } = compare(profile, shifted(profile, by), { groupBy });
        expect(Object.values(parts).every((part) => part === 0)).toBe(true);
        expect(samples.same + samples.untimed).toBe(samples.a);
        expect(rows.every(({ movedCycles }) => movedCycles === 0)).toBe(true);
      }),
    );
  });

  test("B against A is A against B with the sign changed", () => {
    fc.assert(
      fc.property(recordings, recordings, (a, b) => {
        const [there, back] = [compare(a, b).parts, compare(b, a).parts];
        for (const part of [
          "total",
          "same",
          "changed",
          "untimed",
          "entry",
          "between",
          "exit",
        ] as const) {
          expect(back[part]).toBe(negated(there[part]));
        }
        expect([back.onlyA, back.onlyB]).toEqual([negated(there.onlyB), negated(there.onlyA)]);
      }),
    );
  });

  test("steps pair as holding each against each does", () => {
    fc.assert(
      fc.property(recordings, recordings, (a, b) => {
        const ranks = { a: phaseRanks(a), b: phaseRanks(b) };
        for (const { physicalTile, samples } of a.tiles) {
          const others = b.tiles.find((one) => one.physicalTile === physicalTile)?.samples ?? [];
          const pairs = alignSteps(samples, others, ranks).flatMap((pair) =>
            pair.a && pair.b
              ? [[samples.indexOf(pair.a.sample), others.indexOf(pair.b.sample), pair.likeness]]
              : [],
          );
          const slow = slowPairs(samples, others, (step, side) =>
            slowRank(side === "a" ? a : b, step),
          );
          expect(pairs).toEqual(slow);
        }
      }),
    );
  });
});
