import fc from "fast-check";
import { expect } from "vitest";
import { viewOf } from "../../src/backends/operand-view.ts";
import { SimError } from "../../src/base/errors.ts";
import type { CallContext, OperandView } from "../../src/kernels/kernel.ts";
import { kernelOf } from "../../src/kernels/registry.ts";
import type {
  AttentionMergeSpec,
  AttentionSoftmaxSpec,
  GemmSpec,
  KernelSpec,
} from "../../src/kernels/spec.ts";
import { F16_VALUES, toF16 } from "../../src/numerics/f16.ts";
import { NEAREST, type Numerics } from "../../src/numerics/rounding.ts";

/** What stands in an output before a kernel runs: bytes that no kernel here makes. */
export const POISON = 0xa5;

/** Runs the reference of a checked specification; the output starts as `before`, else as poison. */
export function run(
  spec: KernelSpec,
  inputs: readonly OperandView[],
  context: Partial<CallContext> = {},
  before?: OperandView,
): OperandView {
  const kernel = kernelOf(spec);
  kernel.check(spec);
  const { output, inputs: operands } = kernel.operands(spec);
  operands.forEach(({ bytes }, index) => {
    expect(inputs[index].u8.length).toBeGreaterThanOrEqual(bytes);
  });
  const view = viewOf(new ArrayBuffer(output.bytes), 0, output.bytes);
  if (before) view.u8.set(before.u8);
  else view.u8.fill(POISON);
  kernel.reference(spec, inputs, view, { ...NEAREST, tile: 0, step: 0, ...context });
  return view;
}

/** An operand of halves, from their bits. */
export function halves(bits: ArrayLike<number>): OperandView {
  const view = viewOf(new ArrayBuffer(bits.length * 2), 0, bits.length * 2);
  view.u16.set(bits);
  return view;
}

/** An operand of halves, from numbers. */
export function halvesOf(values: readonly number[]): OperandView {
  return halves(values.map((value) => toF16(value)));
}

/** `value` so many times. */
export function times(count: number, value: number): number[] {
  return Array.from({ length: count }, () => value);
}

export function repeated(count: number, bits: number): OperandView {
  return halves(new Uint16Array(count).fill(bits));
}

export function words(values: ArrayLike<number>): OperandView {
  const view = viewOf(new ArrayBuffer(values.length * 4), 0, values.length * 4);
  view.f32.set(values);
  return view;
}

/** Numbers of the halves of a view. */
export function numbers({ u16 }: OperandView): number[] {
  return Array.from(u16, (bits) => F16_VALUES[bits]);
}

export function f32Bits({ u8 }: OperandView, word: number): number {
  return new DataView(u8.buffer, u8.byteOffset).getUint32(word * 4, true);
}

export const EXACT: Partial<Numerics> = { rounding: "exact" };

export function gemm(
  rows: number,
  innerBlock: number,
  outputColumns: number,
  mode: GemmSpec["mode"] = "initialize",
): GemmSpec {
  return {
    kind: "gemm",
    multiply: "f16",
    accumulate: "f16",
    mode,
    weights: "standard",
    rows,
    innerBlock,
    outputColumns,
  };
}

export function gemmF32(rows: number, mode: GemmSpec["mode"] = "initialize"): GemmSpec {
  return { ...gemm(rows, 64, 64, mode), multiply: "f32", accumulate: "f32" };
}

export function softmax(
  rows: number,
  keyColumns: number,
  paddedKeyColumns: number,
  headDimension = 64, // a scale of exactly 1/8
): AttentionSoftmaxSpec {
  return { kind: "attention-softmax", rows, headDimension, keyColumns, paddedKeyColumns };
}

export function merge(rows: number, initial: boolean, finalBlock: boolean): AttentionMergeSpec {
  return {
    kind: "attention-merge",
    rows,
    valueDimension: 10,
    paddedValueDimension: 16,
    keyBlockColumns: 16,
    initial,
    finalBlock,
  };
}

/** Any half that is a number. */
export const finiteHalf: fc.Arbitrary<number> = fc
  .tuple(fc.integer({ min: 0, max: 0x7bff }), fc.boolean())
  .map(([bits, isNegative]) => (isNegative ? bits | 0x8000 : bits));

export function finiteHalves(count: number): fc.Arbitrary<number[]> {
  return fc.array(finiteHalf, { minLength: count, maxLength: count });
}

/** The error that `act` throws: a SimError with this code. */
export function simError(code: string, act: () => unknown): SimError {
  let thrown: unknown;
  try {
    act();
  } catch (error) {
    thrown = error;
  }
  expect(thrown).toBeInstanceOf(SimError);
  const error = thrown as SimError;
  expect(error.code).toBe(code);
  return error;
}
