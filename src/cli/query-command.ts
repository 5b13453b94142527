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
      .example("$0 query run.profile --group-by phase", "each phase")
      .example("$0 query run.profile --kind compute", "work alone")
      .example(
        "$0 query run.profile --samples 5 --json",
        "the longest samples too",
      ) as unknown as Argv<QueryArguments>,
  handler: async (options) => {
    const { query } = await import("./profile-actions.ts");
    query(options);
  },
};
