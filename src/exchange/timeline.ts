import type { Target } from "../target/target.ts";
import { elementOf } from "../target/ipu21.ts";
import type { PreparedPhase } from "./prepare.ts";

/**
 * The clock of a phase: when each tile's sides are free, and what was placed on them. Transfers are placed
 * one by one; on each tile sends follow sends and receives follow receives.
 */
export class Timeline {
  /** Origin of each placed transfer: its times count from here. */
  readonly origins: Int32Array;
  /** Each tile's last event so far; 0 while it has no part. */
  readonly horizons: Int32Array;
  readonly #phase: PreparedPhase;
  readonly #target: Target;
  readonly #keepsElementsApart: boolean;
  readonly #sendFree: Int32Array;
  readonly #receiveFree: Int32Array;
  /** When the transfers that each waits for let it go. */
  readonly #released: Int32Array;
  readonly #waits: Int32Array;
  /** The last send of a tile and the one before it; the last slot of a tile and the one before it. */
  readonly #lastSend: Int32Array;
  readonly #sendBefore: Int32Array;
  readonly #lastSlot: Int32Array;
  readonly #slotBefore: Int32Array;
  readonly #transferOf: Int32Array;
  /** Address after a tile's last receive, where its pointer stands; -1 before the first. */
  readonly #pointer: Int32Array;
  readonly #setsPointer: Uint8Array;

  constructor(phase: PreparedPhase, target: Target, keepsElementsApart: boolean) {
    const { count, tiles, firstSlot } = phase;
    const slots = firstSlot[count];
    this.#phase = phase;
    this.#target = target;
    this.#keepsElementsApart = keepsElementsApart;
    this.origins = new Int32Array(count);
    this.horizons = new Int32Array(tiles);
    this.#sendFree = new Int32Array(tiles);
    this.#receiveFree = new Int32Array(tiles);
    this.#released = new Int32Array(count);
    this.#waits = phase.hazards.waits.slice();
    this.#lastSend = new Int32Array(tiles).fill(-1);
    this.#sendBefore = new Int32Array(count);
    this.#lastSlot = new Int32Array(tiles).fill(-1);
    this.#slotBefore = new Int32Array(slots);
    this.#transferOf = new Int32Array(slots);
    this.#pointer = new Int32Array(tiles).fill(-1);
    this.#setsPointer = new Uint8Array(slots);
  }

  /** Whether all that transfer i waits for is placed. */
  isReady(i: number): boolean {
    return this.#waits[i] === 0;
  }

  /** The first origin at which transfer i finds its endpoints free and its bytes released. */
  earliest(i: number): number {
    const { source, firstSlot, receiver, isWide } = this.#phase;
    const receiveFree = this.#receiveFree;
    const from = source[i];
    let start = Math.max(this.#sendFree[from], this.#released[i]);
    const end = firstSlot[i + 1];
    for (let slot = firstSlot[i]; slot < end; slot++) {
      const free = receiveFree[receiver[slot]];
      if (free > start) start = free;
    }
    if (isWide[i]) {
      start = Math.max(start, this.#sendFree[from ^ 1], receiveFree[from ^ 1]);
    }
    return start;
  }

  /** Places transfer i at `start` or at the first origin after it that its tiles' rows and memory allow. */
  place(i: number, start: number): void {
    const { source, words, items, isWide, advance, lead } = this.#phase;
    const { firstSlot, receiver, receiverAddress, writeAt, hazards } = this.#phase;
    const { minSenderEvents, receiveTail } = this.#target.exchange;
    const { horizons } = this;
    const endSlot = firstSlot[i + 1];
    for (let slot = firstSlot[i]; slot < endSlot; slot++) {
      const follows = this.#pointer[receiver[slot]] === receiverAddress[slot];
      this.#setsPointer[slot] = follows ? 0 : 1;
    }
    const origin = this.#settle(i, start);
    this.origins[i] = origin;

    const from = source[i];
    const sendEnd = origin + lead[i] + items[i];
    const senderHorizon = Math.max(sendEnd, origin + minSenderEvents);
    this.#sendFree[from] = sendEnd;
    this.#sendBefore[i] = this.#lastSend[from];
    this.#lastSend[from] = i;
    if (senderHorizon > horizons[from]) horizons[from] = senderHorizon;
    if (isWide[i]) {
      const partner = from ^ 1;
      this.#sendFree[partner] = Math.max(this.#sendFree[partner], senderHorizon);
      this.#receiveFree[partner] = Math.max(this.#receiveFree[partner], senderHorizon);
      horizons[partner] = Math.max(horizons[partner], senderHorizon);
    }
    for (let slot = firstSlot[i]; slot < endSlot; slot++) {
      const tile = receiver[slot];
      const writeEnd = origin + writeAt[slot] + items[i];
      this.#receiveFree[tile] = writeEnd;
      this.#slotBefore[slot] = this.#lastSlot[tile];
      this.#lastSlot[tile] = slot;
      this.#transferOf[slot] = i;
      this.#pointer[tile] = receiverAddress[slot] + 4 * words[i];
      const horizon = writeEnd + receiveTail + advance[i];
      if (horizon > horizons[tile]) horizons[tile] = horizon;
    }
    for (let edge = hazards.firstEdge[i]; edge < hazards.firstEdge[i + 1]; edge++) {
      const slot = hazards.slot[edge];
      const release = slot < 0 ? sendEnd : origin + writeAt[slot] + items[i];
      const waiting = hazards.later[edge];
      this.#waits[waiting]--;
      if (release > this.#released[waiting]) this.#released[waiting] = release;
    }
  }

  /** The first origin from `start` on where no control meets a send, and no element is read and written. */
  #settle(i: number, start: number): number {
    const { source, firstSlot, receiver } = this.#phase;
    const end = firstSlot[i + 1];
    let origin = start;
    for (let before = -1; before !== origin;) {
      before = origin;
      if (this.#lastSlot[source[i]] >= 0) origin = this.#settleSend(i, origin);
      for (let slot = firstSlot[i]; slot < end; slot++) {
        if (this.#lastSend[receiver[slot]] >= 0) origin = this.#settleReceive(i, slot, origin);
      }
    }
    return origin;
  }

  /** Moves transfer i until its send agrees with what its source receives. */
  #settleSend(i: number, start: number): number {
    const { source, address, words, items, advance, lead } = this.#phase;
    const { receiverAddress, writeAt } = this.#phase;
    const { minSenderEvents, receiveTail } = this.#target.exchange;
    let origin = start;
    let slot = this.#lastSlot[source[i]];
    while (slot >= 0) {
      const other = this.#transferOf[slot];
      const sendStart = origin + lead[i];
      const writeStart = this.origins[other] + writeAt[slot];
      const writeHorizon = writeStart + items[other] + receiveTail + advance[other];
      // Receives before this one ended earlier still.
      if (writeHorizon <= sendStart) break;
      const sendHorizon = Math.max(sendStart + items[i], origin + minSenderEvents);
      if (
        sendHorizon > writeStart &&
        this.#sharesElement(address[i], words[i], receiverAddress[slot], words[other])
      ) {
        origin = writeHorizon - lead[i];
        break;
      }
      if (this.#controlMeets(other, slot, sendStart - this.origins[other])) {
        origin++;
        slot = this.#lastSlot[source[i]];
      } else slot = this.#slotBefore[slot];
    }
    return origin;
  }

  /** Moves transfer i until its receive at `slot` agrees with what that tile sends. */
  #settleReceive(i: number, slot: number, start: number): number {
    const { address, words, items, advance, lead } = this.#phase;
    const { receiver, receiverAddress, selectAt, writeAt } = this.#phase;
    const { minSenderEvents, receiveTail } = this.#target.exchange;
    const tile = receiver[slot];
    let origin = start;
    let other = this.#lastSend[tile];
    while (other >= 0) {
      const sendStart = this.origins[other] + lead[other];
      const sendHorizon = Math.max(sendStart + items[other], this.origins[other] + minSenderEvents);
      const writeStart = origin + writeAt[slot];
      // Sends before this one ended earlier still.
      if (sendHorizon < origin + selectAt[slot]) break;
      const writeHorizon = writeStart + items[i] + receiveTail + advance[i];
      if (
        sendHorizon > writeStart &&
        writeHorizon > sendStart &&
        this.#sharesElement(address[other], words[other], receiverAddress[slot], words[i])
      ) {
        origin = sendHorizon - writeAt[slot];
        other = this.#lastSend[tile];
      } else if (this.#controlMeets(i, slot, sendStart - origin)) {
        origin++;
        other = this.#lastSend[tile];
      } else other = this.#sendBefore[other];
    }
    return origin;
  }

  #sharesElement(a: number, wordsOfA: number, b: number, wordsOfB: number): boolean {
    if (!this.#keepsElementsApart) return false;
    const target = this.#target;
    return (
      elementOf(target, a) <= elementOf(target, b + 4 * wordsOfB - 1) &&
      elementOf(target, b) <= elementOf(target, a + 4 * wordsOfA - 1)
    );
  }

  /** Whether a control of a receive falls on one of a send's first two events; all from the receive's origin. */
  #controlMeets(i: number, slot: number, sendStart: number): boolean {
    const { items, isWide, isSelector, selectAt, writeAt } = this.#phase;
    const select = selectAt[slot] - sendStart;
    const write = writeAt[slot] - sendStart;
    const length = items[i];
    if (!isWide[i]) {
      // Selection of the source, back to none, and the pointer where it does not go on.
      return (
        isFirstTwo(select + 1) ||
        isFirstTwo(select + 1 + length) ||
        (this.#setsPointer[slot] === 1 && isFirstTwo(write))
      );
    }
    // The same, and the change of format and back; the source is selected by one tile of the pair.
    const format = write - 2;
    return (
      (isSelector[slot] === 1 && (isFirstTwo(select) || isFirstTwo(select + length))) ||
      isFirstTwo(format) ||
      isFirstTwo(write) ||
      isFirstTwo(format + length)
    );
  }
}

function isFirstTwo(event: number): boolean {
  return event === 0 || event === 1;
}
