import { executed, type Schedule } from "./schedule.ts";
import type { Timing } from "./timing.ts";

/** Work of one call on the tile that all others waited for. */
export interface CriticalStep {
  readonly operation: string;
  readonly kernel: string;
  readonly cycles: number;
}

/**
 * What decides the end between two syncs: one tile, from when it heard of a phase's release to its arrival at the
 * next phase, or to the end.
 */
export interface CriticalSegment {
  /** Logical. */
  readonly tile: number;
  /** The exchange phase that it begins with; null: the program's start. */
  readonly phase: number | null;
  /** From the arrival of the tile before it to the release's coming here: the barrier and the ways. */
  readonly boundaryCycles: number;
  /** The tile's own part of the phase. */
  readonly exchangeCycles: number;
  readonly workCycles: number;
  readonly work: readonly CriticalStep[];
}

/** How much later tiles could have signalled at a phase without moving its release. */
export interface PhaseSlack {
  readonly phase: number;
  readonly median: number;
  readonly most: number;
}

export interface CriticalPath {
  /** From the start on; all their cycles add up to the total. */
  readonly segments: readonly CriticalSegment[];
  readonly phases: readonly PhaseSlack[];
  /** For each logical tile the least of its slacks at any phase and at the end: it could be that much slower anywhere. */
  readonly slack: readonly number[];
}

/**
 * The chain of tiles that decides when a schedule ends, across supersteps: the tile that ends last, before it the one
 * whose signal released the last phase, and so on to the start.
 */
export function criticalPath(schedule: Schedule, timing: Timing): CriticalPath {
  const { phases, ledger, starts, ends, total } = timing;
  const finish = lastEnds(timing, schedule.tiles);
  const lastTile = finish.indexOf(finish.reduce((most, end) => Math.max(most, end), 0));
  if (lastTile < 0) return { segments: [], phases: [], slack: [] };
  const owners = [...phases.map((phase) => phase.lastTile), lastTile];
  const work = workOf(schedule, timing, owners);
  // Executed steps that are exchanges, by phase.
  const exchangeAt = [...executed(schedule.steps)].flatMap((step, index) =>
    step.kind === "exchange" ? [index] : [],
  );
  const arrivals = owners.map((tile, i) => {
    const begin = i === 0 ? starts[tile] : ends[exchangeAt[i - 1]][tile];
    return begin + sum(work[i]);
  });
  return {
    segments: owners.map((tile, i) => ({
      tile,
      phase: i === 0 ? null : i - 1,
      boundaryCycles:
        i === 0 ? starts[tile] : heard(timing, exchangeAt, i - 1, tile) - arrivals[i - 1],
      exchangeCycles:
        i === 0 ? 0 : ends[exchangeAt[i - 1]][tile] - heard(timing, exchangeAt, i - 1, tile),
      workCycles: sum(work[i]),
      work: work[i],
    })),
    phases: phases.map(({ slack }, phase) => {
      const sorted = [...slack].sort((a, b) => a - b);
      return { phase, median: sorted[sorted.length >> 1], most: sorted[sorted.length - 1] };
    }),
    slack: Array.from(ledger.clock, (_, tile) =>
      phases.reduce((least, { slack }) => Math.min(least, slack[tile]), total - finish[tile]),
    ),
  };
}

/** When each tile's last step ended; idling is none. */
function lastEnds({ starts, ends }: Timing, tiles: number): number[] {
  return Array.from({ length: tiles }, (_, tile) =>
    ends.reduce((last, end) => Math.max(last, end[tile]), starts[tile]),
  );
}

/** When a tile went on from a sync: with its part of the phase, or with its next step if it has none. */
function heard(
  { phases, ends }: Timing,
  exchangeAt: readonly number[],
  phase: number,
  tile: number,
): number {
  const { releases, schedule } = phases[phase];
  return schedule.horizons[tile] > 0 ? releases[tile] : ends[exchangeAt[phase]][tile];
}

/** The calls of each segment on its tile. */
function workOf(schedule: Schedule, timing: Timing, owners: readonly number[]): CriticalStep[][] {
  const costs = new Map(timing.kernels.map(({ call, cost }) => [call, cost.cycles]));
  const segments: CriticalStep[][] = owners.map(() => []);
  let segment = 0;
  for (const step of executed(schedule.steps)) {
    if (step.kind === "exchange") {
      segment++;
      continue;
    }
    const tile = owners[segment];
    for (const call of step.calls) {
      if (!call.tiles.some((own) => own === tile)) continue;
      const { operation, kernel } = call;
      segments[segment].push({ operation, kernel, cycles: costs.get(call) ?? 0 });
    }
  }
  return segments;
}

function sum(steps: readonly CriticalStep[]): number {
  return steps.reduce((total, { cycles }) => total + cycles, 0);
}
