import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { plain } from "../trace/support.ts";
import { PROGRAM_NAMES, SHAPE_OPTIONS, type ShapeOptions } from "../../src/cli/options.ts";
import { rejectUnread } from "../../src/cli/programs.ts";
import { thrownBy } from "../sim/support.ts";
import { expectRefused, namesIn, shell, SMALL, testFolder, tilesim } from "./support.ts";

const folder = testFolder();
const COMMANDS = ["replay", "plan", "run", "inspect", "query", "compare"] as const;

/** The commands that a help text shows as examples, without what it says of them. */
function examplesIn(help: string): string[] {
  const examples = help.split("Examples:\n")[1] ?? "";
  return examples.split("\n").flatMap((line) => {
    const found = /^ {2}tilesim (\S.*?)(?: {2,}|$)/.exec(line);
    return found ? [found[1]] : [];
  });
}

/** The same command on a small block, where it takes one. */
function smaller(example: string): string {
  if (!/^(replay|plan siglip-attention)/.test(example)) return example;
  const options = [...SMALL.matchAll(/(--\S+) (\S+)/g)];
  const missing = options.filter(([, name]) => !example.includes(`${name} `));
  return [example, ...missing.map(([option]) => option)].join(" ");
}

describe("help", () => {
  test("names every command", async () => {
    const { code, stdout, stderr } = await tilesim(folder, "--help");
    expect([code, stderr]).toEqual([0, ""]);
    for (const command of COMMANDS) expect(stdout).toContain(`tilesim ${command}`);
  });

  test.each(COMMANDS)("of %s shows examples, which run", async (command) => {
    await tilesim(folder, `plan siglip-attention ${SMALL} -o siglip.json`);
    for (const name of ["run.profile", "other.profile"]) writeFileSync(join(folder, name), plain());
    const { code, stdout, stderr } = await tilesim(folder, `${command} --help`);
    expect([code, stderr]).toEqual([0, ""]);
    const examples = examplesIn(stdout);
    expect(examples.length).toBeGreaterThan(1);
    for (const example of examples) {
      expect(example.split(" ")[0]).toBe(command);
      const run = await tilesim(folder, smaller(example));
      expect([example, run.code, run.stderr]).toEqual([example, 0, ""]);
      expect(run.stdout.length).toBeGreaterThan(100);
      if (example.includes("--json")) expect(JSON.parse(run.stdout)).toHaveProperty("tilesim");
      if (example.includes(" -o ")) expect(namesIn(folder)).toContain(example.split(" -o ")[1]);
    }
  });
});

test.each(["replay", "plan", "run", "recover"])(
  "help of %s lists no option that each of its programs refuses",
  async (command) => {
    const { stdout } = await tilesim(folder, `${command} --help`);
    const options = [...stdout.matchAll(/^ +(?:-\w, )?--([a-z-]+)/gm)].map(([, name]) => name);
    expect(options.length).toBeGreaterThan(8);
    const programs = command === "replay" ? ["siglip-attention"] : PROGRAM_NAMES;
    const refused = (Object.keys(SHAPE_OPTIONS) as (keyof ShapeOptions)[]).filter(
      (name) =>
        options.includes(name) &&
        programs.every((program) => {
          const run = (): void => rejectUnread(program, { [name]: 1 });
          return thrownBy(run) !== null;
        }),
    );
    expect(refused).toEqual([]);
  },
);

test("the version is the package's", async () => {
  const text = readFileSync(join(import.meta.dirname, "../../package.json"), "utf8");
  const { version } = JSON.parse(text) as { version: string };
  expect(await tilesim(folder, "--version")).toEqual({
    code: 0,
    stdout: `${version}\n`,
    stderr: "",
  });
});

describe("standard output", () => {
  const PLAN = "plan siglip-attention --tokens 196 --heads 4 --tiles 368";
  let schedule = "";
  beforeAll(async () => {
    schedule = (await tilesim(folder, `${PLAN} --json`)).stdout;
  });

  test("that holds more than a pipe is written whole", () => {
    expect(schedule.length).toBeGreaterThan(100_000);
    expect(schedule).toMatch(/^\{"format":"tilesim-schedule"[^]*\]\}\n$/);
  });

  test("may be closed by its reader", async () => {
    const line = `set -o pipefail; $TILESIM ${PLAN} --json | head -c 100`;
    const { code, stdout, stderr } = await shell(folder, line);
    expect({ code, stdout, stderr }).toEqual({
      code: 0,
      stdout: schedule.slice(0, 100),
      stderr: "",
    });
  });

  test.skipIf(process.platform !== "linux")(
    "that cannot be written is the machine's fault: exit code 3",
    async () => {
      const { code, stderr } = await shell(folder, `$TILESIM ${PLAN} --json > /dev/full`);
      expect(code).toBe(3);
      expect(stderr).toMatch(/^FILE_UNWRITABLE: cannot write to standard output: [^\n]+\n$/);
    },
  );

  test("holds nothing of an error", async () => {
    expectRefused(await shell(folder, "$TILESIM plan gemm --m 0 --json"), "BAD_USAGE");
  });
});

test.skipIf(process.platform !== "linux")(
  "a machine that gives no memory is at fault itself: exit code 3",
  async () => {
    const { code, stdout, stderr } = await shell(
      folder,
      `ulimit -v 4000000; $TILESIM replay ${SMALL}`,
    );
    expect([code, stdout]).toEqual([3, ""]);
    expect(stderr).toMatch(/^OUT_OF_MEMORY: [^\n]+\n$/);
  },
);
