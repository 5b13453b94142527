import type { Argv, CommandModule } from "yargs";
import type { ReplayArguments } from "./actions.ts";
import { REPLAY_OPTIONS } from "./options.ts";

export const replayCommand: CommandModule<object, ReplayArguments> = {
  command: "replay [profile]",
  describe: "plan the SigLIP attention block, run it, and hold it against the recorded profile",
  builder: (command) =>
    command
      .options(REPLAY_OPTIONS)
      .positional("profile", {
        type: "string",
        describe: "a recorded profile to hold it against, instead of the package's",
      })
      .example("$0 replay", "1,472 tiles: outputs, their error, cycles")
      .example("$0 replay --data constant --check full", "the benchmark's constants, all heads")
      .example("$0 replay --cycles-only --json", "cycles alone, as JSON")
      .example(
        "$0 replay --tokens 196 --heads 4 --tiles 368",
        "a smaller block",
      ) as unknown as Argv<ReplayArguments>,
  handler: async (options) => {
    const { replay } = await import("./actions.ts");
    await replay(options);
  },
};
