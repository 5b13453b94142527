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

/** Options that change nothing beside another one, of that value where one is named. */
const IDLE: readonly {
  readonly beside: string;
  readonly value?: string;
  readonly options: readonly string[];
  readonly why: string;
}[] = [
  {
    beside: "cycles-only",
    options: [
      ...["input", "weights", "data", "seed", "rounding", "backend", "threads", "simd"],
      ...["check", "against", "save-output"],
    ],
    why: "which computes no values",
  },
  {
    beside: "backend",
    value: "reference",
    options: ["threads", "simd"],
    why: "which has one thread and no SIMD code",
  },
  {
    beside: "check",
    value: "none",
    options: ["against"],
    why: "which holds nothing against a program",
  },
];

/**
 * That options are written so that they mean what they say, and that each means something. yargs takes `--json=yes` for false, `--tokens` without a
 * value for nothing, an empty number for 0, and `--tiles 4 --tiles 1` for 5.
 *
 * @param commands as yargs takes them, "run <schedule>" for instance: an argument has no name to be given by
 * @throws SimError `BAD_USAGE`
 */
export function checkArguments(args: readonly string[], commands: readonly string[]): void {
  const given = new Map<string, string>();
  const options = optionsOf(args);
  const positionals = positionalsOf(args, commands);
  for (let i = 0; i < args.length; i++) {
    if (args[i] === "--") {
      throw bad("-- means nothing here", "Write a file that begins with a dash as ./-file");
    }
    const arg = args[i].replace(/^-o(?==|$)/, "--output");
    const [, long, inline] = /^--([^=]+)(?:=(.*))?$/s.exec(arg) ?? [];
    if (long !== undefined && positionals.includes(long)) {
      throw bad(`--${long} is no option`, `Give the ${long} without --${long} before it`, long);
    }
    // Whether there is such an option is for yargs to say.
    if (long === undefined || !Object.hasOwn(options, long)) continue;
    const { type, array } = options[long];
    if (given.has(long) && array !== true) {
      throw bad(`--${long} is given more than once`, "Give it once", long);
    }
    given.set(long, "");
    if (type === "boolean") {
      if (inline !== undefined) throw bad(`--${long} takes no value`, `Give --${long} alone`, long);
      continue;
    }
    const value = inline ?? args[++i] ?? "";
    const isNext = inline === undefined && value.startsWith("-") && !NEGATIVE.test(value);
    if (value.trim() === "" || isNext) {
      throw bad(`--${long} has no value`, "Put one behind it", long);
    }
    if (type === "number" && Number.isNaN(Number(value))) {
      throw bad(`--${long} is ${JSON.stringify(value)}`, "Give a number", long);
    }
    given.set(long, value);
  }
  checkIdle(given);
}

function checkIdle(given: ReadonlyMap<string, string>): void {
  for (const { beside, value, options, why } of IDLE) {
    if (!given.has(beside) || (value !== undefined && given.get(beside) !== value)) continue;
    const idle = options.find((option) => given.has(option));
    if (idle === undefined) continue;
    const other = value === undefined ? `--${beside}` : `--${beside} ${value}`;
    throw bad(`--${idle} beside ${other}, ${why}`, "Drop one of them", idle);
  }
}

/** What yargs says of too few arguments, with the name of the one that is missing; null: it says something else. */
export function missingArgument(
  args: readonly string[],
  commands: readonly string[],
  said: string,
): SimError | null {
  const [, got] = /^Not enough non-option arguments: got (\d+)/.exec(said) ?? [];
  const usage = commands.find((command) => args.includes(command.split(" ")[0]));
  if (got === undefined || usage === undefined) return null;
  const [name, ...positionals] = usage.split(" ");
  const missing = positionals[Number(got)] ?? "<argument>";
  return bad(`${name} needs a ${missing.replace(/[^\w-]/g, "")}`, `Give it: tilesim ${usage}`);
}

/** Names of the arguments of the command that is named. */
function positionalsOf(args: readonly string[], commands: readonly string[]): string[] {
  const words = commands.map((command) => command.split(" "));
  const [, ...positionals] = words.find(([name]) => args.includes(name)) ?? [];
  return positionals.map((word) => word.replace(/[^\w-]/g, ""));
}

/** Options of the command that is named, which mostly comes first; none, and yargs refuses the line. */
function optionsOf(args: readonly string[]): OptionTable {
  const name = args.find((arg) => Object.hasOwn(COMMANDS, arg));
  return name === undefined ? {} : COMMANDS[name];
}

function bad(what: string, fix: string, option?: string): SimError {
  return new SimError("BAD_USAGE", { what, where: option === undefined ? {} : { option }, fix });
}
