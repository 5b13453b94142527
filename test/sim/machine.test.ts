import fc from "fast-check";
import { afterAll, describe, expect, test } from "vitest";
import { ReferenceBackend } from "../../src/backends/reference/reference-backend.ts";
import { createWasmBackend } from "../../src/backends/wasm/wasm-backend.ts";
import { SimError } from "../../src/base/errors.ts";
import { address, tileId } from "../../src/base/units.ts";
import type { Backend } from "../../src/kernels/backend.ts";
import type { Transfer } from "../../src/kernels/exchange.ts";
import type { KernelSpec } from "../../src/kernels/spec.ts";
import type { HostTensor } from "../../src/sim/host-io.ts";
import { Machine } from "../../src/sim/machine.ts";
import type { Schedule, Step } from "../../src/sim/schedule.ts";
import { TileMemory } from "../../src/sim/tile-memory.ts";
import { validateSchedule } from "../../src/sim/validate.ts";
import { IPU21 } from "../../src/target/ipu21.ts";
import {
  AT,
  callOf,
  compute,
  exchange,
  onlySimErrors,
  rowsBinding,
  scheduleOf,
  transfer,
} from "./support.ts";

const ADD: KernelSpec = { kind: "add", dtype: "f32", elements: 4 };
const X = AT;
const W = AT + 64;
const Y = AT + 128;

/** y = y + w in each turn, from x: a word row of four on each of two tiles. */
function counter(turns: number): Schedule {
  return scheduleOf(
    [
      compute(callOf(ADD, [0, 1], { output: Y, inputs: [X, W] })),
      {
        kind: "repeat",
        times: turns,
        body: [compute(callOf(ADD, [0, 1], { output: Y, inputs: [Y, W] }))],
      },
    ],
    {
      tiles: 2,
      inputs: [rowsBinding("x", "input", X, 2, 4), rowsBinding("w", "weight", W, 2, 4)],
      outputs: [rowsBinding("y", "output", Y, 2, 4)],
    },
  );
}

const words = (...values: number[]): HostTensor => ({
  shape: [2, values.length / 2],
  dtype: "f32",
  data: Float32Array.from(values),
});
const XS = words(0, 1, 2, 3, 4, 5, 6, 7);
const WS = words(1, 1, 1, 1, 10, 10, 10, 10);

async function codeOf(run: () => unknown): Promise<string> {
  try {
    await run();
    return "";
  } catch (error) {
    return error instanceof SimError ? error.code : String(error);
  }
}

describe("a machine", () => {
  test("runs a schedule: what the host reads is what the kernels made of what it wrote", async () => {
    const machine = await Machine.create(counter(0), IPU21, new ReferenceBackend());
    machine.write("x", XS);
    machine.write("w", WS);
    const { outputs, timing } = await machine.run();
    expect(outputs.get("y")).toEqual(words(1, 2, 3, 4, 14, 15, 16, 17));
    expect(timing).toBe(machine.timing());
  });

  test.each([0, 1, 5])(
    "runs a repeat's body %i times, and counts its steps each time",
    async (turns) => {
      const machine = await Machine.create(counter(turns), IPU21, new ReferenceBackend());
      machine.write("x", XS);
      machine.write("w", WS);
      const executed: number[] = [];
      const { outputs, timing } = await machine.run({
        observer: { stepDone: (step) => executed.push(step) },
      });
      expect(outputs.get("y")?.data[0]).toBe(1 + turns);
      expect(outputs.get("y")?.data[7]).toBe(7 + 10 * (1 + turns));
      expect(executed).toEqual(Array.from({ length: 1 + turns }, (_, step) => step));
      expect(timing.ends).toHaveLength(1 + turns);
    },
  );

  test("refuses to run without all of its inputs, and names those that are missing", async () => {
    const machine = await Machine.create(counter(0), IPU21, new ReferenceBackend());
    machine.write("w", WS);
    await expect(machine.run()).rejects.toThrowError(/^BAD_USAGE: no data for x/);
  });

  test("wants its inputs anew for a second run, and keeps its weights", async () => {
    const machine = await Machine.create(counter(0), IPU21, new ReferenceBackend());
    machine.write("x", XS);
    machine.write("w", WS);
    await machine.run();
    expect(await codeOf(() => machine.run())).toBe("BAD_USAGE");
    machine.write("x", words(5, 5, 5, 5, 5, 5, 5, 5));
    const { outputs } = await machine.run();
    expect(outputs.get("y")).toEqual(words(6, 6, 6, 6, 15, 15, 15, 15));
  });

  // prettier-ignore
  test.each<[string, string, string, HostTensor]>([
    ["BAD_USAGE",      "a tensor that the schedule does not read",  "z", XS],
    ["BAD_USAGE",      "an output, which the host only reads",      "y", XS],
    ["SHAPE_MISMATCH", "another shape",                             "x", words(1, 2)],
    ["DTYPE_MISMATCH", "another dtype",                             "x", { shape: [2, 4], dtype: "f16", data: new Uint16Array(8) }],
  ])("refuses with %s to write %s", async (code, _why, name, tensor) => {
    const machine = await Machine.create(counter(0), IPU21, new ReferenceBackend());
    expect(await codeOf(() => machine.write(name, tensor))).toBe(code);
  });

  test("is not made for a schedule that breaks a rule", async () => {
    const wrong = { ...counter(0), target: "ipu1" };
    expect(await codeOf(() => Machine.create(wrong, IPU21, new ReferenceBackend()))).toBe(
      "SCHEDULE_INVALID",
    );
  });

  test("fills a buffer with zeros when it comes to life, and not before", async () => {
    const add = (output: number, a: number, b: number): Step =>
      compute(callOf(ADD, [0, 1], { output, inputs: [a, b] }));
    const [first, second] = [AT + 192, AT + 256];
    const schedule: Schedule = {
      ...counter(0),
      // x is copied on, then its place lives again as a buffer of zeros.
      steps: [add(first, X, W), add(second, X, first), add(Y, second, W)],
      buffers: [
        {
          name: "z",
          address: address(X),
          bytes: 16,
          tiles: [tileId(1)],
          firstStep: 1,
          lastStep: 1,
          zeroFilled: true,
        },
      ],
    };
    const machine = await Machine.create(schedule, IPU21, new ReferenceBackend());
    machine.write("x", XS);
    machine.write("w", WS);
    const { outputs } = await machine.run();
    // Tile 0: x + (x + w) + w; tile 1: 0 + (x + w) + w.
    expect(outputs.get("y")).toEqual(words(2, 4, 6, 8, 24, 25, 26, 27));
  });
});

const BACKENDS: readonly (readonly [string, () => Backend])[] = [
  ["reference", () => new ReferenceBackend()],
  ["wasm", () => createWasmBackend()],
  ["wasm on two threads", () => createWasmBackend({ threads: 2 })],
];

/** Memory of `tiles` tiles whose every word from AT on is its tile and place. */
function counted(tiles: number, length: number): TileMemory {
  const memory = new TileMemory(IPU21, tiles);
  for (let tile = 0; tile < tiles; tile++) {
    const { f32 } = memory.view(tileId(tile), address(AT), 4 * length, 4);
    for (let word = 0; word < length; word++) f32[word] = tile * 1000 + word;
  }
  return memory;
}

function contents(memory: TileMemory, length: number): number[][] {
  return Array.from({ length: memory.tiles }, (_, tile) => [
    ...memory.view(tileId(tile), address(AT), 4 * length, 4).f32,
  ]);
}

describe.each(BACKENDS)("an exchange of the %s backend", (_name, make) => {
  const backend = make();
  afterAll(() => backend.close());

  const after = async (
    tiles: number,
    length: number,
    ...transfers: Transfer[]
  ): Promise<number[][]> => {
    const memory = counted(tiles, length);
    await backend.attach(memory);
    await backend.exchange(transfers);
    return contents(memory, length);
  };
  const range = (from: number, count: number): number[] =>
    Array.from({ length: count }, (_, i) => from + i);

  test("swaps two tiles' words at one address: all is read before any is written", async () => {
    const [a, b] = await after(2, 8, transfer(0, AT, 8, [1], AT), transfer(1, AT, 8, [0], AT));
    expect(a).toEqual(range(1000, 8));
    expect(b).toEqual(range(0, 8));
  });

  test("reads what overlaps a landing as it was", async () => {
    const [a, b, c] = await after(
      3,
      8,
      transfer(0, AT, 6, [1], AT + 8),
      transfer(1, AT, 6, [2], AT + 4),
      transfer(2, AT, 4, [0], AT + 16),
    );
    expect(a).toEqual([0, 1, 2, 3, 2000, 2001, 2002, 2003]);
    expect(b).toEqual([1000, 1001, 0, 1, 2, 3, 4, 5]);
    expect(c).toEqual([2000, 1000, 1001, 1002, 1003, 1004, 1005, 2007]);
  });

  test("passes words on round a ring in one phase, one place each", async () => {
    const ring = range(0, 5).map((tile) => transfer(tile, AT, 4, [(tile + 1) % 5], AT));
    expect(await after(5, 4, ...ring)).toEqual(
      range(0, 5).map((tile) => range(((tile + 4) % 5) * 1000, 4)),
    );
  });
});

/** Any sound exchange of eight tiles in 64 words. */
const exchanges: fc.Arbitrary<readonly Transfer[]> = fc
  .array(
    fc.record({
      source: fc.nat(7),
      from: fc.nat(60),
      words: fc.integer({ min: 1, max: 24 }),
      to: fc.array(
        fc.tuple(fc.uniqueArray(fc.nat(7), { minLength: 1, maxLength: 4 }), fc.nat(60)),
        { minLength: 1, maxLength: 2 },
      ),
    }),
    { minLength: 1, maxLength: 12 },
  )
  .map((wanted) => {
    // Those that break a rule beside the earlier ones are dropped.
    const kept: Transfer[] = [];
    for (const { source, from, words: count, to } of wanted) {
      const next: Transfer = {
        source: tileId(source),
        address: address(AT + 4 * from),
        words: Math.min(count, 64 - from, ...to.map(([, at]) => 64 - at)),
        width: 32,
        destinations: to.map(([tiles, at]) => ({
          tiles: tiles.map(tileId),
          address: address(AT + 4 * at),
        })),
      };
      const steps = [exchange(...kept, next)];
      if (onlySimErrors(() => validateSchedule(scheduleOf(steps, { tiles: 8 }), IPU21)))
        kept.push(next);
    }
    return kept;
  });

test("every backend moves the same bytes in any exchange, once or again", async () => {
  await fc.assert(
    fc.asyncProperty(exchanges, async (transfers) => {
      const results: number[][][] = [];
      for (const [, make] of BACKENDS.slice(0, 2)) {
        const backend = make();
        const memory = counted(8, 64);
        await backend.attach(memory);
        await backend.exchange(transfers);
        results.push(contents(memory, 64));
        await backend.exchange(transfers);
        results.push(contents(memory, 64));
        await backend.close();
      }
      expect(results[2]).toEqual(results[0]);
      expect(results[3]).toEqual(results[1]);
    }),
    { numRuns: 60 },
  );
});
