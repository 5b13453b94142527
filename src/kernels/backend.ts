import type { Numerics } from "../numerics/rounding.ts";
import type { KernelCall } from "./call.ts";
import type { Transfer } from "./exchange.ts";

/** The tiles' bytes, as a backend sees them. */
export interface MemoryMap {
  /** One shared memory for all tiles. */
  readonly memory: WebAssembly.Memory;
  readonly tiles: number;
  /** Byte offset in `memory` of tile 0's first byte. */
  readonly origin: number;
  /** Bytes of a tile, and from one tile's first byte to the next one's. */
  readonly tileBytes: number;
  /** The address of a tile's first byte. */
  readonly baseAddress: number;
}

/**
 * A way to do what the reference kernels say, on all tiles of a step at once. Steps arrive checked: every
 * address is in bounds and aligned, a tile occurs at most once in a compute step, and no two transfers of
 * an exchange write the same byte.
 */
export interface Backend {
  readonly name: string;
  /** What it runs on, for the report: instruction set, threads, adapter. */
  readonly description: string;
  /** @throws BackendError `BACKEND_UNAVAILABLE` where it cannot run. */
  attach(map: MemoryMap): Promise<void>;
  /**
   * The host wrote these bytes of some tile, or of several: what the backend remembers of them holds no more. Call
   * it before the next step.
   */
  memoryChanged(address: number, bytes: number): void;
  /** Runs every call of a compute step. `step` counts the steps of the run, repeats included. */
  compute(calls: readonly KernelCall[], numerics: Numerics, step: number): Promise<void>;
  /** Moves the bytes of one exchange: all reads before all writes. */
  exchange(transfers: readonly Transfer[]): Promise<void>;
  /** Frees threads and devices; the memory stays. */
  close(): Promise<void>;
}
