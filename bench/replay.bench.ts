import { accuracy } from "../src/check/accuracy.ts";
import { evaluate, type Evaluated } from "../src/check/evaluate.ts";
import { F16_VALUES } from "../src/numerics/f16.ts";
import type { Program } from "../src/plan/program.ts";
import { siglipAttention } from "../src/plan/programs/siglip-attention.ts";
import type { HostTensor } from "../src/sim/host-io.ts";
import { inputsOf, planBlock, SIGLIP, tensorNamed, type BlockOptions } from "./support/block.ts";
import { createOrtBlock, type OrtBlock } from "./support/ort-block.ts";
import { paired, PAIRED_HEADER, type PairedResult } from "./support/paired.ts";
import { createReplay } from "./support/replay.ts";

export interface ReplayResults {
  /** Relative L2 error against f64, of onnxruntime and of the replay by rounding. */
  readonly relL2: Readonly<Record<string, number>>;
  /** Replay against onnxruntime, and one thread against two. */
  readonly pairs: readonly PairedResult[];
}

const ROUNDS = 9;

/**
 * The whole replay of the SigLIP block, with values, against onnxruntime on the same numbers: its weights are in the
 * session as the replay's are in tile memory, and both are given the input and hand back the output.
 */
export async function replayBench(): Promise<ReplayResults> {
  await verifyOrt();
  const { program, schedule } = planBlock(SIGLIP);
  const inputs = inputsOf(program);
  const [want] = evaluated(program, inputs);
  const relL2: Record<string, number> = {};
  const pairs: PairedResult[] = [];
  console.log(PAIRED_HEADER);
  for (const rounding of ["nearest", "exact"] as const) {
    const replays = await Promise.all(
      [1, 2].map((threads) => createReplay(schedule, inputs, { threads, rounding })),
    );
    const output = tensorNamed(await replays[0].run(), want.name);
    relL2[rounding] = accuracy(want, output.data).relL2;
    for (const [index, replay] of replays.entries()) {
      const threads = index + 1;
      const ort = await ortBlock(SIGLIP, inputs, threads);
      relL2["onnxruntime"] ??= accuracy(want, await ort.run()).relL2;
      pairs.push(
        await paired({
          name: `replay, ${rounding} / onnxruntime f32, ${threads} thread(s)`,
          candidate: async () => void (await replay.run()),
          baseline: async () => void (await ort.run()),
          rounds: ROUNDS,
        }),
      );
      await ort.close();
    }
    pairs.push(
      await paired({
        name: `replay, ${rounding}: two threads / one`,
        candidate: async () => void (await replays[1].run()),
        baseline: async () => void (await replays[0].run()),
        rounds: ROUNDS,
      }),
    );
    await Promise.all(replays.map((replay) => replay.close()));
  }
  return { relL2, pairs };
}

/** @throws Error where onnxruntime computes something else than the program says. */
async function verifyOrt(): Promise<void> {
  const small = { tokens: 37, width: 64, heads: 4, headSize: 16, tiles: 64 };
  const program = siglipAttention(small);
  const inputs = inputsOf(program);
  const ort = await ortBlock(small, inputs, 1);
  const [want] = evaluated(program, inputs, "all");
  const { relL2 } = accuracy(want, await ort.run());
  await ort.close();
  if (!(relL2 < 1e-5)) throw new Error(`onnxruntime is off by ${relL2}: not the same block`);
}

function evaluated(
  program: Program,
  inputs: ReadonlyMap<string, HostTensor>,
  sample: "some" | "all" = "some",
): Evaluated[] {
  return evaluate(program, new Map([...inputs].map(([name, { data }]) => [name, data])), {
    sample,
  });
}

function ortBlock(
  { tokens, width, heads }: BlockOptions,
  inputs: ReadonlyMap<string, HostTensor>,
  threads: number,
): Promise<OrtBlock> {
  const floats = (name: string): Float32Array =>
    Float32Array.from(tensorNamed(inputs, name).data, (bits) => F16_VALUES[bits]);
  return createOrtBlock({
    tokens,
    width,
    heads,
    threads,
    input: floats("input"),
    weights: {
      query: floats("query.weight"),
      key: floats("key.weight"),
      value: floats("value.weight"),
    },
  });
}
