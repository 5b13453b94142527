import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { gaussian, scramble, stochasticBits } from "../../src/numerics/random.ts";

const M32 = (1n << 32n) - 1n;

/** The definition once more, in unbounded integers. */
function scrambleBig(x: bigint): bigint {
  let h = x & M32;
  h = ((h ^ (h >> 16n)) * 0x85ebca6bn) & M32;
  h = ((h ^ (h >> 13n)) * 0xc2b2ae35n) & M32;
  return h ^ (h >> 16n);
}

function absorbBig(state: bigint, value: number): bigint {
  const spread = (BigInt.asUintN(32, BigInt(value)) * 0x9e3779b1n) & M32;
  return scrambleBig((state ^ spread) + 0x9e3779b1n);
}

describe("the bits of a stochastic rounding", () => {
  const integer = fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 });

  test("are the documented hash, in any arithmetic", () => {
    const law = fc.property(
      integer,
      integer,
      integer,
      integer,
      integer,
      (seed, tile, step, element, group) => {
        const start = scrambleBig(BigInt.asUintN(32, BigInt(seed)));
        const want = [tile, step, element, group].reduce(absorbBig, start);
        expect(stochasticBits(seed, tile, step, element, group)).toBe(Number(want));
      },
    );
    fc.assert(law);
  });

  // prettier-ignore
  test.each([
    // seed tile step element group  bits
    [  0,   0,   0,   0,      0,     0x25878293],
    [  7,   3,   2,   640,    47,    0xcf8316aa],
    [ -1, 1471,  99, 6143,   47,     0x961c1575],
  ])("of (%i, %i, %i, %i, %i) are %i for good: saved runs depend on them", (seed, tile, step, element, group, bits) => {
    expect(stochasticBits(seed, tile, step, element, group)).toBe(bits);
  });

  test("are each set in half of the draws, along every argument", () => {
    const draws = 1 << 14;
    const along: readonly ((i: number) => number)[] = [
      (i) => stochasticBits(i, 1, 1, 1, 1),
      (i) => stochasticBits(1, i, 1, 1, 1),
      (i) => stochasticBits(1, 1, i, 1, 1),
      (i) => stochasticBits(1, 1, 1, i, 1),
      (i) => stochasticBits(1, 1, 1, 1, i),
    ];
    for (const bitsOf of along) {
      const set = new Int32Array(32);
      for (let i = 0; i < draws; i++) {
        const bits = bitsOf(i);
        for (let bit = 0; bit < 32; bit++) set[bit] += (bits >>> bit) & 1;
      }
      // Five deviations of a fair coin's count.
      for (const count of set)
        expect(Math.abs(count - draws / 2)).toBeLessThan(2.5 * Math.sqrt(draws));
    }
  });

  test("come from a scrambling that maps no two integers to one", () => {
    const law = fc.property(integer, integer, (a, b) => {
      fc.pre(a !== b);
      expect(scramble(a)).not.toBe(scramble(b));
    });
    fc.assert(law);
  });
});

describe("normal numbers", () => {
  test("are the same for a seed, however many are asked for", () => {
    const long = gaussian(11, 1001, 0.25);
    expect(gaussian(11, 1001, 0.25)).toEqual(long);
    expect(gaussian(11, 10, 0.25)).toEqual(long.slice(0, 10));
    expect(gaussian(11, 7, 0.25)).toEqual(long.slice(0, 7));
    expect(gaussian(12, 10, 0.25)).not.toEqual(long.slice(0, 10));
  });

  test("have the mean, the deviation, the tails and the independence that were asked for", () => {
    const count = 1 << 17;
    const values = gaussian(3, count, 0.25);
    const mean = values.reduce((sum, x) => sum + x, 0) / count;
    const variance = values.reduce((sum, x) => sum + x * x, 0) / count;
    const neighbours =
      values.reduce((sum, x, i) => sum + x * (values[i + 1] ?? 0), 0) / (count * 0.0625);
    const beyondTwo = values.filter((x) => Math.abs(x) > 0.5).length / count;
    // Five deviations of each estimate.
    expect(Math.abs(mean)).toBeLessThan((5 * 0.25) / Math.sqrt(count));
    expect(Math.abs(variance / 0.0625 - 1)).toBeLessThan(5 * Math.sqrt(2 / count));
    expect(Math.abs(neighbours)).toBeLessThan(5 / Math.sqrt(count));
    expect(Math.abs(beyondTwo - 0.0455)).toBeLessThan(5 * Math.sqrt(0.0455 / count));
    expect(values.every(Number.isFinite)).toBe(true);
  });
});
