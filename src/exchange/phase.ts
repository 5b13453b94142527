import { address } from "../base/units.ts";
import type { Target } from "../target/target.ts";
import { scheduleOf, type PhaseSchedule } from "./phase-schedule.ts";
import { preparePhase, type PhaseTransfer, type PreparedPhase } from "./prepare.ts";
import { ReadyQueue } from "./ready-queue.ts";
import { Timeline } from "./timeline.ts";

export { ACTIVITY_KINDS, type PhaseSchedule } from "./phase-schedule.ts";
export type { PhaseTransfer } from "./prepare.ts";

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
  const order = placeInListOrder(phase, timeline);
  return scheduleOf(phase, target, timeline, order, tiles);
}

/** Places all transfers and gives their order. */
export function placeInListOrder(phase: PreparedPhase, timeline: Timeline): Int32Array {
  const order = new Int32Array(phase.count);
  const queue = new ReadyQueue(phase, timeline);
  let placed = 0;
  for (let i = queue.next(); i >= 0; i = queue.next()) {
    timeline.place(i, timeline.earliest(i));
    queue.placed(i);
    order[placed++] = i;
  }
  return order;
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
