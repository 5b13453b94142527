import type { KernelCall } from "../kernels/call.ts";
import { kernelOf } from "../kernels/registry.ts";
import type { Cost } from "../kernels/kernel.ts";
import { improvePhase } from "../exchange/improve.ts";
import { schedulePhase, type PhaseSchedule } from "../exchange/phase.ts";
import { tileId } from "../base/units.ts";
import type { Target } from "../target/target.ts";
import { physicalOf, syncWay } from "../target/topology.ts";
import { CycleLedger } from "./cycle-ledger.ts";
import { executed } from "./schedule.ts";
import type { ExchangeStep, Schedule, Step } from "./schedule.ts";

/**
 * How the transfers of a phase are ordered. `compiler`: list scheduling, then the repairs of its critical chain, as
 * osmarks/ipu-stack does; `list`: list scheduling alone.
 */
export type ExchangeOrder = "compiler" | "list";

/** The cycles of a schedule on a target: nothing here depends on data or on a backend. */
export interface Timing {
  readonly ledger: CycleLedger;
  /** From the first start to the last end. */
  readonly total: number;
  /** One entry per distinct call: what it costs, once. */
  readonly kernels: readonly KernelTiming[];
  /** One entry per exchange step, in order of execution. */
  readonly phases: readonly PhaseTiming[];
  /** When each tile began its first step. */
  readonly starts: Int32Array;
  /** When each tile's step ended, step by step: [executed step][tile]; -1 where the tile had no part. */
  readonly ends: readonly Int32Array[];
}

export interface KernelTiming {
  readonly call: KernelCall;
  readonly cost: Cost;
  /** Samples of the run: tiles that make the call, repeats counted each time. */
  readonly samples: number;
}

export interface PhaseTiming {
  readonly step: ExchangeStep;
  readonly schedule: PhaseSchedule;
  /** The phase's row is shared with another phase and patched before use (F4.8). */
  readonly isPatched: boolean;
  /** When the last tile arrived. */
  readonly arrival: number;
  /** The tile whose signal came last, the lowest of several; -1: no tiles. */
  readonly lastTile: number;
  /** Cycles by which each tile's signal came before the last one: it could have arrived that much later. */
  readonly slack: Int32Array;
  /** When each tile hears of the release. */
  readonly releases: Int32Array;
}

/**
 * Runs the clock of every tile (F5.7): a compute step adds its sample's cycles; an exchange waits for the last
 * tile's signal, and each tile goes on when the release has come to it and its own part is over, at the next
 * turn of the worker that reads the counter. Clocks count from the first tile's start.
 *
 * A tile's signal leaves with its arrival, or when its row is patched, and takes its way to the root of the sync
 * network; when the last one is there the release takes each tile's way back:
 *
 *   release[t] = max over u of (arrival[u] + patch[u] + way[u]) + barrier + way[t]
 *   end[t] = the first turn from release[t] + horizon[t] on
 */
export function timeSchedule(
  schedule: Schedule,
  target: Target,
  order: ExchangeOrder = "compiler",
): Timing {
  const { tiles } = schedule;
  const ledger = new CycleLedger(tiles);
  const { timing } = target;
  const ways = Array.from({ length: tiles }, (_, tile) =>
    syncWay(target, physicalOf(target, tileId(tile))),
  );
  const atTurn = (time: number): number =>
    Math.ceil(time / timing.cyclesPerBundle) * timing.cyclesPerBundle;
  const entries = Int32Array.from(ways, (way) => atTurn(timing.entry + way));
  const first = entries.reduce((least, entry) => Math.min(least, entry), entries[0]);
  const starts = entries.map((entry) => entry - first);
  starts.forEach((start, tile) => ledger.spend(tile, "idle", start));
  const kernels = new Map<KernelCall, { cost: Cost; samples: number }>();
  const phases: PhaseTiming[] = [];
  const ends: Int32Array[] = [];
  const shared = sharedRows(schedule.steps);
  // Phases with the same transfers between the same addresses take the same time.
  const scheduled = new Map<string, PhaseSchedule>();
  const scheduleOf = order === "compiler" ? improvePhase : schedulePhase;

  const compute = (calls: readonly KernelCall[]): void => {
    const end = new Int32Array(tiles).fill(-1);
    for (const call of calls) {
      let entry = kernels.get(call);
      if (!entry) {
        const cost = kernelOf(call.spec).cost(call.spec, call.invocations.length, target);
        kernels.set(call, (entry = { cost, samples: 0 }));
      }
      entry.samples += call.tiles.length;
      const { kind } = call.spec;
      const activity = kind === "copy" || kind === "fill-zero" ? "copy" : "compute";
      for (const tile of call.tiles) {
        ledger.spend(tile, activity, entry.cost.cycles);
        end[tile] = ledger.clock[tile];
      }
    }
    ends.push(end);
  };

  /** When each tile's signal comes to the root. */
  const signalsOf = (step: ExchangeStep, isPatched: boolean): Int32Array => {
    const receives = isPatched ? receivesOf(step, tiles) : null;
    return Int32Array.from(ways, (way, tile) => {
      const patch = receives ? timing.patchPerReceive * receives[tile] : 0;
      return ledger.clock[tile] + patch + way;
    });
  };

  const exchange = (step: ExchangeStep): void => {
    const key = `${signature(step)} ${addresses(step)}`;
    let phase = scheduled.get(key);
    if (!phase) {
      phase = scheduleOf(step.transfers, target, tiles);
      scheduled.set(key, phase);
    }
    const isPatched = shared.has(step);
    const arrival = ledger.elapsed;
    const signals = signalsOf(step, isPatched);
    const last = signals.reduce((most, signal) => Math.max(most, signal), 0);
    const mixed = phase.horizons.includes(0) ? timing.mixedBarrier : 0;
    const released = last + timing.barrier + (isPatched ? timing.patch : 0) + mixed;
    const releases = new Int32Array(tiles);
    const end = new Int32Array(tiles);
    for (let tile = 0; tile < tiles; tile++) {
      const horizon = phase.horizons[tile];
      const lead = horizon > 0 ? 0 : timing.inactiveLead;
      releases[tile] = released + ways[tile] - lead;
      const start = Math.max(
        ledger.clock[tile],
        horizon > 0 ? releases[tile] : atTurn(releases[tile]),
      );
      ledger.spend(tile, "sync", start - ledger.clock[tile]);
      ledger.spend(tile, "exchange", atTurn(start + horizon) - start);
      end[tile] = ledger.clock[tile];
    }
    const lastTile = signals.indexOf(last);
    const slack = signals.map((signal) => last - signal);
    phases.push({ step, schedule: phase, isPatched, arrival, lastTile, slack, releases });
    ends.push(end);
  };

  for (const step of executed(schedule.steps)) {
    if (step.kind === "compute") compute(step.calls);
    else exchange(step);
  }
  ledger.settle();
  ledger.audit();
  return {
    ledger,
    total: ledger.elapsed,
    kernels: [...kernels].map(([call, entry]) => ({ call, ...entry })),
    phases,
    starts,
    ends,
  };
}

/** How many transfers come to each tile. */
function receivesOf({ transfers }: ExchangeStep, tiles: number): Int32Array {
  const receives = new Int32Array(tiles);
  for (const { destinations } of transfers) {
    for (const { tiles: receivers } of destinations) {
      for (const tile of receivers) receives[tile]++;
    }
  }
  return receives;
}

/**
 * Exchanges whose rows are kept once and patched before each use: those that do the same transfers at the
 * same times as another, or that a repeat runs again; addresses may differ (F4.8).
 */
function sharedRows(steps: readonly Step[]): Set<ExchangeStep> {
  const shared = new Set<ExchangeStep>();
  const firstOf = new Map<string, ExchangeStep>();
  const visit = (items: readonly Step[], isRepeated: boolean): void => {
    for (const step of items) {
      if (step.kind === "repeat") visit(step.body, isRepeated || step.times > 1);
      if (step.kind !== "exchange") continue;
      if (isRepeated) shared.add(step);
      const key = signature(step);
      const first = firstOf.get(key);
      if (!first) {
        firstOf.set(key, step);
        continue;
      }
      shared.add(first);
      shared.add(step);
    }
  };
  visit(steps, false);
  return shared;
}

/** Who sends how many words to whom: what decides a phase's times, beside its hazards. */
function signature({ transfers }: ExchangeStep): string {
  return transfers
    .map(
      ({ source, words, width, destinations }) =>
        `${source}:${words}:${width}:${destinations.map(({ tiles }) => tiles.join(",")).join("+")}`,
    )
    .join(";");
}

/** From where to where, beside `signature`: what decides a phase's hazards. */
function addresses({ transfers }: ExchangeStep): string {
  return transfers
    .map(
      ({ address, destinations }) =>
        `${address}:${destinations.map((destination) => destination.address).join("+")}`,
    )
    .join(";");
}
