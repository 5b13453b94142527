import { createWasmBackend } from "../../src/backends/wasm/wasm-backend.ts";
import { NEAREST, type Rounding } from "../../src/numerics/rounding.ts";
import type { HostTensor } from "../../src/sim/host-io.ts";
import { Machine } from "../../src/sim/machine.ts";
import type { Schedule } from "../../src/sim/schedule.ts";
import { IPU21 } from "../../src/target/ipu21.ts";
import { tensorNamed } from "./block.ts";

/** A planned program on a machine whose weights are in place, as onnxruntime has them in its session. */
export interface Replay {
  /** Writes the input, runs every step with values, and reads the output. */
  run(): Promise<ReadonlyMap<string, HostTensor>>;
  close(): Promise<void>;
}

export async function createReplay(
  schedule: Schedule,
  inputs: ReadonlyMap<string, HostTensor>,
  { threads, rounding }: { readonly threads: number; readonly rounding: Rounding },
): Promise<Replay> {
  const backend = createWasmBackend({ threads, simd: "auto" });
  const machine = await Machine.create(schedule, IPU21, backend);
  for (const [name, tensor] of inputs) machine.write(name, tensor);
  const input = schedule.inputs.filter(({ role }) => role === "input").map(({ name }) => name);
  return {
    async run() {
      for (const name of input) machine.write(name, tensorNamed(inputs, name));
      const { outputs } = await machine.run({ numerics: { ...NEAREST, rounding } });
      return outputs;
    },
    close: () => backend.close(),
  };
}
