import type { PreparedPhase } from "./prepare.ts";
import type { Timeline } from "./timeline.ts";

/** A start and a pressure make one key: start * this - pressure, exact up to 4 million cycles. */
const START = 2 ** 31;

/**
 * The transfers that wait for no other, next first: earliest start, then larger pressure, larger fanout,
 * more words, lower source, lower index.
 *
 * Pressure is the items left to send and receive on all tiles of a transfer, all that there were where the
 * phase has no multicast. Start and pressure are remembered and looked at again when the transfer comes
 * first and its start turns out later: so does the public compiler, and it decides ties.
 *
 * A heap of keys and ranks in two columns: few steps for each comparison, of which there are most.
 */
export class ReadyQueue {
  readonly #phase: PreparedPhase;
  readonly #timeline: Timeline;
  /** Transfers by fanout, words, source, index, and each one's rank among them. */
  readonly #order: Int32Array;
  readonly #rankOf: Int32Array;
  readonly #keys: Float64Array;
  readonly #ranks: Int32Array;
  #length = 0;
  /** By transfer, where the phase has no multicast; by tile what is left, where it has. */
  readonly #pressure: Float64Array;
  readonly #left: Int32Array;
  readonly #start: Int32Array;

  constructor(phase: PreparedPhase, timeline: Timeline) {
    const { count, tiles, sendItems, receiveItems } = phase;
    this.#phase = phase;
    this.#timeline = timeline;
    this.#order = orderOf(phase);
    this.#rankOf = new Int32Array(count);
    for (let rank = 0; rank < count; rank++) this.#rankOf[this.#order[rank]] = rank;
    this.#keys = new Float64Array(count);
    this.#ranks = new Int32Array(count);
    this.#start = new Int32Array(count);
    this.#pressure = new Float64Array(count);
    this.#left = new Int32Array(tiles);
    for (let tile = 0; tile < tiles; tile++) {
      this.#left[tile] = sendItems[tile] + receiveItems[tile];
    }
    this.#fill();
  }

  /** Takes the next transfer out; -1 when none is ready. */
  next(): number {
    const { hasMulticast } = this.#phase;
    while (this.#length > 0) {
      const rank = this.#ranks[0];
      const first = this.#order[rank];
      const start = this.#timeline.earliest(first);
      if (start === this.#start[first]) {
        const last = --this.#length;
        if (last > 0) this.#sink(this.#keys[last], this.#ranks[last]);
        return first;
      }
      this.#start[first] = start;
      if (hasMulticast) this.#pressure[first] = this.#pressureOf(first);
      this.#sink(start * START - this.#pressure[first], rank);
    }
    return -1;
  }

  /** Transfer i was placed: those that waited for it alone become ready. */
  placed(i: number): void {
    const { source, items, isWide, firstSlot, receiver, hasMulticast, hazards } = this.#phase;
    const left = this.#left;
    if (hasMulticast) {
      const length = items[i];
      left[source[i]] -= length;
      if (isWide[i]) left[source[i] ^ 1] -= length;
      const end = firstSlot[i + 1];
      for (let slot = firstSlot[i]; slot < end; slot++) left[receiver[slot]] -= length;
    }
    const end = hazards.firstEdge[i + 1];
    for (let edge = hazards.firstEdge[i]; edge < end; edge++) {
      const waiting = hazards.later[edge];
      // It can have waited for this one on several tiles: let it in once.
      if (edge + 1 < end && hazards.later[edge + 1] === waiting) continue;
      if (this.#timeline.isReady(waiting)) this.#add(waiting);
    }
  }

  /** Enters what is ready from the beginning, sorted, which is a heap: all can start at 0. */
  #fill(): void {
    const { count } = this.#phase;
    const sorted = new Float64Array(count);
    for (let i = 0; i < count; i++) {
      if (!this.#timeline.isReady(i)) continue;
      this.#pressure[i] = this.#pressureOf(i);
      sorted[this.#length++] = this.#rankOf[i] - this.#pressure[i] * count;
    }
    const ready = sorted.subarray(0, this.#length).sort();
    for (let at = 0; at < ready.length; at++) {
      const pressure = -Math.floor(ready[at] / count);
      this.#keys[at] = -pressure;
      this.#ranks[at] = ready[at] + pressure * count;
    }
  }

  #pressureOf(i: number): number {
    const { source, isWide, firstSlot, receiver } = this.#phase;
    const left = this.#left;
    let pressure = left[source[i]];
    if (isWide[i]) pressure += left[source[i] ^ 1];
    const end = firstSlot[i + 1];
    for (let slot = firstSlot[i]; slot < end; slot++) pressure += left[receiver[slot]];
    return pressure;
  }

  #add(i: number): void {
    const start = this.#timeline.earliest(i);
    const pressure = this.#pressureOf(i);
    this.#start[i] = start;
    this.#pressure[i] = pressure;
    const keys = this.#keys;
    const ranks = this.#ranks;
    const key = start * START - pressure;
    const rank = this.#rankOf[i];
    let at = this.#length++;
    while (at > 0) {
      const above = (at - 1) >> 1;
      if (keys[above] < key || (keys[above] === key && ranks[above] < rank)) break;
      keys[at] = keys[above];
      ranks[at] = ranks[above];
      at = above;
    }
    keys[at] = key;
    ranks[at] = rank;
  }

  /** Puts a key and its rank where the first were, and down to their place. */
  #sink(key: number, rank: number): void {
    const keys = this.#keys;
    const ranks = this.#ranks;
    const length = this.#length;
    let at = 0;
    for (let below = 1; below < length; below = 2 * at + 1) {
      let least = keys[below];
      if (below + 1 < length) {
        const right = keys[below + 1];
        if (right < least || (right === least && ranks[below + 1] < ranks[below])) {
          least = right;
          below++;
        }
      }
      if (key < least || (key === least && rank < ranks[below])) break;
      keys[at] = least;
      ranks[at] = ranks[below];
      at = below;
    }
    keys[at] = key;
    ranks[at] = rank;
  }
}

/**
 * All transfers by larger fanout, more words, lower source, lower index: packed into one number each, which
 * holds up to half a million transfers on 1,472 tiles.
 */
function orderOf({ count, tiles, source, words, firstSlot }: PreparedPhase): Int32Array {
  const wordsEnd = 2 ** 14;
  const packed = new Float64Array(count);
  for (let i = 0; i < count; i++) {
    const fewer = tiles - (firstSlot[i + 1] - firstSlot[i]);
    packed[i] = ((fewer * wordsEnd + wordsEnd - words[i]) * tiles + source[i]) * count + i;
  }
  packed.sort();
  const order = new Int32Array(count);
  for (let rank = 0; rank < count; rank++) order[rank] = packed[rank] % count;
  return order;
}
