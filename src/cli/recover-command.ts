import type { Argv, CommandModule } from "yargs";
import { RECOVER_OPTIONS } from "./options.ts";
import type { RecoverArguments } from "./recover-actions.ts";

export const recoverCommand: CommandModule<object, RecoverArguments> = {
  command: "recover <capture>",
  describe:
    "a profile that was damaged as text: its steps from the schedule, its times from the text",
  builder: (command) =>
    command
      .options(RECOVER_OPTIONS)
      .positional("capture", {
        type: "string",
        demandOption: true,
        describe: "the profile's text, plain or gzip",
      })
      .example(
        "$0 recover data/siglip-attention.capture.txt.gz -o siglip.profile",
        "the profile, and siglip.profile.certainty.json",
      ) as unknown as Argv<RecoverArguments>,
  handler: async (options) => {
    const { recover } = await import("./recover-actions.ts");
    await recover(options);
  },
};
