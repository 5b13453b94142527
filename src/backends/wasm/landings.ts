import type { MemoryMap } from "../../kernels/backend.ts";
import type { Transfer } from "../../kernels/exchange.ts";

/** Where a byte came from, and for how many bytes from there on the same holds. */
export interface Origin {
  readonly origin: number;
  readonly length: number;
}

/** Bytes up to `end` of an operand: byte i came from shift + i. */
export interface ResolvedRun {
  readonly end: number;
  readonly shift: number;
}

/**
 * Where each byte of the tiles came from in one exchange: its source, or itself where nothing landed. Byte offsets
 * of the shared memory. Only for exchanges that write over none of their sources.
 */
export class Landings {
  /** Landings of tile t: first[t] .. first[t + 1] - 1, by rising start. */
  readonly #first: Int32Array;
  readonly #start: Float64Array;
  readonly #end: Float64Array;
  readonly #source: Float64Array;
  readonly #map: MemoryMap;
  readonly #resolved = new Map<
    number,
    { readonly bytes: number; readonly runs: readonly ResolvedRun[] }
  >();

  constructor(transfers: readonly Transfer[], map: MemoryMap) {
    const { tiles } = map;
    this.#map = map;
    const first = new Int32Array(tiles + 1);
    for (const { destinations } of transfers) {
      for (const destination of destinations) {
        for (const tile of destination.tiles) first[tile + 1]++;
      }
    }
    for (let tile = 0; tile < tiles; tile++) first[tile + 1] += first[tile];
    const count = first[tiles];
    const next = first.slice();
    this.#first = first;
    this.#start = new Float64Array(count);
    this.#end = new Float64Array(count);
    this.#source = new Float64Array(count);
    const byAddress = transfers
      .flatMap(({ source, address, words, destinations }) =>
        destinations.map((destination) => ({
          from: offsetOf(map, source, address),
          bytes: 4 * words,
          ...destination,
        })),
      )
      .sort((a, b) => a.address - b.address);
    for (const { from, bytes, tiles: receivers, address } of byAddress) {
      for (const tile of receivers) {
        const at = next[tile]++;
        const start = offsetOf(map, tile, address);
        this.#start[at] = start;
        this.#end[at] = start + bytes;
        this.#source[at] = from;
      }
    }
  }

  /** Where `bytes` from `at` on came from: runs with one origin each, in order. */
  resolve(at: number, bytes: number): readonly ResolvedRun[] {
    const known = this.#resolved.get(at);
    if (known && known.bytes === bytes) return known.runs;
    const runs: ResolvedRun[] = [];
    for (let done = 0; done < bytes;) {
      const { origin, length } = this.originOf(at + done);
      const end = Math.min(bytes, done + length);
      runs.push({ end, shift: origin - done });
      done = end;
    }
    this.#resolved.set(at, { bytes, runs });
    return runs;
  }

  originOf(at: number): Origin {
    const tile = Math.floor((at - this.#map.origin) / this.#map.tileBytes);
    const start = this.#start;
    // The first landing that ends behind `at`.
    let low = this.#first[tile];
    let high = this.#first[tile + 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#end[middle] > at) high = middle;
      else low = middle + 1;
    }
    if (low === this.#first[tile + 1]) return { origin: at, length: Infinity };
    if (start[low] > at) return { origin: at, length: start[low] - at };
    return { origin: this.#source[low] + at - start[low], length: this.#end[low] - at };
  }
}

/** Where an address of a tile stands in the shared memory. */
export function offsetOf(
  { origin, tileBytes, baseAddress }: MemoryMap,
  tile: number,
  address: number,
): number {
  return origin + tile * tileBytes + (address - baseAddress);
}
