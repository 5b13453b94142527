#!/usr/bin/env node
import yargs from "yargs";
import { hideBin } from "yargs/helpers";
import { BackendError, InternalError, SimError } from "../base/errors.ts";
import { VERSION } from "../base/version.ts";
import { planCommand } from "./plan-command.ts";
import { replayCommand } from "./replay-command.ts";
import { runCommand } from "./run-command.ts";

/** Exit codes: 0 fine; 1 a check failed; 2 bad usage or input; 3 the machine or a device failed. */
const BAD_INPUT = 2;
const MACHINE_FAILED = 3;

// A reader that closes early, such as `head`, is no error.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  process.exit(error.code === "EPIPE" ? 0 : MACHINE_FAILED);
});

try {
  await yargs(hideBin(process.argv))
    .scriptName("tilesim")
    .usage("$0 <command>\n\nSimulates a tiled, IPU-like accelerator: values and cycles.")
    .command(replayCommand)
    .command(planCommand)
    .command(runCommand)
    .demandCommand(1, "Name a command")
    .strict()
    .version(VERSION)
    .parserConfiguration({ "greedy-arrays": false, "duplicate-arguments-array": false })
    .fail((message: string | null, error: Error | undefined, parser) => {
      if (error) throw error;
      parser.showHelp("error");
      throw new SimError("BAD_USAGE", {
        what: message ?? "the arguments mean nothing",
        where: {},
        fix: "See the help above",
      });
    })
    .wrap(Math.min(100, process.stdout.columns ?? 100))
    .parseAsync();
} catch (error) {
  const isOurs =
    error instanceof SimError || error instanceof BackendError || error instanceof InternalError;
  const text = isOurs || !(error instanceof Error) ? String(error) : (error.stack ?? error.message);
  process.stderr.write(`${text.replace(/^(SimError|BackendError): /, "")}\n`);
  process.exitCode = error instanceof SimError ? BAD_INPUT : MACHINE_FAILED;
}
