import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { SimError } from "../../src/base/errors.ts";

/** The cases of a golden file: values of osmarks/ipu-stack, whose revision is in the file's `origin`. */
export function goldenCases<Case>(name: string): readonly Case[] {
  const packed = readFileSync(new URL(`../golden/${name}.json.gz`, import.meta.url));
  return (JSON.parse(gunzipSync(packed).toString()) as { cases: readonly Case[] }).cases;
}

/** What the public compiler says of a transfer it cannot carry, as our reasons. */
export function reasonOf(error: string): string {
  if (error.includes("coincident controls")) return "controls";
  if (error.includes("exchange count") || error.includes("invalid word count")) return "count";
  if (error.includes("receiver set") || error.includes("no destinations")) return "receivers";
  if (error.includes("invalid destination tile")) return "tile";
  return error;
}

/** The reason of the `EXCHANGE_INVALID` that `run` throws. */
export function invalidReason(run: () => unknown): unknown {
  try {
    run();
  } catch (error) {
    if (error instanceof SimError && error.code === "EXCHANGE_INVALID")
      return error.fault.where.reason;
    throw error;
  }
  return "nothing thrown";
}
