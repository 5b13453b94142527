import type { Argv, CommandModule } from "yargs";
import type { RunArguments } from "./actions.ts";
import { RUN_COMMAND_OPTIONS } from "./options.ts";

export const runCommand: CommandModule<object, RunArguments> = {
  command: "run <schedule>",
  describe: "run a schedule file: its outputs and its cycles",
  builder: (command) =>
    command
      .options(RUN_COMMAND_OPTIONS)
      .positional("schedule", {
        type: "string",
        demandOption: true,
        describe: "a schedule file that `plan -o` wrote",
      })
      .example("$0 run siglip.json --threads 2", "run a saved schedule on two threads")
      .example(
        "$0 run siglip.json --cycles-only --json",
        "its cycles as JSON",
      ) as unknown as Argv<RunArguments>,
  handler: async (options) => {
    const { runSchedule } = await import("./actions.ts");
    await runSchedule(options);
  },
};
