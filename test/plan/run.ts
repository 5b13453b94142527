import { createWasmBackend } from "../../src/backends/wasm/wasm-backend.ts";
import { accuracy } from "../../src/check/accuracy.ts";
import { evaluate } from "../../src/check/evaluate.ts";
import { loadInputs } from "../../src/cli/data.ts";
import type { Rounding } from "../../src/numerics/rounding.ts";
import type { Program } from "../../src/plan/program.ts";
import { Machine } from "../../src/sim/machine.ts";
import type { Schedule } from "../../src/sim/schedule.ts";
import { IPU21 } from "../../src/target/ipu21.ts";

/** A NaN of either dtype: what it meets in a sum stays one. */
const POISON = 0xff;

/**
 * Runs a schedule on Gaussian inputs and names the outputs that are further from f64 than rounding explains. All
 * bytes that the plan may use are poison before the host writes: a result that needs one of them is NaN.
 */
export async function wrongOutputs(
  program: Program,
  schedule: Schedule,
  seed: number,
  rounding: Rounding = "nearest",
): Promise<string[]> {
  const backend = createWasmBackend({ threads: 1, simd: "strict" });
  try {
    const machine = await Machine.create(schedule, IPU21, backend);
    for (const { tiles, address, bytes } of schedule.buffers) {
      for (const tile of tiles) machine.memory.view(tile, address, bytes, 1).u8.fill(POISON);
    }
    const inputs = loadInputs(schedule.inputs, { data: "gaussian", seed });
    for (const [name, tensor] of inputs) machine.write(name, tensor);
    const { outputs } = await machine.run({ numerics: { rounding, seed, overflow: "saturate" } });
    const elements = new Map([...inputs].map(([name, { data }]) => [name, data]));
    return evaluate(program, elements, { sample: "all", rounding }).flatMap((want) => {
      const output = outputs.get(want.name);
      return output && accuracy(want, output.data).within ? [] : [want.name];
    });
  } finally {
    await backend.close();
  }
}
