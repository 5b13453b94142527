import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

/**
 * Calls `once(argument)` of a module in a Node process of its own, with the flags of this one, and returns what it
 * returns, through JSON.
 */
export async function inFreshProcess<Result>(module: string, argument: string): Promise<Result> {
  const self = fileURLToPath(import.meta.url);
  const main = self.replace(/(?=\.[jt]s$)/, "-main");
  const child = spawn(process.execPath, [...process.execArgv, main, module, argument], {
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  let result: Result | undefined;
  child.on("message", (message) => (result = message as Result));
  await once(child, "exit");
  if (result === undefined) throw new Error(`${module} ${argument} ended without a result`);
  return result;
}
