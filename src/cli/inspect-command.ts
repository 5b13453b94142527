import type { Argv, CommandModule } from "yargs";
import { INSPECT_OPTIONS } from "./options.ts";
import type { InspectArguments } from "./profile-actions.ts";

export const inspectCommand: CommandModule<object, InspectArguments> = {
  command: "inspect <profile>",
  describe: "what a recorded profile holds, what it lacks, and which questions it can answer",
  builder: (command) =>
    command
      .options(INSPECT_OPTIONS)
      .positional("profile", {
        type: "string",
        demandOption: true,
        describe: "a profile that ipu-stack recorded: packed or not, plain or gzip",
      })
      .example("$0 inspect run.profile", "kernels, exchange, losses")
      .example(
        "$0 inspect run.profile --json",
        "the same as JSON",
      ) as unknown as Argv<InspectArguments>,
  handler: async (options) => {
    const { inspect } = await import("./profile-actions.ts");
    inspect(options);
  },
};
