import { linkSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { npyBytes } from "../../src/io/npy.ts";
import { gemm } from "../../src/plan/programs/gemm.ts";
import { expectRefused, shell, SMALL_GEMM, testFolder, tilesim } from "./support.ts";

const folder = testFolder();
const FILES = ["gemm.json", "program.json", "left.npy", "weights/right.npy"] as const;
let before: Buffer[] = [];

function contents(): Buffer[] {
  return FILES.map((name) => readFileSync(join(folder, name)));
}

beforeAll(async () => {
  const array = (rows: number, columns: number): Uint8Array =>
    npyBytes({ dtype: "f16", shape: [rows, columns], data: new Uint16Array(rows * columns) });
  await tilesim(folder, `plan ${SMALL_GEMM} -o gemm.json`);
  mkdirSync(join(folder, "weights"));
  const program = gemm({ m: 32, n: 32, k: 64, tiles: 8 });
  writeFileSync(join(folder, "program.json"), JSON.stringify(program));
  writeFileSync(join(folder, "left.npy"), array(32, 64));
  writeFileSync(join(folder, "weights/right.npy"), array(64, 32));
  symlinkSync("gemm.json", join(folder, "link.json"));
  symlinkSync("left.npy", join(folder, "link.npy"));
  symlinkSync("weights", join(folder, "elsewhere"));
  linkSync(join(folder, "left.npy"), join(folder, "hard.npy"));
  mkdirSync(join(folder, "results"));
  symlinkSync("../left.npy", join(folder, "results/output.npy"));
  before = contents();
});

describe.concurrent("an output does not take the place of", () => {
  // prettier-ignore
  test.each([
    ["the schedule",                   "run gemm.json --save-output gemm.json"],
    ["the schedule, written otherwise", "run gemm.json --save-output ./weights/../gemm.json"],
    ["the schedule behind a link",     "run gemm.json --save-output link.json"],
    ["the schedule read by a link",    "run link.json --save-output gemm.json"],
    ["the program that was planned",   "plan program.json -o program.json"],
    ["the program held against",       "run gemm.json --against program.json --save-output program.json"],
    ["an input",                       "run gemm.json --input left=left.npy --save-output left.npy"],
    ["an input behind a link",         "run gemm.json --input left.npy --save-output link.npy"],
    ["an input of two names",          "run gemm.json --input left.npy --save-output hard.npy"],
    ["an input, in a folder",          "run gemm.json --input left.npy --save-output results"],
    ["a weight of a folder",           "run gemm.json --weights weights --save-output weights/right.npy"],
    ["a weight of a linked folder",    "run gemm.json --weights elsewhere --save-output weights/right.npy"],
    ["a weight that is named",         "run gemm.json --weights right=weights/right.npy --save-output weights/right.npy"],
    ["the replayed schedule",          "replay --schedule gemm.json --check none --save-output gemm.json"],
  ])("%s", async (_what, line) => {
    const run = await tilesim(folder, line);
    expectRefused(run, "BAD_USAGE");
    expect(run.stderr).toMatch(/the output \S+ is also an input/);
    expect(contents()).toEqual(before);
  });
});

test.skipIf(process.platform !== "linux")(
  "an output does not take the place of the file that the report goes to",
  async () => {
    for (const command of ["run gemm.json --save-output", `plan ${SMALL_GEMM} -o`]) {
      const { code, stderr } = await shell(folder, `$TILESIM ${command} /dev/stdout > told.txt`);
      expect([code, stderr]).toEqual([2, expect.stringMatching(/^BAD_USAGE: .* text goes/)]);
    }
  },
);

test("an output may stand beside inputs, and over an older one", async () => {
  for (const name of ["weights", "weights", "new.npy", "new.npy"]) {
    const line = `run gemm.json --input left.npy --weights weights --save-output ${name}`;
    expect((await tilesim(folder, line)).code).toBe(0);
  }
  expect(contents()).toEqual(before);
});
