import { expect, test } from "vitest";
import { IPU21, elementOf, memoryClassOf } from "../../src/target/ipu21.ts";

// prettier-ignore
test.each([
  // address  element  class          why
  [ 0x4c000,      19, "standard",    "the first byte of a tile"],
  [ 0x4ffff,      19, "standard",    "elements are 16 KiB"],
  [ 0x50000,      20, "standard",    "the next one"],
  [ 0x7ffff,      31, "standard",    "the last standard byte"],
  [ 0x80000,      32, "interleaved", "the first interleaved byte"],
  [ 0x87fff,      32, "interleaved", "interleaved elements are 32 KiB"],
  [ 0x88000,      33, "interleaved", "the next one"],
  [ 0xe7fff,      44, "interleaved", "the last byte of a tile"],
])("byte %i lies in element %i, %s memory: %s", (address, element, memoryClass) => {
  expect(elementOf(IPU21, address)).toBe(element);
  expect(memoryClassOf(IPU21, address)).toBe(memoryClass);
});

test("the free bytes of both regions are those of the public compiler", () => {
  const { firstData, interleavedBase, lastLoadable, base, bytes, runtimeState } = IPU21.memory;
  expect(interleavedBase - firstData).toBe(162_080);
  expect(lastLoadable - interleavedBase).toBe(424_880);
  expect(base + bytes).toBe(0xe8000);
  expect(runtimeState.end).toBe(firstData);
});

test("the preset cannot be changed, at any depth", () => {
  const open = (data: object): boolean =>
    !Object.isFrozen(data) ||
    Object.values(data).some((value) => typeof value === "object" && open(value as object));
  expect(open(IPU21)).toBe(false);
});
