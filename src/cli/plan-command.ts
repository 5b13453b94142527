import type { Argv, CommandModule } from "yargs";
import type { PlanArguments } from "./actions.ts";
import { PLAN_OPTIONS, PROGRAM_NAMES } from "./options.ts";

export const planCommand: CommandModule<object, PlanArguments> = {
  command: "plan <program>",
  describe: "make a schedule from a program",
  builder: (command) =>
    command
      .options(PLAN_OPTIONS)
      .positional("program", {
        type: "string",
        demandOption: true,
        describe: `${PROGRAM_NAMES.join(", ")}, or a program's .json file`,
      })
      .example("$0 plan siglip-attention -o siglip.json", "the recorded attention block")
      .example(
        "$0 plan gemm --m 64 --n 64 --k 64 --tiles 16",
        "a GEMM on 16 tiles",
      ) as unknown as Argv<PlanArguments>,
  handler: async (options) => {
    const { planProgram } = await import("./actions.ts");
    await planProgram(options);
  },
};
