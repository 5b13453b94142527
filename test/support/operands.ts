import { address, tileId } from "../../src/base/units.ts";
import type { Backend } from "../../src/kernels/backend.ts";
import type { KernelCall } from "../../src/kernels/call.ts";
import { kernelOf } from "../../src/kernels/registry.ts";
import type { KernelSpec } from "../../src/kernels/spec.ts";
import { F16_VALUES } from "../../src/numerics/f16.ts";
import type { Numerics } from "../../src/numerics/rounding.ts";
import { TileMemory } from "../../src/sim/tile-memory.ts";
import { IPU21 } from "../../src/target/ipu21.ts";

/** Random bits by a linear congruence: the same for the same seed. */
export function randomBits(seed: number): () => number {
  let state = (seed * 2654435761) >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state >>> 8;
  };
}

/** Kinds of data: what a test fills operands with. */
export const DATA = ["ordinary", "tiny", "huge", "cancelling", "special", "grid"] as const;
export type Data = (typeof DATA)[number];

/** Half of the given kind. */
export function half(data: Data, next: () => number): number {
  const bits = next() & 0xffff;
  switch (data) {
    case "ordinary": // exponents around 1
      return (bits & 0x83ff) | ((10 + (next() % 6)) << 10);
    case "tiny": // subnormals and just above
      return (bits & 0x83ff) | ((next() % 3) << 10);
    case "huge":
      return (bits & 0x83ff) | ((26 + (next() % 5)) << 10);
    case "cancelling": // few values of both signs
      return [0x3c00, 0xbc00, 0x3c01, 0xbc01, 0x0001, 0x8001, 0x0000, 0x8000][next() % 8];
    case "special": // any pattern: infinities, NaN, zeros of both signs
      return next() % 8 === 0 ? [0x7c00, 0xfc00, 0x7e01, 0xfe00, 0, 0x8000][next() % 6] : bits;
    case "grid": // powers of two: sums lie on halves and on ties
      return ((next() & 1) << 15) | ((5 + (next() % 20)) << 10);
  }
}

export interface Placed {
  readonly call: KernelCall;
  readonly memory: TileMemory;
}

const BASE = 0x80000;

/** A memory of `tiles` tiles with the operands of one call in each, filled from the seed. */
export function placeCall(spec: KernelSpec, tiles: number, seed: number, data: Data): Placed {
  const memory = new TileMemory(IPU21, tiles);
  const operands = kernelOf(spec).operands(spec);
  let next = BASE;
  const place = (bytes: number): number => {
    const at = next;
    next = Math.ceil((next + bytes + 64) / 32768) * 32768;
    return at;
  };
  const output = place(operands.output.bytes);
  const inputs = operands.inputs.map(({ bytes }) => place(bytes));
  const random = randomBits(seed);
  for (let tile = 0; tile < tiles; tile++) {
    [operands.output, ...operands.inputs].forEach((operand, index) => {
      const at = [output, ...inputs][index];
      const view = memory.view(tileId(tile), address(at), operand.bytes, operand.alignment);
      if (operand.dtype === "f16") {
        for (let i = 0; i < view.u16.length; i++) view.u16[i] = half(data, random);
        // f32 words behind halves: the softmax state.
        if (spec.kind === "attention-merge") {
          const words = spec.rows * 2;
          for (let i = view.f32.length - words; i < view.f32.length; i++) {
            view.f32[i] = F16_VALUES[half(data, random)];
          }
        }
      } else {
        for (let i = 0; i < view.f32.length; i++) {
          view.f32[i] = F16_VALUES[half(data, random)] * (1 + (random() % 1000) / 7919);
        }
      }
    });
  }
  const call: KernelCall = {
    kernel: spec.kind,
    operation: "",
    reason: "",
    value: 0,
    spec,
    elements: [],
    tiles: Array.from({ length: tiles }, (_, tile) => tileId(tile)),
    invocations: [{ output: address(output), inputs: inputs.map(address) }],
  };
  return { call, memory };
}

/** All bytes of a memory's tiles from the operands on, after a backend ran the call. */
export async function bytesAfter(
  backend: Backend,
  { call, memory }: Placed,
  numerics: Numerics,
): Promise<Uint8Array> {
  await backend.attach(memory);
  await backend.compute([call], numerics, 3);
  const { output } = call.invocations[0];
  const { bytes } = kernelOf(call.spec).operands(call.spec).output;
  const views = call.tiles.map((tile) =>
    memory.view(tile, address(output - 64), bytes + 128, 1).u8.slice(),
  );
  return Uint8Array.from(views.flatMap((view) => [...view]));
}
