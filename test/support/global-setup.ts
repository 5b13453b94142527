import { buildIfStale } from "../../scripts/build-wasm.ts";

/** Tests run the engine: it is built before the first of them. */
export async function setup(): Promise<void> {
  await buildIfStale();
}
