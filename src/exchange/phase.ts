import { address } from "../base/units.ts";
import type { Target } from "../target/target.ts";
import { preparePhase, type PhaseTransfer, type PreparedPhase } from "./prepare.ts";
import { ReadyQueue } from "./ready-queue.ts";
import { Timeline } from "./timeline.ts";

export type { PhaseTransfer } from "./prepare.ts";

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
}

/** Columns, one entry per activity; by transfer, its send first. Intervals are half-open. */
export interface PhaseActivities {
  readonly count: number;
  /** Index into the transfers. */
  readonly transfer: Int32Array;
  readonly tile: Int32Array;
  readonly kind: Uint8Array;
  /** Of a send when words leave, of a receive when they are written to memory. */
  readonly start: Int32Array;
  readonly end: Int32Array;
  /** The activity's last event; until then its memory element is taken. */
  readonly horizon: Int32Array;
}

export interface PhaseOptions {
  /** A tile does not send from and receive into one memory element at once. On by default. */
  readonly keepElementsApart?: boolean;
}

/**
 * Orders the transfers of a phase and times them, as the public compiler's list scheduling does: of the
 * transfers that wait for no other, always the one that can start earliest, the busier endpoints first. No
 * transfer is longer than the target's largest: see `cutTransfers`.
 *
 * @param tiles the program's tiles: none from this number on takes part
 * @throws SimError `EXCHANGE_INVALID` on a transfer that the fabric cannot carry
 * @see docs/exchange.md; IS crates/ipu-codegen/src/exchange.rs; test/golden/schedules.json.gz
 */
export function schedulePhase(
  transfers: readonly PhaseTransfer[],
  target: Target,
  tiles: number = target.tiles,
  { keepElementsApart = true }: PhaseOptions = {},
): PhaseSchedule {
  const phase = preparePhase(transfers, target, tiles);
  const timeline = new Timeline(phase, target, keepElementsApart);
  const queue = new ReadyQueue(phase, timeline);
  for (let i = queue.next(); i >= 0; i = queue.next()) {
    timeline.place(i, timeline.earliest(i));
    queue.placed(i);
  }
  return scheduleOf(phase, target, timeline, tiles);
}

/** The same transfers in pieces that the fabric carries: none longer than the target's largest. */
export function cutTransfers(
  target: Target,
  transfers: readonly PhaseTransfer[],
): readonly PhaseTransfer[] {
  const most = target.exchange.maxTransferWords;
  if (transfers.every(({ words }) => words <= most)) return transfers;
  return transfers.flatMap((transfer) => {
    const { words, destinations } = transfer;
    if (words <= most) return [transfer];
    return Array.from({ length: Math.ceil(words / most) }, (_, piece): PhaseTransfer => {
      const first = piece * most;
      const bytes = 4 * first;
      return {
        ...transfer,
        address: address(transfer.address + bytes),
        words: Math.min(most, words - first),
        destinations: destinations.map(({ tiles, address: at }) => ({
          tiles,
          address: address(at + bytes),
        })),
      };
    });
  });
}

function scheduleOf(
  phase: PreparedPhase,
  target: Target,
  { origins, horizons }: Timeline,
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
    get activities() {
      return (activities ??= activitiesOf(phase, target, origins));
    },
  };
}

function activitiesOf(phase: PreparedPhase, target: Target, origins: Int32Array): PhaseActivities {
  const { count, source, items, isWide, advance, lead, firstSlot, receiver, writeAt } = phase;
  const { minSenderEvents, receiveTail } = target.exchange;
  let length = count + firstSlot[count];
  for (let i = 0; i < count; i++) length += isWide[i];
  const transfer = new Int32Array(length);
  const tile = new Int32Array(length);
  const kind = new Uint8Array(length);
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
  return { count: length, transfer, tile, kind, start, end, horizon };
}
