import { kernelOf } from "../../src/kernels/registry.ts";
import { BYTES_PER_ELEMENT } from "../../src/numerics/dtype.ts";
import { elementsOf } from "../../src/layouts/order.ts";
import { extentsOf, resolveLayout } from "../../src/layouts/resolve.ts";
import type { Binding, Buffer, Schedule } from "../../src/sim/schedule.ts";
import type { Target } from "../../src/target/target.ts";

/** Bytes of one tile that a step reads or writes. */
interface Access {
  readonly tile: number;
  readonly address: number;
  readonly bytes: number;
  readonly what: string;
}

/**
 * What a planned schedule does that no plan may: an operand outside its tile's data or between its words, outside
 * the buffers that are live on its tile, two live buffers on one byte, bytes read that nothing wrote. Walks every
 * tile of every step, byte by byte; asks neither the planner nor the validator.
 */
export function scheduleFaults(schedule: Schedule, target: Target): string[] {
  const faults: string[] = [];
  const { buffers, steps, inputs, outputs } = schedule;
  const { firstData, lastLoadable } = target.memory;
  const size = lastLoadable - firstData;
  // Of each byte: whether it was written since its buffer came to life.
  const written = Array.from({ length: schedule.tiles }, () => new Uint8Array(size));

  const isLive = (buffer: Buffer, step: number): boolean =>
    buffer.firstStep <= step && step <= buffer.lastStep;
  const check = (step: number, { tile, address, bytes, what }: Access): boolean => {
    if (address < firstData || address + bytes > lastLoadable) {
      faults.push(`step ${step}: ${what} leaves the data of tile ${tile}`);
      return false;
    }
    const isHeld = buffers.some(
      (buffer) =>
        isLive(buffer, step) &&
        buffer.tiles.some((held) => held === tile) &&
        buffer.address <= address &&
        address + bytes <= buffer.address + buffer.bytes,
    );
    if (!isHeld) faults.push(`step ${step}: ${what} of tile ${tile} lies in no live buffer`);
    return isHeld;
  };
  const read = (step: number, access: Access): void => {
    if (!check(step, access)) return;
    const start = access.address - firstData;
    const unwritten = written[access.tile].subarray(start, start + access.bytes).indexOf(0);
    if (unwritten < 0) return;
    faults.push(`step ${step}: ${access.what} of tile ${access.tile} reads byte ${unwritten}`);
  };
  const write = (step: number, access: Access): void => {
    if (!check(step, access)) return;
    const start = access.address - firstData;
    written[access.tile].fill(1, start, start + access.bytes);
  };
  const begin = (step: number): void => {
    const live = buffers.filter((buffer) => isLive(buffer, step));
    live.forEach((a, index) => {
      for (const b of live.slice(index + 1)) {
        const areApart = a.address + a.bytes <= b.address || b.address + b.bytes <= a.address;
        if (!areApart) faults.push(`step ${step}: ${a.name} and ${b.name} overlap`);
      }
      if (a.firstStep !== step) return;
      const start = a.address - firstData;
      const state = a.zeroFilled === true ? 1 : 0;
      for (const tile of a.tiles) written[tile].fill(state, start, start + a.bytes);
    });
  };

  begin(-1);
  for (const input of inputs) for (const access of shardAccesses(input)) write(-1, access);
  steps.forEach((step, index) => {
    begin(index);
    if (step.kind === "exchange") {
      for (const { source, address, words } of step.transfers) {
        read(index, { tile: source, address, bytes: 4 * words, what: "a transfer's source" });
      }
      for (const { words, destinations } of step.transfers) {
        for (const { tiles, address } of destinations) {
          for (const tile of tiles) {
            write(index, { tile, address, bytes: 4 * words, what: "a transfer's landing" });
          }
        }
      }
      return;
    }
    if (step.kind === "repeat") {
      faults.push(`step ${index}: a repeat, which no plan makes`);
      return;
    }
    for (const { kernel, spec, tiles, invocations } of step.calls) {
      const operands = kernelOf(spec).operands(spec);
      for (const { output, inputs: places } of invocations) {
        const all = operands.inputs.map((operand, place) => ({ operand, address: places[place] }));
        for (const { operand, address } of [
          { operand: operands.output, address: output },
          ...all,
        ]) {
          if (address % operand.alignment !== 0) {
            faults.push(`step ${index}: ${operand.name} of ${kernel} at ${address}`);
          }
        }
        for (const tile of tiles) {
          for (const { operand, address } of all) {
            const what = `${operand.name} of ${kernel}`;
            read(index, { tile, address, bytes: operand.bytes, what });
          }
          const what = `${operands.output.name} of ${kernel}`;
          write(index, { tile, address: output, bytes: operands.output.bytes, what });
        }
      }
    }
  });
  for (const output of outputs) {
    for (const access of shardAccesses(output)) check(steps.length, access);
  }
  return faults;
}

/** The bytes of a tensor's shards, padding included. */
function shardAccesses({ name, layout, shape, dtype, address, tiles }: Binding): Access[] {
  return resolveLayout(layout, shape, dtype).shards.flatMap((shard) => {
    const bytes = elementsOf(extentsOf(shard)) * BYTES_PER_ELEMENT[dtype];
    const tile = tiles?.[shard.tile] ?? shard.tile;
    return bytes === 0 ? [] : [{ tile, address, bytes, what: name }];
  });
}
