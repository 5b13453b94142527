import type { Argv, CommandModule } from "yargs";
import { readBytes } from "../io/files.ts";
import { parseSchedule } from "../sim/schedule-file.ts";
import type { Schedule } from "../sim/schedule.ts";
import { execute } from "./execute.ts";
import {
  MOST_FILE_BYTES,
  programOf,
  PROGRAM_NAMES,
  RUN_OPTIONS,
  SHAPE_OPTIONS,
  type RunOptions,
  type ShapeOptions,
} from "./options.ts";
import { finish } from "./finish.ts";

interface RunArguments extends RunOptions, ShapeOptions {
  readonly schedule: string;
  readonly against?: string;
}

export const runCommand: CommandModule<object, RunArguments> = {
  command: "run <schedule>",
  describe: "run a schedule file: its outputs and its cycles",
  builder: (command) =>
    command
      .options({ ...RUN_OPTIONS, ...SHAPE_OPTIONS })
      .positional("schedule", {
        type: "string",
        demandOption: true,
        describe: "a schedule file that `plan -o` wrote",
      })
      .option("against", {
        type: "string",
        describe: `program that the outputs are checked against in f64: ${PROGRAM_NAMES.join(", ")} or a .json file`,
      })
      .example("$0 run siglip.json --threads 2", "run a saved schedule on two threads")
      .example(
        "$0 run siglip.json --cycles-only --json",
        "its cycles as JSON",
      ) as unknown as Argv<RunArguments>,
  handler: async (options) => {
    const start = performance.now();
    const schedule = loadSchedule(options.schedule);
    const program = options.against === undefined ? null : programOf(options.against, options);
    const planMs = performance.now() - start;
    finish(await execute({ schedule, program, planMs, options }), options.json);
  },
};

/** @throws SimError `FILE_UNREADABLE`, `FILE_MALFORMED` */
export function loadSchedule(file: string): Schedule {
  return parseSchedule(new TextDecoder().decode(readBytes(file, MOST_FILE_BYTES)), file);
}
