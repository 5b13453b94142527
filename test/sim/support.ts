import { expect } from "vitest";
import { SimError } from "../../src/base/errors.ts";
import { address, tileId } from "../../src/base/units.ts";
import type { Transfer } from "../../src/kernels/exchange.ts";
import type { KernelCall } from "../../src/kernels/call.ts";
import { KERNELS } from "../../src/kernels/registry.ts";
import type { KernelSpec } from "../../src/kernels/spec.ts";
import { LONE, symbol } from "../../src/kernels/symbol.ts";
import { axisTiling, fromEnd, layout, ROW_MAJOR, tiling } from "../../src/layouts/constructors.ts";
import type { Binding, Schedule, Step } from "../../src/sim/schedule.ts";
import { IPU21 } from "../../src/target/ipu21.ts";

/** First byte that data may use, and some places behind it. */
export const AT: number = IPU21.memory.firstData;
export const INTERLEAVED: number = IPU21.memory.interleavedBase;
export const END: number = IPU21.memory.base + IPU21.memory.bytes;

/** A schedule of these steps, without tensors unless `rest` gives some. */
export function scheduleOf(steps: readonly Step[], rest: Partial<Schedule> = {}): Schedule {
  return {
    format: "tilesim-schedule",
    version: 1,
    program: "test",
    target: "ipu21",
    tiles: 4,
    inputs: [],
    outputs: [],
    buffers: [],
    steps,
    ...rest,
  };
}

export interface CallPlaces {
  readonly output: number;
  readonly inputs: readonly number[];
}

/** A call of `spec` on `tiles`, one invocation for each of `places`. */
export function callOf(
  spec: KernelSpec,
  tiles: readonly number[],
  ...places: readonly CallPlaces[]
): KernelCall {
  return {
    kernel: Object.hasOwn(KERNELS, spec.kind) ? symbol(spec, LONE) : spec.kind,
    operation: "op",
    reason: "OperatorKernel",
    value: 0,
    spec,
    elements: [],
    tiles: tiles.map(tileId),
    invocations: places.map(({ output, inputs }) => ({
      output: address(output),
      inputs: inputs.map(address),
    })),
  };
}

export function compute(...calls: readonly KernelCall[]): Step {
  return { kind: "compute", calls };
}

export function exchange(...transfers: readonly Transfer[]): Step {
  return { kind: "exchange", operation: "op", reason: "OperatorInputs", value: 0, transfers };
}

export function transfer(
  source: number,
  from: number,
  words: number,
  tiles: readonly number[],
  to: number,
  width: 32 | 64 = 32,
): Transfer {
  return {
    source: tileId(source),
    address: address(from),
    words,
    width,
    destinations: [{ tiles: tiles.map(tileId), address: address(to) }],
  };
}

/** `rows` rows of `cols` elements, a row a tile from tile 0 on. */
export function rowsBinding(
  name: string,
  role: Binding["role"],
  at: number,
  rows: number,
  cols: number,
  dtype: Binding["dtype"] = "f32",
): Binding {
  return {
    name,
    role,
    shape: [rows, cols],
    dtype,
    layout: layout(ROW_MAJOR, tiling([axisTiling(fromEnd(2), rows)])),
    address: address(at),
  };
}

/** What `run` throws; null where it returns. */
export function thrownBy(run: () => unknown): unknown {
  try {
    run();
    return null;
  } catch (error) {
    return error;
  }
}

/** The error that `run` throws must be the user's, with this code. */
export function expectCode(code: string, run: () => unknown): void {
  const error = thrownBy(run);
  expect(error).toBeInstanceOf(SimError);
  expect((error as SimError).code).toBe(code);
}

/** Whatever `run` does, it throws no error but one that a user can act on. @returns whether it returned */
export function onlySimErrors(run: () => unknown): boolean {
  const error = thrownBy(run);
  if (error === null) return true;
  expect(error).toBeInstanceOf(SimError);
  return false;
}
