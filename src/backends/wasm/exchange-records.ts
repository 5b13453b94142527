import type { MemoryMap } from "../../kernels/backend.ts";
import type { Transfer } from "../../kernels/exchange.ts";
import { offsetOf } from "./landings.ts";
import { OPERATION, RECORD_WORDS } from "./records.ts";

/** Copies of one exchange: those that save a source before it is written over, then those that land. */
export interface ExchangeRecords {
  readonly staged: Int32Array;
  readonly records: Int32Array;
}

/**
 * All reads before all writes: a source that the same phase writes over is saved first; the others are read
 * where they are.
 */
export function exchangeRecords(
  transfers: readonly Transfer[],
  map: MemoryMap,
  allocate: (bytes: number) => number,
): ExchangeRecords {
  const at = (tile: number, address: number): number => offsetOf(map, tile, address);
  const landings = landingsByTile(transfers);
  const saves: number[] = [];
  const copies = new Int32Array(
    RECORD_WORDS *
      transfers.reduce(
        (sum, { destinations }) =>
          sum + destinations.reduce((inner, { tiles }) => inner + tiles.length, 0),
        0,
      ),
  );
  let next = 0;
  for (const { source, address, words, destinations } of transfers) {
    const bytes = 4 * words;
    let from = at(source, address);
    if (isWrittenOver(landings.get(source), address, address + bytes)) {
      const saved = allocate(bytes);
      saves.push(OPERATION.copy, saved, from, 0, 1, bytes, bytes, bytes, ...SPARE);
      from = saved;
    }
    for (const { tiles, address: landing } of destinations) {
      for (const tile of tiles) {
        copies[next] = OPERATION.copy;
        copies[next + 1] = at(tile, landing);
        copies[next + 2] = from;
        copies[next + 4] = 1;
        copies[next + 5] = bytes;
        copies[next + 6] = bytes;
        copies[next + 7] = bytes;
        next += RECORD_WORDS;
      }
    }
  }
  return { staged: Int32Array.from(saves), records: copies };
}

/** The words of a record that a copy does not use. */
const SPARE: readonly number[] = Array.from({ length: RECORD_WORDS - 8 }, () => 0);

/** Where transfers land on the tiles that also send: [start, end) pairs. */
function landingsByTile(transfers: readonly Transfer[]): Map<number, number[]> {
  const landings = new Map<number, number[]>(transfers.map(({ source }) => [source, []]));
  for (const { words, destinations } of transfers) {
    for (const { tiles, address } of destinations) {
      for (const tile of tiles) landings.get(tile)?.push(address, address + 4 * words);
    }
  }
  return landings;
}

function isWrittenOver(
  landings: readonly number[] | undefined,
  start: number,
  end: number,
): boolean {
  if (!landings) return false;
  for (let i = 0; i < landings.length; i += 2) {
    if (landings[i] < end && start < landings[i + 1]) return true;
  }
  return false;
}
