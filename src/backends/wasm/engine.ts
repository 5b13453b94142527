import { readFileSync } from "node:fs";
import { setFlagsFromString } from "node:v8";
import { BackendError } from "../../base/errors.ts";

/** What an instance of the engine offers: see assembly/engine.ts. */
export interface Engine {
  work(control: number, starts: number, groups: number, records: number, scratch: number): void;
}

export type Simd = "strict" | "relaxed";

/** A module whose one import of data is the shared memory. */
export interface EngineModule {
  readonly module: WebAssembly.Module;
  readonly simd: Simd;
}

/** A function of type () -> v128 made of one relaxed multiply-add: valid where relaxed SIMD is on. */
const RELAXED_PROBE = Uint8Array.from([
  0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10, 19, 1, 17, 0, 65, 0, 253, 15,
  65, 0, 253, 15, 65, 0, 253, 15, 253, 133, 2, 11,
]);

/**
 * The compiled engine. Relaxed SIMD where the host has it, since a fused multiply-add of halves gives the
 * same bits in less time; the code is compiled by the optimising tier at once.
 *
 * @throws BackendError `BACKEND_UNAVAILABLE`
 */
export function loadEngine(wanted: "auto" | Simd): EngineModule {
  // The baseline tier is about twice as slow, and a replay is over before it would be replaced.
  setFlagsFromString("--no-liftoff");
  if (wanted !== "strict" && !WebAssembly.validate(RELAXED_PROBE)) {
    setFlagsFromString("--experimental-wasm-relaxed-simd");
  }
  const hasRelaxed = wanted !== "strict" && WebAssembly.validate(RELAXED_PROBE);
  if (wanted === "relaxed" && !hasRelaxed) {
    throw new BackendError("BACKEND_UNAVAILABLE", {
      what: `Node ${process.version} has no relaxed SIMD`,
      where: { backend: "wasm", simd: wanted },
      fix: "Use --simd strict: the bits are the same",
    });
  }
  const simd = hasRelaxed ? "relaxed" : "strict";
  return { module: new WebAssembly.Module(engineBytes(simd)), simd };
}

/** The engine is built into dist/wasm; this file runs from src/ or from dist/src/. */
function engineBytes(simd: Simd): Uint8Array<ArrayBuffer> {
  const root = import.meta.url.endsWith(".ts") ? "../../../dist/wasm/" : "../../../wasm/";
  const file = new URL(`${root}engine-${simd}.wasm`, import.meta.url);
  try {
    return new Uint8Array(readFileSync(file));
  } catch (cause) {
    throw new BackendError(
      "BACKEND_UNAVAILABLE",
      {
        what: "the WebAssembly engine is not built",
        where: { backend: "wasm", file: file.pathname },
        fix: "Run npm run build",
      },
      { cause },
    );
  }
}

/** An instance on the shared memory; each thread has one. */
export function instantiate(module: WebAssembly.Module, memory: WebAssembly.Memory): Engine {
  const instance = new WebAssembly.Instance(module, {
    env: { memory },
    host: { exp: Math.exp, tanh: Math.tanh },
  });
  return instance.exports as unknown as Engine;
}

/** Words of the control block, by index. The first is the engine's own counter of groups. */
export const CONTROL = {
  counter: 0,
  /** Raised to start the workers. */
  generation: 1,
  /** Workers that are through. */
  done: 2,
  starts: 3,
  groups: 4,
  records: 5,
  /** Not zero: a worker trapped. */
  failed: 6,
  /** Not zero: workers end. */
  stop: 7,
} as const;

/** What a worker thread is given. */
export interface WorkerStart {
  readonly module: WebAssembly.Module;
  readonly memory: WebAssembly.Memory;
  readonly control: number;
  readonly scratch: number;
}
