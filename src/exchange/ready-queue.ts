import type { PreparedPhase } from "./prepare.ts";
import type { Timeline } from "./timeline.ts";

/**
 * The transfers that wait for no other, next first: earliest start, then larger pressure, larger fanout,
 * more words, lower source, lower index. A heap.
 *
 * Pressure is the items left to send and receive on all tiles of a transfer, all that there were where the
 * phase has no multicast. Start and pressure are remembered and looked at again when the transfer comes
 * first and its start turns out later: so does the public compiler, and it decides ties.
 */
export class ReadyQueue {
  readonly #phase: PreparedPhase;
  readonly #timeline: Timeline;
  readonly #heap: Int32Array;
  #length = 0;
  readonly #start: Int32Array;
  readonly #pressure: Float64Array;
  /** Place in the order of fanout, words, source, index. */
  readonly #rank: Int32Array;
  /** Items left on each tile, sent and received. */
  readonly #left: Int32Array;

  constructor(phase: PreparedPhase, timeline: Timeline) {
    const { count, tiles, sendItems, receiveItems } = phase;
    this.#phase = phase;
    this.#timeline = timeline;
    this.#heap = new Int32Array(count);
    this.#start = new Int32Array(count);
    this.#pressure = new Float64Array(count);
    this.#rank = rankOf(phase);
    this.#left = new Int32Array(tiles);
    for (let tile = 0; tile < tiles; tile++) {
      this.#left[tile] = sendItems[tile] + receiveItems[tile];
    }
    for (let i = 0; i < count; i++) if (timeline.isReady(i)) this.#add(i);
  }

  /** Takes the next transfer out; -1 when none is ready. */
  next(): number {
    const { hasMulticast } = this.#phase;
    while (this.#length > 0) {
      const first = this.#heap[0];
      const start = this.#timeline.earliest(first);
      if (start === this.#start[first]) {
        const last = this.#heap[--this.#length];
        if (this.#length > 0) this.#sink(last);
        return first;
      }
      this.#start[first] = start;
      if (hasMulticast) this.#pressure[first] = this.#pressureOf(first);
      this.#sink(first);
    }
    return -1;
  }

  /** Transfer i was placed: those that waited for it alone become ready. */
  placed(i: number): void {
    const { source, items, isWide, firstSlot, receiver, hasMulticast, hazards } = this.#phase;
    const left = this.#left;
    if (hasMulticast) {
      left[source[i]] -= items[i];
      if (isWide[i]) left[source[i] ^ 1] -= items[i];
      for (let slot = firstSlot[i]; slot < firstSlot[i + 1]; slot++)
        left[receiver[slot]] -= items[i];
    }
    const end = hazards.firstEdge[i + 1];
    for (let edge = hazards.firstEdge[i]; edge < end; edge++) {
      const waiting = hazards.later[edge];
      // It can have waited for this one on several tiles: let it in once.
      if (edge + 1 < end && hazards.later[edge + 1] === waiting) continue;
      if (this.#timeline.isReady(waiting)) this.#add(waiting);
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
    this.#start[i] = this.#timeline.earliest(i);
    this.#pressure[i] = this.#pressureOf(i);
    let at = this.#length++;
    while (at > 0) {
      const above = (at - 1) >> 1;
      if (!this.#isBefore(i, this.#heap[above])) break;
      this.#heap[at] = this.#heap[above];
      at = above;
    }
    this.#heap[at] = i;
  }

  /** Puts transfer i where the first was, and down to its place. */
  #sink(i: number): void {
    const heap = this.#heap;
    const length = this.#length;
    let at = 0;
    for (let below = 1; below < length; below = 2 * at + 1) {
      if (below + 1 < length && this.#isBefore(heap[below + 1], heap[below])) below++;
      if (!this.#isBefore(heap[below], i)) break;
      heap[at] = heap[below];
      at = below;
    }
    heap[at] = i;
  }

  #isBefore(a: number, b: number): boolean {
    if (this.#start[a] !== this.#start[b]) return this.#start[a] < this.#start[b];
    if (this.#pressure[a] !== this.#pressure[b]) return this.#pressure[a] > this.#pressure[b];
    return this.#rank[a] < this.#rank[b];
  }
}

/** Each transfer's place among all by larger fanout, more words, lower source, lower index. */
function rankOf({ count, source, words, firstSlot }: PreparedPhase): Int32Array {
  const order = Int32Array.from({ length: count }, (_, i) => i);
  order.sort(
    (a, b) =>
      firstSlot[b + 1] - firstSlot[b] - (firstSlot[a + 1] - firstSlot[a]) ||
      words[b] - words[a] ||
      source[a] - source[b] ||
      a - b,
  );
  const rank = new Int32Array(count);
  for (let place = 0; place < count; place++) rank[order[place]] = place;
  return rank;
}
