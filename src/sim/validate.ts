import { SimError, assertNever } from "../base/errors.ts";
import { tileId } from "../base/units.ts";
import { BYTES_PER_ELEMENT } from "../numerics/dtype.ts";
import { checkFits, elementsOf } from "../layouts/order.ts";
import { extentsOf, resolveLayout, shardBytes } from "../layouts/resolve.ts";
import { checkTransfer } from "../exchange/timing.ts";
import type { KernelCall } from "../kernels/call.ts";
import type { Transfer } from "../kernels/exchange.ts";
import type { Operand, Operands } from "../kernels/kernel.ts";
import { kernelOf } from "../kernels/registry.ts";
import { isSymbol, isSymbolOf, LONE, symbol } from "../kernels/symbol.ts";
import { elementOf } from "../target/ipu21.ts";
import type { Target } from "../target/target.ts";
import { partnerOf } from "../target/topology.ts";
import type { Binding, Schedule, Step } from "./schedule.ts";
import { checkSpan, hex, type TileBounds } from "./tile-memory.ts";

/** Steps of a run, repeats counted each time, are at most this many: no schedule may run for ever. */
const MOST_STEPS = 1_000_000;
/** Steps times tiles: a run keeps when each tile's step ended. */
const MOST_ENDS = 2 ** 26;

/**
 * That a schedule means something on the target: kernels known and named as their specifications, these sound, every access
 * inside its tile and aligned, operands apart where they must be, no two transfers on the same bytes.
 * A run trusts what passed here.
 *
 * @throws SimError with code, place and remedy of the first fault
 */
export function validateSchedule(schedule: Schedule, target: Target): void {
  const { tiles } = schedule;
  if (schedule.target !== target.name) {
    throw invalid(`planned for ${schedule.target}, run on ${target.name}`, {
      target: schedule.target,
    });
  }
  if (tiles < 1 || tiles > target.tiles) {
    throw invalid(`${tiles} tiles; ${target.name} has 1 to ${target.tiles}`, { tiles });
  }
  const { base: baseAddress, bytes: tileBytes } = target.memory;
  const bounds = { tiles, tileBytes, baseAddress };
  checkNames(schedule);
  const inputs = schedule.inputs.map((binding) => checkBinding(binding, bounds));
  checkInputsApart(schedule.inputs, inputs);
  for (const binding of schedule.outputs) checkBinding(binding, bounds);
  for (const buffer of schedule.buffers) {
    for (const tile of buffer.tiles) checkSpan(bounds, tile, buffer.address, buffer.bytes, 1);
  }
  const mostSteps = Math.min(MOST_STEPS, Math.floor(MOST_ENDS / tiles));
  if (countSteps(schedule.steps) > mostSteps) {
    throw invalid(`more than ${mostSteps} steps on ${tiles} tiles, repeats counted each time`, {
      tiles,
    });
  }
  const check = (steps: readonly Step[], path: string): void => {
    steps.forEach((step, index) => {
      const at = `${path}${index}`;
      switch (step.kind) {
        case "compute":
          return checkCompute(step.calls, at, bounds, target);
        case "exchange":
          return checkExchange(step.transfers, at, bounds, target);
        case "repeat":
          return check(step.body, `${at}.`);
        default:
          return assertNever(step);
      }
    });
  };
  check(schedule.steps, "");
}

/** Steps that a run takes; a turn of a repeat counts even where its body is empty. */
function countSteps(steps: readonly Step[]): number {
  return steps.reduce(
    (sum, step) =>
      sum + (step.kind === "repeat" ? step.times * Math.max(1, countSteps(step.body)) : 1),
    0,
  );
}

function invalid(what: string, where: Readonly<Record<string, string | number>>): SimError {
  return new SimError("SCHEDULE_INVALID", {
    what,
    where,
    fix: "Plan the program again, or correct the schedule by hand",
  });
}

/** Each tensor has a name of its own among the inputs, or the outputs, and the role of its list. */
function checkNames({ inputs, outputs }: Schedule): void {
  for (const [list, isOutput] of [
    [inputs, false],
    [outputs, true],
  ] as const) {
    const names = new Set<string>();
    for (const { name, role } of list) {
      if ((role === "output") !== isOutput) {
        throw invalid(`${name} is among the ${isOutput ? "outputs" : "inputs"} as ${role}`, {
          tensor: name,
        });
      }
      if (names.has(name)) throw invalid(`two tensors are called ${name}`, { tensor: name });
      names.add(name);
    }
  }
}

/** @returns bytes of the binding on each tile that holds some */
function checkBinding(binding: Binding, bounds: TileBounds): Map<number, number> {
  const { name, layout, shape, dtype, address, tiles } = binding;
  const count = layout.tiling.tile_count;
  if (count > bounds.tiles) {
    throw invalid(`${name} lies on ${count} tiles, the schedule has ${bounds.tiles}`, {
      tensor: name,
    });
  }
  if (tiles && tiles.length !== count) {
    throw invalid(`${name} names ${tiles.length} tiles for a layout of ${count}`, { tensor: name });
  }
  const used = new Map<number, number>();
  for (const shard of resolveLayout(layout, shape, dtype).shards) {
    const tile = tiles?.[shard.tile] ?? tileId(shard.tile);
    const bytes = shardBytes(shard, dtype);
    checkSpan(bounds, tile, address, bytes, BYTES_PER_ELEMENT[dtype]);
    const extents = extentsOf(shard);
    if (elementsOf(extents) === 0) continue;
    checkFits(layout.order, extents, dtype);
    // All shards of a binding stand at one address.
    if (used.has(tile)) throw invalid(`${name} has two shards on tile ${tile}`, { tensor: name });
    used.set(tile, bytes);
  }
  return used;
}

/** The host writes all inputs before the run: none may lie over another. `bytesOn`: of each, on each tile. */
function checkInputsApart(
  inputs: readonly Binding[],
  bytesOn: readonly ReadonlyMap<number, number>[],
): void {
  const byAddress = inputs
    .map(({ name, address }, index) => ({ name, address, bytes: bytesOn[index] }))
    .sort((a, b) => a.address - b.address);
  const last = new Map<number, { readonly name: string; readonly end: number }>();
  for (const { name, address, bytes } of byAddress) {
    for (const [tile, count] of bytes) {
      const before = last.get(tile);
      if (before && before.end > address) {
        throw invalid(`${before.name} and ${name} both lie at ${hex(address)} of tile ${tile}`, {
          tensor: name,
          tile,
          address,
        });
      }
      last.set(tile, { name, end: address + count });
    }
  }
}

function checkCompute(
  calls: readonly KernelCall[],
  step: string,
  bounds: TileBounds,
  target: Target,
): void {
  const busy = new Set<number>();
  for (const call of calls) {
    const kernel = kernelOf(call.spec);
    kernel.check(call.spec);
    checkSymbol(call, step);
    const operands = kernel.operands(call.spec);
    checkElements(call, operands, step);
    if (call.tiles.length === 0) throw invalid(`${call.kernel} is called on no tile`, { step });
    for (const tile of call.tiles) {
      if (busy.has(tile)) {
        throw invalid(`tile ${tile} has two calls in one step`, { step, tile });
      }
      busy.add(tile);
    }
    for (const { output, inputs } of call.invocations) {
      if (inputs.length !== operands.inputs.length) {
        throw invalid(
          `${call.kernel} takes ${operands.inputs.length} inputs, ${inputs.length} are given`,
          { step, kernel: call.kernel },
        );
      }
      const all = [
        { operand: operands.output, address: output as number },
        ...operands.inputs.map((operand, index) => ({ operand, address: inputs[index] as number })),
      ];
      // The operands stand at the same addresses on every tile of the call: check the tiles, then one.
      for (const tile of call.tiles) checkSpan(bounds, tile, output, 0, 1);
      const [tile] = call.tiles;
      for (const { operand, address } of all) {
        checkSpan(bounds, tile, address as typeof output, operand.bytes, operand.alignment);
        checkClass(operand, address, call, step, target);
      }
      checkOverlaps(operands, all, call, step, target);
    }
  }
}

/** A call is named for what it computes: its specification alone says what that is. */
function checkSymbol({ kernel, spec }: KernelCall, step: string): void {
  if (isSymbolOf(kernel, spec)) return;
  const fix = `Name it ${symbol(spec, LONE)}, or change its spec, which says what is computed`;
  if (isSymbol(kernel)) {
    throw new SimError("SCHEDULE_INVALID", {
      what: `a call of ${kernel} has the spec of another kernel`,
      where: { step, kernel },
      fix,
    });
  }
  throw new SimError("UNKNOWN_KERNEL", {
    what: `no kernel is called ${JSON.stringify(kernel)}`,
    where: { step, kernel },
    fix,
  });
}

/**
 * Elements are stated of all operands or of none, and no more than the specification has room for. Attention's state
 * is counted in profiles in a way of its own.
 */
function checkElements(
  { kernel, spec, elements }: KernelCall,
  operands: Operands,
  step: string,
): void {
  if (elements.length === 0) return;
  const all = [operands.output, ...operands.inputs];
  if (elements.length !== all.length) {
    throw invalid(
      `${kernel} has ${all.length} operands, elements are stated of ${elements.length}`,
      {
        step,
        kernel,
      },
    );
  }
  if (spec.kind === "attention-softmax" || spec.kind === "attention-merge") return;
  all.forEach(({ name, dtype, bytes }, index) => {
    const most = bytes / BYTES_PER_ELEMENT[dtype];
    if (elements[index] <= most) return;
    throw invalid(
      `${kernel} has ${elements[index]} elements of ${name} by its elements, ${most} by its spec`,
      { step, kernel, operand: name },
    );
  });
}

interface PlacedOperand {
  readonly operand: Operand;
  readonly address: number;
}

function checkClass(
  { memoryClass, name }: Operand,
  address: number,
  { kernel }: KernelCall,
  step: string,
  target: Target,
): void {
  if (memoryClass !== "interleaved" || address >= target.memory.interleavedBase) return;
  throw new SimError("MEMORY_CLASS", {
    what: `${kernel} loads ${name} 16 bytes at a time, ${hex(address)} is not interleaved memory`,
    where: { step, kernel, operand: name, address },
    fix: `Place it at ${hex(target.memory.interleavedBase)} or above, or use standard weights`,
  });
}

function checkOverlaps(
  operands: Operands,
  all: readonly PlacedOperand[],
  { kernel }: KernelCall,
  step: string,
  target: Target,
): void {
  const [output, ...inputs] = all;
  inputs.forEach((input, index) => {
    if (operands.outputMayAlias.includes(index) && input.address === output.address) return;
    const overlap =
      input.address < output.address + output.operand.bytes &&
      output.address < input.address + input.operand.bytes;
    if (!overlap) return;
    throw new SimError("OPERANDS_OVERLAP", {
      what: `${kernel} writes ${output.operand.name} at ${hex(output.address)} over ${input.operand.name} at ${hex(input.address)}`,
      where: { step, kernel, output: output.address, input: input.address },
      fix: "Move one of them",
    });
  });
  for (const [a, b] of operands.apart) {
    const [first, second] = [all[a + 1], all[b + 1]];
    const shared =
      elementOf(target, first.address) <=
        elementOf(target, second.address + second.operand.bytes - 1) &&
      elementOf(target, second.address) <=
        elementOf(target, first.address + first.operand.bytes - 1);
    if (!shared) continue;
    throw new SimError("ELEMENT_CONFLICT", {
      what: `${kernel} needs ${first.operand.name} at ${hex(first.address)} and ${second.operand.name} at ${hex(second.address)} in different memory elements`,
      where: { step, kernel, first: first.address, second: second.address },
      fix: "Move one of them to another memory element",
    });
  }
}

function checkExchange(
  transfers: readonly Transfer[],
  step: string,
  bounds: TileBounds,
  target: Target,
): void {
  const { maxTransferWords } = target.exchange;
  let landings = 0;
  const lastTransferOf = new Int32Array(bounds.tiles).fill(-1);
  transfers.forEach(({ source, address, words, width, destinations }, index) => {
    const where = { step, transfer: index };
    const fault = (what: string, fix: string): SimError =>
      new SimError("EXCHANGE_INVALID", { what, where, fix });
    if (words < 1 || words > maxTransferWords) {
      throw fault(
        `a transfer of ${words} words; the fabric carries 1 to ${maxTransferWords}`,
        "Cut it into several",
      );
    }
    const alignment = width === 64 ? 8 : 4;
    checkSpan(bounds, source, address, words * 4, alignment);
    for (const { tiles, address: landing } of destinations) {
      for (const tile of tiles) {
        if (tile === source) {
          throw fault(`tile ${tile} sends to itself`, "Make it a local copy");
        }
        checkSpan(bounds, tile, landing, words * 4, alignment);
        if (lastTransferOf[tile] === index) {
          throw fault(`tile ${tile} receives one transfer twice`, "Copy it there");
        }
        lastTransferOf[tile] = index;
      }
      landings += tiles.length;
    }
    if (destinations.every(({ tiles }) => tiles.length === 0)) {
      throw fault("a transfer to no tile", "Drop it");
    }
    if (width === 64) {
      const receivers = destinations.flatMap(({ tiles }) => tiles);
      checkTransfer(target, { sender: source, receivers, words, width }, bounds.tiles);
      const isSplit = destinations.some(({ tiles }) =>
        tiles.some((tile) => !tiles.includes(partnerOf(tile))),
      );
      if (isSplit) {
        throw fault("a receiving pair of two addresses at 64 bits", "Let both receive at one");
      }
    }
  });
  checkRaces(transfers, landings, step, bounds.tiles);
}

/**
 * No byte is written twice in one phase. Landings are put in order of address once, then dealt out to their tiles,
 * where neighbours are compared.
 */
function checkRaces(
  transfers: readonly Transfer[],
  landings: number,
  step: string,
  tiles: number,
): void {
  const ordered = transfers
    .flatMap(({ words, destinations }, transfer) =>
      destinations.map((destination) => ({ ...destination, bytes: 4 * words, transfer })),
    )
    .sort((a, b) => a.address - b.address);
  const firstOf = new Int32Array(tiles + 1);
  for (const destination of ordered) {
    for (const tile of destination.tiles) firstOf[tile + 1]++;
  }
  for (let tile = 0; tile < tiles; tile++) firstOf[tile + 1] += firstOf[tile];
  const next = firstOf.slice();
  const landed = new Int32Array(landings);
  ordered.forEach((destination, index) => {
    for (const tile of destination.tiles) landed[next[tile]++] = index;
  });
  for (let tile = 0; tile < tiles; tile++) {
    for (let i = firstOf[tile] + 1; i < firstOf[tile + 1]; i++) {
      const before = ordered[landed[i - 1]];
      const after = ordered[landed[i]];
      if (after.address >= before.address + before.bytes) continue;
      throw new SimError("EXCHANGE_RACE", {
        what: `transfers ${before.transfer} and ${after.transfer} both write ${hex(after.address)} of tile ${tile}`,
        where: { step, tile, address: after.address, transfer: after.transfer },
        fix: "Let one of them land elsewhere, or in another phase",
      });
    }
  }
}
