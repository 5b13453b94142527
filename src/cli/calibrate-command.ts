import type { Argv, CommandModule } from "yargs";
import type { CalibrateArguments } from "./calibrate-actions.ts";
import { CALIBRATE_OPTIONS } from "./options.ts";

export const calibrateCommand: CommandModule<object, CalibrateArguments> = {
  command: "calibrate [profiles..]",
  describe: "measured cycles of kernels, and how well costs fitted on some tell the others",
  builder: (command) =>
    command
      .options(CALIBRATE_OPTIONS)
      .positional("profiles", {
        type: "string",
        array: true,
        default: [],
        defaultDescription: "the package's SigLIP block",
        describe: "profiles that ipu-stack recorded at one clock",
      })
      .example("$0 calibrate", "the recorded SigLIP block")
      .example("$0 calibrate -o calibration.json", "the database as a file")
      .example(
        "$0 calibrate run.profile other.profile --leave-out profile --json",
        "fitted on each profile, scored on the other",
      ) as unknown as Argv<CalibrateArguments>,
  handler: async (options) => {
    const { calibrateProfiles } = await import("./calibrate-actions.ts");
    calibrateProfiles(options);
  },
};
