import { describe, expect, test } from "vitest";
import { planFitting, plannedFrom } from "../../src/plan/fit.ts";
import { plan } from "../../src/plan/plan.ts";
import type { Program } from "../../src/plan/program.ts";
import { attention } from "../../src/plan/programs/attention.ts";
import { gemm } from "../../src/plan/programs/gemm.ts";
import { mlp } from "../../src/plan/programs/mlp.ts";
import { siglipAttention } from "../../src/plan/programs/siglip-attention.ts";
import { formatSchedule } from "../../src/sim/schedule-file.ts";
import { validateSchedule } from "../../src/sim/validate.ts";
import { IPU21 } from "../../src/target/ipu21.ts";
import { expectCode } from "../sim/support.ts";
import { wrongOutputs } from "./run.ts";
import { scheduleFaults } from "./schedule-faults.ts";

const siglip = (tiles: number, tokens = 729): Program =>
  siglipAttention({ tokens, width: 1152, heads: 16, headSize: 72, tiles });
const square = (tiles: number): Program => gemm({ m: 729, n: 1152, k: 1152, tiles });
const perceptron = (tiles: number): Program =>
  mlp({ tokens: 729, width: 1152, hidden: 4304, tiles });
const OWN = "or say so";

/** The grids of a program's gemms, one for those alike. */
function gridsOf({ operations }: Program): string {
  const grids = operations.flatMap((operation) =>
    operation.kind === "gemm" ? [Object.values(operation.grid).join("x")] : [],
  );
  return [...new Set(grids)].join(" ");
}

describe("a program whose grids are free", () => {
  // prettier-ignore
  test.each<[string, Program]>([
    ["the recorded block",       siglip(1472)],
    ["a gemm on all tiles",      square(1472)],
    ["a small perceptron",       mlp({ tokens: 20, width: 48, hidden: 64, tiles: 8 })],
    ["attention, without grids", attention({ tokens: 20, heads: 2, headSize: 16, tiles: 8 })],
  ])("keeps them where they fit: %s", (_what, program) => {
    const made = planFitting(program, IPU21, OWN);
    expect(made.program).toBe(program);
    expect(formatSchedule(made.schedule)).toBe(formatSchedule(plan(program, IPU21)));
  });

  // prettier-ignore
  test.each<[string, Program, string]>([
    ["the block on a tile less",         siglip(1471),       "46x10x3"],
    ["the block on 1,200 tiles",         siglip(1200),       "46x13x2"],
    ["the block on half of the tiles",   siglip(736),        "23x16x2"],
    ["the block on 400 tiles",           siglip(400),        "12x11x3"],
    ["the block of 1,024 tokens",        siglip(1472, 1024), "32x15x3"],
    ["a perceptron on all tiles",        perceptron(1472),   "27x27x2 32x9x5"],
    ["a gemm on 200 tiles",              square(200),        "16x6x2"],
  ])("is cut otherwise where they do not: %s", (_what, program, grids) => {
    expectCode("TILE_MEMORY_FULL", () => plan(program, IPU21));
    const made = planFitting(program, IPU21, OWN);
    expect(gridsOf(made.program)).toBe(grids);
    validateSchedule(made.schedule, IPU21);
    expect(plannedFrom(program, made.schedule, IPU21)).toEqual(made.program);
  });

  // prettier-ignore
  test.each<[string, Program]>([
    ["a gemm",       gemm({ m: 48, n: 2000, k: 1000, tiles: 16 })],
    ["a perceptron", mlp({ tokens: 96, width: 320, hidden: 1024, tiles: 12 })],
    ["a block",      siglipAttention({ tokens: 48, width: 1152, heads: 2, headSize: 72, tiles: 6 })],
  ])("gives what f64 gives, so cut: %s", async (_what, program) => {
    expectCode("TILE_MEMORY_FULL", () => plan(program, IPU21));
    const made = planFitting(program, IPU21, OWN);
    expect(scheduleFaults(made.schedule, IPU21)).toEqual([]);
    expect(await wrongOutputs(made.program, made.schedule, 1)).toEqual([]);
  });

  test.each<[string, Program, RegExp]>([
    ["grids were tried", siglip(100), /input.*; nor do \d other grids fit.*tiles.*; or say so\.$/],
    ["none could fit", square(16), /right.*; no other grid could fit.*tiles.*; or say so\.$/],
    ["it has none", attention({ tokens: 1e8, heads: 2, headSize: 16, tiles: 8 }), /smaller\.$/],
  ])("is refused with its own limit where %s", (_why, program, says) => {
    expectCode("TILE_MEMORY_FULL", () => planFitting(program, IPU21, OWN));
    expect(() => planFitting(program, IPU21, OWN)).toThrowError(says);
  });

  test("that breaks a limit other than memory is not cut otherwise", () => {
    const program = siglipAttention({
      tokens: 20,
      width: 48,
      heads: 2,
      headSize: 16,
      tiles: 8,
      queryParts: 5,
    });
    expect(() => planFitting(program, IPU21, OWN)).toThrowError(/^PLAN_DOES_NOT_FIT: (?!.*grids)/);
  });
});

test("a schedule that a program does not make is held against the program's own grids", () => {
  const program = square(200);
  const other = plan(gemm({ m: 729, n: 1152, k: 1152, tiles: 1472 }), IPU21);
  expect(plannedFrom(program, other, IPU21)).toBe(program);
});
