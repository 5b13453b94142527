import { SimError, assertNever } from "../base/errors.ts";
import type { DType } from "../numerics/dtype.ts";
import type { Operation, Program } from "./program.ts";

/** A value's type: what it is before it has a place. */
export interface ValueType {
  readonly name: string;
  /** Inputs first, then the operations' results, in order. */
  readonly id: number;
  readonly shape: readonly number[];
  readonly dtype: DType;
}

/**
 * The shape and dtype of every value of a program, by name, in order.
 *
 * @throws SimError `PROGRAM_INVALID`, `SHAPE_MISMATCH`, `DTYPE_MISMATCH`
 */
export function inferTypes(program: Program): Map<string, ValueType> {
  const types = new Map<string, ValueType>();
  const define = (name: string, shape: readonly number[], dtype: DType): void => {
    if (types.has(name)) {
      throw new SimError("PROGRAM_INVALID", {
        what: `two values are called ${name}`,
        where: { value: name },
        fix: "Give each input and each operation's output a name of its own",
      });
    }
    types.set(name, { name, id: types.size, shape, dtype });
  };
  for (const { name, shape, dtype } of program.inputs) define(name, shape, dtype);
  for (const operation of program.operations) {
    const { shape, dtype } = resultType(operation, (name) => typeOf(types, name, operation));
    define(operation.output, shape, dtype);
  }
  if (program.outputs.length === 0) {
    throw new SimError("PROGRAM_INVALID", {
      what: `program ${program.name} has no outputs`,
      where: { program: program.name },
      fix: "Name at least one value under outputs",
    });
  }
  const outputs = new Set<string>();
  for (const name of program.outputs) {
    typeOf(types, name, null);
    if (outputs.has(name)) {
      throw new SimError("PROGRAM_INVALID", {
        what: `outputs name ${name} twice`,
        where: { value: name },
        fix: "Name each output once",
      });
    }
    outputs.add(name);
  }
  return types;
}

function typeOf(
  types: ReadonlyMap<string, ValueType>,
  name: string,
  operation: Operation | null,
): ValueType {
  const type = types.get(name);
  if (type) return type;
  throw new SimError("PROGRAM_INVALID", {
    what: `${operation ? `${operation.kind} ${operation.output} reads` : "outputs name"} ${name}, which no input or earlier operation gives`,
    where: { value: name },
    fix: `Use one of: ${[...types.keys()].join(", ")}`,
  });
}

function resultType(
  operation: Operation,
  typeOfInput: (name: string) => ValueType,
): { shape: readonly number[]; dtype: DType } {
  switch (operation.kind) {
    case "gemm": {
      const left = typeOfInput(operation.left);
      const right = typeOfInput(operation.right);
      expectRank(left, 2, 3, operation);
      expectRank(right, 2, 2, operation);
      if (left.shape.length === 3 && left.shape[0] !== 1) {
        throw mismatch(
          operation,
          `a batch of ${left.shape[0]} matrices; one is planned`,
          left.shape,
        );
      }
      for (const { name, dtype } of [left, right]) {
        if (dtype !== (operation.multiply ?? "f16"))
          throw wrongDType(operation, name, dtype, "f16");
      }
      if (operation.multiply === "f32") {
        throw new SimError("DTYPE_MISMATCH", {
          what: `${operation.output}: a gemm of f32 operands is not planned`,
          where: { value: operation.output },
          fix: "Cast the operands to f16, or write the schedule's gemm calls by hand",
        });
      }
      if (left.shape.at(-1) !== right.shape[0]) {
        throw mismatch(
          operation,
          `left has ${left.shape.at(-1)} columns, right ${right.shape[0]} rows`,
          [...left.shape, ...right.shape],
        );
      }
      return { shape: [...left.shape.slice(0, -1), right.shape[1]], dtype: "f16" };
    }
    case "split-heads": {
      const input = typeOfInput(operation.input);
      expectRank(input, 3, 3, operation);
      const [batch, tokens, width] = input.shape;
      if (batch !== 1)
        throw mismatch(operation, `a batch of ${batch}; one is planned`, input.shape);
      if (width % operation.heads !== 0) {
        throw mismatch(
          operation,
          `${width} columns do not divide into ${operation.heads} heads`,
          input.shape,
        );
      }
      return { shape: [operation.heads, tokens, width / operation.heads], dtype: input.dtype };
    }
    case "attention": {
      const [query, key, value] = [operation.query, operation.key, operation.value].map(
        typeOfInput,
      );
      for (const operand of [query, key, value]) {
        expectRank(operand, 3, 3, operation);
        if (operand.dtype !== "f16")
          throw wrongDType(operation, operand.name, operand.dtype, "f16");
      }
      const fits =
        query.shape[0] === key.shape[0] &&
        key.shape[0] === value.shape[0] &&
        query.shape[2] === key.shape[2] &&
        key.shape[1] === value.shape[1];
      if (!fits) {
        throw mismatch(
          operation,
          `query [${query.shape.join(", ")}], key [${key.shape.join(", ")}] and value [${value.shape.join(", ")}] do not agree in heads, tokens or head dimension`,
          query.shape,
        );
      }
      if (operation.keyBlock % 16 !== 0) {
        throw mismatch(
          operation,
          `a key block of ${operation.keyBlock}, no multiple of 16`,
          key.shape,
        );
      }
      return { shape: [query.shape[0], query.shape[1], value.shape[2]], dtype: "f32" };
    }
    case "gelu": {
      const input = typeOfInput(operation.input);
      if (input.dtype !== "f16") throw wrongDType(operation, input.name, input.dtype, "f16");
      return input;
    }
    case "add": {
      const [a, b] = operation.inputs.map(typeOfInput);
      if (a.shape.join() !== b.shape.join()) {
        throw mismatch(
          operation,
          `shapes [${a.shape.join(", ")}] and [${b.shape.join(", ")}] differ`,
          a.shape,
        );
      }
      if (a.dtype !== b.dtype) throw wrongDType(operation, b.name, b.dtype, a.dtype);
      return a;
    }
    case "cast":
      return { shape: typeOfInput(operation.input).shape, dtype: operation.to };
    case "rearrange":
      return typeOfInput(operation.input);
    default:
      return assertNever(operation);
  }
}

function expectRank(
  { name, shape }: ValueType,
  least: number,
  most: number,
  operation: Operation,
): void {
  if (shape.length >= least && shape.length <= most) return;
  const ranks = least === most ? `${least}` : `${least} or ${most}`;
  throw mismatch(operation, `${name} has rank ${shape.length}, ${ranks} is needed`, shape);
}

function mismatch(operation: Operation, what: string, shape: readonly number[]): SimError {
  return new SimError("SHAPE_MISMATCH", {
    what: `${operation.kind} ${operation.output}: ${what}`,
    where: { value: operation.output, shape: [...shape] },
    fix: "Change the shapes so that they agree",
  });
}

function wrongDType(operation: Operation, name: string, dtype: DType, needed: DType): SimError {
  return new SimError("DTYPE_MISMATCH", {
    what: `${operation.kind} ${operation.output}: ${name} is ${dtype}, ${needed} is needed`,
    where: { value: name, dtype },
    fix: `Insert a cast of ${name} to ${needed}`,
  });
}
