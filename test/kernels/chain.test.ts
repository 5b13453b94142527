import { expect, test } from "vitest";
import { viewOf } from "../../src/backends/operand-view.ts";
import type { CallContext, OperandView } from "../../src/kernels/kernel.ts";
import { kernelOf } from "../../src/kernels/registry.ts";
import type { KernelSpec } from "../../src/kernels/spec.ts";
import { NEAREST } from "../../src/numerics/rounding.ts";

const CONTEXT: CallContext = { ...NEAREST, tile: 0, step: 0 };

function run(spec: KernelSpec, ...inputs: OperandView[]): OperandView {
  const kernel = kernelOf(spec);
  kernel.check(spec);
  const { bytes } = kernel.operands(spec).output;
  const output = viewOf(new ArrayBuffer(bytes), 0, bytes);
  kernel.reference(spec, inputs, output, CONTEXT);
  return output;
}

function halves(count: number, bits: number): OperandView {
  const view = viewOf(new ArrayBuffer(count * 2), 0, count * 2);
  view.u16.fill(bits);
  return view;
}

const hex = (bits: number): string => `0x${bits.toString(16)}`;
const f32Bits = (view: OperandView, word: number): string =>
  hex(new Uint32Array(view.f32.buffer, view.f32.byteOffset)[word]);

test("the benchmark's constants give the golden value at every stage", () => {
  const gemm = (rows: number, innerBlock: number, outputColumns: number): KernelSpec => ({
    kind: "gemm",
    multiply: "f16",
    accumulate: "f16",
    mode: "initialize",
    weights: "standard",
    rows,
    innerBlock,
    outputColumns,
  });
  const half = run(gemm(2, 576, 16), halves(2 * 576, 0x131c), halves(576 * 16, 0x3c00));
  expect(hex(half.u16[0])).toBe("0x3801");

  const projected = run({ kind: "reduce-sum", partials: 2, elements: 32 }, half, half);
  expect(hex(projected.u16[31])).toBe("0x3c01");

  // 72 columns of the head, padded with zeros to 80; keys 729 of 768.
  const query = halves(80, 0x3c01);
  query.u16.fill(0, 72);
  const key = halves(80 * 768, 0);
  for (let n = 0; n < 729; n++) {
    for (let k = 0; k < 72; k++) {
      key.u16[(Math.floor(n / 16) * 5 + Math.floor(k / 16)) * 256 + (n % 16) * 16 + (k % 16)] =
        0x3c01;
    }
  }
  const scores = run(gemm(1, 80, 768), query, key);
  expect(hex(scores.u16[0])).toBe("0x5482");
  expect(hex(scores.u16[729])).toBe("0x0");

  const softmax = run(
    {
      kind: "attention-softmax",
      rows: 1,
      headDimension: 72,
      keyColumns: 729,
      paddedKeyColumns: 768,
    },
    scores,
  );
  expect(f32Bits(softmax, 384)).toBe("0x4108000e");
  expect(hex(softmax.u16[728])).toBe("0x3c00");
  expect(hex(softmax.u16[729])).toBe("0x0");
  expect(softmax.f32[385]).toBe(729);

  const value = halves(768 * 80, 0x3c01);
  const weighted = run(gemm(1, 768, 80), viewOf(softmax.u8.buffer, 0, 768 * 2), value);
  expect(hex(weighted.u16[0])).toBe("0x61b3");

  const output = run(
    {
      kind: "attention-merge",
      rows: 1,
      valueDimension: 72,
      paddedValueDimension: 80,
      keyBlockColumns: 768,
      initial: true,
      finalBlock: true,
    },
    weighted,
    softmax,
  );
  expect(f32Bits(output, 0)).toBe("0x3f801679");
  expect(f32Bits(output, 71)).toBe("0x3f801679");
});
