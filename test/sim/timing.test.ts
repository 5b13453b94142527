import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ReferenceBackend } from "../../src/backends/reference/reference-backend.ts";
import { createWasmBackend } from "../../src/backends/wasm/wasm-backend.ts";
import { kernelOf } from "../../src/kernels/registry.ts";
import type { KernelSpec } from "../../src/kernels/spec.ts";
import { plan } from "../../src/plan/plan.ts";
import { siglipAttention } from "../../src/plan/programs/siglip-attention.ts";
import { elementsOf } from "../../src/layouts/order.ts";
import { Machine } from "../../src/sim/machine.ts";
import type { Schedule, Step } from "../../src/sim/schedule.ts";
import { timeSchedule, type Timing } from "../../src/sim/timing.ts";
import { IPU21 } from "../../src/target/ipu21.ts";
import { AT, callOf, compute, exchange, scheduleOf, transfer } from "./support.ts";

const GELU: KernelSpec = { kind: "gelu", elements: 16 };
const COPY: KernelSpec = {
  kind: "copy",
  bytes: 64,
  rows: 1,
  sourceStride: 64,
  outputStride: 64,
};
const B = AT + 4096;
const gelu = (...tiles: number[]): Step =>
  compute(callOf(GELU, tiles, { output: AT, inputs: [AT] }));
const copy = (...tiles: number[]): Step =>
  compute(callOf(COPY, tiles, { output: B, inputs: [AT] }));
const send = (from: number, to: number): Step => exchange(transfer(from, AT, 4, [to], B));

const { sample } = IPU21.timing;
/** Each of four tiles sends to the next one, `words` more than four. */
const ringOf = (words: number) =>
  [0, 1, 2, 3].map((tile) => transfer(tile, AT, 4 + words, [(tile + 1) % 4], B));
const ring = (words: number): Step => exchange(...ringOf(words));
const RING = ringOf(0);
const GELU_CYCLES = kernelOf(GELU).cost(GELU, 1, IPU21).cycles;
const COPY_CYCLES = kernelOf(COPY).cost(COPY, 1, IPU21).cycles;

function time(steps: readonly Step[], tiles = 4): Timing {
  return timeSchedule(scheduleOf(steps, { tiles }), IPU21);
}

test("nothing takes no time", () => {
  expect(time([]).total).toBe(0);
  expect(time([{ kind: "repeat", times: 5, body: [] }]).total).toBe(0);
});

describe("a compute step", () => {
  test("moves the clocks of its own tiles alone, a sample for each call", () => {
    const { ledger, total, ends } = time([gelu(0, 1), copy(1, 2)]);
    expect([...ledger.spent("compute")]).toEqual([GELU_CYCLES, GELU_CYCLES, 0, 0]);
    expect([...ledger.spent("copy")]).toEqual([0, COPY_CYCLES, COPY_CYCLES, 0]);
    expect(total).toBe(GELU_CYCLES + COPY_CYCLES);
    expect(ends.map((end) => [...end])).toEqual([
      [GELU_CYCLES, GELU_CYCLES, -1, -1],
      [-1, GELU_CYCLES + COPY_CYCLES, COPY_CYCLES, -1],
    ]);
  });

  test("of several invocations pays for one sample", () => {
    const places = { output: B, inputs: [AT] };
    const three = time([compute(callOf(COPY, [0], places, places, places))]).total;
    expect(three).toBe(sample + 3 * (COPY_CYCLES - sample));
  });
});

describe("an exchange step", () => {
  // Tiles 0 and 1 are 0 cycles from the sync network's root, 2 and 3 one.
  test("is released when the last tile's signal has come, and is heard of a way later", () => {
    const { phases, ledger } = time([gelu(2), exchange(...RING)]);
    expect(phases[0].arrival).toBe(GELU_CYCLES);
    const released = GELU_CYCLES + 1 + 204;
    expect([...phases[0].releases]).toEqual([released, released, released + 1, released + 1]);
    expect(ledger.spent("sync")[0]).toBe(released);
    expect(ledger.spent("sync")[2]).toBe(1 + 204 + 1);
  });

  test("lets each tile go on when its own part is over, at a multiple of six cycles", () => {
    const { phases, ends, total } = time([exchange(...RING), gelu(0, 1)]);
    const { horizons } = phases[0].schedule;
    const over = [...phases[0].releases].map((release, tile) => release + horizons[tile]);
    for (const [tile, end] of ends[0].entries()) {
      expect(end % 6).toBe(0);
      expect(end - over[tile]).toBeGreaterThanOrEqual(0);
      expect(end - over[tile]).toBeLessThan(6);
    }
    expect(total).toBe(Math.max(ends[0][0], ends[0][1]) + GELU_CYCLES);
  });

  test("lets tiles that have no part in it go on six cycles earlier, and all one later", () => {
    const { phases, ends } = time([send(0, 1)]);
    // Tile 3 signals last, a cycle after it has arrived.
    expect([...phases[0].releases]).toEqual([206, 206, 201, 201]);
    expect([...ends[0]].slice(2)).toEqual([204, 204]);
  });

  // prettier-ignore
  test.each<[string, readonly Step[], readonly number[]]>([
    // why                                     steps                                                   from arrival to release, on tile 0
    ["two that differ",                        [ring(0), ring(1)],                                     [204 + 1, 204 + 1]],
    ["a pair of equal rows is patched",        [ring(1), ring(0), ring(0)],                            [204 + 1, 204 + 74 + 16 + 1, 204 + 74 + 16 + 1]],
    ["a row that a repeat runs again",         [ring(1), { kind: "repeat", times: 2, body: [ring(0)] }], [204 + 1, 204 + 74 + 16 + 1, 204 + 74 + 16 + 1]],
    ["a repeat of one turn is none",           [ring(1), { kind: "repeat", times: 1, body: [ring(0)] }], [204 + 1, 204 + 1]],
  ])("has the barrier of its kind: %s", (_why, steps, barriers) => {
    // All tiles arrive at once, but for what a row took: the last to arrive is not always the last to be heard.
    const { phases } = time(steps);
    for (const [i, { arrival, releases }] of phases.entries()) {
      expect(releases[0] - arrival).toBeLessThanOrEqual(barriers[i]);
      expect(releases[0] - arrival).toBeGreaterThanOrEqual(barriers[i] - 1);
    }
  });
});

test("a repeat takes as long as its body written out, but for shared rows", () => {
  const body = [gelu(0, 3), copy(0), gelu(1)];
  const repeated = time([{ kind: "repeat", times: 3, body }]);
  const written = time([...body, ...body, ...body]);
  expect(repeated.total).toBe(written.total);
  expect(repeated.ends).toEqual(written.ends);
  expect(repeated.kernels.map(({ samples }) => samples)).toEqual([6, 3, 3]);
});

/** Steps on eight tiles. */
const steps: fc.Arbitrary<Step> = fc.letrec<{ step: Step }>((tie) => ({
  step: fc.oneof(
    { maxDepth: 2 },
    fc.uniqueArray(fc.nat(7), { minLength: 1 }).map((tiles) => gelu(...tiles)),
    fc.uniqueArray(fc.nat(7), { minLength: 1 }).map((tiles) => copy(...tiles)),
    fc
      .uniqueArray(fc.nat(7), { minLength: 2 })
      .map(([from, ...to]) => exchange(transfer(from, AT, 4 + from, to, B))),
    fc.record({
      kind: fc.constant("repeat" as const),
      times: fc.nat(3),
      body: fc.array(tie("step"), { maxLength: 3 }),
    }),
  ),
})).step;

test("every tile's activities add up to the time elapsed, whatever the steps", () => {
  fc.assert(
    fc.property(fc.array(steps, { maxLength: 6 }), (list) => {
      const { ledger, total, ends } = time(list, 8);
      ledger.audit();
      const sum = Object.values(ledger.totals()).reduce((a, b) => a + b, 0);
      expect(sum).toBe(8 * total);
      const last = ends.reduce((most, end) => Math.max(most, ...end), 0);
      expect(last).toBe(total);
    }),
    { numRuns: 60 },
  );
});

test("a step more is never less time", () => {
  fc.assert(
    fc.property(fc.array(steps, { maxLength: 5 }), steps, (list, more) => {
      expect(time([...list, more], 8).total).toBeGreaterThanOrEqual(time(list, 8).total);
    }),
    { numRuns: 40 },
  );
});

test("a schedule costs the same whatever the backend and the data", async () => {
  const options = { tokens: 20, width: 48, heads: 2, headSize: 16, tiles: 12 };
  const schedule: Schedule = plan(siglipAttention(options), IPU21);
  const seen = new Set<string>();
  for (const make of [() => new ReferenceBackend(), () => createWasmBackend()]) {
    for (const bits of [0x0000, 0x3c01, 0x7e00]) {
      const backend = make();
      const machine = await Machine.create(schedule, IPU21, backend);
      for (const { name, shape, dtype } of schedule.inputs) {
        machine.write(name, { shape, dtype, data: new Uint16Array(elementsOf(shape)).fill(bits) });
      }
      const { timing } = await machine.run();
      seen.add(
        JSON.stringify([timing.total, timing.ledger.totals(), timing.ends.map((end) => [...end])]),
      );
      await backend.close();
    }
  }
  const { total, ledger, ends } = timeSchedule(schedule, IPU21);
  seen.add(JSON.stringify([total, ledger.totals(), ends.map((end) => [...end])]));
  expect(seen.size).toBe(1);
});
