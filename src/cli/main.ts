#!/usr/bin/env node
import yargs from "yargs";
import { hideBin } from "yargs/helpers";
import { BackendError, InternalError, SimError } from "../base/errors.ts";
import { VERSION } from "../base/version.ts";
import { checkArguments, missingArgument } from "./arguments.ts";
import { calibrateCommand } from "./calibrate-command.ts";
import { compareCommand } from "./compare-command.ts";
import { inspectCommand } from "./inspect-command.ts";
import { planCommand } from "./plan-command.ts";
import { printable } from "./printable.ts";
import { queryCommand } from "./query-command.ts";
import { recoverCommand } from "./recover-command.ts";
import { replayCommand } from "./replay-command.ts";
import { runCommand } from "./run-command.ts";

/** Exit codes: 0 fine; 1 a check failed; 2 bad usage or input; 3 the machine or a device failed. */
const BAD_INPUT = 2;
const MACHINE_FAILED = 3;

process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  // A reader that closes early, such as `head`, is no error.
  if (error.code === "EPIPE") process.exit(0);
  const fault = {
    what: `cannot write to standard output: ${error.message}`,
    where: {},
    fix: "Make room where it goes, or send it elsewhere",
  };
  process.stderr.write(`${told(new BackendError("FILE_UNWRITABLE", fault))}\n`);
  process.exit(MACHINE_FAILED);
});

/** As yargs takes them, with their arguments. */
const commands = [
  replayCommand,
  planCommand,
  runCommand,
  recoverCommand,
  inspectCommand,
  queryCommand,
  compareCommand,
  calibrateCommand,
].map(({ command }) => String(command));

try {
  const args = hideBin(process.argv);
  checkArguments(args, commands);
  await yargs(args)
    .scriptName("tilesim")
    .usage("$0 <command>\n\nSimulates a tiled, IPU-like accelerator: values and cycles.")
    .command(replayCommand)
    .command(planCommand)
    .command(runCommand)
    .command(recoverCommand)
    .command(inspectCommand)
    .command(queryCommand)
    .command(compareCommand)
    .command(calibrateCommand)
    .demandCommand(1, "Name a command")
    .strict()
    .version(VERSION)
    // An option is written in one way.
    .parserConfiguration({
      "greedy-arrays": false,
      "camel-case-expansion": false,
      "dot-notation": false,
      "boolean-negation": false,
    })
    .fail((message: string | null, error: Error | undefined) => {
      if (error) throw error;
      const missing = missingArgument(args, commands, message ?? "");
      if (missing !== null) throw missing;
      const [first] = args;
      const known = commands.map((usage) => usage.split(" ")[0]);
      if (first !== undefined && !first.startsWith("-") && !known.includes(first)) {
        throw new SimError("BAD_USAGE", {
          what: `there is no command ${printable(first)}`,
          where: {},
          fix: `Give ${known.join(", ")}`,
        });
      }
      throw new SimError("BAD_USAGE", {
        what: (message ?? "the arguments mean nothing").replace(/\s*\n\s*/g, " "),
        where: {},
        fix: "See tilesim --help, or --help behind a command",
      });
    })
    .wrap(Math.min(100, process.stdout.columns ?? 100))
    .parseAsync();
} catch (error) {
  process.stderr.write(`${told(error)}\n`);
  process.exitCode = error instanceof SimError ? BAD_INPUT : MACHINE_FAILED;
}

/** An error as it is printed: the code first; with its stack only where the error is none of ours. */
function told(error: unknown): string {
  const isOurs =
    error instanceof SimError || error instanceof BackendError || error instanceof InternalError;
  if (isOurs) return printable(error.message);
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
