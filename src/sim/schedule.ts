import type { Address, TileId } from "../base/units.ts";
import type { DType } from "../numerics/dtype.ts";
import type { Layout } from "../layouts/layout.ts";
import type { KernelCall } from "../kernels/call.ts";
import type { Transfer } from "../kernels/exchange.ts";

/** What the chip does, in order, tile by tile: plain data that survives JSON. */
export interface Schedule {
  readonly format: "tilesim-schedule";
  readonly version: 1;
  /** Name of the program that it was planned from. */
  readonly program: string;
  readonly target: string;
  /** Logical tiles 0 .. tiles - 1 take part. */
  readonly tiles: number;
  /** Tensors that the host writes before the run: inputs and weights. */
  readonly inputs: readonly Binding[];
  /** Tensors that the host reads after it. */
  readonly outputs: readonly Binding[];
  readonly buffers: readonly Buffer[];
  readonly steps: readonly Step[];
}

/** A tensor and where its shards are: at one address on each tile of its layout. */
export interface Binding {
  readonly name: string;
  readonly role: "input" | "weight" | "output";
  readonly shape: readonly number[];
  readonly dtype: DType;
  readonly layout: Layout;
  readonly address: Address;
  /** Machine tile of each tile of the layout; absent: the same number. */
  readonly tiles?: readonly TileId[];
}

/** Bytes at one address on several tiles, and the steps between which they are live. */
export interface Buffer {
  readonly name: string;
  readonly address: Address;
  readonly bytes: number;
  readonly tiles: readonly TileId[];
  /** First and last step (index in `steps`) that touch it; -1 and steps.length: before and after the run. */
  readonly firstStep: number;
  readonly lastStep: number;
  /** Kernels read parts that nothing writes: zero-filled when it comes to life (`assumed`, F2.8). */
  readonly zeroFilled?: true;
}

export type Step = ComputeStep | ExchangeStep | RepeatStep;

/** Kernel calls that need nothing from one another; each tile has at most one. Tiles do not wait here. */
export interface ComputeStep {
  readonly kind: "compute";
  readonly calls: readonly KernelCall[];
}

/** A sync of all tiles, then transfers: all read before any writes. */
export interface ExchangeStep {
  readonly kind: "exchange";
  readonly operation: string;
  readonly reason: string;
  readonly value: number;
  readonly transfers: readonly Transfer[];
}

export interface RepeatStep {
  readonly kind: "repeat";
  readonly times: number;
  readonly body: readonly Step[];
}

/** The steps in the order in which they run, those of repeats each time. */
export function* executed(steps: readonly Step[]): Generator<ComputeStep | ExchangeStep> {
  for (const step of steps) {
    if (step.kind !== "repeat") yield step;
    else for (let turn = 0; turn < step.times; turn++) yield* executed(step.body);
  }
}
