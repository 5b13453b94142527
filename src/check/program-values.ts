import { assertNever, SimError } from "../base/errors.ts";
import type { DType } from "../numerics/dtype.ts";
import type { Operation, Program } from "../plan/program.ts";

/** A value of a program, as a matrix: its axes before the last are folded into rows. */
export interface Value {
  readonly name: string;
  readonly shape: readonly number[];
  readonly rows: number;
  readonly columns: number;
  readonly dtype: DType;
  /** The narrowest type on the way to it. */
  readonly precision: DType;
  /** The first axis counts heads. */
  readonly ofHeads: boolean;
}

/** By name. */
export type Values = ReadonlyMap<string, Value>;

/**
 * Every value of a program, operations checked as they come.
 *
 * @throws SimError `PROGRAM_INVALID` for a value used before it is made, `SHAPE_MISMATCH` for operands that do not fit.
 */
export function describeValues({ inputs, operations }: Program): Values {
  const values = new Map<string, Value>();
  for (const { name, shape, dtype } of inputs) {
    values.set(name, describe(name, shape, dtype, { precision: dtype, ofHeads: false }));
  }
  for (const operation of operations) values.set(operation.output, outputOf(operation, values));
  return values;
}

function describe(
  name: string,
  shape: readonly number[],
  dtype: DType,
  { precision, ofHeads }: Pick<Value, "precision" | "ofHeads">,
): Value {
  const rows = shape.slice(0, -1).reduce((product, extent) => product * extent, 1);
  const narrow = dtype === "f16" ? "f16" : precision;
  return { name, shape, rows, columns: shape.at(-1) ?? 1, dtype, precision: narrow, ofHeads };
}

function outputOf(operation: Operation, values: Values): Value {
  const name = operation.output;
  switch (operation.kind) {
    case "gemm": {
      const left = valueNamed(values, operation.left);
      const right = valueNamed(values, operation.right);
      if (left.columns !== right.rows) throw doNotFit(operation, left, right);
      const shape = [...left.shape.slice(0, -1), right.columns];
      return describe(name, shape, operation.multiply ?? "f16", left);
    }
    case "split-heads": {
      const input = valueNamed(values, operation.input);
      const { heads } = operation;
      if (input.shape.length !== 3 || input.columns % heads !== 0) {
        throw doNotFit(operation, input);
      }
      const [batch, tokens, width] = input.shape;
      const origin = { precision: input.precision, ofHeads: true };
      return describe(name, [batch * heads, tokens, width / heads], input.dtype, origin);
    }
    case "attention": {
      const [query, key, value] = [operation.query, operation.key, operation.value].map((operand) =>
        valueNamed(values, operand),
      );
      const [heads, tokens, size] = query.shape;
      const [keyHeads, keys, keySize] = key.shape;
      const [valueHeads, valueKeys, columns] = value.shape;
      const sameHeads = heads === keyHeads && heads === valueHeads;
      const ranks = [query, key, value].every(({ shape }) => shape.length === 3);
      if (!ranks || !sameHeads || size !== keySize || keys !== valueKeys) {
        throw doNotFit(operation, query, key, value);
      }
      return describe(name, [heads, tokens, columns], "f32", { precision: "f16", ofHeads: true });
    }
    case "gelu": {
      const input = valueNamed(values, operation.input);
      return describe(name, input.shape, "f16", input);
    }
    case "add": {
      const [left, right] = operation.inputs.map((input) => valueNamed(values, input));
      if (left.rows !== right.rows || left.columns !== right.columns) {
        throw doNotFit(operation, left, right);
      }
      const precision = right.precision === "f16" ? "f16" : left.precision;
      const ofHeads = left.ofHeads || right.ofHeads;
      return describe(name, left.shape, left.dtype, { precision, ofHeads });
    }
    case "cast": {
      const input = valueNamed(values, operation.input);
      return describe(name, input.shape, operation.to, input);
    }
    case "rearrange": {
      const input = valueNamed(values, operation.input);
      return describe(name, input.shape, input.dtype, input);
    }
    default:
      return assertNever(operation);
  }
}

/** @throws SimError `PROGRAM_INVALID` where there is none. */
export function valueNamed(values: Values, name: string): Value {
  const value = values.get(name);
  if (value) return value;
  throw new SimError("PROGRAM_INVALID", {
    what: `nothing before its use makes the value "${name}"`,
    where: { value: name },
    fix: "Name an input or the output of an earlier operation",
  });
}

function doNotFit(operation: Operation, ...operands: readonly Value[]): SimError {
  const shapes = operands.map(({ name, shape }) => `${name} [${shape.join(", ")}]`);
  return new SimError("SHAPE_MISMATCH", {
    what: `${operation.kind} "${operation.output}" of ${shapes.join(", ")}`,
    where: { operation: operation.kind, output: operation.output },
    fix: "Change the shapes or the operation",
  });
}
