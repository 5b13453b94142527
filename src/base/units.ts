/**
 * Branded numbers. They hold at the borders of a module; loops inside use plain numbers.
 * A brand has no cost at run time.
 */
declare const unit: unique symbol;
type Branded<Name extends string> = number & { readonly [unit]: Name };

/** A span of time, in clock cycles of the target. */
export type Cycles = Branded<"Cycles">;
/** A moment, in clock cycles since the first tile's first step began. */
export type CycleTime = Branded<"CycleTime">;
/** A size in bytes. */
export type Bytes = Branded<"Bytes">;
/** A byte address in one tile's memory, as the chip numbers it (IPU21: 0x4c000 .. 0xe8000). */
export type Address = Branded<"Address">;
/** A logical tile number, 0 .. tiles - 1. Physical numbers carry `physical` in their name. */
export type TileId = Branded<"TileId">;

export function cycles(n: number): Cycles {
  return n as Cycles;
}

export function cycleTime(n: number): CycleTime {
  return n as CycleTime;
}

export function bytes(n: number): Bytes {
  return n as Bytes;
}

export function address(n: number): Address {
  return n as Address;
}

export function tileId(n: number): TileId {
  return n as TileId;
}

/** The moment `span` after `moment`. */
export function after(moment: CycleTime, span: Cycles): CycleTime {
  return (moment + span) as CycleTime;
}
