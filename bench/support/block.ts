import { toF16 } from "../../src/numerics/f16.ts";
import { gaussian } from "../../src/numerics/random.ts";
import { plan } from "../../src/plan/plan.ts";
import type { Program } from "../../src/plan/program.ts";
import { siglipAttention } from "../../src/plan/programs/siglip-attention.ts";
import type { HostTensor } from "../../src/sim/host-io.ts";
import type { Schedule } from "../../src/sim/schedule.ts";
import { IPU21 } from "../../src/target/ipu21.ts";

/** The SigLIP block: 16 heads of 72, on all tiles. */
export const SIGLIP = { tokens: 729, width: 1152, heads: 16, headSize: 72, tiles: 1472 } as const;

export interface BlockOptions {
  readonly tokens: number;
  readonly width: number;
  readonly heads: number;
  readonly headSize: number;
  readonly tiles: number;
}

export function planBlock(options: BlockOptions): { program: Program; schedule: Schedule } {
  const program = siglipAttention(options);
  return { program, schedule: plan(program, IPU21) };
}

/** Gaussian data for every input, standard deviation 0.25. */
export function inputsOf({ inputs }: Program): Map<string, HostTensor> {
  return new Map(
    inputs.map(({ name, shape }, seed) => {
      const elements = shape.reduce((product, extent) => product * extent, 1);
      const data = Uint16Array.from(gaussian(seed, elements, 0.25), (value) => toF16(value));
      return [name, { shape, dtype: "f16" as const, data }];
    }),
  );
}

/** Multiply-adds of the block, padding left out. */
export function macs({ tokens, width, heads, headSize }: BlockOptions): number {
  return 3 * tokens * width * heads * headSize + 2 * heads * tokens * tokens * headSize;
}

export function tensorNamed(tensors: ReadonlyMap<string, HostTensor>, name: string): HostTensor {
  const tensor = tensors.get(name);
  if (!tensor) throw new Error(`no tensor ${name}`);
  return tensor;
}
