import { SimError } from "../base/errors.ts";
import { address, type Address } from "../base/units.ts";
import type { MemoryClass } from "../layouts/layout.ts";
import type { Target } from "../target/target.ts";

/**
 * A buffer to be placed at one address on all its tiles. Lifetimes are step indices, both ends included:
 * two buffers may share bytes when no step needs both.
 */
export interface Wanted {
  readonly name: string;
  readonly bytes: number;
  readonly alignment: number;
  /** `interleaved` buffers lie in the interleaved region; `standard` ones anywhere. */
  readonly memoryClass: MemoryClass;
  readonly firstStep: number;
  readonly lastStep: number;
  /** Must not cross from one memory element into the next. */
  readonly oneElement: boolean;
  /** Buffers that must share no memory element with this one. */
  readonly apart: ReadonlySet<Wanted>;
  /** The same as a wish: given up where there is no room. */
  readonly ratherApart: ReadonlySet<Wanted>;
}

interface Placed {
  readonly wanted: Wanted;
  readonly start: number;
  readonly end: number;
}

/**
 * Gives each buffer an address: interleaved ones first, then the rest, larger first; each at the lowest
 * place where it fits. Low memory is tried before the interleaved region, which also takes standard data
 * (osmarks/ipu-stack, crates/ipu-codegen/src/place.rs, does the same).
 *
 * @throws SimError `TILE_MEMORY_FULL` with the buffer that found no room
 */
export function place(buffers: readonly Wanted[], target: Target): Map<Wanted, Address> {
  const order = [...buffers].sort(
    (a, b) =>
      Number(b.memoryClass === "interleaved") - Number(a.memoryClass === "interleaved") ||
      b.bytes - a.bytes ||
      a.firstStep - b.firstStep ||
      (a.name < b.name ? -1 : 1),
  );
  const placed: Placed[] = [];
  for (const wanted of order) {
    const start = findPlace(wanted, placed, target);
    placed.push({ wanted, start, end: start + wanted.bytes });
  }
  return new Map(placed.map(({ wanted, start }) => [wanted, address(start)]));
}

function findPlace(wanted: Wanted, placed: readonly Placed[], target: Target): number {
  const { firstData, interleavedBase, lastLoadable } = target.memory;
  const live = placed.filter((other) => overlapInTime(wanted, other.wanted));
  const start = wanted.memoryClass === "interleaved" ? interleavedBase : firstData;
  const candidates = [start, interleavedBase, ...live.map(({ end }) => end)]
    .filter((candidate) => candidate >= start)
    .sort((a, b) => a - b);
  for (const wishes of [true, false]) {
    for (const candidate of candidates) {
      const at = settle(wanted, candidate, live, target, wishes);
      if (at !== null) return at;
    }
  }
  const free = lastLoadable - start - live.reduce((sum, other) => sum + other.wanted.bytes, 0);
  throw new SimError("TILE_MEMORY_FULL", {
    what:
      `${wanted.name} needs ${wanted.bytes} B of ${wanted.memoryClass} memory beside ` +
      `${live.length} live buffers (${live.map((other) => `${other.wanted.name} ${other.wanted.bytes} B`).join(", ")}); ` +
      `at most ${Math.max(0, free)} B are free, and no piece is large enough`,
    where: { buffer: wanted.name, needed: wanted.bytes, free: Math.max(0, free) },
    fix: "Spread the operation over more tiles, or make the operands of one tile smaller",
  });
}

/** The lowest legal place at or after `from` that only alignment and elements push it to; null: none. */
function settle(
  wanted: Wanted,
  from: number,
  live: readonly Placed[],
  target: Target,
  wishes: boolean,
): number | null {
  const { interleavedBase, lastLoadable } = target.memory;
  let at = roundUp(from, wanted.alignment);
  // Each turn jumps past one obstacle, and obstacles lie at rising addresses.
  for (let turn = 0; turn <= 4 * live.length + 4; turn++) {
    const end = at + wanted.bytes;
    if (end > lastLoadable) return null;
    const obstacle = obstacleAt(wanted, at, end, live, target, wishes);
    if (obstacle === null) {
      // A standard buffer may span the border of the regions: only 16-byte loads care.
      return at < interleavedBase && wanted.memoryClass === "interleaved" ? null : at;
    }
    at = roundUp(obstacle, wanted.alignment);
  }
  return null;
}

/** Where to go on searching when [at, end) is not free; null when it is. */
function obstacleAt(
  wanted: Wanted,
  at: number,
  end: number,
  live: readonly Placed[],
  target: Target,
  wishes: boolean,
): number | null {
  for (const other of live) {
    if (at < other.end && other.start < end) return other.end;
    const isApart =
      wanted.apart.has(other.wanted) || (wishes && wanted.ratherApart.has(other.wanted));
    if (isApart) {
      const lastOfOther = elementStart(other.end - 1, target);
      const sharesElement =
        elementStart(at, target) <= lastOfOther &&
        elementStart(other.start, target) <= elementStart(end - 1, target);
      if (sharesElement) return lastOfOther + elementBytes(other.end - 1, target);
    }
  }
  if (wanted.oneElement && wanted.bytes <= elementBytes(at, target)) {
    const next = elementStart(at, target) + elementBytes(at, target);
    if (end > next) return next;
  }
  return null;
}

function overlapInTime(a: Wanted, b: Wanted): boolean {
  return a.firstStep <= b.lastStep && b.firstStep <= a.lastStep;
}

function elementBytes(at: number, { memory }: Target): number {
  return at < memory.interleavedBase ? memory.elementBytes : memory.interleavedElementBytes;
}

/** Address of the memory element that holds byte `at`. */
function elementStart(at: number, target: Target): number {
  const { interleavedBase } = target.memory;
  const size = elementBytes(at, target);
  const origin = at < interleavedBase ? 0 : interleavedBase;
  return origin + Math.floor((at - origin) / size) * size;
}

function roundUp(value: number, multiple: number): number {
  return Math.ceil(value / multiple) * multiple;
}
