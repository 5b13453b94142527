import { tileId, type TileId } from "../base/units.ts";
import type { Target } from "./target.ts";

/**
 * Logical tiles walk the chip pair by pair, down one column of rows and up the next; physical numbers
 * count along the rows. For pair P = logical div 2: block B = P div rows, row R = P mod rows, counted
 * backwards when B is odd; physical = tilesPerRow*R + 4*(B div 2) + B mod 2 + 2*(logical mod 2).
 *
 * @see IS crates/ipu-target/src/topology.rs; test/golden/topology.json
 */
export function physicalOf(target: Target, tile: TileId): number {
  const { rows, tilesPerRow } = target.exchange;
  const pair = tile >> 1;
  const block = Math.floor(pair / rows);
  const down = pair % rows;
  const row = block & 1 ? rows - 1 - down : down;
  return row * tilesPerRow + (block >> 1) * 4 + (block & 1) + 2 * (tile & 1);
}

/** The logical tile at a physical place: the inverse of `physicalOf`. */
export function logicalOf(target: Target, physical: number): TileId {
  const { rows, tilesPerRow } = target.exchange;
  const row = Math.floor(physical / tilesPerRow);
  const place = physical % tilesPerRow;
  const block = (place >> 2) * 2 + (place & 1);
  const down = block & 1 ? rows - 1 - row : row;
  return tileId((block * rows + down) * 2 + ((place >> 1) & 1));
}

/** The tile that shares a bus with this one, and lends it its lane for 64-bit transfers. */
export function partnerOf(tile: TileId): TileId {
  return tileId(tile ^ 1);
}

/** Whether the tile is the first of its pair. */
export function isPrimary(tile: TileId): boolean {
  return (tile & 1) === 0;
}

/** `physicalOf` of every logical tile. */
export function physicalTiles(target: Target): Uint16Array {
  const physical = new Uint16Array(target.tiles);
  for (let tile = 0; tile < target.tiles; tile++) {
    physical[tile] = physicalOf(target, tileId(tile));
  }
  return physical;
}

/**
 * Cycles of a sync signal's way between a tile and the network's root: rows * syncPerRow + columns * syncPerColumn. A
 * column is four tiles wide; those of the right half are counted from the right edge, and lie two further.
 *
 * @see docs/costs.md: fitted to when the tiles of the recorded profile begin and go on
 */
export function syncWay(target: Target, physical: number): number {
  const { tilesPerRow } = target.exchange;
  const { syncPerRow, syncPerColumn } = target.timing;
  const row = Math.floor(physical / tilesPerRow);
  const columns = tilesPerRow / 4;
  const column = (physical % tilesPerRow) >> 2;
  const columnsAway = column < columns / 2 ? column : columns + 1 - column;
  return row * syncPerRow + columnsAway * syncPerColumn;
}
