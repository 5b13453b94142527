import type { TileId } from "../../src/base/units.ts";
import type { PhaseTransfer } from "../../src/exchange/phase.ts";
import { elementOf } from "../../src/target/ipu21.ts";
import type { Target } from "../../src/target/target.ts";
import type { SlowActivity } from "./slow-phase.ts";

/** An activity with the bytes that it reads or writes on its tile. */
interface Access extends SlowActivity {
  readonly first: number;
  readonly last: number;
}

/** What a schedule does that no phase may: empty for a sound one, in whatever order its transfers go. */
export function phaseFaults(
  transfers: readonly PhaseTransfer[],
  activities: readonly SlowActivity[],
  target: Target,
): string[] {
  const faults: string[] = [];
  const byTile = new Map<TileId, Access[]>();
  for (const activity of activities) {
    const { address, destinations, words } = transfers[activity.transfer];
    const first =
      activity.kind === "receive"
        ? destinations.find(({ tiles }) => tiles.includes(activity.tile))?.address
        : address;
    if (first === undefined) faults.push(`transfer ${activity.transfer} goes to ${activity.tile}`);
    const access = { ...activity, first: first ?? 0, last: (first ?? 0) + 4 * words - 1 };
    byTile.set(activity.tile, [...(byTile.get(activity.tile) ?? []), access]);
  }
  const expected = transfers.reduce(
    (sum, { width, destinations }) =>
      sum + (width === 64 ? 2 : 1) + destinations.reduce((n, { tiles }) => n + tiles.length, 0),
    0,
  );
  if (activities.length !== expected) faults.push(`${activities.length} activities of ${expected}`);
  for (const accesses of byTile.values()) {
    for (const a of accesses) {
      for (const b of accesses) if (a !== b) faults.push(...pairFaults(a, b, target));
    }
  }
  return faults;
}

function pairFaults(a: Access, b: Access, target: Target): string[] {
  const named = `${a.kind} of ${a.transfer} and ${b.kind} of ${b.transfer} on tile ${a.tile}`;
  const faults: string[] = [];
  const sameSide = a.kind === b.kind || a.kind === "partnerBusy";
  if (sameSide && a.start < b.end && b.start < a.end) faults.push(`at one time: ${named}`);
  if (a.kind === "partnerBusy" || b.kind === "partnerBusy") return faults;
  const writes = a.kind === "receive" || b.kind === "receive";
  const shareBytes = a.first <= b.last && b.first <= a.last;
  if (writes && shareBytes && a.transfer < b.transfer && b.start < a.end) {
    faults.push(`out of turn: ${named}`);
  }
  const shareElement =
    elementOf(target, a.first) <= elementOf(target, b.last) &&
    elementOf(target, b.first) <= elementOf(target, a.last);
  if (
    a.kind === "send" &&
    b.kind === "receive" &&
    shareElement &&
    a.start < b.horizon &&
    b.start < a.horizon
  ) {
    faults.push(`in one element: ${named}`);
  }
  return faults;
}
