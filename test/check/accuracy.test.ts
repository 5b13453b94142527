import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { SimError } from "../../src/base/errors.ts";
import { accuracy } from "../../src/check/accuracy.ts";
import { evaluate, type Evaluated } from "../../src/check/evaluate.ts";
import { F16_VALUES, toF16 } from "../../src/numerics/f16.ts";
import {
  attentionInputs,
  attentionProgram,
  chipAttention,
  chipDot,
  gaussian,
  gemm,
  program,
} from "./support.ts";

function wanted(values: readonly number[], changes: Partial<Evaluated> = {}): Evaluated {
  return {
    name: "y",
    shape: [2, values.length / 2],
    heads: null,
    rows: Int32Array.of(0, 1),
    columns: values.length / 2,
    values: Float64Array.from(values),
    deviations: new Float64Array(values.length),
    factor: 6,
    precision: "f16",
    ...changes,
  };
}

describe("the report", () => {
  test("gives sizes of errors, their histogram in ulps and the worst element", () => {
    const report = accuracy(wanted([1, 2, 3, 4]), Float32Array.of(1, 2 + 2 ** -9, 3.5, 4));
    expect(report).toMatchObject({
      against: "f64",
      heads: null,
      elements: 4,
      maxAbs: 0.5,
      worst: { index: [1, 0], got: 3.5, want: 3 },
      nonFinite: { nan: 0, infinite: 0, unlike: 0, first: null },
      within: false,
    });
    expect(report.rms).toBeCloseTo(Math.sqrt((0.25 + 2 ** -18) / 4), 12);
    // Half a unit in the last place of f32 at 3.
    expect(report.tolerance).toMatchObject({ outside: 2, worst: report.worst, atWorst: 2 ** -23 });
    expect(report.tolerance.largestPart).toBe(0.5 / 2 ** -23);
    expect(report.relL2).toBeCloseTo(Math.sqrt((0.25 + 2 ** -18) / 30), 12);
    expect(report.ulpHistogram).toEqual({
      dtype: "f16",
      counts: [
        { atMost: 0.5, count: 2 },
        { atMost: 1, count: 1 },
        { atMost: 256, count: 1 },
      ],
    });
  });

  test("has the element that is furthest beyond its own tolerance, which need not be the largest error", () => {
    const want = wanted([1, 2, 1000, 4], { deviations: Float64Array.of(0.01, 0.01, 10, 0.01) });
    const report = accuracy(want, Float32Array.of(1, 2.25, 1010, 4));
    expect(report.worst).toEqual({ index: [1, 0], got: 1010, want: 1000 });
    expect(report.tolerance).toMatchObject({
      outside: 1,
      worst: { index: [0, 1], got: 2.25, want: 2 },
    });
    expect(report.tolerance.atWorst).toBeCloseTo(0.06, 6);
    expect(report.tolerance.max).toBeCloseTo(60, 3);
  });

  test("of nothing but NaN has no worst element", () => {
    const report = accuracy(wanted([NaN, NaN]), Float32Array.of(NaN, NaN));
    expect(report).toMatchObject({ elements: 0, worst: null, within: true });
    expect(report.tolerance).toMatchObject({ worst: null, atWorst: null, largestPart: 0 });
  });

  test("is of the rows that were evaluated", () => {
    const want = wanted([5, 6], { shape: [2, 2, 2], rows: Int32Array.of(2), columns: 2 });
    const report = accuracy(want, Float32Array.of(0, 0, 0, 0, 5, 7, 0, 0));
    expect(report.worst).toEqual({ index: [1, 0, 1], got: 7, want: 6 });
    expect(report.elements).toBe(2);
  });

  // prettier-ignore
  test.each([
    //                got        want      nan infinite unlike  why
    [                 NaN,       NaN,        1,   0,      0,   "NaN where NaN is due"],
    [                 NaN,         1,        1,   0,      1,   "NaN out of nothing"],
    [            Infinity,  Infinity,        0,   1,      0,   "an infinity where it is due"],
    [           -Infinity,  Infinity,        0,   1,      1,   "the other infinity"],
    [               65504,  Infinity,        0,   1,      1,   "a number for an infinity"],
  ])("counts %d for %d apart from the errors", (got, want, nan, infinite, unlike) => {
    const report = accuracy(wanted([1, want]), Float32Array.of(1, got));
    expect(report).toMatchObject({ elements: 1, maxAbs: 0, rms: 0, within: unlike === 0 });
    expect(report.nonFinite).toMatchObject({ nan, infinite, unlike });
  });

  test("an output of another size is refused", () => {
    const run = (): unknown => accuracy(wanted([1, 2]), Float32Array.of(1));
    expect(run).toThrow(SimError);
    expect(run).toThrow("SHAPE_MISMATCH");
  });

  test("survives JSON", () => {
    const report = accuracy(wanted([0, 1]), Uint16Array.of(0, 0x3c00));
    expect(JSON.parse(JSON.stringify(report))).toEqual(report);
    expect(report).toMatchObject({ relL2: 0, within: true });
  });
});

/** A gemm of the chip's roundings, held against f64. */
function gemmReport(
  x: Uint16Array,
  w: Uint16Array,
  inner: number,
  parts: number,
  change = (bits: Uint16Array): void => void bits,
): ReturnType<typeof accuracy> {
  const [m, n] = [x.length / inner, w.length / inner];
  const [want] = evaluate(
    program(
      [
        { name: "x", shape: [m, inner] },
        { name: "w", shape: [inner, n] },
      ],
      [gemm("y", "x", "w", parts)],
      "y",
    ),
    new Map([
      ["x", x],
      ["w", w],
    ]),
    { sample: "all" },
  );
  const bits = Uint16Array.from({ length: m * n }, (_, i) => {
    const left = (k: number): number => F16_VALUES[x[Math.floor(i / n) * inner + k]];
    return toF16(chipDot(inner, left, (k) => F16_VALUES[w[k * n + (i % n)]], parts));
  });
  change(bits);
  return accuracy(want, bits);
}

describe("the tolerance", () => {
  test("holds for GEMMs of random data as the chip rounds them, at any scale", () => {
    const cases = fc.record({
      inner: fc.integer({ min: 1, max: 400 }),
      parts: fc.integer({ min: 1, max: 4 }),
      size: fc.constantFrom(2 ** -14, 0.01, 0.25, 4),
      seed: fc.nat(),
    });
    fc.assert(
      fc.property(cases, ({ inner, parts, size, seed }) => {
        const report = gemmReport(
          gaussian(6 * inner, seed, size),
          gaussian(7 * inner, seed + 1, size),
          inner,
          parts,
        );
        expect(report.tolerance.largestPart).toBeLessThanOrEqual(1);
      }),
    );
  });

  test("holds for constants, whose roundings all go one way", () => {
    const constant = fc.integer({ min: 0x1000, max: 0x4600 });
    fc.assert(
      fc.property(constant, constant, (a, b) => {
        const filled = (bits: number): Uint16Array => new Uint16Array(1152).fill(bits);
        expect(gemmReport(filled(a), filled(b), 1152, 2).within).toBe(true);
      }),
      { numRuns: 1000 },
    );
  });

  test("is twice as wide for stochastic rounding, and narrower where only stores round", () => {
    const inputs = attentionInputs(10, 32, 1);
    const given = { ...attentionProgram(10, 32, 2), outputs: ["q", "y"] };
    const of = (rounding: "nearest" | "stochastic" | "exact"): readonly Float64Array[] =>
      evaluate(given, inputs, { sample: "all", rounding }).map(({ deviations }) => deviations);
    const [nearest, stochastic, exact] = [of("nearest"), of("stochastic"), of("exact")];
    nearest[0].forEach((deviation, i) => {
      expect(stochastic[0][i] / deviation).toBeCloseTo(2, 10);
      expect(exact[0][i]).toBeLessThan(deviation);
    });
    nearest[1].forEach((deviation, i) => {
      expect(stochastic[1][i]).toBeGreaterThan(deviation);
      expect(exact[1][i]).toBeLessThan(deviation);
    });
  });

  test("notices one wrong element", () => {
    const { within, tolerance } = gemmReport(
      gaussian(8 * 96, 1),
      gaussian(8 * 96, 2),
      96,
      1,
      (bits) => {
        bits[13] = toF16(F16_VALUES[bits[13]] + 0.02);
      },
    );
    expect(within).toBe(false);
    expect(tolerance).toMatchObject({ outside: 1, worst: { index: [1, 5] } });
  });

  test("holds for the attention block as the chip rounds it, and is not slack", () => {
    const [tokens, width, heads, parts] = [40, 192, 4, 2];
    for (const seed of [1, 2, 3, 4]) {
      const inputs = attentionInputs(tokens, width, seed);
      const [want] = evaluate(attentionProgram(tokens, width, heads, parts), inputs, {
        sample: "all",
      });
      const got = chipAttention(inputs, tokens, width, heads, parts);
      const report = accuracy(want, got);
      expect(report.tolerance.outside).toBe(0);
      expect(report.tolerance.largestPart).toBeGreaterThan(0.05);
      expect(report.tolerance.rms).toBeLessThan(0.1 * rms(want.values));
      got[777] += 0.1;
      expect(accuracy(want, got).tolerance.outside).toBe(1);
    }
  });

  test("holds for attention of constants", () => {
    const [tokens, width, heads, parts] = [20, 96, 1, 2];
    fc.assert(
      fc.property(fc.integer({ min: 0x2400, max: 0x4000 }), (bits) => {
        const inputs = attentionInputs(tokens, width, 0);
        for (const values of inputs.values()) values.fill(bits);
        const [want] = evaluate(attentionProgram(tokens, width, heads, parts), inputs);
        expect(accuracy(want, chipAttention(inputs, tokens, width, heads, parts)).within).toBe(
          true,
        );
      }),
      { numRuns: 20 },
    );
  });
});

function rms(values: Float64Array): number {
  return Math.sqrt(values.reduce((sum, x) => sum + x * x, 0) / values.length);
}
