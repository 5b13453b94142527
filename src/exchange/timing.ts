import { SimError } from "../base/errors.ts";
import type { TileId } from "../base/units.ts";
import type { Target } from "../target/target.ts";
import { partnerOf, physicalOf } from "../target/topology.ts";
import { timeToMux } from "./route.ts";

/** One transfer, without addresses. */
export interface TransferShape {
  readonly sender: TileId;
  readonly receivers: readonly TileId[];
  /** 32-bit words. */
  readonly words: number;
  readonly width: 32 | 64;
  /** The receiver receives nothing else in its phase, and nobody else receives this transfer. */
  readonly isOnlyReceive: boolean;
}

/** When a transfer happens, in cycles from the phase's release; intervals are half-open. */
export interface TransferTiming {
  /** The transfer's origin: what its endpoints were free from. */
  readonly offset: number;
  readonly sendStart: number;
  readonly sendEnd: number;
  /** The sender's last event. */
  readonly senderHorizon: number;
  /** Words are written to a receiver's memory from its start to its end; in the receivers' order. */
  readonly receiveStarts: readonly number[];
  readonly receiveEnds: readonly number[];
  /** Each receiver's last event. */
  readonly receiverHorizons: readonly number[];
  /** The last event of all. */
  readonly horizon: number;
}

/**
 * The times of one transfer from `offset` on. `m` is the time to mux, `row` the receiver's row in the floor
 * plan, n the items (words, or pairs of words at 64 bits); constants are those of IPU21:
 *
 *   sendStart = offset + lead;  lead = max(0, -min m), of an only receive 112 - m
 *   writeStart = sendStart + m + 53 + 2*row
 *   horizons: sender max(sendStart + n, offset + 6), receiver writeStart + n + 5
 *
 * At 64 bits m is the larger of a receiving pair's two, and lead = max(0, 1 - min m). A transfer of 52
 * words is written a cycle early, and its receiver's horizon stays.
 *
 * @throws SimError `EXCHANGE_INVALID`
 * @see IS crates/ipu-target/src/exchange.rs; test/golden/routes.json.gz, multicast.json.gz
 */
export function transferTiming(target: Target, shape: TransferShape, offset = 0): TransferTiming {
  checkTransfer(target, shape);
  const { exchange } = target;
  const items = itemsOf(shape.words, shape.width);
  const from = physicalOf(target, shape.sender);
  const places = shape.receivers.map((tile) => physicalOf(target, tile));
  const muxTimes = places.map((to) => muxTime(from, to, shape.width));
  const sendStart = offset + sendLead(target, shape, Math.min(...muxTimes));
  const sendEnd = sendStart + items;
  const early = writeAdvance(target, shape);
  const receiveStarts = places.map((to, index) => {
    const row = Math.floor(to / exchange.tilesPerRow);
    const latency = exchange.receiveLatency + exchange.receiveLatencyPerRow * row - early;
    return sendStart + muxTimes[index] + latency;
  });
  const receiveEnds = receiveStarts.map((start) => start + items);
  const receiverHorizons = receiveEnds.map((end) => end + exchange.receiveTail + early);
  const senderHorizon = Math.max(sendEnd, offset + exchange.minSenderEvents);
  return {
    offset,
    sendStart,
    sendEnd,
    senderHorizon,
    receiveStarts,
    receiveEnds,
    receiverHorizons,
    horizon: Math.max(senderHorizon, ...receiverHorizons),
  };
}

/** What the fabric carries in a cycle is an item: a word, or two at 64 bits. */
export function itemsOf(words: number, width: 32 | 64): number {
  return width === 64 ? words / 2 : words;
}

/** Time to mux between physical tiles; at 64 bits that of the receiver's pair. */
export function muxTime(from: number, to: number, width: 32 | 64): number {
  const time = timeToMux(from, to);
  return width === 64 ? Math.max(time, timeToMux(from, to ^ 2)) : time;
}

/** From a transfer's origin to its first word's departure. */
export function sendLead(
  { exchange }: Target,
  { width, isOnlyReceive }: Pick<TransferShape, "width" | "isOnlyReceive">,
  leastMuxTime: number,
): number {
  if (isOnlyReceive) return exchange.onlyReceiveSend - leastMuxTime;
  return Math.max(0, (width === 64 ? 1 : 0) - leastMuxTime);
}

/** Cycles by which a transfer is written early: its pointer and source controls would meet. */
export function writeAdvance(
  { exchange }: Target,
  { words, width }: Pick<TransferShape, "words" | "width">,
): number {
  return width === 32 && words === exchange.earlyWriteWords ? 1 : 0;
}

/** Checks all that can be wrong with one transfer, but its addresses. @throws SimError `EXCHANGE_INVALID` */
export function checkTransfer(
  target: Target,
  shape: Omit<TransferShape, "isOnlyReceive">,
  tiles: number = target.tiles,
): void {
  const { sender, receivers, words, width } = shape;
  const { maxTransferWords, wide } = target.exchange;
  const items = itemsOf(words, width);
  const fewest = width === 64 ? wide.minItems : 1;
  if (!Number.isInteger(items) || items < fewest || items > maxTransferWords) {
    throw invalid(shape, "count", `${words} words make ${items} items of ${width} bits`, {
      fix: `Send ${fewest} to ${maxTransferWords} items; cut what is longer`,
    });
  }
  for (const tile of [sender, ...receivers]) {
    if (Number.isInteger(tile) && tile >= 0 && tile < tiles) continue;
    throw invalid(shape, "tile", `there is no tile ${tile}`, {
      fix: `Use tiles 0 to ${tiles - 1}`,
    });
  }
  const wrong = receiverFault(shape, new Set(receivers));
  if (wrong !== null) {
    throw invalid(shape, "receivers", wrong, {
      fix:
        width === 64
          ? "Name both tiles of each receiving pair, once each, and none of the sender's"
          : "Name each receiver once, and not the sender",
    });
  }
  if (width !== 64) return;
  const met = receivers.find((tile) => controlsMeet(target, physicalOf(target, tile), items));
  if (met !== undefined) {
    throw invalid(shape, "controls", `two controls of tile ${met} fall on one cycle`, {
      fix: "Send two words more, or 32 bits wide",
    });
  }
}

function receiverFault(
  { sender, receivers, width }: Omit<TransferShape, "isOnlyReceive">,
  distinct: ReadonlySet<TileId>,
): string | null {
  if (receivers.length === 0) return "nobody receives it";
  if (distinct.size < receivers.length) return "a tile receives it twice";
  if (distinct.has(sender)) return "its sender receives it";
  if (width === 32) return null;
  if (distinct.has(partnerOf(sender)))
    return "the sender's partner, whose lane it takes, receives it";
  const half = receivers.find((tile) => !distinct.has(partnerOf(tile)));
  return half === undefined ? null : `the partner of tile ${half} does not receive it`;
}

/**
 * Whether a 64-bit transfer ends its source selection when it sets the receiver's format or pointer: these
 * come `formatDelay` + 2*row after the selection, and two later.
 */
function controlsMeet({ exchange }: Target, receiver: number, items: number): boolean {
  const row = Math.floor(receiver / exchange.tilesPerRow);
  const format = exchange.wide.formatDelay + exchange.receiveLatencyPerRow * row;
  return items === format || items === format + 2;
}

function invalid(
  { sender, receivers, words, width }: Omit<TransferShape, "isOnlyReceive">,
  reason: "count" | "tile" | "receivers" | "controls",
  what: string,
  { fix }: { fix: string },
): SimError {
  const where = { reason, sender, receivers: receivers.slice(0, 8), words, width };
  return new SimError("EXCHANGE_INVALID", {
    what: `transfer of tile ${sender}: ${what}`,
    where,
    fix,
  });
}
