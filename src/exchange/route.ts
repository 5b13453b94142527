import type { TileId } from "../base/units.ts";
import type { Target } from "../target/target.ts";
import { physicalOf } from "../target/topology.ts";

/**
 * The way from one tile to another. `paired` values are those of a 64-bit transfer to both members of the
 * receiver's pair; it leaves over the lanes of the sender and its partner.
 */
export interface Route {
  /** Signed steps along the columns of the floor plan; its sign is the direction. */
  readonly displacement: number;
  readonly direction: 1 | 2;
  /** Cycles from a word's departure to its arrival at the receiver's multiplexer; may be negative,
   * because the two tiles count from differently delayed releases. */
  readonly timeToMux: number;
  /** The later of the two members of the receiver's pair. */
  readonly pairedTimeToMux: number;
  readonly pairedSendControl: 5 | 6;
  /** Whether the receiver, the one of its pair with the shorter way, selects the source for both. */
  readonly pairedReceiverIsEarly: boolean;
  /** Physical number to select: the partner's, whose lane carries the second word. */
  readonly pairedSourceMux: number;
}

/** Both directions: what a transfer to more than one receiver, or pair of receivers, takes. */
const BOTH_DIRECTIONS = 3;
/** Added to the directions when an item is 64 bits. */
const WIDE_ITEM = 4;

/** The way from one logical tile to another. */
export function routeOf(target: Target, sender: TileId, receiver: TileId): Route {
  const from = physicalOf(target, sender);
  const to = physicalOf(target, receiver);
  const toMux = timeToMux(from, to);
  const partnerToMux = timeToMux(from, to ^ 2);
  const direction = directionOf(from, to);
  return {
    displacement: displacement(from, to),
    direction,
    timeToMux: toMux,
    pairedTimeToMux: Math.max(toMux, partnerToMux),
    pairedSendControl: direction === 1 ? 5 : 6,
    pairedReceiverIsEarly: toMux < partnerToMux,
    pairedSourceMux: from ^ 2,
  };
}

/**
 * What a send instruction names: 1 or 2 for one receiver, 3 for several; 4 more for 64-bit items, whose
 * pairs of receivers count as one.
 */
export function sendControl(
  target: Target,
  sender: TileId,
  receivers: readonly TileId[],
  width: 32 | 64,
): number {
  const isOne = receivers.length === (width === 64 ? 2 : 1);
  const directions = isOne
    ? directionOf(physicalOf(target, sender), physicalOf(target, receivers[0]))
    : BOTH_DIRECTIONS;
  return width === 64 ? directions + WIDE_ITEM : directions;
}

function directionOf(from: number, to: number): 1 | 2 {
  return displacement(from, to) < 1 ? 2 : 1;
}

/**
 * Signed steps between two physical tiles along the columns, which are folded: 0 .. 7 and back. A place
 * has column (p div 4) mod 16, lane p mod 4, side p mod 2.
 *
 * @see IS crates/ipu-target/src/topology.rs; test/golden/routes.json.gz
 */
export function displacement(from: number, to: number): number {
  const fromHalf = (from >> 5) & 1;
  const toHalf = (to >> 5) & 1;
  const lane = to & 3;
  const inColumn = lane > 1 ? (toHalf === (lane & 1) ? 2 : 4) : toHalf === lane ? 1 : 5;
  return 6 * (foldedColumn(to) - foldedColumn(from) - (fromHalf ^ (from & 1))) + inColumn;
}

/**
 * Cycles from a word's departure at one physical tile to another's multiplexer.
 *
 * @see IS crates/ipu-target/src/topology.rs; test/golden/routes.json.gz
 */
export function timeToMux(from: number, to: number): number {
  const fromColumn = (from >> 2) & 15;
  const toColumn = (to >> 2) & 15;
  const fromHalf = fromColumn >> 3;
  const place = fromColumn & 7;
  const turn = fromHalf === toColumn >> 3 ? place + 1 : 16 - place;
  const across = 8 * fromHalf + ((fromColumn >> 1) & 3) - toColumn + 3 - (place >> 1);
  const along = 4 * (foldedColumn(from) - foldedColumn(to));
  const down = 2 * ((from >> 6) - (to >> 6));
  return across + along + turn + down + Math.abs(displacement(from, to)) - 34;
}

function foldedColumn(physical: number): number {
  const column = (physical >> 2) & 15;
  return column > 7 ? 15 - column : column;
}
