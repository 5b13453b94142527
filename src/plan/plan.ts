import { SimError, assertNever } from "../base/errors.ts";
import { tileId } from "../base/units.ts";
import { axisTiling, fromEnd, layout, ROW_MAJOR } from "../layouts/constructors.ts";
import type { Layout } from "../layouts/layout.ts";
import { symbol } from "../kernels/symbol.ts";
import type { KernelSpec } from "../kernels/spec.ts";
import type { Binding, Schedule } from "../sim/schedule.ts";
import type { Target } from "../target/target.ts";
import { PlanBuilder, ref, type PlanShape } from "./builder.ts";
import { convert } from "./convert.ts";
import { attentionLayouts, lowerAttention, type AttentionLayouts } from "./lower-attention.ts";
import { lowerAdd, lowerCast, lowerGelu } from "./lower-elementwise.ts";
import { gemmLayouts, lowerGemm } from "./lower-gemm.ts";
import type { AttentionOperation, Operation, Program, ProgramInput } from "./program.ts";
import { inferTypes, type ValueType } from "./shapes.ts";
import {
  largestShardBytes,
  placedValue,
  plainView,
  storableShards,
  type NewValue,
  type PlacedValue,
} from "./value.ts";

/**
 * A program as a schedule: each operation lowered in order, operands placed by lifetime, exchanges as
 * transfers between addresses. The same program and target give the same schedule, byte by byte.
 *
 * @throws SimError `PROGRAM_INVALID`, `SHAPE_MISMATCH`, `DTYPE_MISMATCH` for a program that means nothing;
 *   `PLAN_DOES_NOT_FIT`, `TILE_MEMORY_FULL` for one that breaks a limit of the target
 */
export function plan(program: Program, target: Target): Schedule {
  if (program.tiles > target.tiles) {
    throw new SimError("PLAN_DOES_NOT_FIT", {
      what: `program ${program.name} wants ${program.tiles} tiles, ${target.name} has ${target.tiles}`,
      where: { tiles: program.tiles, most: target.tiles },
      fix: `Use up to ${target.tiles} tiles`,
    });
  }
  const types = inferTypes(program);
  const builder = new PlanBuilder(target);
  const planner = new Planner(program, types, builder);
  program.operations.forEach((operation, index) => planner.lower(operation, `operation.${index}`));
  const outputs = program.outputs.map((name) => planner.output(name));

  const { steps, buffers, at } = builder.finish(symbolOf);
  const binding = (value: PlacedValue, role: Binding["role"]): Binding => {
    const count = value.layout.tiling.tile_count;
    const tiles = Array.from({ length: count }, (_, tile) => tileId(value.tileOf(tile)));
    const isPlain = tiles.every((tile, index) => tile === index);
    return {
      name: value.name,
      role,
      shape: value.shape,
      dtype: value.dtype,
      layout: value.layout,
      address: at(ref(value.buffer)),
      ...(isPlain ? {} : { tiles }),
    };
  };
  return {
    format: "tilesim-schedule",
    version: 1,
    program: program.name,
    target: target.name,
    tiles: program.tiles,
    inputs: program.inputs.map(({ name, role }) => binding(planner.value(name), role)),
    outputs: outputs.map((value) => binding(value, "output")),
    buffers,
    steps,
  };
}

function symbolOf(spec: KernelSpec, shape: PlanShape): string {
  return symbol(spec, shape);
}

/** Lowers operations one by one, and knows where each value is. */
class Planner {
  readonly #program: Program;
  readonly #types: ReadonlyMap<string, ValueType>;
  readonly #builder: PlanBuilder;
  readonly #placed = new Map<string, PlacedValue>();

  constructor(program: Program, types: ReadonlyMap<string, ValueType>, builder: PlanBuilder) {
    this.#program = program;
    this.#types = types;
    this.#builder = builder;
    for (const input of program.inputs) this.#placeInput(input);
  }

  value(name: string): PlacedValue {
    const placed = this.#placed.get(name);
    if (placed) return placed;
    throw new SimError("PROGRAM_INVALID", {
      what: `${name} has no place in tile memory: nothing reads it in a layout of its own`,
      where: { value: name },
      fix: "Drop the input, or read it in an operation",
    });
  }

  /** The value, kept until the host has read it. */
  output(name: string): PlacedValue {
    const value = this.value(name);
    this.#builder.keep(value.buffer, "to-end");
    return value;
  }

  lower(operation: Operation, label: string): void {
    const builder = this.#builder;
    const type = this.#type(operation.output);
    const result = { name: type.name, id: type.id, shape: type.shape, dtype: type.dtype };
    const place = (value: PlacedValue): void => void this.#placed.set(operation.output, value);
    switch (operation.kind) {
      case "gemm": {
        this.#checkTiles(operation.grid.m * operation.grid.n * operation.grid.k, operation);
        const left = this.value(operation.left);
        const right = this.value(operation.right);
        return place(lowerGemm(builder, operation, left, right, result, label));
      }
      case "split-heads": {
        const view = { value: this.value(operation.input), heads: operation.heads };
        const layout = this.#layoutFor(operation.output, type);
        const reason = "OperatorKernel";
        return place(
          convert(
            builder,
            view,
            { ...result, layout },
            {
              label: { operation: label, reason, value: type.id },
            },
          ),
        );
      }
      case "attention": {
        const layouts = this.#attentionLayouts(operation);
        const query = this.#inLayout(operation.query, layouts.query, label);
        const key = this.#inLayout(operation.key, layouts.key, label);
        const value = this.#inLayout(operation.value, layouts.value, label);
        return place(lowerAttention(builder, layouts, query, key, value, result, label));
      }
      case "gelu":
        return place(lowerGelu(builder, operation, this.value(operation.input), result, label));
      case "add": {
        const [a, b] = operation.inputs;
        return place(lowerAdd(builder, operation, [this.value(a), this.value(b)], result, label));
      }
      case "cast":
        return place(lowerCast(builder, operation, this.value(operation.input), result, label));
      case "rearrange": {
        this.#checkTiles(operation.layout.tiling.tile_count, operation);
        const view = plainView(this.value(operation.input));
        const label_ = { operation: label, reason: "LayoutRearrangement", value: view.value.id };
        return place(
          convert(builder, view, { ...result, layout: operation.layout }, { label: label_ }),
        );
      }
      default:
        return assertNever(operation);
    }
  }

  #type(name: string): ValueType {
    const type = this.#types.get(name);
    if (type) return type;
    throw new SimError("PROGRAM_INVALID", {
      what: `no value is called ${name}`,
      where: { value: name },
      fix: "Check the program's names",
    });
  }

  #checkTiles(needed: number, { output }: Operation): void {
    if (needed <= this.#program.tiles) return;
    throw new SimError("PLAN_DOES_NOT_FIT", {
      what: `${output} wants ${needed} tiles, the program has ${this.#program.tiles}`,
      where: { value: output, needed, tiles: this.#program.tiles },
      fix: "Choose a smaller grid, or give the program more tiles",
    });
  }

  #inLayout(name: string, wanted: Layout, label: string): PlacedValue {
    const value = this.value(name);
    if (JSON.stringify(value.layout) === JSON.stringify(wanted)) return value;
    return convert(
      this.#builder,
      plainView(value),
      { ...value, name: `${name}.operand`, layout: wanted, tileOf: (tile) => tile },
      { label: { operation: label, reason: "OperatorInputs", value: value.id } },
    );
  }

  #attentionLayouts(operation: AttentionOperation): AttentionLayouts {
    const [query, key, value] = [operation.query, operation.key, operation.value].map(
      (name) => this.#type(name).shape,
    );
    return attentionLayouts(operation, query, key, value, this.#program.tiles);
  }

  /** The layout in which the first reader of `name` wants it; row-major over all tiles where none says. */
  #layoutFor(name: string, type: ValueType): Layout {
    for (const operation of this.#program.operations) {
      if (operation.kind === "attention") {
        const layouts = (): AttentionLayouts => this.#attentionLayouts(operation);
        if (operation.query === name) return layouts().query;
        if (operation.key === name) return layouts().key;
        if (operation.value === name) return layouts().value;
      }
      if (operation.kind === "rearrange" && operation.input === name) return operation.layout;
    }
    return rowsOverTiles(type.shape, this.#program.tiles);
  }

  /** Host inputs lie where their first reader wants them, before the run begins. */
  #placeInput({ name, role }: ProgramInput): void {
    const type = this.#type(name);
    const { layout, tileOf } = this.#inputLayout(name, type);
    const value: NewValue = { ...type, layout, ...(tileOf ? { tileOf } : {}) };
    const bytes = largestShardBytes(storableShards(value), type.dtype);
    const buffer = this.#builder.buffer(name, bytes, layout.memory_class);
    this.#builder.keep(buffer, "from-start");
    // Weights stay for the next run.
    if (role === "weight") this.#builder.keep(buffer, "to-end");
    const placed = placedValue(value, buffer);
    for (const { tile } of placed.shards) buffer.tiles.add(placed.tileOf(tile));
    this.#placed.set(name, placed);
  }

  #inputLayout(
    name: string,
    type: ValueType,
  ): { layout: Layout; tileOf?: (tile: number) => number } {
    for (const operation of this.#program.operations) {
      if (operation.kind === "gemm" && (operation.left === name || operation.right === name)) {
        const { grid } = operation;
        this.#checkTiles(grid.m * grid.n * grid.k, operation);
        const left = this.#type(operation.left).shape;
        const layouts = gemmLayouts(operation, left, this.#type(operation.right).shape);
        return operation.left === name
          ? { layout: layouts.leftSource, tileOf: layouts.leftSourceTile }
          : { layout: layouts.right };
      }
    }
    return { layout: this.#layoutFor(name, type) };
  }
}

/** Whole rows of each matrix, as evenly over the tiles as they go. */
function rowsOverTiles(shape: readonly number[], tiles: number): Layout {
  const rows = shape.at(-2) ?? 1;
  const parts = Math.max(1, Math.min(tiles, rows));
  return layout(ROW_MAJOR, {
    tile_count: parts,
    replicas: 1,
    axes: shape.length > 1 ? [axisTiling(fromEnd(2), parts)] : [],
  });
}
