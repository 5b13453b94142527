import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { address, tileId, type TileId } from "../../src/base/units.ts";
import {
  ACTIVITY_KINDS,
  cutTransfers,
  schedulePhase,
  type PhaseSchedule,
  type PhaseTransfer,
} from "../../src/exchange/phase.ts";
import { improvePhase } from "../../src/exchange/improve.ts";
import { IPU21 } from "../../src/target/ipu21.ts";
import { partnerOf } from "../../src/target/topology.ts";
import { phaseFaults } from "../support/phase-faults.ts";
import { slowPhase, type SlowActivity } from "../support/slow-phase.ts";
import { siglipPhases, siglipProgram } from "./siglip.ts";
import { goldenCases, invalidReason, reasonOf } from "./support.ts";

type GoldenKind = "Send" | "Receive" | "PartnerBusy";

interface GoldenPhase {
  readonly name: string;
  readonly tileCount: number;
  readonly transfers: readonly (readonly [
    source: TileId,
    address: number,
    destinations: readonly (readonly [TileId, number])[],
    words: number,
    width: 32 | 64,
  ])[];
  readonly error?: string;
  readonly eventCycles: number;
  readonly initialHorizon?: number;
  readonly endpointLowerBound?: number;
  readonly neighborhoodImprovements?: number;
  readonly tiles: readonly {
    readonly tile: number;
    readonly eventCycles: number;
    readonly activities: readonly (readonly [number, GoldenKind, number, number, number])[];
  }[];
}

const KINDS = { Send: "send", Receive: "receive", PartnerBusy: "partnerBusy" } as const;
const goldens = [
  ...goldenCases<GoldenPhase>("schedules"),
  ...goldenCases<GoldenPhase>("schedules-large"),
];

function transfersOf(golden: GoldenPhase): PhaseTransfer[] {
  return golden.transfers.map(([source, from, destinations, words, width]) => ({
    source,
    address: address(from),
    words,
    width,
    destinations: destinations.map(([tile, to]) => ({ tiles: [tile], address: address(to) })),
  }));
}

function activitiesOf({ activities }: PhaseSchedule): SlowActivity[] {
  return Array.from({ length: activities.count }, (_, at) => ({
    transfer: activities.transfer[at],
    tile: tileId(activities.tile[at]),
    kind: ACTIVITY_KINDS[activities.kind[at]],
    start: activities.start[at],
    end: activities.end[at],
    horizon: activities.horizon[at],
  }));
}

/** One line an activity, in an order of its own. */
function lines(activities: readonly SlowActivity[]): string[] {
  return activities
    .map(({ transfer, tile, kind, start, end, horizon }) =>
      [transfer, tile, kind, start, end, horizon].join(" "),
    )
    .toSorted();
}

describe("phases are scheduled as the public compiler does, to the cycle", () => {
  test.each(goldens.filter(({ error }) => error === undefined))("$name", (golden) => {
    const schedule = schedulePhase(transfersOf(golden), IPU21, golden.tileCount);
    expect(golden.neighborhoodImprovements ?? 0).toBe(0);
    expect(schedule.eventCycles).toBe(golden.eventCycles);
    expect(schedule.eventCycles).toBe(golden.initialHorizon ?? golden.eventCycles);
    expect(schedule.lowerBound).toBe(golden.endpointLowerBound ?? schedule.lowerBound);
    expect(schedule.horizons).toHaveLength(golden.tileCount);
    const horizons = golden.tiles.map(({ tile, eventCycles }) => [tile, eventCycles]);
    const active = [...schedule.horizons.entries()].filter(([, horizon]) => horizon > 0);
    expect(active).toEqual(horizons);
    const activities = golden.tiles.flatMap(({ tile, activities: ofTile }) =>
      ofTile.map(([transfer, kind, start, end, horizon]) => ({
        transfer,
        tile: tileId(tile),
        kind: KINDS[kind],
        start,
        end,
        horizon,
      })),
    );
    expect(lines(activitiesOf(schedule))).toEqual(lines(activities));
    const improved = improvePhase(transfersOf(golden), IPU21, golden.tileCount);
    expect(improved.improvements).toBe(golden.neighborhoodImprovements ?? 0);
    expect(lines(activitiesOf(improved))).toEqual(lines(activities));
  });

  test.each(goldens.filter(({ error }) => error !== undefined))("$name", (golden) => {
    expect(invalidReason(() => schedulePhase(transfersOf(golden), IPU21, golden.tileCount))).toBe(
      reasonOf(golden.error ?? ""),
    );
  });
});

describe("an attention block on 1,472 tiles", () => {
  test.each(siglipPhases())(
    "$name takes $eventCycles events (recorded: $recorded)",
    ({ transfers, eventCycles }) => {
      expect(schedulePhase(transfers, IPU21).eventCycles).toBe(eventCycles);
    },
  );

  // prettier-ignore
  test.each([
    // phase                 improvements  why
    ["input",                   0, "no order is shorter"],
    ["partial sums",            0, "no order is shorter"],
    ["Q rows, one element",     1, "a tile that must send first waits for one that could later"],
    ["K rows, one element",     2, "the same, twice"],
    ["V panels",                0, "no order is shorter"],
    ["K broadcast",             0, "no order is shorter"],
    ["V broadcast",             0, "no order is shorter"],
  ])("%s takes as long as recorded after %i repairs: %s", (name, improvements) => {
    const phase = siglipPhases().find((one) => one.name === name);
    const improved = improvePhase(phase?.transfers ?? [], IPU21);
    expect(improved.eventCycles).toBe(phase?.recorded);
    expect(improved.improvements).toBe(improvements);
    if (improvements === 0) expect(improved.eventCycles).toBe(improved.chainBound);
    expect(phaseFaults(phase?.transfers ?? [], activitiesOf(improved), IPU21)).toEqual([]);
  });

  test("its program of eleven phases is the recorded one", () => {
    const program = siglipProgram().map((phase) => improvePhase(phase, IPU21).eventCycles);
    const projection = [4989, 1375];
    const attention = [1661, 4395, 5249, 32153, 37865];
    expect(program).toEqual([...projection, ...projection, ...projection, ...attention]);
  });

  test("more repairs than the default shorten the Q and K rows further", () => {
    const phases = siglipPhases().filter(({ name }) => name.endsWith("one element"));
    const shortest = phases.map(
      ({ transfers }) => improvePhase(transfers, IPU21, 1472, { rounds: 100 }).eventCycles,
    );
    expect(shortest).toEqual([1574, 3956]);
  });

  test("elements do not matter where a phase reads and writes in different ones", () => {
    for (const { name, transfers, eventCycles } of siglipPhases()) {
      if (name.endsWith("one element")) continue;
      const free = schedulePhase(transfers, IPU21, 1472, { keepElementsApart: false });
      expect(free.eventCycles).toBe(eventCycles);
    }
  });
});

/** Few tiles, addresses in two elements, short transfers: much to wait for and to collide with. */
const BASES = [0x60000, 0x60400, 0x60800, 0x68000, 0x80000, 0x80100, 0x90000];
const WORDS = [1, 2, 7, 16, 51, 52, 53, 64, 65, 100, 128, 200, 256];
const TILES: readonly TileId[] = [0, 1, 2, 3, 20, 21, 46, 47, 700, 701].map(tileId);

const addresses = fc
  .tuple(fc.constantFrom(...BASES), fc.nat(40))
  .map(([base, offset]) => address(base + 8 * offset));

const narrow: fc.Arbitrary<PhaseTransfer> = fc
  .record({
    tiles: fc.shuffledSubarray([...TILES], { minLength: 2, maxLength: 5 }),
    isMulticast: fc.boolean(),
    from: addresses,
    to: fc.tuple(addresses, addresses),
    words: fc.constantFrom(...WORDS),
  })
  .map(({ tiles: [source, first, ...others], isMulticast, from, to, words }) => ({
    source,
    address: from,
    words,
    width: 32,
    destinations: [
      { tiles: [first], address: to[0] },
      ...(isMulticast && others.length > 0 ? [{ tiles: others, address: to[1] }] : []),
    ],
  }));

const wide: fc.Arbitrary<PhaseTransfer> = fc
  .record({
    pairs: fc.shuffledSubarray(
      TILES.filter((tile) => partnerOf(tile) > tile),
      { minLength: 2, maxLength: 3 },
    ),
    from: addresses,
    to: addresses,
    words: fc.constantFrom(128, 132, 256),
  })
  .map(({ pairs: [source, ...others], from, to, words }) => ({
    source,
    address: from,
    words,
    width: 64,
    destinations: [{ tiles: others.flatMap((tile) => [tile, partnerOf(tile)]), address: to }],
  }));

const phases = fc.array(
  fc.oneof({ weight: 6, arbitrary: narrow }, { weight: 1, arbitrary: wide }),
  {
    minLength: 1,
    maxLength: 14,
  },
);

describe("any phase", () => {
  test("is scheduled as the slow scheduler does it", () => {
    fc.assert(
      fc.property(phases, fc.boolean(), (transfers, keepElementsApart) => {
        const fast = schedulePhase(transfers, IPU21, 1472, { keepElementsApart });
        const slow = slowPhase(transfers, IPU21, keepElementsApart);
        expect(lines(activitiesOf(fast))).toEqual(lines(slow));
      }),
      { numRuns: 400 },
    );
  });

  test("is sound, no shorter than its bounds, and ends with its last tile", () => {
    fc.assert(
      fc.property(phases, (transfers) => {
        const schedule = schedulePhase(transfers, IPU21);
        const activities = activitiesOf(schedule);
        expect(phaseFaults(transfers, activities, IPU21)).toEqual([]);
        expect(schedule.eventCycles).toBeGreaterThanOrEqual(schedule.lowerBound);
        expect(schedule.eventCycles).toBeGreaterThanOrEqual(schedule.chainBound);
        expect(schedule.eventCycles).toBe(Math.max(...schedule.horizons));
        for (const { tile, horizon } of activities) {
          expect(schedule.horizons[tile]).toBeGreaterThanOrEqual(horizon);
        }
      }),
    );
  });

  test("is sound when repaired, and shorter with each repair", () => {
    fc.assert(
      fc.property(phases, fc.nat(3), (transfers, rounds) => {
        const before = improvePhase(transfers, IPU21, 1472, { rounds });
        const improved = improvePhase(transfers, IPU21, 1472, { rounds: rounds + 1 });
        expect(phaseFaults(transfers, activitiesOf(improved), IPU21)).toEqual([]);
        expect(improved.eventCycles).toBeGreaterThanOrEqual(improved.chainBound);
        if (improved.improvements > rounds) {
          expect(improved.eventCycles).toBeLessThan(before.eventCycles);
        } else expect(improved.eventCycles).toBe(before.eventCycles);
      }),
    );
  });
});

test("a phase without transfers takes no time", () => {
  const { eventCycles, horizons, lowerBound, activities } = schedulePhase([], IPU21, 4);
  expect([eventCycles, [...horizons], lowerBound, activities.count]).toEqual([
    0,
    [0, 0, 0, 0],
    0,
    0,
  ]);
});

test("a transfer longer than the largest is cut: same bytes, in order, no piece too long", () => {
  fc.assert(
    fc.property(narrow, fc.integer({ min: 1, max: 20_000 }), (transfer, words) => {
      const whole = { ...transfer, words };
      const pieces = cutTransfers(IPU21, [whole]);
      let at = 0;
      for (const piece of pieces) {
        expect(piece.words).toBeLessThanOrEqual(4148);
        expect(piece.address).toBe(whole.address + 4 * at);
        piece.destinations.forEach((destination, k) => {
          expect(destination.tiles).toEqual(whole.destinations[k].tiles);
          expect(destination.address).toBe(whole.destinations[k].address + 4 * at);
        });
        at += piece.words;
      }
      expect(at).toBe(words);
    }),
  );
});
