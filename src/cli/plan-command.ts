import type { Argv, CommandModule } from "yargs";
import type { PlanArguments } from "./actions.ts";
import { PROGRAM_NAMES, SHAPE_OPTIONS } from "./options.ts";

export const planCommand: CommandModule<object, PlanArguments> = {
  command: "plan <program>",
  describe: "make a schedule from a program",
  builder: (command) =>
    command
      .options(SHAPE_OPTIONS)
      .positional("program", {
        type: "string",
        demandOption: true,
        describe: `${PROGRAM_NAMES.join(", ")}, or a program's .json file`,
      })
      .option("output", { alias: "o", type: "string", describe: "write the schedule to this file" })
      .option("json", { type: "boolean", default: false, describe: "print the schedule itself" })
      .example("$0 plan siglip-attention -o siglip.json", "the recorded attention block")
      .example(
        "$0 plan gemm --m 512 --n 512 --k 512 --tiles 64",
        "a GEMM on 64 tiles",
      ) as unknown as Argv<PlanArguments>,
  handler: async (options) => {
    const { planProgram } = await import("./actions.ts");
    await planProgram(options);
  },
};
