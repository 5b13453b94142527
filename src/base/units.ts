/**
 * Branded numbers. They hold at the borders of a module; loops inside use plain numbers.
 * A brand has no cost at run time.
 */
declare const unit: unique symbol;
type Branded<Name extends string> = number & { readonly [unit]: Name };

/** A span of time, in clock cycles of the target. */
export type Cycles = Branded<"Cycles">;
/** A byte address in one tile's memory, as the chip numbers it (IPU21: 0x4c000 .. 0xe8000). */
export type Address = Branded<"Address">;
/** A logical tile number, 0 .. tiles - 1. Physical numbers carry `physical` in their name. */
export type TileId = Branded<"TileId">;

export function cycles(n: number): Cycles {
  return n as Cycles;
}

export function address(n: number): Address {
  return n as Address;
}

export function tileId(n: number): TileId {
  return n as TileId;
}
