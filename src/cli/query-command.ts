import type { Argv, CommandModule } from "yargs";
import { QUERY_OPTIONS } from "./options.ts";
import type { QueryArguments } from "./profile-actions.ts";

export const queryCommand: CommandModule<object, QueryArguments> = {
  command: "query <profile>",
  describe: "cycles of a recorded profile by kernel, operation, phase, tile, kind or metadata",
  builder: (command) =>
    command
      .options(QUERY_OPTIONS)
      .positional("profile", {
        type: "string",
        demandOption: true,
        describe: "a profile that ipu-stack recorded: packed or not, plain or gzip",
      })
      .example("$0 query run.profile", "cycles by kernel")
      .example("$0 query run.profile --group-by phase --kind exchange", "each exchange phase")
      .example(
        "$0 query run.profile --group-by operation --group-by kind --sort-by work-cycles",
        "which operation takes what",
      )
      .example(
        "$0 query run.profile --kind compute --samples 5 --json",
        "the longest samples too, as JSON",
      ) as unknown as Argv<QueryArguments>,
  handler: async (options) => {
    const { query } = await import("./profile-actions.ts");
    query(options);
  },
};
