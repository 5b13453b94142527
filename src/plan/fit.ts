import { SimError, type Code } from "../base/errors.ts";
import { BYTES_PER_ELEMENT } from "../numerics/dtype.ts";
import type { Schedule } from "../sim/schedule.ts";
import type { Target } from "../target/target.ts";
import { PANEL, partUnits } from "./lower-gemm.ts";
import { plan } from "./plan.ts";
import type { GemmOperation, Program } from "./program.ts";
import { inferTypes } from "./shapes.ts";

export interface Planned {
  /** With the grids that were planned. */
  readonly program: Program;
  readonly schedule: Schedule;
}

/** Programs that are planned in vain before a search is given up: some seconds on all tiles. */
const MOST_TRIES = 32;

/**
 * A program as a schedule; where it does not fit in tile memory, the first of `regridded` that does.
 *
 * @param ownGrids what its user can do to choose grids, for the error's remedy
 * @throws SimError as `plan`; where nothing fits, that of the program as it was given
 */
export function planFitting(program: Program, target: Target, ownGrids: string): Planned {
  try {
    return { program, schedule: plan(program, target) };
  } catch (error) {
    if (!hasCode(error, "TILE_MEMORY_FULL")) throw error;
    const others = regridded(program, target);
    for (const other of others) {
      try {
        return { program: other, schedule: plan(other, target) };
      } catch (otherError) {
        if (!hasCode(otherError, "TILE_MEMORY_FULL", "PLAN_DOES_NOT_FIT")) throw otherError;
      }
    }
    if (!program.operations.some(({ kind }) => kind === "gemm")) throw error;
    const { what, where, fix } = error.fault;
    const tried =
      others.length === 0 ? "no other grid could fit" : `nor do ${others.length} other grids fit`;
    throw new SimError(
      error.code,
      { what: `${what}; ${tried}`, where, fix: `${fix}; ${ownGrids}` },
      { cause: error },
    );
  }
}

function hasCode(error: unknown, ...codes: readonly Code[]): error is SimError {
  return error instanceof SimError && codes.includes(error.code);
}

/** Of a program and its regridded forms the one that has a schedule's grids; the program itself where none has. */
export function plannedFrom(program: Program, schedule: Schedule, target: Target): Program {
  const all = [program, ...regridded(program, target)];
  return all.find((one) => hasGridsOf(schedule, one)) ?? program;
}

/** Whether a schedule's gemms are cut as the program says, told by how the weights are spread. */
export function hasGridsOf(schedule: Schedule, { operations }: Program): boolean {
  return operations.every((operation) => {
    if (operation.kind !== "gemm") return true;
    const weights = schedule.inputs.find(({ name }) => name === operation.right);
    if (!weights) return true;
    const { replicas, axes } = weights.layout.tiling;
    const parts = axes.map(({ partitions }) => partitions);
    const { m, n, k } = operation.grid;
    return replicas === m && parts.join() === [k, n].join();
  });
}

/** One way to cut a gemm. */
interface Choice {
  readonly grid: GemmOperation["grid"];
  /** About what it takes: products of the busiest tile, words that it receives. */
  readonly cycles: number;
  /** Of one tile, in all of its memory and in the interleaved part of it. */
  readonly bytes: Need;
  readonly interleaved: Need;
}

interface Need {
  /** The right operand, which a program holds from its start. */
  readonly held: number;
  /** The left operand and the results, while the gemm runs. */
  readonly passing: number;
}

/**
 * The program with other grids, gemms of one shape cut alike: fewest estimated cycles first, none whose operands
 * and results alone are more than a tile has, at most `MOST_TRIES`.
 */
function regridded(program: Program, target: Target): Program[] {
  const types = inferTypes(program);
  const shapeOf = (name: string): readonly number[] => types.get(name)?.shape ?? [];
  const keyOf = ({ left, right, orientation, weights }: GemmOperation): string =>
    JSON.stringify([shapeOf(left), shapeOf(right), orientation, weights]);
  const groups = new Map<string, GemmOperation[]>();
  for (const operation of program.operations) {
    if (operation.kind !== "gemm") continue;
    const key = keyOf(operation);
    groups.set(key, [...(groups.get(key) ?? []), operation]);
  }
  const counts = [...groups.values()].map(({ length }) => length);
  let plans: (readonly Choice[])[] = groups.size === 0 ? [] : [[]];
  for (const [first] of groups.values()) {
    const choices = choicesFor(first, shapeOf(first.left), shapeOf(first.right), program.tiles);
    plans = plans
      .flatMap((chosen) => choices.map((choice) => [...chosen, choice]))
      .filter((chosen) => couldFit(chosen, counts, target));
  }
  const cyclesOf = (chosen: readonly Choice[]): number =>
    chosen.reduce((sum, { cycles }, group) => sum + cycles * counts[group], 0);
  const keys = [...groups.keys()];
  return plans
    .sort((a, b) => cyclesOf(a) - cyclesOf(b))
    .slice(0, MOST_TRIES)
    .map((chosen) => ({
      ...program,
      operations: program.operations.map((operation) =>
        operation.kind === "gemm"
          ? { ...operation, grid: chosen[keys.indexOf(keyOf(operation))].grid }
          : operation,
      ),
    }));
}

function couldFit(
  chosen: readonly Choice[],
  counts: readonly number[],
  { memory: { firstData, interleavedBase, lastLoadable } }: Target,
): boolean {
  const most = (of: (choice: Choice) => Need): number =>
    chosen.reduce((sum, choice, group) => sum + of(choice).held * counts[group], 0) +
    Math.max(...chosen.map((choice) => of(choice).passing));
  return (
    most(({ bytes }) => bytes) <= lastLoadable - firstData &&
    most(({ interleaved }) => interleaved) <= lastLoadable - interleavedBase
  );
}

/** Products of two halves that the AMP unit adds in a cycle. */
const PRODUCTS_PER_CYCLE = 64;
const WORD = 4;

/**
 * Ways to cut a gemm over the tiles: rows and inner length into every number of parts, columns into as many as there
 * are tiles left. Numbers of parts with the same largest part count as one, the least; ways that another beats, or
 * meets, in cycles and in bytes are left out.
 */
function choicesFor(
  operation: GemmOperation,
  left: readonly number[],
  right: readonly number[],
  tiles: number,
): Choice[] {
  const [rows, inner] = left.slice(-2);
  const columns = right[right.length - 1];
  const { rowUnit, columnUnit } = partUnits(operation.orientation);
  const units = {
    m: Math.ceil(rows / rowUnit),
    n: Math.ceil(columns / columnUnit),
    k: Math.ceil(inner / PANEL),
  };
  const choices: Choice[] = [];
  for (const m of partCounts(units.m, tiles)) {
    for (const k of partCounts(units.k, Math.floor(tiles / m))) {
      const n = Math.min(units.n, Math.floor(tiles / (m * k)));
      const part = {
        rows: Math.ceil(units.m / m) * rowUnit,
        columns: Math.ceil(units.n / n) * columnUnit,
        inner: Math.ceil(units.k / k) * PANEL,
      };
      choices.push(choiceOf(operation, { m, n, k }, part));
    }
  }
  return choices.filter(
    (choice, index) =>
      !choices.some(
        (other, at) =>
          at !== index &&
          other.cycles <= choice.cycles &&
          other.bytes.held <= choice.bytes.held &&
          other.bytes.passing <= choice.bytes.passing,
      ),
  );
}

function choiceOf(
  { orientation, weights }: GemmOperation,
  grid: GemmOperation["grid"],
  part: { readonly rows: number; readonly columns: number; readonly inner: number },
): Choice {
  const size = BYTES_PER_ELEMENT.f16;
  const left = part.rows * part.inner * size;
  const right = part.inner * part.columns * size;
  const result = part.rows * part.columns * size;
  // A result that is added up stands beside its partials, on the owner in two places.
  const partials = grid.k > 1 ? (grid.k + 1) * result : 0;
  const [fastLeft, fastRight] =
    weights === "standard" ? [0, 0] : orientation === "swapped" ? [left, 0] : [0, right];
  return {
    grid,
    cycles:
      (part.rows * part.columns * part.inner) / PRODUCTS_PER_CYCLE +
      (left + (grid.k - 1) * result) / WORD,
    bytes: { held: right, passing: Math.max(left + result, partials) },
    interleaved: { held: fastRight, passing: Math.max(fastLeft, result) },
  };
}

/** Numbers of parts up to `most`, of each size of the largest part the least. */
function partCounts(units: number, most: number): number[] {
  const counts: number[] = [];
  for (let parts = 1; parts <= Math.min(units, most);) {
    counts.push(parts);
    const largest = Math.ceil(units / parts);
    if (largest === 1) break;
    parts = Math.ceil(units / (largest - 1));
  }
  return counts;
}
