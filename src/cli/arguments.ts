import type { Options } from "yargs";
import { SimError } from "../base/errors.ts";
import {
  CALIBRATE_OPTIONS,
  COMPARE_OPTIONS,
  INSPECT_OPTIONS,
  PLAN_OPTIONS,
  QUERY_OPTIONS,
  RECOVER_OPTIONS,
  REPLAY_OPTIONS,
  RUN_COMMAND_OPTIONS,
} from "./options.ts";

type OptionTable = Readonly<Record<string, Options>>;

/** Each command's options. */
const COMMANDS: Readonly<Record<string, OptionTable>> = {
  replay: REPLAY_OPTIONS,
  plan: PLAN_OPTIONS,
  run: RUN_COMMAND_OPTIONS,
  recover: RECOVER_OPTIONS,
  inspect: INSPECT_OPTIONS,
  query: QUERY_OPTIONS,
  compare: COMPARE_OPTIONS,
  calibrate: CALIBRATE_OPTIONS,
};
/** What yargs takes as an option's value though it begins with a dash. */
const NEGATIVE = /^-(\d+(\.\d+)?|\.\d+)$/;

/**
 * That options are written so that they mean what they say. yargs takes `--json=yes` for false, `--tokens` without a
 * value for nothing, an empty number for 0, and `--tiles 4 --tiles 1` for 5.
 *
 * @throws SimError `BAD_USAGE`
 */
export function checkArguments(args: readonly string[]): void {
  const given = new Set<string>();
  const options = optionsOf(args);
  for (let i = 0; i < args.length; i++) {
    if (args[i] === "--") {
      throw bad("-- means nothing here", "Write a file that begins with a dash as ./-file");
    }
    const arg = args[i].replace(/^-o(?==|$)/, "--output");
    const [, long, inline] = /^--([^=]+)(?:=(.*))?$/s.exec(arg) ?? [];
    // Whether there is such an option is for yargs to say.
    if (long === undefined || !Object.hasOwn(options, long)) continue;
    const { type, array } = options[long];
    if (given.has(long) && array !== true) {
      throw bad(`--${long} is given more than once`, "Give it once", long);
    }
    given.add(long);
    if (type === "boolean") {
      if (inline !== undefined) throw bad(`--${long} takes no value`, `Give --${long} alone`, long);
      continue;
    }
    const value = inline ?? args[++i] ?? "";
    const isNext = inline === undefined && value.startsWith("-") && !NEGATIVE.test(value);
    if (value.trim() !== "" && !isNext) continue;
    throw bad(`--${long} has no value`, "Put one behind it", long);
  }
}

/** Options of the command that is named, which mostly comes first; none, and yargs refuses the line. */
function optionsOf(args: readonly string[]): OptionTable {
  const name = args.find((arg) => Object.hasOwn(COMMANDS, arg));
  return name === undefined ? {} : COMMANDS[name];
}

function bad(what: string, fix: string, option?: string): SimError {
  return new SimError("BAD_USAGE", { what, where: option === undefined ? {} : { option }, fix });
}
