/**
 * Seeded numbers. All are pure functions of their arguments: no state, no order.
 *
 * Bits come from 32-bit integer arithmetic alone (multiply, exclusive or, shift), so that other languages
 * give the same.
 */

/** A bijective scrambling of 32 bits (the finalizer of MurmurHash3, public domain). */
export function scramble(x: number): number {
  let h = x | 0;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return h ^ (h >>> 16);
}

/** Odd constant that spreads small integers over 32 bits: 2^32 divided by the golden ratio. */
const SPREAD = 0x9e3779b1;

/** `state` with one more integer mixed in. */
export function absorb(state: number, value: number): number {
  return scramble((state ^ Math.imul(value | 0, SPREAD)) + SPREAD);
}

/**
 * 32 random bits, as an unsigned integer, for one stochastic rounding:
 * absorb(absorb(absorb(absorb(scramble(seed), tile), step), element), group).
 */
export function stochasticBits(
  seed: number,
  tile: number,
  step: number,
  element: number,
  group: number,
): number {
  const call = absorb(absorb(scramble(seed), tile), step);
  return absorb(absorb(call, element), group) >>> 0;
}

/**
 * `count` normal numbers of mean 0 and the given standard deviation, by the Box-Muller transform of hashed
 * counters: pair i uses the hashes of 2i and 2i + 1.
 */
export function gaussian(seed: number, count: number, deviation: number): Float64Array {
  const values = new Float64Array(count);
  const start = scramble(seed);
  for (let i = 0; i < count; i += 2) {
    // In (0, 1]: the logarithm is finite.
    const u = ((absorb(start, i) >>> 0) + 1) / 2 ** 32;
    const angle = (2 * Math.PI * (absorb(start, i + 1) >>> 0)) / 2 ** 32;
    const radius = deviation * Math.sqrt(-2 * Math.log(u));
    values[i] = radius * Math.cos(angle);
    if (i + 1 < count) values[i + 1] = radius * Math.sin(angle);
  }
  return values;
}
