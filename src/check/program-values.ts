import { assertNever, InternalError } from "../base/errors.ts";
import type { DType } from "../numerics/dtype.ts";
import type { Operation, Program } from "../plan/program.ts";
import { inferTypes } from "../plan/shapes.ts";

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
 * Every value of a program.
 *
 * @throws SimError `PROGRAM_INVALID`, `SHAPE_MISMATCH`, `DTYPE_MISMATCH` for a program that means nothing.
 */
export function describeValues(program: Program): Values {
  const makers = new Map(program.operations.map((operation) => [operation.output, operation]));
  const values = new Map<string, Value>();
  for (const { name, shape, dtype } of inferTypes(program).values()) {
    const maker = makers.get(name);
    const operands = maker ? operandsOf(maker).map((operand) => valueNamed(values, operand)) : [];
    const isNarrow = dtype === "f16" || operands.some(({ precision }) => precision === "f16");
    values.set(name, {
      name,
      shape,
      rows: shape.slice(0, -1).reduce((product, extent) => product * extent, 1),
      columns: shape.at(-1) ?? 1,
      dtype,
      precision: isNarrow ? "f16" : "f32",
      ofHeads: madeOfHeads(maker, operands),
    });
  }
  return values;
}

/** Names of the values that an operation reads. */
function operandsOf(operation: Operation): readonly string[] {
  switch (operation.kind) {
    case "gemm":
      return [operation.left, operation.right];
    case "attention":
      return [operation.query, operation.key, operation.value];
    case "add":
      return operation.inputs;
    case "split-heads":
    case "gelu":
    case "cast":
    case "rearrange":
      return [operation.input];
    default:
      return assertNever(operation);
  }
}

/** All that leaves the first axis alone hands on what its first operand is made of. */
function madeOfHeads(maker: Operation | undefined, operands: readonly Value[]): boolean {
  if (maker?.kind === "split-heads" || maker?.kind === "attention") return true;
  return operands.length > 0 && operands[0].ofHeads;
}

/** A value that is known to be there. */
export function valueNamed(values: Values, name: string): Value {
  const value = values.get(name);
  if (value) return value;
  throw new InternalError(`the program has no value "${name}"`);
}
