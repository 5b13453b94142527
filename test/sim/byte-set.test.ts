import fc from "fast-check";
import { expect, test } from "vitest";
import { ByteSet } from "../../src/sim/byte-set.ts";

const SIZE = 64;
const interval = fc
  .tuple(fc.nat(SIZE), fc.nat(SIZE))
  .map(([a, b]) => [Math.min(a, b), Math.max(a, b)]);

test("holds what was added, byte by byte", () => {
  fc.assert(
    fc.property(fc.array(interval, { maxLength: 20 }), interval, (added, [start, end]) => {
      const set = new ByteSet();
      const bytes = new Uint8Array(SIZE);
      for (const [from, to] of added) {
        set.add(from, to);
        bytes.fill(1, from, to);
      }
      const missing = bytes.subarray(start, end).indexOf(0);
      expect(set.firstMissing(start, end)).toBe(missing < 0 ? null : start + missing);
    }),
    { numRuns: 2000 },
  );
});
