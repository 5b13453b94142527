import type { Target } from "../target/target.ts";
import type { PreparedPhase } from "./prepare.ts";
import type { Timeline } from "./timeline.ts";

/** What a tile does for a transfer; `PhaseActivities.kind` holds indices into this. */
export const ACTIVITY_KINDS = ["send", "receive", "partnerBusy"] as const;

/** When every transfer of a phase happens, in cycles from the phase's release. */
export interface PhaseSchedule {
  /** The last event of all tiles. */
  readonly eventCycles: number;
  /** Each tile's last event: when it goes on. 0: it has no part in the phase. */
  readonly horizons: Int32Array;
  readonly activities: PhaseActivities;
  /** No phase with these transfers is shorter: items of the busiest send or receive side. */
  readonly lowerBound: number;
  /** No order of them is shorter either: the busiest side's transfers one after another, ways included. */
  readonly chainBound: number;
}

/** Columns, one entry per activity; by transfer, its send first. Intervals are half-open. */
export interface PhaseActivities {
  readonly count: number;
  /** Index into the transfers. */
  readonly transfer: Int32Array;
  readonly tile: Int32Array;
  readonly kind: Uint8Array;
  /** The transfer's place in the order in which all were placed. */
  readonly rank: Int32Array;
  /** Of a send when words leave, of a receive when they are written to memory. */
  readonly start: Int32Array;
  readonly end: Int32Array;
  /** The activity's last event; until then its memory element is taken. */
  readonly horizon: Int32Array;
}

/** The schedule that a timeline holds when all transfers are placed. */
export function scheduleOf(
  phase: PreparedPhase,
  target: Target,
  { origins, horizons }: Timeline,
  order: Int32Array,
  tiles: number,
): PhaseSchedule {
  const { sendItems, receiveItems } = phase;
  let eventCycles = 0;
  let lowerBound = 0;
  for (let tile = 0; tile < horizons.length; tile++) {
    eventCycles = Math.max(eventCycles, horizons[tile]);
    lowerBound = Math.max(lowerBound, sendItems[tile], receiveItems[tile]);
  }
  // Few ask for the activities, which are the most of a schedule.
  let activities: PhaseActivities | null = null;
  return {
    eventCycles,
    horizons: horizons.slice(0, tiles),
    lowerBound,
    chainBound: chainBoundOf(phase, target),
    get activities() {
      return (activities ??= activitiesOf(phase, target, origins, order));
    },
  };
}

/**
 * A lower bound on the event cycles of any order: a tile's transfers follow each other from origin to last
 * word, on its send side and on its receive side.
 */
export function chainBoundOf(phase: PreparedPhase, target: Target): number {
  const { count, tiles, source, items, isWide, lead, firstSlot, receiver, writeAt } = phase;
  const sending = new Int32Array(tiles);
  const receiving = new Int32Array(tiles);
  for (let i = 0; i < count; i++) {
    const sent = lead[i] + items[i];
    sending[source[i]] += sent;
    if (isWide[i]) {
      sending[source[i] ^ 1] += sent;
      receiving[source[i] ^ 1] += sent;
    }
    for (let slot = firstSlot[i]; slot < firstSlot[i + 1]; slot++) {
      receiving[receiver[slot]] += writeAt[slot] + items[i];
    }
  }
  let bound = 0;
  for (let tile = 0; tile < tiles; tile++) {
    if (sending[tile] > bound) bound = sending[tile];
    if (phase.receiveItems[tile] === 0) continue;
    bound = Math.max(bound, receiving[tile] + target.exchange.receiveTail);
  }
  return bound;
}

function activitiesOf(
  phase: PreparedPhase,
  target: Target,
  origins: Int32Array,
  order: Int32Array,
): PhaseActivities {
  const { count, source, items, isWide, advance, lead, firstSlot, receiver, writeAt } = phase;
  const { minSenderEvents, receiveTail } = target.exchange;
  let length = count + firstSlot[count];
  for (let i = 0; i < count; i++) length += isWide[i];
  const transfer = new Int32Array(length);
  const tile = new Int32Array(length);
  const kind = new Uint8Array(length);
  const ranks = new Int32Array(count);
  order.forEach((placed, rank) => {
    ranks[placed] = rank;
  });
  const start = new Int32Array(length);
  const end = new Int32Array(length);
  const horizon = new Int32Array(length);
  let at = 0;
  for (let i = 0; i < count; i++) {
    const origin = origins[i];
    const sendStart = origin + lead[i];
    const sendEnd = sendStart + items[i];
    const senderHorizon = Math.max(sendEnd, origin + minSenderEvents);
    transfer[at] = i;
    tile[at] = source[i];
    start[at] = sendStart;
    end[at] = sendEnd;
    horizon[at++] = senderHorizon;
    for (let slot = firstSlot[i]; slot < firstSlot[i + 1]; slot++) {
      transfer[at] = i;
      tile[at] = receiver[slot];
      kind[at] = 1;
      start[at] = origin + writeAt[slot];
      end[at] = start[at] + items[i];
      horizon[at] = end[at] + receiveTail + advance[i];
      at++;
    }
    if (isWide[i] === 0) continue;
    transfer[at] = i;
    tile[at] = source[i] ^ 1;
    kind[at] = 2;
    start[at] = sendStart;
    end[at] = senderHorizon;
    horizon[at++] = senderHorizon;
  }
  const rank = transfer.map((i) => ranks[i]);
  return { count: length, transfer, tile, kind, rank, start, end, horizon };
}
