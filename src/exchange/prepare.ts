import type { Address, TileId } from "../base/units.ts";
import type { Target } from "../target/target.ts";
import { physicalTiles } from "../target/topology.ts";
import { hazardsOf, type Hazards } from "./hazards.ts";
import { timeToMux } from "./route.ts";
import { checkTransfer, itemsOf, sendLead, writeAdvance } from "./timing.ts";

/** Words from one tile's memory to that of others: what a phase is made of. */
export interface PhaseTransfer {
  readonly source: TileId;
  readonly address: Address;
  /** 32-bit words. */
  readonly words: number;
  readonly width: 32 | 64;
  readonly destinations: readonly {
    readonly tiles: readonly TileId[];
    readonly address: Address;
  }[];
}

/**
 * The transfers of a phase as columns. A transfer has an index; each of its receivers a slot, those of
 * transfer i from firstSlot[i] to firstSlot[i + 1]. Times are from the transfer's origin.
 */
export interface PreparedPhase {
  readonly count: number;
  /** Of the target: by-tile columns have an entry for each. */
  readonly tiles: number;
  readonly source: Int32Array;
  readonly address: Int32Array;
  readonly words: Int32Array;
  /** What the fabric carries in a cycle: words, or pairs of them. */
  readonly items: Int32Array;
  readonly isWide: Uint8Array;
  /** Cycles by which the words are written early. */
  readonly advance: Uint8Array;
  /** First word's departure. */
  readonly lead: Int32Array;
  readonly firstSlot: Int32Array;
  readonly receiver: Int32Array;
  readonly receiverAddress: Int32Array;
  /** The receiver's selection of its source begins one later. */
  readonly selectAt: Int32Array;
  /** First word in the receiver's memory. */
  readonly writeAt: Int32Array;
  /** 64 bits: whether this member of the pair selects the source for both. */
  readonly isSelector: Uint8Array;
  readonly hasMulticast: boolean;
  /** Items that a tile sends, its partner's 64-bit ones among them, and receives: by tile. */
  readonly sendItems: Int32Array;
  readonly receiveItems: Int32Array;
  readonly hazards: Hazards;
}

/**
 * Checks and times the transfers of a phase, one by one; what they do to each other is left open. Tiles
 * from `tiles` on have no part.
 *
 * @throws SimError `EXCHANGE_INVALID`
 */
export function preparePhase(
  transfers: readonly PhaseTransfer[],
  target: Target,
  tiles: number,
): PreparedPhase {
  const count = transfers.length;
  const firstSlot = new Int32Array(count + 1);
  for (let i = 0; i < count; i++) {
    let receivers = 0;
    for (const destination of transfers[i].destinations) receivers += destination.tiles.length;
    firstSlot[i + 1] = firstSlot[i] + receivers;
  }
  const slots = firstSlot[count];
  const source = new Int32Array(count);
  const address = new Int32Array(count);
  const words = new Int32Array(count);
  const items = new Int32Array(count);
  const isWide = new Uint8Array(count);
  const advance = new Uint8Array(count);
  const receiver = new Int32Array(slots);
  const receiverAddress = new Int32Array(slots);
  const sendItems = new Int32Array(target.tiles);
  const receiveItems = new Int32Array(target.tiles);
  const receives = new Int32Array(target.tiles);
  const lastTransferOf = new Int32Array(target.tiles).fill(-1);
  let hasMulticast = false;

  for (let i = 0; i < count; i++) {
    const transfer = transfers[i];
    const wide = transfer.width === 64;
    if (!isPlain(transfer, i, lastTransferOf, target, tiles)) {
      const receivers = transfer.destinations.flatMap((destination) => destination.tiles);
      const { words: length, width } = transfer;
      checkTransfer(target, { sender: transfer.source, receivers, words: length, width }, tiles);
    }
    source[i] = transfer.source;
    address[i] = transfer.address;
    words[i] = transfer.words;
    items[i] = itemsOf(transfer.words, transfer.width);
    isWide[i] = wide ? 1 : 0;
    advance[i] = writeAdvance(target, transfer);
    sendItems[transfer.source] += items[i];
    if (wide) sendItems[transfer.source ^ 1] += items[i];
    let slot = firstSlot[i];
    for (const destination of transfer.destinations) {
      for (const tile of destination.tiles) {
        receiver[slot] = tile;
        receiverAddress[slot++] = destination.address;
        receives[tile]++;
        receiveItems[tile] += items[i];
      }
    }
    if (slot - firstSlot[i] > 1) hasMulticast = true;
  }

  const lead = new Int32Array(count);
  const selectAt = new Int32Array(slots);
  const writeAt = new Int32Array(slots);
  const isSelector = new Uint8Array(slots);
  const physical = physicalTiles(target);
  const { receiveLatency, receiveLatencyPerRow, tilesPerRow } = target.exchange;
  for (let i = 0; i < count; i++) {
    const from = physical[source[i]];
    const first = firstSlot[i];
    const end = firstSlot[i + 1];
    let least = Infinity;
    for (let slot = first; slot < end; slot++) {
      const to = physical[receiver[slot]];
      let toMux = timeToMux(from, to);
      if (isWide[i]) {
        const partnerToMux = timeToMux(from, to ^ 2);
        if (toMux < partnerToMux) isSelector[slot] = 1;
        toMux = Math.max(toMux, partnerToMux);
      }
      selectAt[slot] = toMux;
      if (toMux < least) least = toMux;
    }
    const isOnlyReceive = !isWide[i] && end === first + 1 && receives[receiver[first]] === 1;
    lead[i] = sendLead(target, { width: isWide[i] ? 64 : 32, isOnlyReceive }, least);
    for (let slot = first; slot < end; slot++) {
      const row = Math.floor(physical[receiver[slot]] / tilesPerRow);
      selectAt[slot] += lead[i];
      writeAt[slot] = selectAt[slot] + receiveLatency + receiveLatencyPerRow * row - advance[i];
    }
  }
  // One literal, so that all phases share a hidden class: what reads them is compiled once.
  return {
    count,
    tiles: target.tiles,
    source,
    address,
    words,
    items,
    isWide,
    advance,
    lead,
    firstSlot,
    receiver,
    receiverAddress,
    selectAt,
    writeAt,
    isSelector,
    hasMulticast,
    sendItems,
    receiveItems,
    hazards: hazardsOf({
      count,
      tiles: target.tiles,
      source,
      address,
      words,
      firstSlot,
      receiver,
      receiverAddress,
    }),
  };
}

/** Whether a 32-bit transfer is sound: the quick form of `checkTransfer`, that rejects a few good ones. */
function isPlain(
  { source, words, width, destinations }: PhaseTransfer,
  index: number,
  lastTransferOf: Int32Array,
  target: Target,
  tiles: number,
): boolean {
  if (width !== 32 || !Number.isInteger(source) || source < 0 || source >= tiles) return false;
  if (!Number.isInteger(words) || words < 1 || words > target.exchange.maxTransferWords)
    return false;
  lastTransferOf[source] = index;
  let receivers = 0;
  for (const { tiles: named } of destinations) {
    for (const tile of named) {
      if ((tile | 0) !== tile || tile < 0 || tile >= tiles) return false;
      if (lastTransferOf[tile] === index) return false;
      lastTransferOf[tile] = index;
      receivers++;
    }
  }
  return receivers > 0;
}
