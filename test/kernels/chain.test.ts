import { expect, test } from "vitest";
import { viewOf } from "../../src/backends/operand-view.ts";
import { EXACT, f32Bits, gemm, halves, repeated, run, softmax } from "./support.ts";

/** The compiler's benchmark: inputs of 1, weights of the half nearest to 1/1152. */
const WEIGHT = 0x131c;
const ONE = 0x3c00;

test("the benchmark's constants give the golden value at every stage", () => {
  const half = run(gemm(2, 576, 16), [repeated(2 * 576, WEIGHT), repeated(576 * 16, ONE)]);
  expect(half.u16[0]).toBe(0x3801);

  const sum = { kind: "reduce-sum", partials: 2, elements: 32 } as const;
  const projected = run(sum, [half, half]);
  expect(projected.u16[31]).toBe(0x3c01);

  // 72 columns of the head, padded with zeros to 80; keys 729 of 768.
  const query = repeated(80, 0x3c01);
  query.u16.fill(0, 72);
  const key = halves(new Uint16Array(80 * 768));
  for (let n = 0; n < 729; n++) {
    for (let k = 0; k < 72; k++) {
      const panel = Math.floor(n / 16) * 5 + Math.floor(k / 16);
      key.u16[panel * 256 + (n % 16) * 16 + (k % 16)] = 0x3c01;
    }
  }
  const scores = run(gemm(1, 80, 768), [query, key]);
  expect(scores.u16[0]).toBe(0x5482);
  expect(scores.u16[729]).toBe(0);

  const weights = run(softmax(1, 729, 768, 72), [scores]);
  expect(f32Bits(weights, 384)).toBe(0x4108000e);
  expect(weights.u16[728]).toBe(ONE);
  expect(weights.u16[729]).toBe(0);
  expect(weights.f32[385]).toBe(729);

  const values = repeated(768 * 80, 0x3c01);
  const weighted = run(gemm(1, 768, 80), [viewOf(weights.u8.buffer, 0, 768 * 2), values]);
  expect(weighted.u16[0]).toBe(0x61b3);

  const merge = {
    kind: "attention-merge",
    rows: 1,
    valueDimension: 72,
    paddedValueDimension: 80,
    keyBlockColumns: 768,
    initial: true,
    finalBlock: true,
  } as const;
  const output = run(merge, [weighted, weights]);
  expect(f32Bits(output, 0)).toBe(0x3f801679);
  expect(f32Bits(output, 71)).toBe(0x3f801679);
  // f32(729.5 * f32(1/729))
  expect(output.f32[0]).toBe(Math.fround(729.5 * Math.fround(1 / 729)));
});

test("one f32 sum gives other bits than 36 roundings to f16: the chip's result is not the exact one", () => {
  const operands = [repeated(576, WEIGHT), repeated(576 * 16, ONE)];
  expect(run(gemm(1, 576, 16), operands).u16[0]).toBe(0x3801);
  // 576 * 0.00086784 = 0.49987793, a tie that goes to the even 0.5.
  expect(run(gemm(1, 576, 16), operands, EXACT).u16[0]).toBe(0x3800);
});
