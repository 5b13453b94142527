import { workerData } from "node:worker_threads";
import { CONTROL, instantiate, type WorkerStart } from "./engine.ts";

/** A thread beside the main one: waits for a phase, takes groups of it, and says when it is through. */
const { module, memory, control, scratch } = workerData as WorkerStart;
const engine = instantiate(module, memory);
const words = new Int32Array(memory.buffer, control, 16);

let generation = 0;
while (true) {
  Atomics.wait(words, CONTROL.generation, generation);
  generation = Atomics.load(words, CONTROL.generation);
  if (Atomics.load(words, CONTROL.stop) !== 0) break;
  try {
    const [starts, groups, records] = [
      words[CONTROL.starts],
      words[CONTROL.groups],
      words[CONTROL.records],
    ];
    engine.work(control, starts >>> 0, groups, records >>> 0, scratch);
  } catch {
    Atomics.store(words, CONTROL.failed, 1);
  }
  Atomics.add(words, CONTROL.done, 1);
  Atomics.notify(words, CONTROL.done);
}
