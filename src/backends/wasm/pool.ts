import { Worker } from "node:worker_threads";
import { BackendError } from "../../base/errors.ts";
import {
  CONTROL,
  instantiate,
  type Engine,
  type EngineModule,
  type WorkerStart,
} from "./engine.ts";
import { RECORD_WORDS } from "./records.ts";
import type { Scratch } from "./scratch.ts";

/** Bytes of its own that each thread needs: two packed operands of the size of a tile. */
const SCRATCH_BYTES = 2 * 2 ** 20;
/** How long the main thread sleeps before it looks whether a worker has died. */
const PATIENCE_MS = 250;

/** Records in order, cut into groups that threads take one by one. */
export interface Work {
  readonly records: Int32Array;
  /** Index of each group's first record, and of the end. */
  readonly starts: Uint32Array;
}

/** Cuts `records` into groups of `size`. */
export function inGroups(records: Int32Array, size: number): Work {
  const count = records.length / RECORD_WORDS;
  const groups = Math.ceil(count / size);
  const starts = Uint32Array.from({ length: groups + 1 }, (_, group) =>
    Math.min(count, group * size),
  );
  return { records, starts };
}

/** The main thread and its workers on one shared memory; a phase ends when all groups are done. */
export class Pool {
  readonly #memory: WebAssembly.Memory;
  readonly #scratch: Scratch;
  readonly #control: number;
  readonly #engine: Engine;
  readonly #own: number;
  readonly #workers: Worker[] = [];
  #dead: Error | null = null;

  constructor(
    { module }: EngineModule,
    memory: WebAssembly.Memory,
    scratch: Scratch,
    threads: number,
  ) {
    this.#memory = memory;
    this.#scratch = scratch;
    this.#control = scratch.allocate(64);
    this.#own = scratch.allocate(SCRATCH_BYTES);
    this.#engine = instantiate(module, memory);
    for (let index = 1; index < threads; index++) {
      const workerData = {
        module,
        memory,
        control: this.#control,
        scratch: scratch.allocate(SCRATCH_BYTES),
      };
      const worker = startWorker(workerData);
      worker.on("error", (error: unknown) => {
        this.#dead = error instanceof Error ? error : new Error(String(error));
      });
      worker.on("exit", (code) => {
        if (code !== 0) this.#dead ??= new Error(`a thread ended with ${code}`);
      });
      worker.unref();
      this.#workers.push(worker);
    }
  }

  /** @throws BackendError `BACKEND_FAILED` */
  async run({ records, starts }: Work): Promise<void> {
    const groups = starts.length - 1;
    if (groups <= 0) return;
    const recordsAt = this.#scratch.lend("records", records.byteLength);
    const startsAt = this.#scratch.lend("starts", starts.byteLength);
    new Int32Array(this.#memory.buffer, recordsAt, records.length).set(records);
    new Uint32Array(this.#memory.buffer, startsAt, starts.length).set(starts);
    const words = new Int32Array(this.#memory.buffer, this.#control, 16);
    words[CONTROL.starts] = startsAt | 0;
    words[CONTROL.groups] = groups;
    words[CONTROL.records] = recordsAt | 0;
    Atomics.store(words, CONTROL.counter, 0);
    Atomics.store(words, CONTROL.done, 0);
    const isShared = this.#workers.length > 0 && groups > 1;
    if (isShared) {
      Atomics.add(words, CONTROL.generation, 1);
      Atomics.notify(words, CONTROL.generation);
    }
    try {
      this.#engine.work(this.#control, startsAt, groups, recordsAt, this.#own);
    } catch (cause) {
      // Workers that are still at it must not meet the next phase's records.
      if (isShared) await this.#wait(words);
      throw failed("the engine trapped", cause);
    }
    if (isShared) await this.#wait(words);
    if (Atomics.load(words, CONTROL.failed) !== 0) throw failed("the engine trapped in a thread");
  }

  async close(): Promise<void> {
    if (this.#workers.length === 0) return;
    const words = new Int32Array(this.#memory.buffer, this.#control, 16);
    Atomics.store(words, CONTROL.stop, 1);
    Atomics.add(words, CONTROL.generation, 1);
    Atomics.notify(words, CONTROL.generation);
    await Promise.all(this.#workers.splice(0).map((worker) => worker.terminate()));
  }

  async #wait(words: Int32Array): Promise<void> {
    while (true) {
      const done = Atomics.load(words, CONTROL.done);
      if (done >= this.#workers.length) return;
      if (Atomics.wait(words, CONTROL.done, done, PATIENCE_MS) !== "timed-out") continue;
      // Errors of a thread arrive as events: let them.
      await new Promise((resolve) => setImmediate(resolve));
      if (this.#dead) throw failed(`a thread died: ${this.#dead.message}`, this.#dead);
    }
  }
}

/** A worker thread; from sources it loads TypeScript as the main thread does. */
function startWorker(workerData: WorkerStart): Worker {
  if (!import.meta.url.endsWith(".ts")) {
    return new Worker(new URL("./worker.js", import.meta.url), { workerData });
  }
  const file = JSON.stringify(new URL("./worker.ts", import.meta.url).href);
  const source = `import("tsx/esm/api").then(({ tsImport }) => tsImport(${file}, ${file}))`;
  return new Worker(source, { eval: true, workerData });
}

function failed(what: string, cause?: unknown): BackendError {
  return new BackendError(
    "BACKEND_FAILED",
    { what, where: { backend: "wasm" }, fix: "Run again with --threads 1 or --backend reference" },
    { cause },
  );
}
