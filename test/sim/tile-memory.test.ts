import { describe, expect, test } from "vitest";
import { address, tileId } from "../../src/base/units.ts";
import { TileMemory } from "../../src/sim/tile-memory.ts";
import { IPU21 } from "../../src/target/ipu21.ts";

const BASE = IPU21.memory.base;
const END = BASE + IPU21.memory.bytes;

describe("a view of tile memory", () => {
  const memory = new TileMemory(IPU21, 3);

  // prettier-ignore
  test.each<[number, number, number, number, string, string]>([
    // tile address      bytes alignment  code             why
    [  0,   BASE - 1,    1,    1,         "OUT_OF_BOUNDS", "before the first byte"],
    [  0,   END - 3,     4,    1,         "OUT_OF_BOUNDS", "a word over the end"],
    [  2,   END,         1,    1,         "OUT_OF_BOUNDS", "after the last byte, where no tile follows"],
    [  3,   BASE,        4,    4,         "OUT_OF_BOUNDS", "a tile that the run does not have"],
    [ -1,   BASE,        4,    4,         "OUT_OF_BOUNDS", "no tile at all"],
    [  0,   BASE + 0.5,  4,    1,         "OUT_OF_BOUNDS", "half a byte"],
    [  0,   NaN,         4,    1,         "OUT_OF_BOUNDS", "no number"],
    [  0,   BASE + 2,    4,    4,         "MISALIGNED",    "a word at a half word"],
    [  0,   BASE + 4,    8,    8,         "MISALIGNED",    "a double word at a word"],
  ])("of tile %i at %i, %i B by %i, is refused with %s: %s", (tile, at, bytes, alignment, code) => {
    expect(() => memory.view(tileId(tile), address(at), bytes, alignment)).toThrowError(
      expect.objectContaining({ code }),
    );
  });

  test("shows the same bytes as halves and words, and no other tile's", () => {
    const view = memory.view(tileId(1), address(BASE), 8, 8);
    view.f32[0] = 1;
    expect([...view.u16]).toEqual([0, 0x3f80, 0, 0]);
    expect([...memory.view(tileId(0), address(END - 8), 8, 8).u8]).toEqual(Array(8).fill(0));
    expect([...memory.view(tileId(2), address(BASE), 8, 8).u8]).toEqual(Array(8).fill(0));
  });

  test("takes in the last byte of the last tile", () => {
    expect(memory.view(tileId(2), address(END - 16), 16, 16).u8).toHaveLength(16);
  });

  test("is refused for more tiles than one memory can hold", () => {
    expect(() => new TileMemory(IPU21, 7000)).toThrowError(
      expect.objectContaining({ name: "BackendError", code: "OUT_OF_MEMORY" }),
    );
  });
});
