import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { kernelOf } from "../../src/kernels/registry.ts";
import type { KernelSpec } from "../../src/kernels/spec.ts";
import { criticalPath, type CriticalPath } from "../../src/sim/critical-path.ts";
import type { Step } from "../../src/sim/schedule.ts";
import { timeSchedule } from "../../src/sim/timing.ts";
import { IPU21 } from "../../src/target/ipu21.ts";
import { AT, callOf, compute, exchange, scheduleOf, transfer } from "./support.ts";

const GELU: KernelSpec = { kind: "gelu", elements: 16 };
const GELU_CYCLES = kernelOf(GELU).cost(GELU, 1, IPU21).cycles;
const B = AT + 4096;
const gelu = (...tiles: number[]): Step =>
  compute(callOf(GELU, tiles, { output: AT, inputs: [AT] }));
const send = (from: number, to: number): Step => exchange(transfer(from, AT, 4, [to], B));

function pathOf(steps: readonly Step[], tiles = 4): CriticalPath & { readonly total: number } {
  const schedule = scheduleOf(steps, { tiles });
  const timing = timeSchedule(schedule, IPU21);
  return { ...criticalPath(schedule, timing), total: timing.total };
}

function cyclesOf({ segments }: CriticalPath): number {
  return segments.reduce(
    (sum, { boundaryCycles, exchangeCycles, workCycles }) =>
      sum + boundaryCycles + exchangeCycles + workCycles,
    0,
  );
}

describe("what decides the end", () => {
  test("of work alone is the tile with the most of it", () => {
    const { segments, slack } = pathOf([gelu(0, 2), gelu(2)]);
    const [{ work, ...segment }] = segments;
    expect(segments).toHaveLength(1);
    expect(segment).toEqual({
      tile: 2,
      phase: null,
      boundaryCycles: 0,
      exchangeCycles: 0,
      workCycles: 2 * GELU_CYCLES,
    });
    expect(work.map(({ cycles }) => cycles)).toEqual([GELU_CYCLES, GELU_CYCLES]);
    expect(slack).toEqual([GELU_CYCLES, 2 * GELU_CYCLES, 0, 2 * GELU_CYCLES]);
  });

  test("across a sync is the tile that signalled last, then the one that ends last", () => {
    const { segments, phases, total, ...path } = pathOf([gelu(3), send(0, 1), gelu(1)]);
    expect(segments.map(({ tile, phase }) => [tile, phase])).toEqual([
      [3, null],
      [1, 0],
    ]);
    expect(segments.map(({ workCycles }) => workCycles)).toEqual([GELU_CYCLES, GELU_CYCLES]);
    // Tiles 2 and 3 lie a cycle from the sync network's root, 0 and 1 none.
    expect(phases).toEqual([{ phase: 0, median: GELU_CYCLES + 1, most: GELU_CYCLES + 1 }]);
    expect(cyclesOf({ segments, phases, ...path })).toBe(total);
  });

  test("of nothing takes nothing", () => {
    expect(cyclesOf(pathOf([]))).toBe(0);
  });

  test("adds up to the total, whatever the steps, and no tile of it can be later", () => {
    const steps = fc.oneof(
      fc.uniqueArray(fc.nat(7), { minLength: 1 }).map((tiles) => gelu(...tiles)),
      fc
        .uniqueArray(fc.nat(7), { minLength: 2 })
        .map(([from, ...to]) => exchange(transfer(from, AT, 4 + from, to, B))),
      fc.record({
        kind: fc.constant("repeat" as const),
        times: fc.nat(3),
        body: fc.constantFrom([gelu(0)], [send(1, 2), gelu(2)]),
      }),
    );
    fc.assert(
      fc.property(fc.array(steps, { maxLength: 8 }), (list) => {
        const path = pathOf(list, 8);
        expect(cyclesOf(path)).toBe(path.total);
        for (const { tile, boundaryCycles, exchangeCycles } of path.segments) {
          expect(path.slack[tile]).toBe(0);
          expect(boundaryCycles).toBeGreaterThanOrEqual(0);
          expect(exchangeCycles).toBeGreaterThanOrEqual(0);
        }
      }),
      { numRuns: 100 },
    );
  });
});
