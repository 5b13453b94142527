import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { attentionModel, type BlockShape, type BlockWeights } from "./onnx-model.ts";
import { ROOT } from "./root.ts";

/** What is used of onnxruntime-node, whose own types are there only once it is installed. */
interface OnnxRuntime {
  readonly InferenceSession: {
    create(model: Uint8Array, options: Readonly<Record<string, unknown>>): Promise<OrtSession>;
  };
  readonly Tensor: new (type: "float32", data: Float32Array, dims: readonly number[]) => object;
}

interface OrtSession {
  run(feeds: Readonly<Record<string, object>>): Promise<Record<string, { data: Float32Array }>>;
  release(): Promise<void>;
}

export interface OrtBlockOptions extends BlockShape {
  /** Threads within an operation; operations run one after another. */
  readonly threads: number;
  /** [tokens, width], row-major. */
  readonly input: Float32Array;
  readonly weights: BlockWeights;
}

export interface OrtBlock {
  /** [heads, tokens, width / heads], row-major. */
  run(): Promise<Float32Array>;
  close(): Promise<void>;
}

const FOLDER = join(ROOT, "bench", "onnxruntime");

/** The attention block on onnxruntime's CPU provider, in f32, ready to run. */
export async function createOrtBlock(options: OrtBlockOptions): Promise<OrtBlock> {
  const { tokens, width, heads, threads, input, weights } = options;
  const { InferenceSession, Tensor } = onnxRuntime();
  const session = await InferenceSession.create(attentionModel({ tokens, width, heads }, weights), {
    executionProviders: ["cpu"],
    executionMode: "sequential",
    graphOptimizationLevel: "all",
    intraOpNumThreads: threads,
    interOpNumThreads: 1,
  });
  const x = new Tensor("float32", input, [tokens, width]);
  return {
    async run() {
      const { y } = await session.run({ x });
      return y.data;
    },
    close: () => session.release(),
  };
}

/** onnxruntime-node, installed into its own folder the first time that it is asked for. */
function onnxRuntime(): OnnxRuntime {
  if (!existsSync(join(FOLDER, "node_modules", "onnxruntime-node"))) {
    console.log("installing onnxruntime-node into bench/onnxruntime ...");
    const { status } = spawnSync("npm", ["ci", "--no-audit", "--no-fund"], {
      cwd: FOLDER,
      stdio: "inherit",
    });
    if (status !== 0) throw new Error(`npm ci in bench/onnxruntime ended with ${status}`);
  }
  return createRequire(join(FOLDER, "package.json"))("onnxruntime-node") as OnnxRuntime;
}
