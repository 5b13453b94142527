import type { Argv, CommandModule } from "yargs";
import { SimError } from "../base/errors.ts";
import { plan } from "../plan/plan.ts";
import { IPU21 } from "../target/ipu21.ts";
import { execute } from "./execute.ts";
import { finish } from "./finish.ts";
import {
  programOf,
  RUN_OPTIONS,
  SHAPE_OPTIONS,
  type RunOptions,
  type ShapeOptions,
} from "./options.ts";
import { loadSchedule } from "./run-command.ts";

interface ReplayArguments extends RunOptions, ShapeOptions {
  readonly profile?: string;
  readonly schedule?: string;
}

export const replayCommand: CommandModule<object, ReplayArguments> = {
  command: "replay [profile]",
  describe:
    "plan the SigLIP attention block, run it, and hold its cycles against the measured ones",
  builder: (command) =>
    command
      .options({ ...RUN_OPTIONS, ...SHAPE_OPTIONS })
      .positional("profile", { type: "string", describe: "a recorded profile" })
      .option("schedule", {
        type: "string",
        describe: "run this schedule file instead of planning one",
      })
      .example("$0 replay", "1,472 tiles: outputs, their error, cycles")
      .example("$0 replay --data constant --check full", "the benchmark's constants, all heads")
      .example("$0 replay --cycles-only --json", "cycles alone, as JSON")
      .example(
        "$0 replay --tokens 196 --heads 4 --tiles 368",
        "a smaller block",
      ) as unknown as Argv<ReplayArguments>,
  handler: async (options) => {
    if (options.profile !== undefined) {
      throw new SimError("BAD_USAGE", {
        what: `this version reads no profiles: ${options.profile}`,
        where: { file: options.profile },
        fix: "Leave it out: the measured cycles of the SigLIP block are built in",
      });
    }
    const start = performance.now();
    const program = programOf("siglip-attention", options);
    const schedule =
      options.schedule === undefined ? plan(program, IPU21) : loadSchedule(options.schedule);
    const planMs = performance.now() - start;
    finish(await execute({ schedule, program, planMs, options }), options.json);
  },
};
