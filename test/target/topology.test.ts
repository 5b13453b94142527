import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { tileId } from "../../src/base/units.ts";
import { IPU21 } from "../../src/target/ipu21.ts";
import {
  isPrimary,
  logicalOf,
  partnerOf,
  physicalOf,
  physicalTiles,
} from "../../src/target/topology.ts";

interface GoldenTopology {
  readonly tileCount: number;
  readonly logicalToPhysical: readonly number[];
  readonly pairedLogical: readonly number[];
  readonly isPairPrimary: readonly boolean[];
}

const golden = JSON.parse(
  gunzipSync(readFileSync(new URL("../golden/topology.json.gz", import.meta.url))).toString(),
) as GoldenTopology;
const tiles = Array.from({ length: golden.tileCount }, (_, tile) => tileId(tile));

describe("every tile is where the public compiler puts it", () => {
  test("logical to physical, and back", () => {
    expect(golden.tileCount).toBe(IPU21.tiles);
    expect(tiles.map((tile) => physicalOf(IPU21, tile))).toEqual(golden.logicalToPhysical);
    expect([...physicalTiles(IPU21)]).toEqual(golden.logicalToPhysical);
    expect(golden.logicalToPhysical.map((physical) => logicalOf(IPU21, physical))).toEqual(tiles);
  });

  test("pairs share a bus", () => {
    expect(tiles.map(partnerOf)).toEqual(golden.pairedLogical);
    expect(tiles.map(isPrimary)).toEqual(golden.isPairPrimary);
    for (const tile of tiles) {
      expect(physicalOf(IPU21, partnerOf(tile))).toBe(physicalOf(IPU21, tile) ^ 2);
    }
  });
});

// prettier-ignore
test.each([
  // logical physical  why
  [   0,        0,     "the first place"],
  [   1,        2,     "a pair is two places apart"],
  [   2,       64,     "the next pair lies a row down"],
  [  45,     1410,     "the last row of the first column"],
  [  46,     1409,     "the next column starts at the bottom"],
  [  48,     1345,     "and goes up"],
  [  92,        4,     "the third column goes down again"],
  [1471,       63,     "the last tile ends at the top"],
])("logical %i is physical %i: %s", (logical, physical) => {
  expect(physicalOf(IPU21, tileId(logical))).toBe(physical);
});
