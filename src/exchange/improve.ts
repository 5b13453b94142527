import type { Target } from "../target/target.ts";
import { placeInListOrder, type PhaseOptions } from "./phase.ts";
import { chainBoundOf, scheduleOf, type PhaseSchedule } from "./phase-schedule.ts";
import { preparePhase, type PhaseTransfer, type PreparedPhase } from "./prepare.ts";
import { Timeline } from "./timeline.ts";

export interface ImproveOptions extends PhaseOptions {
  /** Most times that the order is made better. By default as often as the public compiler seems to. */
  readonly rounds?: number;
}

export interface ImprovedPhase extends PhaseSchedule {
  /** Times that the order was made better: 0 is the schedule of `schedulePhase`. */
  readonly improvements: number;
}

/**
 * Rounds by default: this over the transfers, at least one. `assumed`: it agrees with all that is known, for it
 * gives the event cycles of both recorded phases that list scheduling alone does not, 1,661 of 1,518
 * transfers and 4,395 of 734, and leaves every golden schedule as it is.
 */
const DEFAULT_WORK = 2048;

/** An order in which all transfers were placed, and where that led. */
interface Placed {
  readonly order: Int32Array;
  readonly timeline: Timeline;
  readonly eventCycles: number;
}

/**
 * `schedulePhase`, then repairs: along the chain of transfers that the end of the phase waits for, from its
 * end, a transfer is placed before the one it waits for; the first such move that shortens the phase is
 * kept, and the next round begins with the new chain. A phase whose list order is no longer than its
 * `chainBound` is left alone.
 *
 * @throws SimError `EXCHANGE_INVALID`
 * @see docs/exchange.md
 */
export function improvePhase(
  transfers: readonly PhaseTransfer[],
  target: Target,
  tiles: number = target.tiles,
  {
    keepElementsApart = true,
    rounds = Math.max(1, Math.floor(DEFAULT_WORK / transfers.length)),
  }: ImproveOptions = {},
): ImprovedPhase {
  const phase = preparePhase(transfers, target, tiles);
  const timeline = new Timeline(phase, target, keepElementsApart);
  const order = placeInListOrder(phase, timeline);
  let best: Placed = { order, timeline, eventCycles: lastEvent(timeline) };
  const bound = chainBoundOf(phase, target);
  let improvements = 0;
  while (improvements < rounds && best.eventCycles > bound) {
    const better = repair(phase, best, () => new Timeline(phase, target, keepElementsApart));
    if (better === null) break;
    best = better;
    improvements++;
  }
  return Object.assign(scheduleOf(phase, target, best.timeline, best.order, tiles), {
    improvements,
  });
}

/** The first shorter placement that moves one transfer of the critical chain before its blocker; or null. */
function repair(phase: PreparedPhase, placed: Placed, fresh: () => Timeline): Placed | null {
  const places = new Int32Array(phase.count);
  for (let place = 0; place < phase.count; place++) places[placed.order[place]] = place;
  let last = lastTransfer(phase, placed);
  for (;;) {
    const blocker = blockerOf(phase, placed, places[last]);
    if (blocker < 0) return null;
    if (canMove(phase, placed.order, places[blocker], places[last])) {
      const order = moved(placed.order, places[last], places[blocker]);
      const timeline = fresh();
      for (const i of order) timeline.place(i, timeline.earliest(i));
      const eventCycles = lastEvent(timeline);
      if (eventCycles < placed.eventCycles) return { order, timeline, eventCycles };
    }
    last = blocker;
  }
}

/** The transfer that ends last: lowest index among equals. */
function lastTransfer(phase: PreparedPhase, { timeline }: Placed): number {
  const { count, items, advance, firstSlot, writeAt } = phase;
  let last = -1;
  let end = -1;
  for (let i = 0; i < count; i++) {
    for (let slot = firstSlot[i]; slot < firstSlot[i + 1]; slot++) {
      const written = timeline.origins[i] + writeAt[slot] + items[i] + advance[i];
      if (written <= end) continue;
      end = written;
      last = i;
    }
  }
  return last;
}

/**
 * Of the transfers placed before the one at `place` that share a tile with it, and were over there when it
 * began, the one that was over last; -1: none.
 */
function blockerOf(phase: PreparedPhase, { order, timeline }: Placed, place: number): number {
  const { tiles, source, firstSlot, receiver, lead, writeAt } = phase;
  const { origins } = timeline;
  const blocked = order[place];
  // When the blocked transfer begins on each of its tiles.
  const beginAt = new Int32Array(tiles).fill(-1);
  beginAt[source[blocked]] = origins[blocked] + lead[blocked];
  for (let slot = firstSlot[blocked]; slot < firstSlot[blocked + 1]; slot++) {
    beginAt[receiver[slot]] = origins[blocked] + writeAt[slot];
  }
  let blocker = -1;
  let latest = -1;
  const look = (i: number, tile: number, end: number): void => {
    if (end > beginAt[tile] || end <= latest) return;
    latest = end;
    blocker = i;
  };
  for (let before = 0; before < place; before++) {
    const i = order[before];
    const end = origins[i] + phase.items[i];
    look(i, source[i], end + lead[i]);
    if (phase.isWide[i]) look(i, source[i] ^ 1, end + lead[i]);
    for (let slot = firstSlot[i]; slot < firstSlot[i + 1]; slot++) {
      look(i, receiver[slot], end + writeAt[slot]);
    }
  }
  return blocker;
}

/** Whether the transfer at `from` waits for none of those at [to, from). */
function canMove({ hazards }: PreparedPhase, order: Int32Array, to: number, from: number): boolean {
  const { firstEdge, later, waits } = hazards;
  if (waits[order[from]] === 0) return true;
  for (let place = to; place < from; place++) {
    const i = order[place];
    for (let edge = firstEdge[i]; edge < firstEdge[i + 1]; edge++) {
      if (later[edge] === order[from]) return false;
    }
  }
  return true;
}

/** The order with its entry at `from` put at `to`, before it. */
function moved(order: Int32Array, from: number, to: number): Int32Array {
  const next = order.slice();
  next.copyWithin(to + 1, to, from);
  next[to] = order[from];
  return next;
}

function lastEvent({ horizons }: Timeline): number {
  let last = 0;
  for (const horizon of horizons) if (horizon > last) last = horizon;
  return last;
}
