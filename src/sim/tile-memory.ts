import { BackendError, SimError } from "../base/errors.ts";
import type { Address, TileId } from "../base/units.ts";
import type { MemoryMap } from "../kernels/backend.ts";
import type { OperandView } from "../kernels/kernel.ts";
import type { Target } from "../target/target.ts";

/** Low bytes that a backend's code may keep for itself: its stack and data sit there. */
const ORIGIN = 1 << 20;
const PAGE = 65536;
/** A WebAssembly memory's most pages: 4 GiB. */
const MAX_PAGES = 65536;

/**
 * The bytes of all tiles, in one shared WebAssembly memory that the host fills with zeros on first touch:
 * only pages that a run writes or reads are paid for.
 *
 * Every view is checked once, here, for bounds and alignment; loops over a view check nothing.
 */
export class TileMemory implements MemoryMap {
  readonly memory: WebAssembly.Memory;
  readonly tiles: number;
  readonly origin: number = ORIGIN;
  readonly tileBytes: number;
  readonly baseAddress: number;

  /** @throws BackendError `OUT_OF_MEMORY` where the host does not give that much address space. */
  constructor(target: Target, tiles: number) {
    this.tiles = tiles;
    this.tileBytes = target.memory.bytes;
    this.baseAddress = target.memory.base;
    const pages = Math.ceil((ORIGIN + tiles * this.tileBytes) / PAGE);
    if (pages > MAX_PAGES) throw outOfMemory(tiles, pages);
    try {
      this.memory = new WebAssembly.Memory({ initial: pages, maximum: MAX_PAGES, shared: true });
    } catch (cause) {
      throw outOfMemory(tiles, pages, cause);
    }
  }

  /**
   * The bytes [address, address + bytes) of one tile.
   * @throws SimError `OUT_OF_BOUNDS`, `MISALIGNED`
   */
  view(tile: TileId, address: Address, bytes: number, alignment: number): OperandView {
    this.check(tile, address, bytes, alignment);
    const start = this.byteOffset(tile, address);
    const { buffer } = this.memory;
    return {
      u8: new Uint8Array(buffer, start, bytes),
      u16: start % 2 === 0 ? new Uint16Array(buffer, start, bytes >> 1) : new Uint16Array(0),
      f32: start % 4 === 0 ? new Float32Array(buffer, start, bytes >> 2) : new Float32Array(0),
    };
  }

  /** @throws SimError `OUT_OF_BOUNDS`, `MISALIGNED` */
  check(tile: TileId, address: Address, bytes: number, alignment: number): void {
    checkSpan(this, tile, address, bytes, alignment);
  }

  /** Where `address` of `tile` stands in the shared memory, in bytes. */
  byteOffset(tile: TileId, address: Address): number {
    return this.origin + tile * this.tileBytes + (address - this.baseAddress);
  }
}

/** What a tile's memory is, without its bytes: enough to check an access. */
export interface TileBounds {
  readonly tiles: number;
  readonly tileBytes: number;
  readonly baseAddress: number;
}

/**
 * An access of `bytes` at `address` lies in `tile` and is aligned.
 * @throws SimError `OUT_OF_BOUNDS`, `MISALIGNED`
 */
export function checkSpan(
  bounds: TileBounds,
  tile: TileId,
  address: Address,
  bytes: number,
  alignment: number,
): void {
  const { baseAddress, tileBytes, tiles } = bounds;
  const end = baseAddress + tileBytes;
  if (!Number.isInteger(tile) || tile < 0 || tile >= tiles) {
    throw new SimError("OUT_OF_BOUNDS", {
      what: `tile ${tile} is not one of the run's ${tiles} tiles`,
      where: { tile },
      fix: `Name tiles 0 to ${tiles - 1}, or give the run more tiles`,
    });
  }
  if (!Number.isInteger(address) || address < baseAddress || address + bytes > end) {
    throw new SimError("OUT_OF_BOUNDS", {
      what: `${bytes} B at ${hex(address)} leave tile memory ${hex(baseAddress)} .. ${hex(end)}`,
      where: { tile, address, bytes },
      fix: "Place the operand wholly inside tile memory",
    });
  }
  if (address % alignment !== 0) {
    throw new SimError("MISALIGNED", {
      what: `${hex(address)} is not a multiple of ${alignment}`,
      where: { tile, address, alignment },
      fix: `Move the operand to a multiple of ${alignment}`,
    });
  }
}

/** An address as the chip's tools print it. */
export function hex(address: number): string {
  return Number.isInteger(address) ? `0x${address.toString(16)}` : String(address);
}

function outOfMemory(tiles: number, pages: number, cause?: unknown): BackendError {
  return new BackendError(
    "OUT_OF_MEMORY",
    {
      what: `${tiles} tiles need ${Math.ceil(pages / 16)} MiB of address space in one WebAssembly memory`,
      where: { tiles, pages, maximum: MAX_PAGES },
      fix: "Run fewer tiles, or raise the limit on the process's address space (ulimit -v)",
    },
    cause === undefined ? undefined : { cause },
  );
}
