import fc from "fast-check";
import type { DType } from "../../src/numerics/dtype.ts";
import {
  AMP_LEFT,
  AMP_TRANSPOSED_LEFT,
  AMP_TRANSPOSED_RIGHT,
  axisTiling,
  blockMajor,
  fromEnd,
  layout,
  ROW_MAJOR,
  tiling,
} from "../../src/layouts/constructors.ts";
import type { AxisTiling, Layout, Order } from "../../src/layouts/layout.ts";
import type { GemmOperation, Operation, Program, ProgramInput } from "../../src/plan/program.ts";

interface Value {
  readonly name: string;
  readonly shape: readonly number[];
  readonly dtype: DType;
}

const KINDS = [
  "gemm",
  "gemm",
  "attention",
  "split-heads",
  "gelu",
  "add",
  "cast",
  "rearrange",
] as const;
const ORDERS: readonly Order[] = [
  ROW_MAJOR,
  ROW_MAJOR,
  AMP_LEFT,
  AMP_TRANSPOSED_LEFT,
  AMP_TRANSPOSED_RIGHT,
  blockMajor(16, 16),
  blockMajor(32, 16, "transposed-matrix"),
];

/** Small programs of any operations in any order. Many plan; the others break a limit. */
export const programs: fc.Arbitrary<Program> = fc.gen().map((gen) => new Maker(gen).program());

type Gen = fc.GeneratorValue;

/** Adds operations to the values that are there, with inputs of their own where none fits. */
class Maker {
  readonly #gen: Gen;
  readonly #inputs: ProgramInput[] = [];
  readonly #operations: Operation[] = [];
  readonly #values: Value[] = [];
  readonly #tiles: number;

  constructor(gen: Gen) {
    this.#gen = gen;
    this.#tiles = this.#whole(4, 24);
  }

  program(): Program {
    const steps = this.#whole(1, 5);
    while (this.#operations.length < steps) this.#add(this.#one(KINDS));
    const last = this.#values[this.#values.length - 1].name;
    const other = this.#one(this.#values).name;
    return {
      format: "tilesim-program",
      version: 1,
      name: "random",
      tiles: this.#tiles,
      inputs: this.#inputs,
      operations: this.#operations,
      outputs: [...new Set([last, other])],
    };
  }

  #add(kind: (typeof KINDS)[number]): void {
    const output = `v${this.#operations.length}`;
    const give = (operation: Operation, shape: readonly number[], dtype: DType): void => {
      this.#operations.push(operation);
      this.#values.push({ name: output, shape, dtype });
    };
    switch (kind) {
      case "gemm": {
        const isLeft = ({ shape, dtype }: Value): boolean =>
          dtype === "f16" && (shape.length === 2 || (shape.length === 3 && shape[0] === 1));
        const left = this.#value(isLeft, () => [this.#extent(), this.#extent()]);
        const inner = left.shape[left.shape.length - 1];
        const right = this.#value(
          ({ shape, dtype }) => dtype === "f16" && shape.length === 2 && shape[0] === inner,
          () => [inner, this.#extent()],
        );
        const orientation = this.#one(["plain", "swapped"] as const);
        const grid: GemmOperation["grid"] = {
          m: this.#parts(left.shape[left.shape.length - 2], orientation === "plain" ? 1 : 16),
          n: this.#parts(right.shape[1], orientation === "plain" ? 16 : 2),
          k: this.#parts(inner, 16),
        };
        give(
          {
            kind,
            output,
            left: left.name,
            right: right.name,
            grid,
            orientation,
            weights: this.#one(["standard", "interleaved"]),
          },
          [...left.shape.slice(0, -1), right.shape[1]],
          "f16",
        );
        return;
      }
      case "attention": {
        const isHeads = ({ shape, dtype }: Value): boolean => dtype === "f16" && shape.length === 3;
        const query = this.#value(isHeads, () => [
          this.#whole(1, 3),
          this.#extent(),
          this.#extent(),
        ]);
        const [heads, queries, size] = query.shape;
        const key = this.#value(
          ({ shape, dtype }) =>
            dtype === "f16" && shape.length === 3 && shape[0] === heads && shape[2] === size,
          () => [heads, this.#extent(), size],
        );
        const value = this.#value(
          ({ shape, dtype }) =>
            dtype === "f16" &&
            shape.length === 3 &&
            shape[0] === heads &&
            shape[1] === key.shape[1],
          () => [heads, key.shape[1], this.#extent()],
        );
        give(
          {
            kind,
            output,
            query: query.name,
            key: key.name,
            value: value.name,
            queryParts: this.#parts(queries, 1),
            keyBlock: this.#one([16, 32, 64]),
          },
          [heads, queries, value.shape[2]],
          "f32",
        );
        return;
      }
      case "split-heads": {
        const heads = this.#whole(1, 3);
        const input = this.#value(
          ({ shape }) => shape.length === 3 && shape[0] === 1 && shape[2] % heads === 0,
          () => [1, this.#extent(), heads * this.#extent()],
        );
        const [, tokens, width] = input.shape;
        give(
          { kind, output, input: input.name, heads },
          [heads, tokens, width / heads],
          input.dtype,
        );
        return;
      }
      case "gelu": {
        const input = this.#value(({ dtype }) => dtype === "f16");
        give({ kind, output, input: input.name }, input.shape, "f16");
        return;
      }
      case "add": {
        const a = this.#value(() => true);
        const b = this.#value(
          ({ shape, dtype }) => shape.join() === a.shape.join() && dtype === a.dtype,
          () => a.shape,
          a.dtype,
        );
        give({ kind, output, inputs: [a.name, b.name] }, a.shape, a.dtype);
        return;
      }
      case "cast": {
        const input = this.#value(() => true);
        const to = this.#one(["f16", "f32"] as const);
        give({ kind, output, input: input.name, to }, input.shape, to);
        return;
      }
      case "rearrange": {
        const input = this.#value(() => true);
        give(
          { kind, output, input: input.name, layout: this.#layout(input.shape.length) },
          input.shape,
          input.dtype,
        );
      }
    }
  }

  /** A value that fits, or a new input. */
  #value(
    fits: (value: Value) => boolean,
    shapeOf: () => readonly number[] = () => this.#shape(),
    dtype: DType = "f16",
  ): Value {
    const fitting = this.#values.filter(fits);
    const pick = this.#whole(0, fitting.length + 1);
    if (pick < fitting.length) return fitting[pick];
    const value = { name: `x${this.#inputs.length}`, shape: shapeOf(), dtype };
    this.#inputs.push({ ...value, role: this.#one(["input", "weight"]) });
    this.#values.push(value);
    return value;
  }

  /** Cut along rows, columns and, where there is one, the first axis; some tiles may hold padding alone. */
  #layout(rank: number): Layout {
    const cut = (axis: number, sizes: readonly number[]): AxisTiling =>
      axisTiling(fromEnd(axis), this.#whole(1, 3), {
        block_size: this.#one(sizes),
        padding: "zero",
      });
    const axes = [cut(2, [1, 2, 16]), cut(1, [2, 16, 32])];
    if (rank > 2 && this.#whole(0, 1) === 1) axes.unshift(cut(3, [1, 2]));
    return layout(
      this.#one(ORDERS),
      tiling(axes, this.#whole(1, 2)),
      this.#one(["standard", "interleaved"]),
    );
  }

  #shape(): readonly number[] {
    return [...this.#one([[], [], [1], [2], [3], [2, 2]]), this.#extent(), this.#extent()].slice(
      this.#whole(0, 9) === 0 ? -1 : 0,
    );
  }

  /** Odd ones, whole panels and what is just beside them. */
  #extent(): number {
    return this.#one([1, 2, 7, 8, 15, 16, 17, 18, 24, 32, 34, 48, 64]);
  }

  /** Parts of an axis that is cut into blocks of `unit`: no finer than one block each, nearly always. */
  #parts(extent: number, unit: number): number {
    const finest = Math.ceil(extent / unit);
    return this.#whole(0, 40) === 0 ? finest + 1 : this.#whole(1, Math.min(3, finest));
  }

  #whole(min: number, max: number): number {
    return this.#gen(fc.integer, { min, max });
  }

  #one<T>(items: readonly T[]): T {
    return items[this.#whole(0, items.length - 1)];
  }
}
