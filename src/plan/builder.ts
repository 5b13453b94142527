import { InternalError, SimError } from "../base/errors.ts";
import { address, tileId, type TileId } from "../base/units.ts";
import type { MemoryClass } from "../layouts/layout.ts";
import type { Conversion, KernelCall } from "../kernels/call.ts";
import type { Transfer } from "../kernels/exchange.ts";
import type { KernelSpec } from "../kernels/spec.ts";
import type { Buffer, Step } from "../sim/schedule.ts";
import type { Target } from "../target/target.ts";
import { place, type Wanted } from "./place.ts";

/** Bytes that a plan wants on some tiles; its address and lifetime follow from the finished steps. */
export class PlanBuffer implements Wanted {
  readonly name: string;
  readonly bytes: number;
  readonly memoryClass: MemoryClass;
  readonly alignment: number = 32;
  readonly oneElement: boolean;
  /** The chip leaves parts of it unwritten that a kernel reads: zero-filled when it comes to life. */
  zeroFilled: boolean = false;
  readonly apart: Set<PlanBuffer> = new Set();
  readonly ratherApart: Set<PlanBuffer> = new Set();
  readonly tiles: Set<number> = new Set();
  firstStep: number = Infinity;
  lastStep: number = -Infinity;

  constructor(name: string, bytes: number, memoryClass: MemoryClass, options: BufferOptions = {}) {
    this.name = name;
    this.bytes = Math.max(8, Math.ceil(bytes / 8) * 8);
    this.memoryClass = memoryClass;
    this.oneElement = options.oneElement ?? false;
  }

  touch(step: number): void {
    this.firstStep = Math.min(this.firstStep, step);
    this.lastStep = Math.max(this.lastStep, step);
  }
}

export interface BufferOptions {
  readonly oneElement?: boolean;
}

/** A place in a buffer, whose address is not known yet. */
export interface Ref {
  readonly buffer: PlanBuffer;
  readonly offset: number;
}

export function ref(buffer: PlanBuffer, offset = 0): Ref {
  return { buffer, offset };
}

/** A kernel call on one tile, before addresses are known. */
export interface TileCall {
  readonly tile: number;
  readonly spec: KernelSpec;
  readonly elements: readonly number[];
  readonly invocations: readonly { readonly output: Ref; readonly inputs: readonly Ref[] }[];
  readonly conversion?: Conversion;
}

export interface PlanTransfer {
  readonly source: number;
  readonly from: Ref;
  readonly words: number;
  readonly to: readonly { readonly tiles: readonly number[]; readonly at: Ref }[];
}

/** What a profile shows beside a step. */
export interface Label {
  readonly operation: string;
  readonly reason: string;
  readonly value: number;
}

type PlanStep =
  | { readonly kind: "compute"; readonly label: Label; readonly calls: readonly TileCall[] }
  | {
      readonly kind: "exchange";
      readonly label: Label;
      readonly transfers: readonly PlanTransfer[];
    };

/** Names a call's kernel; `rowCounts` are those of all GEMM calls of the plan (F2.1). */
export type SymbolOf = (spec: KernelSpec, plan: PlanShape) => string;

/** What a kernel's name needs to know of the whole plan. */
export interface PlanShape {
  /** Row counts of the plan's GEMM calls, ascending. */
  readonly gemmRows: readonly number[];
  /** Query rows of the plan's softmax and merge calls, ascending. */
  readonly queryRows: readonly number[];
}

/** Collects steps and buffers, then gives every buffer an address and every call its operands. */
export class PlanBuilder {
  readonly buffers: PlanBuffer[] = [];
  readonly #steps: PlanStep[] = [];
  readonly #target: Target;

  constructor(target: Target) {
    this.#target = target;
  }

  /**
   * A buffer to be placed. One that no tile can hold is refused at once, before anyone works out its moves.
   * @throws SimError `TILE_MEMORY_FULL`
   */
  buffer(
    name: string,
    bytes: number,
    memoryClass: MemoryClass,
    options: BufferOptions = {},
  ): PlanBuffer {
    const { firstData, lastLoadable } = this.#target.memory;
    const most = lastLoadable - firstData;
    if (bytes > most) {
      throw new SimError("TILE_MEMORY_FULL", {
        what: `${name} needs ${bytes} B on one tile, which has ${most} B for data`,
        where: { buffer: name, needed: bytes, free: most },
        fix: "Spread the operation over more tiles, or make the operands of one tile smaller",
      });
    }
    const buffer = new PlanBuffer(name, bytes, memoryClass, options);
    this.buffers.push(buffer);
    return buffer;
  }

  /** A compute step; nothing where there are no calls. A tile may occur once. */
  compute(label: Label, calls: readonly TileCall[]): void {
    if (calls.length === 0) return;
    const step = this.#steps.length;
    for (const { tile, invocations } of calls) {
      for (const { output, inputs } of invocations) {
        for (const { buffer } of [output, ...inputs]) {
          buffer.touch(step);
          buffer.tiles.add(tile);
        }
      }
    }
    this.#steps.push({ kind: "compute", label, calls });
  }

  /** An exchange phase; nothing where there are no transfers. */
  exchange(label: Label, transfers: readonly PlanTransfer[]): void {
    if (transfers.length === 0) return;
    const step = this.#steps.length;
    for (const { source, from, to } of transfers) {
      from.buffer.touch(step);
      from.buffer.tiles.add(source);
      for (const { tiles, at } of to) {
        at.buffer.touch(step);
        for (const tile of tiles) at.buffer.tiles.add(tile);
      }
    }
    this.#steps.push({ kind: "exchange", label, transfers });
  }

  /** Keeps `buffer` alive from before the run or until after it. */
  keep(buffer: PlanBuffer, when: "from-start" | "to-end"): void {
    buffer.touch(when === "from-start" ? -1 : Number.MAX_SAFE_INTEGER);
  }

  /**
   * The steps with addresses, and the buffers with theirs.
   * @throws SimError `TILE_MEMORY_FULL`
   */
  finish(symbolOf: SymbolOf): { steps: Step[]; buffers: Buffer[]; at: AddressOf } {
    for (const buffer of this.buffers) {
      if (buffer.lastStep === Number.MAX_SAFE_INTEGER) buffer.lastStep = this.#steps.length;
    }
    const used = this.buffers.filter(({ lastStep }) => lastStep > -Infinity);
    const addresses = place(used, this.#target);
    const at: AddressOf = ({ buffer, offset }) => {
      const start = addresses.get(buffer);
      if (start === undefined) throw new InternalError(`buffer ${buffer.name} has no address`);
      return address(start + offset);
    };
    const shape = this.#shape();
    const labels = this.#labels();
    const steps = this.#steps.map((step, index): Step => {
      if (step.kind === "exchange") {
        const transfers = step.transfers.flatMap((transfer) =>
          cut(transfer, at, this.#target.exchange.maxTransferWords),
        );
        return { kind: "exchange", ...step.label, transfers };
      }
      const name = (spec: KernelSpec): string => symbolOf(spec, shape);
      return { kind: "compute", calls: groupCalls(step.calls, labels[index], at, name) };
    });
    const buffers = used.map((buffer): Buffer => ({
      name: buffer.name,
      address: at(ref(buffer)),
      bytes: buffer.bytes,
      tiles: [...buffer.tiles].sort((a, b) => a - b).map(tileId),
      firstStep: buffer.firstStep,
      lastStep: buffer.lastStep,
      ...(buffer.zeroFilled ? { zeroFilled: true as const } : {}),
    }));
    return { steps, buffers, at };
  }

  #shape(): PlanShape {
    const gemmRows = new Set<number>();
    const queryRows = new Set<number>();
    for (const step of this.#steps) {
      if (step.kind === "exchange") continue;
      for (const { spec } of step.calls) {
        if (spec.kind === "gemm") gemmRows.add(spec.rows);
        if (spec.kind === "attention-softmax" || spec.kind === "attention-merge") {
          queryRows.add(spec.rows);
        }
      }
    }
    const ascending = (set: Set<number>): number[] => [...set].sort((a, b) => a - b);
    return { gemmRows: ascending(gemmRows), queryRows: ascending(queryRows) };
  }

  /** The label of each call: a copy is shown under the next kernel of its tile (F6.5). */
  #labels(): (readonly Label[])[] {
    const next = new Map<number, Label>();
    const labels: (readonly Label[])[] = [];
    for (let index = this.#steps.length - 1; index >= 0; index--) {
      const step = this.#steps[index];
      if (step.kind === "exchange") {
        labels[index] = [];
        continue;
      }
      labels[index] = step.calls.map(({ tile, spec }) => {
        if (spec.kind === "copy" || spec.kind === "fill-zero") {
          const { operation, value } = next.get(tile) ?? step.label;
          return { operation, reason: "LocalCopy", value };
        }
        next.set(tile, step.label);
        return step.label;
      });
    }
    return labels;
  }
}

/** The address of a place in a buffer. */
export type AddressOf = (place: Ref) => ReturnType<typeof address>;

/** A payload longer than one transfer may be goes in several, the largest first (F4.6). */
function cut({ source, from, words, to }: PlanTransfer, at: AddressOf, most: number): Transfer[] {
  const transfers: Transfer[] = [];
  for (let start = 0; start < words; start += most) {
    const shift = ({ buffer, offset }: Ref): Ref => ({ buffer, offset: offset + 4 * start });
    transfers.push({
      source: tileId(source),
      address: at(shift(from)),
      words: Math.min(most, words - start),
      width: 32,
      destinations: to.map(({ tiles, at: place }) => ({
        tiles: tiles as readonly TileId[],
        address: at(shift(place)),
      })),
    });
  }
  return transfers;
}

/** Joins the calls that differ in their tile alone. */
function groupCalls(
  calls: readonly TileCall[],
  labels: readonly Label[],
  at: AddressOf,
  name: (spec: KernelSpec) => string,
): KernelCall[] {
  const groups = new Map<string, { call: Omit<KernelCall, "tiles">; tiles: TileId[] }>();
  const keys = new Map<KernelSpec, string>();
  const keyOf = (spec: KernelSpec): string => {
    let key = keys.get(spec);
    if (key === undefined) keys.set(spec, (key = JSON.stringify(spec)));
    return key;
  };
  calls.forEach(({ tile, spec, elements, invocations, conversion }, index) => {
    const placed = invocations.map(({ output, inputs }) => ({
      output: at(output),
      inputs: inputs.map(at),
    }));
    const label = labels[index];
    const places = placed.map(({ output, inputs }) => `${output}:${inputs.join()}`).join(";");
    const key = `${label.operation} ${label.value} ${label.reason} ${elements.join()} ${places} ${keyOf(spec)}`;
    const group = groups.get(key);
    if (group) {
      group.tiles.push(tileId(tile));
      return;
    }
    const call = {
      kernel: name(spec),
      ...label,
      spec,
      elements,
      ...(conversion ? { conversion } : {}),
      invocations: placed,
    };
    groups.set(key, { call, tiles: [tileId(tile)] });
  });
  return [...groups.values()].map(({ call: { invocations, ...call }, tiles }) => ({
    ...call,
    tiles: tiles.sort((a, b) => a - b),
    invocations,
  }));
}
