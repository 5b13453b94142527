/** The hashes of src/numerics/random.ts. */

// @ts-ignore: decorator
@inline
function scramble(x: u32): u32 {
  let h = x;
  h = (h ^ (h >> 16)) * 0x85ebca6b;
  h = (h ^ (h >> 13)) * 0xc2b2ae35;
  return h ^ (h >> 16);
}

// @ts-ignore: decorator
@inline
function absorb(state: u32, value: u32): u32 {
  return scramble((state ^ (value * 0x9e3779b1)) + 0x9e3779b1);
}

/** Hash of what all roundings of one call share. */
export function callHash(seed: u32, tile: u32, step: u32): u32 {
  return absorb(absorb(scramble(seed), tile), step);
}

export function stochasticBits(call: u32, element: u32, group: u32): u32 {
  return absorb(absorb(call, element), group);
}
