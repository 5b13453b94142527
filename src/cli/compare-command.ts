import type { Argv, CommandModule } from "yargs";
import { COMPARE_OPTIONS } from "./options.ts";
import type { CompareArguments } from "./profile-actions.ts";

export const compareCommand: CommandModule<object, CompareArguments> = {
  command: "compare <profile-a> <profile-b>",
  describe: "hold profile B against profile A: which steps moved by how many cycles",
  builder: (command) =>
    command
      .options(COMPARE_OPTIONS)
      .positional("profile-a", {
        type: "string",
        demandOption: true,
        describe: "a profile that ipu-stack recorded, or a schedule file, whose run it then is",
      })
      .positional("profile-b", {
        type: "string",
        demandOption: true,
        describe: "the one that is held against it",
      })
      .example("$0 compare run.profile other.profile", "steps, by cycles moved")
      .example("$0 compare run.profile siglip.json", "a schedule's run against a profile")
      .example(
        "$0 compare run.profile other.profile --group-by operation --json",
        "operations, as JSON",
      ) as unknown as Argv<CompareArguments>,
  handler: async (options) => {
    const { compare } = await import("./profile-actions.ts");
    await compare(options);
  },
};
