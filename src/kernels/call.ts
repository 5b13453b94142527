import type { Address, TileId } from "../base/units.ts";
import type { Layout } from "../layouts/layout.ts";
import type { KernelSpec } from "./spec.ts";

/** Where the operands of one invocation are, in each tile of the call. */
export interface Invocation {
  readonly output: Address;
  readonly inputs: readonly Address[];
}

/**
 * One specification on the tiles that hold its operands at the same addresses. Several invocations run
 * one after another and are one sample of a profile.
 */
export interface KernelCall {
  /** Symbol that the compiler would give the kernel (F2.1), "ipu_stack_copy_u64" for instance. */
  readonly kernel: string;
  /** The source graph's operation that a profile shows with it. */
  readonly operation: string;
  readonly reason: string;
  /** Id of the value that it makes or moves. */
  readonly value: number;
  readonly spec: KernelSpec;
  /** Logical elements as a profile counts them: output, then each input. Empty for copies and fills. */
  readonly elements: readonly number[];
  readonly tiles: readonly TileId[];
  readonly invocations: readonly Invocation[];
  /** Of an unpack or a rearrange: the layouts that a profile shows as its specification. */
  readonly conversion?: Conversion;
}

/** A change of layout: of the whole value where it has shards, of a tile's staging where it is row-major. */
export interface Conversion {
  readonly from: Layout;
  readonly to: Layout;
}
