import { SimError, assertNever } from "../base/errors.ts";
import type { Backend } from "../kernels/backend.ts";
import { NEAREST, type Numerics } from "../numerics/rounding.ts";
import type { Target } from "../target/target.ts";
import { checkTensor, readTensor, writeTensor, type HostTensor } from "./host-io.ts";
import type { Observer } from "./observer.ts";
import type { Binding, Schedule, Step } from "./schedule.ts";
import { TileMemory } from "./tile-memory.ts";
import { timeSchedule, type ExchangeOrder, type Timing } from "./timing.ts";
import { validateSchedule } from "./validate.ts";

/** What a run gave. */
export interface RunResult {
  readonly outputs: ReadonlyMap<string, HostTensor>;
  readonly timing: Timing;
}

export interface RunOptions {
  readonly numerics?: Numerics;
  readonly observer?: Observer;
}

/**
 * Tiles with memory and a clock, running one schedule. Values come from a backend, step by step; cycles
 * from the schedule and the target alone.
 *
 *   const machine = await Machine.create(schedule, target, backend);
 *   machine.write("input", tensor);
 *   const { outputs, timing } = await machine.run();
 */
export class Machine {
  readonly memory: TileMemory;
  readonly #schedule: Schedule;
  readonly #target: Target;
  readonly #backend: Backend;
  readonly #written = new Set<string>();
  readonly #order: ExchangeOrder;
  #timing: Timing | null = null;

  private constructor(schedule: Schedule, target: Target, backend: Backend, order: ExchangeOrder) {
    this.#order = order;
    this.#schedule = schedule;
    this.#target = target;
    this.#backend = backend;
    this.memory = new TileMemory(target, schedule.tiles);
  }

  /**
   * Checks the schedule, takes memory for its tiles and readies the backend.
   *
   * @throws SimError with the first thing that the schedule does wrong
   * @throws BackendError `OUT_OF_MEMORY`, `BACKEND_UNAVAILABLE`
   */
  static async create(
    schedule: Schedule,
    target: Target,
    backend: Backend,
    order: ExchangeOrder = "compiler",
  ): Promise<Machine> {
    validateSchedule(schedule, target);
    const machine = new Machine(schedule, target, backend, order);
    await backend.attach(machine.memory);
    return machine;
  }

  /** Writes a host tensor. @throws SimError `BAD_USAGE`, `SHAPE_MISMATCH`, `DTYPE_MISMATCH` */
  write(name: string, tensor: HostTensor): void {
    const binding = this.#input(name);
    checkTensor(binding, tensor);
    const bytes = writeTensor(this.memory, binding, tensor);
    this.#backend.memoryChanged(binding.address, bytes);
    this.#written.add(name);
  }

  /**
   * Runs the schedule once. Weights stay for the next run; inputs must be written anew, since their memory
   * is used again once they have been read.
   *
   * @throws SimError `BAD_USAGE` where an input was never written
   * @throws BackendError `BACKEND_FAILED`
   */
  async run({ numerics = NEAREST, observer = {} }: RunOptions = {}): Promise<RunResult> {
    const missing = this.#schedule.inputs.filter(({ name }) => !this.#written.has(name));
    if (missing.length > 0) {
      throw new SimError("BAD_USAGE", {
        what: `no data for ${missing.map(({ name }) => name).join(", ")}`,
        where: { tensor: missing[0].name },
        fix: "Write every input and weight before the run",
      });
    }
    for (const { name, role } of this.#schedule.inputs) {
      if (role === "input") this.#written.delete(name);
    }
    const births = this.#births();
    let executed = 0;
    const runSteps = async (steps: readonly Step[], isTop: boolean): Promise<void> => {
      for (const [index, step] of steps.entries()) {
        if (isTop) births.get(index)?.forEach((fill) => fill());
        switch (step.kind) {
          case "compute":
            await this.#backend.compute(step.calls, numerics, executed);
            break;
          case "exchange":
            await this.#backend.exchange(step.transfers);
            break;
          case "repeat":
            for (let turn = 0; turn < step.times; turn++) await runSteps(step.body, false);
            continue;
          default:
            assertNever(step);
        }
        observer.stepDone?.(executed, step);
        executed++;
      }
    };
    await runSteps(this.#schedule.steps, true);
    const outputs = new Map(
      this.#schedule.outputs.map((binding) => [binding.name, readTensor(this.memory, binding)]),
    );
    return { outputs, timing: this.timing() };
  }

  /** The cycles of the schedule: the same for every run of it. */
  timing(): Timing {
    return (this.#timing ??= timeSchedule(this.#schedule, this.#target, this.#order));
  }

  #input(name: string): Binding {
    const binding = this.#schedule.inputs.find((input) => input.name === name);
    if (binding) return binding;
    const names = this.#schedule.inputs.map((input) => input.name).join(", ");
    throw new SimError("BAD_USAGE", {
      what: `the schedule has no input ${name}`,
      where: { tensor: name },
      fix: `Use one of: ${names}`,
    });
  }

  /** What is zero-filled before each step: buffers that kernels read where nothing writes. */
  #births(): Map<number, (() => void)[]> {
    const births = new Map<number, (() => void)[]>();
    for (const { zeroFilled, firstStep, tiles, address, bytes } of this.#schedule.buffers) {
      if (!zeroFilled) continue;
      const fill = (): void => {
        for (const tile of tiles) this.memory.view(tile, address, bytes, 1).u8.fill(0);
        this.#backend.memoryChanged(address, bytes);
      };
      const step = Math.max(0, firstStep);
      births.set(step, [...(births.get(step) ?? []), fill]);
    }
    return births;
  }
}
