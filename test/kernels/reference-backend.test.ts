import { describe, expect, test } from "vitest";
import { ReferenceBackend } from "../../src/backends/reference/reference-backend.ts";
import { InternalError } from "../../src/base/errors.ts";
import { address, tileId } from "../../src/base/units.ts";
import type { MemoryMap } from "../../src/kernels/backend.ts";
import type { KernelCall } from "../../src/kernels/call.ts";
import type { Transfer } from "../../src/kernels/exchange.ts";
import { NEAREST } from "../../src/numerics/rounding.ts";
import { TileMemory } from "../../src/sim/tile-memory.ts";
import { IPU21 } from "../../src/target/ipu21.ts";
import { gemm } from "./support.ts";

const AT = 0x80000;

async function attached(tiles: number): Promise<{ backend: ReferenceBackend; memory: TileMemory }> {
  const memory = new TileMemory(IPU21, tiles);
  const backend = new ReferenceBackend();
  await backend.attach(memory);
  return { backend, memory };
}

const words = (memory: TileMemory, tile: number, at: number, count: number): Float32Array =>
  memory.view(tileId(tile), address(at), count * 4, 4).f32;

const transfer = (
  source: number,
  at: number,
  words: number,
  tiles: number[],
  to: number,
): Transfer => ({
  source: tileId(source),
  address: address(at),
  words,
  width: 32,
  destinations: [{ tiles: tiles.map(tileId), address: address(to) }],
});

describe("an exchange", () => {
  test("reads everything before it writes anything: two tiles can swap", async () => {
    const { backend, memory } = await attached(2);
    words(memory, 0, AT, 2).set([1, 2]);
    words(memory, 1, AT, 2).set([3, 4]);
    await backend.exchange([transfer(0, AT, 2, [1], AT), transfer(1, AT, 2, [0], AT)]);
    expect([...words(memory, 0, AT, 2)]).toEqual([3, 4]);
    expect([...words(memory, 1, AT, 2)]).toEqual([1, 2]);
  });

  test("reaches all tiles of all destinations, and no other bytes", async () => {
    const { backend, memory } = await attached(4);
    words(memory, 0, AT, 2).set([5, 6]);
    const sent = transfer(0, AT, 2, [1, 2], AT + 16);
    const other = { tiles: [tileId(3)], address: address(AT + 32) };
    await backend.exchange([{ ...sent, destinations: [...sent.destinations, other] }]);
    for (const tile of [1, 2]) expect([...words(memory, tile, AT + 12, 4)]).toEqual([0, 5, 6, 0]);
    expect([...words(memory, 3, AT + 28, 4)]).toEqual([0, 5, 6, 0]);
    expect([...words(memory, 0, AT, 2)]).toEqual([5, 6]);
  });
});

describe("a compute step", () => {
  const call = (patch: Partial<KernelCall>): KernelCall => ({
    kernel: "",
    operation: "",
    reason: "",
    value: 0,
    spec: { kind: "add", dtype: "f32", elements: 1 },
    elements: [],
    tiles: [tileId(0)],
    invocations: [],
    ...patch,
  });

  test("runs invocations one after another: the second sees what the first wrote", async () => {
    const { backend, memory } = await attached(2);
    for (const tile of [0, 1]) words(memory, tile, AT, 2).set([1, 10 + tile]);
    const invocation = { output: address(AT), inputs: [address(AT), address(AT + 4)] };
    const calls = [call({ tiles: [tileId(0), tileId(1)], invocations: [invocation, invocation] })];
    await backend.compute(calls, NEAREST, 0);
    expect(words(memory, 0, AT, 1)[0]).toBe(21);
    expect(words(memory, 1, AT, 1)[0]).toBe(23);
  });

  test("tells a kernel its tile and its step: stochastic results differ by both", async () => {
    const { backend, memory } = await attached(2);
    const [left, right, output] = [AT, AT + 0x8000, AT + 0x10000];
    for (const tile of [0, 1]) {
      memory.view(tileId(tile), address(left), 2048, 32).u16.fill(0x3555);
      memory.view(tileId(tile), address(right), 2048, 32).u16.fill(0x3555);
    }
    const results: string[] = [];
    for (const step of [0, 1]) {
      const invocations = [{ output: address(output), inputs: [address(left), address(right)] }];
      const calls = [call({ spec: gemm(16, 64, 16), tiles: [tileId(0), tileId(1)], invocations })];
      await backend.compute(calls, { ...NEAREST, rounding: "stochastic", seed: 1 }, step);
      for (const tile of [0, 1]) {
        results.push(memory.view(tileId(tile), address(output), 512, 32).u16.join());
      }
    }
    expect(new Set(results).size).toBe(4);
  });
});

test("without a memory nothing runs", async () => {
  const backend = new ReferenceBackend();
  expect(() => backend.compute([], NEAREST, 0)).toThrow(InternalError);
  expect(() => backend.exchange([])).toThrow(InternalError);
  const map: MemoryMap = new TileMemory(IPU21, 1);
  await backend.attach(map);
  await backend.close();
  expect(() => backend.exchange([])).toThrow(InternalError);
});
