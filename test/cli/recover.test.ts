import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import type { RecoverReport } from "../../src/report/profile-report.ts";
import { readProfile } from "../../src/trace/read-profile.ts";
import { expectRefused, namesIn, testFolder, tilesim } from "./support.ts";

const folder = testFolder();
const DATA = join(import.meta.dirname, "../../data");
const CAPTURE = join(DATA, "siglip-attention.capture.txt.gz");

describe("recover", () => {
  test("writes the bundled profile and its side file again, and says what it got", async () => {
    const { code, stdout, stderr } = await tilesim(
      folder,
      "recover",
      CAPTURE,
      "-o",
      "out.profile.gz",
      "--json",
    );
    expect([code, stderr]).toEqual([0, ""]);
    expect(namesIn(folder)).toEqual(["out.profile.certainty.json.gz", "out.profile.gz"]);
    const report = JSON.parse(stdout) as RecoverReport;
    expect(report).toMatchObject({
      program: "siglip-attention",
      tiles: { inSchedule: 1472, recovered: 1472, wholeTables: 1247 },
      turn: 5,
    });
    const unzipped = (path: string): Buffer => gunzipSync(readFileSync(path));
    const made = unzipped(join(folder, "out.profile.gz"));
    expect(made.equals(unzipped(join(DATA, "siglip-attention.profile.gz")))).toBe(true);
    const side = JSON.parse(unzipped(join(folder, "out.profile.certainty.json.gz")).toString()) as {
      letters: Record<string, string>;
      tileCertainty: {
        physicalTile: number;
        samples: number[];
        endCycle: string;
        fields: Record<string, string>;
      }[];
    };
    const { tiles } = readProfile(made);
    expect(side.tileCertainty).toHaveLength(tiles.length);
    for (const [i, { physicalTile, samples, endCycle, fields }] of side.tileCertainty.entries()) {
      expect(physicalTile).toBe(tiles[i].physicalTile);
      expect(samples).toEqual(tiles[i].samples.map(({ step }) => step.localIndex));
      for (const letters of [endCycle, ...Object.values(fields)]) {
        expect(letters).toHaveLength(samples.length);
        expect(Object.keys(side.letters)).toEqual(expect.arrayContaining([...new Set(letters)]));
      }
    }
  });

  test("prints a table for people", async () => {
    const { code, stdout } = await tilesim(folder, "recover", CAPTURE, "-o", "table.profile");
    expect(code).toBe(0);
    expect(stdout).toContain("99.77 % of whole lists known");
    expect(stdout).toContain("table.profile.certainty.json");
  });

  test.each([
    ["an empty file", ""],
    ["another text", "It was a dark and stormy night. ".repeat(1000)],
  ])("refuses %s and writes nothing", async (_, text) => {
    writeFileSync(join(folder, "bad.txt"), text);
    const before = namesIn(folder);
    expectRefused(await tilesim(folder, "recover bad.txt -o none.profile"), "FILE_MALFORMED");
    expect(namesIn(folder)).toEqual(before);
  });

  test("refuses the capture of another program", async () => {
    const shape = "--tokens 20 --width 48 --heads 2 --head-size 16 --tiles 8";
    expectRefused(
      await tilesim(folder, `recover ${shape} -o none.profile`, CAPTURE),
      "FILE_MALFORMED",
    );
  });

  test("needs a file to write to and one to read", async () => {
    expectRefused(await tilesim(folder, "recover", CAPTURE), "BAD_USAGE");
    expectRefused(await tilesim(folder, "recover missing.txt -o none.profile"), "FILE_UNREADABLE");
    expectRefused(await tilesim(folder, "recover . -o none.profile"), "FILE_UNREADABLE");
  });
});

describe("a side file beside a profile", () => {
  const profile = readFileSync(join(DATA, "siglip-attention.profile.gz"));
  const side = gunzipSync(readFileSync(join(DATA, "siglip-attention.profile.certainty.json.gz")));

  test.each([
    ["a letter that means nothing", side.toString().replace(/"endCycle":"r/, '"endCycle":"z')],
    [
      "a time that is lost and has a length",
      side.toString().replace(/"endCycle":"r/, '"endCycle":"l'),
    ],
    [
      "the hash of another profile",
      side.toString().replace(/("profile":\{"sha256":")\w{8}/, "$100000000"),
    ],
    ["half of its text", side.toString().slice(0, side.length / 2)],
  ])("with %s is refused", async (_, text) => {
    writeFileSync(join(folder, "side.profile.gz"), profile);
    writeFileSync(join(folder, "side.profile.certainty.json.gz"), gzipSync(text));
    expectRefused(await tilesim(folder, "replay side.profile.gz --cycles-only"), "FILE_MALFORMED");
  });
});
