import type { Argv, CommandModule } from "yargs";
import { SimError } from "../base/errors.ts";
import { writeAside } from "../io/files.ts";
import { plan } from "../plan/plan.ts";
import { formatSchedule } from "../sim/schedule-file.ts";
import type { Schedule } from "../sim/schedule.ts";
import { validateSchedule } from "../sim/validate.ts";
import { IPU21 } from "../target/ipu21.ts";
import { programOf, PROGRAM_NAMES, SHAPE_OPTIONS, type ShapeOptions } from "./options.ts";
import { table } from "./table.ts";

interface PlanArguments extends ShapeOptions {
  readonly program: string;
  readonly output?: string;
  readonly json: boolean;
}

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
  handler: (options) => {
    if (options.output !== undefined && options.json) {
      throw new SimError("BAD_USAGE", {
        what: "--output and --json both say where the schedule goes",
        where: { option: "json" },
        fix: "Drop one of them",
      });
    }
    const schedule = plan(programOf(options.program, options), IPU21);
    validateSchedule(schedule, IPU21);
    const text = formatSchedule(schedule);
    if (options.json) {
      process.stdout.write(text);
      return;
    }
    if (options.output !== undefined) writeAside(options.output, text);
    process.stdout.write(summary(schedule, options.output));
  },
};

function summary(schedule: Schedule, file: string | undefined): string {
  const steps = schedule.steps.map((step, index) => {
    if (step.kind === "exchange") {
      const words = step.transfers.reduce((sum, transfer) => sum + transfer.words, 0);
      return [String(index), step.operation, "exchange", step.transfers.length, 4 * words];
    }
    if (step.kind === "repeat") return [String(index), "", `repeat ${step.times}`, null, null];
    const [first] = step.calls;
    const tiles = step.calls.reduce((sum, call) => sum + call.tiles.length, 0);
    return [String(index), first?.operation ?? "", first?.kernel ?? "", tiles, null];
  });
  const end = Math.max(...schedule.buffers.map(({ address, bytes }) => address + bytes), 0);
  return (
    `${schedule.program} on ${schedule.tiles} tiles of ${schedule.target}: ${schedule.steps.length} steps, ` +
    `${schedule.buffers.length} buffers up to 0x${end.toString(16)}\n\n` +
    `${table(["step", "operation", "what", "tiles or transfers", "bytes sent"], steps)}\n` +
    (file === undefined ? "" : `\nwritten to ${file}\n`)
  );
}
