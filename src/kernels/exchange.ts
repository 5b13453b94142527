import type { Address, TileId } from "../base/units.ts";

/** The tiles that receive a transfer at one address. */
export interface Destination {
  readonly tiles: readonly TileId[];
  readonly address: Address;
}

/** Words from one tile's memory to that of others, in one exchange phase. */
export interface Transfer {
  readonly source: TileId;
  readonly address: Address;
  /** 32-bit words. */
  readonly words: number;
  /** Bits that leave the sender in a cycle; 64 borrows the partner's lane (F4.5). */
  readonly width: 32 | 64;
  readonly destinations: readonly Destination[];
}
