import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { expF32 } from "../../src/numerics/exp.ts";
import { F16_VALUES } from "../../src/numerics/f16.ts";
import { isWithin, type Tolerance } from "../../src/numerics/tolerance.ts";

const THREE_UNITS: Tolerance = { kind: "ulp", dtype: "f32", units: 3 };

describe("e^x in f32 arithmetic", () => {
  test("is within three units in the last place, for any f32", () => {
    const law = fc.property(fc.float({ min: -110, max: 90, noNaN: true }), (x) =>
      isWithin(expF32(x), Math.exp(x), THREE_UNITS),
    );
    fc.assert(law, { numRuns: 50_000 });
  });

  test("is within three units in the last place, for every half", () => {
    const wrong = [...F16_VALUES].filter((x) => !isWithin(expF32(x), Math.exp(x), THREE_UNITS));
    expect(wrong.slice(0, 5)).toEqual([]);
  });

  // prettier-ignore
  test.each([
    [0, 1, "exactly"],
    [-0, 1, "of either zero"],
    [-104, 0, "below the least f32"],
    [-Infinity, 0, "held to -104"],
    [89, Infinity, "beyond f32"],
    [Infinity, Infinity, "held to 89"],
    [NaN, NaN, "carried through"],
  ])("of %f is %f: %s", (x, want) => {
    expect(expF32(x)).toBe(want);
  });
});
