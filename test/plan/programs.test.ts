import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createWasmBackend } from "../../src/backends/wasm/wasm-backend.ts";
import { SimError, type Code } from "../../src/base/errors.ts";
import { loadInputs } from "../../src/cli/data.ts";
import { plan } from "../../src/plan/plan.ts";
import type { Program } from "../../src/plan/program.ts";
import { attention } from "../../src/plan/programs/attention.ts";
import { gemm } from "../../src/plan/programs/gemm.ts";
import { mlp } from "../../src/plan/programs/mlp.ts";
import { siglipAttention } from "../../src/plan/programs/siglip-attention.ts";
import { Machine } from "../../src/sim/machine.ts";
import type { ExchangeStep, Schedule } from "../../src/sim/schedule.ts";
import { formatSchedule } from "../../src/sim/schedule-file.ts";
import { unwrittenReads } from "../../src/sim/unwritten.ts";
import { validateSchedule } from "../../src/sim/validate.ts";
import { IPU21 } from "../../src/target/ipu21.ts";
import { thrownBy } from "../sim/support.ts";
import { programs } from "./random-program.ts";
import { wrongOutputs } from "./run.ts";
import { scheduleFaults } from "./schedule-faults.ts";

/** What a program that means something may break. */
const LIMITS: readonly Code[] = ["PLAN_DOES_NOT_FIT", "TILE_MEMORY_FULL", "LAYOUT_INVALID"];

/** The schedule; null where the plan names a limit that the program breaks. */
function planOrLimit(program: Program): Schedule | null {
  try {
    return plan(program, IPU21);
  } catch (error) {
    expect(error).toBeInstanceOf(SimError);
    expect(LIMITS).toContain((error as SimError).code);
    return null;
  }
}

describe("any program", () => {
  test("is planned soundly, the same each time, or refused with the limit that it breaks", () => {
    let planned = 0;
    fc.assert(
      fc.property(programs, (program) => {
        const schedule = planOrLimit(program);
        if (schedule === null) return;
        planned++;
        validateSchedule(schedule, IPU21);
        expect(scheduleFaults(schedule, IPU21)).toEqual([]);
        expect(unwrittenReads(schedule)).toEqual([]);
        expect(formatSchedule(plan(program, IPU21))).toBe(formatSchedule(schedule));
      }),
      { numRuns: 600 },
    );
    expect(planned).toBeGreaterThan(150);
  });

  test("that is planned gives what the same mathematics in f64 gives, whatever memory held before", async () => {
    await fc.assert(
      fc.asyncProperty(
        programs,
        fc.nat(1000),
        fc.constantFrom("nearest", "stochastic", "exact"),
        async (program, seed, rounding) => {
          const schedule = planOrLimit(program);
          fc.pre(schedule !== null);
          expect(await wrongOutputs(program, schedule, seed, rounding)).toEqual([]);
        },
      ),
      { numRuns: 250, maxSkipsPerRun: 20 },
    );
  });
});

const small = { tokens: 20, width: 48, heads: 2, headSize: 16 };

// prettier-ignore
const BUILT_IN: readonly (readonly [string, (tiles: number) => Program])[] = [
  ["siglip-attention", (tiles) => siglipAttention({ ...small, tiles })],
  ["attention",        (tiles) => attention({ ...small, tiles })],
  ["gemm, swapped",    (tiles) => gemm({ m: 40, n: 36, k: 80, tiles })],
  ["gemm, plain",      (tiles) => gemm({ m: 40, n: 36, k: 80, tiles, orientation: "plain" })],
  ["mlp",              (tiles) => mlp({ tokens: 20, width: 48, hidden: 96, tiles })],
];

describe.each(BUILT_IN)("%s", (_name, programOn) => {
  test.each([2, 3, 5, 7, 8, 12, 16, 23, 64])("is right on %i tiles", async (tiles) => {
    const program = programOn(tiles);
    const schedule = plan(program, IPU21);
    validateSchedule(schedule, IPU21);
    expect(scheduleFaults(schedule, IPU21)).toEqual([]);
    expect(await wrongOutputs(program, schedule, tiles)).toEqual([]);
  });
});

describe("a gemm", () => {
  const shape = { m: 40, n: 36, k: 80, tiles: 128 };
  const grids = [1, 2, 3, 4].flatMap((m) =>
    [1, 3, 4].flatMap((n) => [1, 2, 3, 5, 6].map((k) => ({ m, n, k }))),
  );

  test.each(grids)("on a grid of $m x $n x $k is right, or the limit is named", async (grid) => {
    const program = gemm({ ...shape, grid });
    // Rows in blocks of 16, columns by twos, 80 inner elements in five panels.
    const finest = { m: 3, n: 18, k: 5 };
    const tooFine = (["m", "n", "k"] as const).filter((axis) => grid[axis] > finest[axis]);
    if (tooFine.length > 0) {
      const { code, fault } = thrownBy(() => plan(program, IPU21)) as SimError;
      const [axis] = tooFine;
      const where = { value: "output", axis, parts: grid[axis], most: finest[axis] };
      expect([code, fault.where]).toEqual(["PLAN_DOES_NOT_FIT", where]);
      return;
    }
    expect(await wrongOutputs(program, plan(program, IPU21), 1)).toEqual([]);
  });
});

describe("a gemm on 2 x 2 x 3 tiles", () => {
  const grid = { m: 2, n: 2, k: 3 };
  const schedule = plan(gemm({ m: 32, n: 32, k: 96, tiles: 12, grid }), IPU21);

  test("has the left operand's blocks wait on tiles (row block) + 4 * (inner part)", () => {
    expect(schedule.inputs[0].tiles).toEqual([0, 1, 4, 5, 8, 9]);
  });

  // A column part has six tiles, its rows' two blocks beside each other; the owners are tiles 0 to 3.
  test.each([
    // owner   tiles of its inner parts, in the order in which they are added
    [0, [0, 2, 4]],
    [1, [1, 3, 5]],
    [2, [6, 8, 10]],
    [3, [7, 9, 11]],
  ])("adds on tile %i the partials of tiles %j in this order", (owner, tiles) => {
    const partials = schedule.buffers.find(({ name }) => name === "output.partials");
    const bytes = 16 * 16 * 2;
    const landed = schedule.steps
      .flatMap((step) => (step.kind === "exchange" ? step.transfers : []))
      .flatMap(({ source, destinations }) =>
        destinations
          .filter((destination) => destination.tiles.some((tile) => tile === owner))
          .map(({ address }) => ({ source, part: (address - (partials?.address ?? 0)) / bytes })),
      )
      .filter(({ part }) => part >= 0 && part < 3 && Number.isInteger(part));
    const own = tiles.indexOf(owner);
    expect(landed.sort((a, b) => a.part - b.part)).toEqual(
      tiles.flatMap((source, part) => (part === own ? [] : [{ source, part }])),
    );
  });
});

test("weights stay in tile memory for the next run, whatever a run does beside them", async () => {
  const schedule = plan(mlp({ tokens: 20, width: 48, hidden: 96, tiles: 8 }), IPU21);
  const backend = createWasmBackend({ threads: 1, simd: "strict" });
  const machine = await Machine.create(schedule, IPU21, backend);
  const inputs = loadInputs(schedule.inputs, { data: "gaussian", seed: 1 });
  for (const [name, tensor] of inputs) machine.write(name, tensor);
  const first = await machine.run();
  for (const { name, role } of schedule.inputs) {
    const tensor = inputs.get(name);
    if (role === "input" && tensor) machine.write(name, tensor);
  }
  expect((await machine.run()).outputs).toEqual(first.outputs);
  await backend.close();
});

describe("the slow check of schedules", () => {
  const schedule = plan(siglipAttention({ ...small, tiles: 8 }), IPU21);
  const phase = schedule.steps.findIndex(({ kind }) => kind === "exchange");
  const { transfers } = schedule.steps[phase] as ExchangeStep;
  const withSteps = (index: number, step: Schedule["steps"][number]): Schedule => ({
    ...schedule,
    steps: schedule.steps.with(index, step),
  });
  const withBuffers = (change: (buffer: Schedule["buffers"][number]) => object): Schedule => ({
    ...schedule,
    buffers: schedule.buffers.map((buffer) => ({ ...buffer, ...change(buffer) })),
  });

  test("finds nothing in a planned one", () => {
    expect(scheduleFaults(schedule, IPU21)).toEqual([]);
  });

  // prettier-ignore
  test.each<[string, Schedule, RegExp]>([
    ["a transfer dropped",             withSteps(phase, { ...schedule.steps[phase], transfers: transfers.slice(1) } as ExchangeStep), /reads byte/],
    ["a phase before what it carries", { ...schedule, steps: [...schedule.steps.slice(4), ...schedule.steps.slice(0, 4)] }, /no live buffer|reads byte/],
    ["all buffers on one place",       withBuffers(() => ({ address: schedule.buffers[0].address })),                  /overlap/],
    ["buffers that die too early",     withBuffers(({ firstStep }) => ({ lastStep: firstStep })),                      /no live buffer/],
    ["buffers of half their bytes",    withBuffers(({ bytes }) => ({ bytes: bytes / 2 })),                             /no live buffer/],
    ["buffers on no tile",             withBuffers(() => ({ tiles: [] })),                                             /no live buffer/],
  ])("finds %s", (_what, broken, fault) => {
    expect(scheduleFaults(broken, IPU21).join("\n")).toMatch(fault);
  });
});
