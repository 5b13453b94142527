import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { SimError } from "../../src/base/errors.ts";
import { evaluate, type Sample } from "../../src/check/evaluate.ts";
import { multiplyTransposed } from "../../src/check/matmul.ts";
import { F16_NAN, F16_VALUES, toF16 } from "../../src/numerics/f16.ts";
import type { Operation } from "../../src/plan/program.ts";
import { attentionInputs, attentionProgram, gaussian, gemm, program } from "./support.ts";

function floats(bits: Uint16Array | undefined): Float64Array {
  return Float64Array.from(bits ?? [], (b) => F16_VALUES[b]);
}

/** left [m, k] x right [k, n], the formula. */
function naiveGemm(left: Float64Array, right: Float64Array, k: number, n: number): Float64Array {
  return Float64Array.from({ length: (left.length / k) * n }, (_, i) => {
    const r = Math.floor(i / n);
    let sum = 0;
    for (let j = 0; j < k; j++) sum += left[r * k + j] * right[j * n + (i % n)];
    return sum;
  });
}

/** Attention of row `r` of head `h`, the formula, on [tokens, width] projections. */
function naiveRow(
  q: Float64Array,
  k: Float64Array,
  v: Float64Array,
  width: number,
  heads: number,
  h: number,
  r: number,
): number[] {
  const size = width / heads;
  const tokens = q.length / width;
  const scores = Array.from({ length: tokens }, (_, key) => {
    let sum = 0;
    for (let c = h * size; c < (h + 1) * size; c++) sum += q[r * width + c] * k[key * width + c];
    return sum / Math.sqrt(size);
  });
  const weights = scores.map((score) => Math.exp(score));
  const total = weights.reduce((a, b) => a + b);
  return Array.from({ length: size }, (_, c) =>
    weights.reduce((sum, w, key) => sum + (w / total) * v[key * width + h * size + c], 0),
  );
}

function expectClose(got: ArrayLike<number>, want: ArrayLike<number>): void {
  expect(got.length).toBe(want.length);
  for (let i = 0; i < want.length; i++) expect(got[i]).toBeCloseTo(want[i], 10);
}

describe("multiplyTransposed", () => {
  test("is the product, and squares what is rounded, for any shape and any rounding points", () => {
    const sizes = fc.record({
      m: fc.integer({ min: 1, max: 9 }),
      n: fc.integer({ min: 1, max: 37 }),
      k: fc.integer({ min: 1, max: 40 }),
      group: fc.constantFrom(1, 5, 16, Infinity),
      part: fc.constantFrom(1, 16, 24, Infinity),
      seed: fc.nat(),
    });
    fc.assert(
      fc.property(sizes, ({ m, n, k, group, part, seed }) => {
        const left = floats(gaussian(m * k, seed));
        const right = floats(gaussian(n * k, seed + 1));
        const { sums, squares } = multiplyTransposed(
          { rows: m, columns: k, values: left },
          { rows: n, columns: k, values: right },
          { group, part },
        );
        for (let i = 0; i < m * n; i++) {
          const [r, c] = [Math.floor(i / n), i % n];
          let [total, square] = [0, 0];
          for (let start = 0; start < k; start += Math.min(part, k)) {
            const end = Math.min(k, start + part);
            let sum = 0;
            for (let j = start; j < end; j++) {
              sum += left[r * k + j] * right[c * k + j];
              const isRounded = (j - start + 1) % group === 0 || j + 1 === end;
              if (isRounded) square += sum * sum;
            }
            total += sum;
            if (start > 0) square += total * total;
          }
          expect(sums[i]).toBeCloseTo(total, 12);
          expect(squares[i]).toBeCloseTo(square, 12);
        }
      }),
    );
  });
});

describe("evaluate", () => {
  test("a gemm is the matrix product, with a first axis of one or without", () => {
    const sizes = fc.record({
      batch: fc.constantFrom([], [1]),
      m: fc.integer({ min: 1, max: 9 }),
      k: fc.integer({ min: 1, max: 40 }),
      n: fc.integer({ min: 1, max: 9 }),
      parts: fc.integer({ min: 1, max: 3 }),
      seed: fc.nat(),
    });
    fc.assert(
      fc.property(sizes, ({ batch, m, k, n, parts, seed }) => {
        const x = gaussian(m * k, seed);
        const w = gaussian(k * n, seed + 1);
        const [y] = evaluate(
          program(
            [
              { name: "x", shape: [...batch, m, k] },
              { name: "w", shape: [k, n] },
            ],
            [gemm("y", "x", "w", parts)],
            "y",
          ),
          new Map([
            ["x", x],
            ["w", w],
          ]),
        );
        expect(y.shape).toEqual([...batch, m, n]);
        expectClose(y.values, naiveGemm(floats(x), floats(w), k, n));
      }),
    );
  });

  test("attention is softmax(q k^T / sqrt(d)) v on each head's columns", () => {
    const [tokens, width, heads] = [71, 24, 3];
    const inputs = attentionInputs(tokens, width, 7);
    const [y] = evaluate(attentionProgram(tokens, width, heads), inputs, { sample: "all" });
    const x = floats(inputs.get("x"));
    const [q, k, v] = ["wq", "wk", "wv"].map((w) =>
      naiveGemm(x, floats(inputs.get(w)), width, width),
    );
    expect(y.shape).toEqual([heads, tokens, width / heads]);
    expect(y.heads).toEqual([0, 1, 2]);
    const want = [0, 1, 2].flatMap((h) =>
      Array.from({ length: tokens }, (_, r) => naiveRow(q, k, v, width, heads, h, r)).flat(),
    );
    expectClose(y.values, want);
  });

  test("the benchmark's constants give the f16 nearest 1/1152, times 1152", () => {
    const [tokens, width, heads] = [5, 1152, 16];
    const weights = new Uint16Array(width * width).fill(0x131c);
    const [y] = evaluate(
      attentionProgram(tokens, width, heads, 2),
      new Map([
        ["x", new Uint16Array(tokens * width).fill(0x3c00)],
        ["wq", weights],
        ["wk", weights],
        ["wv", weights],
      ]),
    );
    expect(y.heads).toEqual([0, 15]);
    for (const value of y.values) expect(value).toBeCloseTo(0.999755859375, 12);
  });

  // prettier-ignore
  test.each<[Sample, number[]]>([
    [{ heads: [2] },        [14, 15, 16, 17, 18, 19, 20]],
    [{ heads: [1, 0, 1] },  [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13]],
    [{ rows: [20, 3] },     [3, 20]],
    ["some",                [0, 1, 2, 3, 4, 5, 6, 21, 22, 23, 24, 25, 26, 27]],
  ])("the sample %j of four heads of seven rows is rows %j of the whole", (sample, rows) => {
    const inputs = attentionInputs(7, 16, 3);
    const [all] = evaluate(attentionProgram(7, 16, 4), inputs, { sample: "all" });
    const [some] = evaluate(attentionProgram(7, 16, 4), inputs, { sample });
    expect([...some.rows]).toEqual(rows);
    expectClose(
      some.values,
      rows.flatMap((row) => [...all.values.subarray(row * 4, row * 4 + 4)]),
    );
  });

  test("a head reads that head's columns of the weights and no others", () => {
    const [tokens, width, heads] = [6, 12, 3];
    const inputs = attentionInputs(tokens, width, 5);
    for (const name of ["wq", "wk", "wv"]) {
      inputs.get(name)?.forEach((_, i, weights) => {
        if (Math.floor((i % width) / 4) !== 1) weights[i] = F16_NAN;
      });
    }
    const of = (head: number): Float64Array =>
      evaluate(attentionProgram(tokens, width, heads), inputs, { sample: { heads: [head] } })[0]
        .values;
    expect(of(1).every(Number.isFinite)).toBe(true);
    expect(of(2).every(Number.isNaN)).toBe(true);
  });

  test("split heads are columns of the input, exactly", () => {
    const split: Operation = { kind: "split-heads", output: "y", input: "x", heads: 2 };
    const x = Uint16Array.from({ length: 12 }, (_, i) => toF16(i));
    const [y] = evaluate(
      program([{ name: "x", shape: [1, 3, 4] }], [split], "y"),
      new Map([["x", x]]),
      { sample: { heads: [1] } },
    );
    expect(y.shape).toEqual([2, 3, 2]);
    expect([...y.values]).toEqual([2, 3, 6, 7, 10, 11]);
    expect(y.deviations.every((deviation) => deviation === 0)).toBe(true);
  });

  // prettier-ignore
  test.each([
    //  x   gelu(x) with the exact tanh approximation, 0.79785156 and 0.04470825
    [   0,                    0],
    [   1,           0.84118134],
    [  -1,         -0.15881866],
    [   3,            2.99636054],
    [-100,                    0],
  ])("gelu(%d) is %d", (x, want) => {
    const gelu: Operation = { kind: "gelu", output: "y", input: "x" };
    const [y] = evaluate(
      program([{ name: "x", shape: [1, 1] }], [gelu], "y"),
      new Map([["x", Uint16Array.of(toF16(x))]]),
    );
    expect(y.values[0]).toBeCloseTo(want, 7);
  });

  test("add adds, cast and rearrange change nothing", () => {
    const layout = {
      order: { kind: "row-major" },
      tiling: { tile_count: 1, replicas: 1, axes: [] },
      memory_class: "standard",
    } as const;
    const inputs = new Map<string, Uint16Array | Float32Array>([
      ["a", Uint16Array.of(0x3c00, 0x4000)],
      ["b", Float32Array.of(0.1, 0.25)],
    ]);
    const [sum, same] = evaluate(
      program(
        [
          { name: "a", shape: [1, 2] },
          { name: "b", shape: [1, 2], dtype: "f32" },
        ],
        [
          { kind: "rearrange", output: "r", input: "a", layout },
          { kind: "cast", output: "wide", input: "r", to: "f32" },
          { kind: "add", output: "sum", inputs: ["wide", "b"] },
          { kind: "cast", output: "same", input: "sum", to: "f16" },
        ],
        "sum",
        "same",
      ),
      inputs,
    );
    expectClose(sum.values, [1 + Math.fround(0.1), 2.25]);
    expect(same.values).toEqual(sum.values);
  });

  const x = { name: "x", shape: [2, 3] };
  // prettier-ignore
  test.each([
    ["a value that nothing makes",    "PROGRAM_INVALID", program([x], [gemm("y", "x", "w")], "y"),       "some"],
    ["a value used before it is made","PROGRAM_INVALID", program([x], [gemm("y", "z", "x"), gemm("z", "x", "x")], "y"), "some"],
    ["an output that is no value",    "PROGRAM_INVALID", program([x], [], "y"),                          "some"],
    ["inner extents that differ",     "SHAPE_MISMATCH",  program([x], [gemm("y", "x", "x")], "y"),       "some"],
    ["an input of another size",      "SHAPE_MISMATCH",  program([{ name: "x", shape: [3, 3] }], [], "x"), "some"],
    ["a row that is not there",       "BAD_USAGE",       program([x], [], "x"),                          { rows: [2] }],
    ["a head of what has none",       "BAD_USAGE",       program([x], [], "x"),                          { heads: [0] }],
  ] as const)("%s is %s", (_, code, given, sample) => {
    const run = (): unknown => evaluate(given, new Map([["x", new Uint16Array(6)]]), { sample });
    expect(run).toThrow(SimError);
    expect(run).toThrow(code);
  });
});
