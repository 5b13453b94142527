import { address, tileId } from "../../src/base/units.ts";
import { cutTransfers, type PhaseTransfer } from "../../src/exchange/phase.ts";
import { IPU21 } from "../../src/target/ipu21.ts";

/**
 * The exchanges of one attention block (729 tokens, 16 heads of 72) on 1,472 tiles, as osmarks/ipu-stack
 * lays it out: projections on a grid of 46 row blocks, 2 inner and 16 column blocks; tile t attends for
 * head t mod 16 and query part t div 16; tiles below 192 hold 64 keys of a head.
 */
export interface SiglipPhase {
  readonly name: string;
  readonly transfers: readonly PhaseTransfer[];
  /** What the recorded trace shows, and what list scheduling without improvement gives. */
  readonly recorded: number;
  readonly eventCycles: number;
}

const TILES = 1472;
const ROW_BLOCKS = 46;
const HEADS = 16;
const KEY_TILES = 192;
/** A sending and a receiving buffer in elements of their own, and one in the sender's element. */
const FROM = 0x80000;
const TO = 0xa8000;
const BESIDE = FROM + 0x2000;

/** The phases in order; the first two occur three times in the program. */
export function siglipPhases(): readonly SiglipPhase[] {
  const phase = (
    name: string,
    recorded: number,
    eventCycles: number,
    transfers: readonly PhaseTransfer[],
  ): SiglipPhase => ({ name, recorded, eventCycles, transfers: cutTransfers(IPU21, transfers) });
  return [
    phase("input", 4989, 4989, input()),
    phase("partial sums", 1375, 1375, partialSums()),
    phase("Q rows, elements apart", 1661, 970, queryRows(TO)),
    phase("Q rows, one element", 1661, 1671, queryRows(BESIDE)),
    phase("K rows, elements apart", 4395, 2897, keyRows(TO)),
    phase("K rows, one element", 4395, 4895, keyRows(BESIDE)),
    phase("V panels", 5249, 5249, valuePanels()),
    phase("K broadcast", 32153, 32153, broadcast([0], 2560, 10_240)),
    phase("V broadcast", 37865, 37865, broadcast([0, 1, 2, 3, 4], 512, 2048)),
  ];
}

/** The eleven phases that the program runs. */
export function siglipProgram(): readonly (readonly PhaseTransfer[])[] {
  const of = (name: string): readonly PhaseTransfer[] =>
    siglipPhases().find((phase) => phase.name === name)?.transfers ?? [];
  const projection = [of("input"), of("partial sums")];
  return [
    ...projection,
    ...projection,
    ...projection,
    of("Q rows, one element"),
    of("K rows, one element"),
    of("V panels"),
    of("K broadcast"),
    of("V broadcast"),
  ];
}

/** Two inner halves of each row block of X, to the 16 tiles that multiply them. */
function input(): PhaseTransfer[] {
  const transfers: PhaseTransfer[] = [];
  for (let inner = 0; inner < 2; inner++) {
    for (let block = 0; block < ROW_BLOCKS; block++) {
      const source = 736 * inner + block;
      const tiles = Array.from({ length: 16 }, (_, c) => block + 46 * inner + 92 * c);
      transfers.push(
        transfer(
          source,
          FROM,
          4608,
          tiles.filter((tile) => tile !== source),
          TO,
        ),
      );
    }
  }
  return transfers;
}

/** Both inner halves of each finished 16 x 72 block, to its owner. */
function partialSums(): PhaseTransfer[] {
  const transfers: PhaseTransfer[] = [];
  for (let owner = 0; owner < 736; owner++) {
    const block = owner % ROW_BLOCKS;
    const column = Math.floor(owner / ROW_BLOCKS);
    for (let inner = 0; inner < 2; inner++) {
      const source = block + 46 * inner + 92 * column;
      if (source === owner) continue;
      transfers.push(transfer(source, FROM, 576, [owner], TO + 2304 * inner));
    }
  }
  return transfers;
}

/** Rows of 72 halves, from the owners of 16 rows each to the tile that needs [start, end). */
function rowsTo(tile: number, start: number, end: number, to: number): PhaseTransfer[] {
  const transfers: PhaseTransfer[] = [];
  for (let row = start; row < end;) {
    const block = row >> 4;
    const rows = Math.min(end, 16 * block + 16) - row;
    const owner = block + ROW_BLOCKS * (tile % HEADS);
    if (owner !== tile) {
      const at = to + (row - start) * 144;
      transfers.push(transfer(owner, FROM + (row & 15) * 144, rows * 36, [tile], at));
    }
    row += rows;
  }
  return transfers;
}

function queryRows(to: number): PhaseTransfer[] {
  return Array.from({ length: TILES }, (_, tile) => {
    const part = Math.floor(tile / HEADS);
    const start = part < 85 ? 8 * part : 680 + 7 * (part - 85);
    return rowsTo(tile, start, start + (part < 85 ? 8 : 7), to);
  }).flat();
}

function keyRows(to: number): PhaseTransfer[] {
  return Array.from({ length: KEY_TILES }, (_, tile) => {
    const start = 64 * Math.floor(tile / HEADS);
    return rowsTo(tile, start, Math.min(729, start + 64), to);
  }).flat();
}

/** Four 16 x 16 panels and one of 16 x 8, from each owner to the value tile of its 64 rows. */
function valuePanels(): PhaseTransfer[] {
  const transfers: PhaseTransfer[] = [];
  for (let tile = 0; tile < KEY_TILES; tile++) {
    const first = 4 * Math.floor(tile / HEADS);
    for (let block = first; block < Math.min(first + 4, ROW_BLOCKS); block++) {
      const owner = block + ROW_BLOCKS * (tile % HEADS);
      if (owner === tile) continue;
      for (let panel = 0; panel < 5; panel++) {
        const at = TO + panel * 2048 + (block - first) * 512;
        const words = panel < 4 ? 128 : 64;
        transfers.push(transfer(owner, FROM + panel * 512, words, [tile], at));
      }
    }
  }
  return transfers;
}

/** Each of a head's twelve blocks, in spans, to the other 91 tiles of the head. */
function broadcast(spans: readonly number[], words: number, bytes: number): PhaseTransfer[] {
  const transfers: PhaseTransfer[] = [];
  for (let source = 0; source < KEY_TILES; source++) {
    const block = Math.floor(source / HEADS);
    const tiles = Array.from({ length: 92 }, (_, part) => (source % HEADS) + HEADS * part);
    for (const span of spans) {
      transfers.push(
        transfer(
          source,
          FROM + span * bytes,
          words,
          tiles.filter((tile) => tile !== source),
          TO + span * 24_576 + block * bytes,
        ),
      );
    }
  }
  return transfers;
}

function transfer(
  source: number,
  from: number,
  words: number,
  tiles: readonly number[],
  to: number,
): PhaseTransfer {
  return {
    source: tileId(source),
    address: address(from),
    words,
    width: 32,
    destinations: [{ tiles: tiles.map(tileId), address: address(to) }],
  };
}
