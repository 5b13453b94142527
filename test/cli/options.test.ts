import { describe, expect, test } from "vitest";
import type { Code } from "../../src/base/errors.ts";
import { expectRefused, namesIn, SMALL, testFolder, tilesim } from "./support.ts";

const folder = testFolder();

/** The same with some of its options left out. */
function without(...names: readonly string[]): string {
  return names.reduce((line, name) => line.replace(new RegExp(`--${name} \\S+ ?`), ""), SMALL);
}

describe.concurrent("a command line", () => {
  // prettier-ignore
  test.each<[Code, string, string, RegExp?]>([
    ["BAD_USAGE", "nothing",                             "",                                             /Name a command/],
    ["BAD_USAGE", "an unknown command",                  "simulate"],
    ["BAD_USAGE", "an unknown option",                   `replay ${SMALL} --fast`,                       /fast/],
    ["BAD_USAGE", "an option of another command",        `plan ${SMALL} gemm --rounding exact`,          /rounding/],
    ["BAD_USAGE", "an option in other letters",          `replay ${without("tokens")} --Tokens 20`,      /Tokens/],
    ["BAD_USAGE", "an option as JavaScript writes it",   `replay ${without("head-size")} --headSize 16`, /headSize/],
    ["BAD_USAGE", "an option's field",                   `replay ${without("tokens")} --tokens.x 20`,    /tokens/],
    ["BAD_USAGE", "a negated option",                    `replay ${SMALL} --no-json`,                    /no-json/],
    ["BAD_USAGE", "an option twice",                     `replay ${SMALL} --seed 2 --seed 3`,            /--seed is given more than once/],
    ["BAD_USAGE", "an option twice, at last with 1",     `replay ${SMALL} --tiles 1`,                    /--tiles is given more than once/],
    ["BAD_USAGE", "an option and its short form",        "plan gemm -o a.json --output b.json",          /--output is given more than once/],
    ["BAD_USAGE", "a flag twice",                        `replay ${SMALL} --json --json`,                /--json is given more than once/],
    ["BAD_USAGE", "a flag with a value",                 `replay ${SMALL} --json=yes`,                   /--json takes no value/],
    ["BAD_USAGE", "a flag with another value",           `replay ${SMALL} --cycles-only=1`,              /--cycles-only takes no value/],
    ["BAD_USAGE", "an argument too many",                `replay ${SMALL} a b`],
    ["BAD_USAGE", "a command that there is not",         "simulate a.json",                              /there is no command simulate/],
    ["BAD_USAGE", "an argument too few for plan",        "plan",                                         /plan needs a program/],
    ["BAD_USAGE", "an argument too few for run",         "run --json",                                   /run needs a schedule/],
    ["BAD_USAGE", "two dashes alone",                    `replay ${SMALL} -- x`],
    ["BAD_USAGE", "an option at the end without value",  `replay ${without("tiles")} --tiles`,           /--tiles has no value/],
    ["BAD_USAGE", "an option before another",            `replay ${SMALL} --input --json`,               /--input has no value/],
    ["BAD_USAGE", "an option with nothing behind =",     `replay ${SMALL} --seed= --json`,               /--seed has no value/],
    ["BAD_USAGE", "a short option without value",        "plan gemm -o",                                 /--output has no value/],
    ["BAD_USAGE", "no rounding of that name",            `replay ${SMALL} --rounding up`,                /rounding/],
    ["BAD_USAGE", "no backend of that name",             `replay ${SMALL} --backend gpu`,                /backend/],
    ["BAD_USAGE", "no check of that name",               `replay ${SMALL} --check maybe`],
    ["BAD_USAGE", "no data of that name",                `replay ${SMALL} --data zeros`],
    ["BAD_USAGE", "no exchange of that name",            `replay ${SMALL} --exchange none`],
    ["BAD_USAGE", "no SIMD of that name",                `replay ${SMALL} --simd avx`],
    ["BAD_USAGE", "no orientation of that name",         "plan gemm --orientation up"],
    ["BAD_USAGE", "no memory class of that name",        "plan gemm --gemm-weights fast"],
    ["BAD_USAGE", "no tokens",                           `replay ${without("tokens")} --tokens 0`,       /--tokens is 0/],
    ["BAD_USAGE", "fewer than no tokens",                `replay ${without("tokens")} --tokens -1`,      /--tokens is -1/],
    ["BAD_USAGE", "half a token",                        `replay ${without("tokens")} --tokens 1.5`,     /--tokens is 1.5/],
    ["BAD_USAGE", "tokens that are no number",           `replay ${without("tokens")} --tokens many`,    /--tokens is "many"/],
    ["BAD_USAGE", "NaN tokens",                          `replay ${without("tokens")} --tokens NaN`,     /--tokens/],
    ["BAD_USAGE", "infinitely many",                     `replay ${without("tokens")} --tokens Infinity`, /--tokens/],
    ["BAD_USAGE", "more than can be counted",            `replay ${without("tokens")} --tokens 1e300`,   /--tokens/],
    ["BAD_USAGE", "no width",                            `replay ${without("width")} --width 0`,         /--width/],
    ["BAD_USAGE", "no heads",                            `replay ${without("heads")} --heads 0`,         /--heads/],
    ["BAD_USAGE", "no head size",                        `replay ${without("head-size")} --head-size 0`, /--head-size/],
    ["BAD_USAGE", "no tiles",                            `replay ${without("tiles")} --tiles -8`,        /--tiles/],
    ["BAD_USAGE", "no query parts",                      `replay ${SMALL} --query-parts 0`,              /--query-parts/],
    ["BAD_USAGE", "half a key block",                    `replay ${SMALL} --key-block 0.5`,              /--key-block/],
    ["BAD_USAGE", "no hidden columns",                   "plan mlp --hidden 0",                          /--hidden/],
    ["BAD_USAGE", "no inner length",                     "plan gemm --k 0",                              /--k /],
    ["BAD_USAGE", "a grid of two numbers",               `replay ${SMALL} --grid 2x2`,                   /--grid/],
    ["BAD_USAGE", "a grid of nothing",                   `replay ${SMALL} --grid 0x1x1`,                 /--grid/],
    ["BAD_USAGE", "a grid of less",                      `replay ${SMALL} --grid=-1x1x1`,                /--grid is/],
    ["BAD_USAGE", "a negative seed",                     `replay ${SMALL} --seed -1`,                    /--seed is -1/],
    ["BAD_USAGE", "half a seed",                         `replay ${SMALL} --seed 0.5`,                   /--seed/],
    ["BAD_USAGE", "a seed beyond 32 bits",               `replay ${SMALL} --seed 4294967296`,            /--seed/],
    ["BAD_USAGE", "a seed that is no number",            `replay ${SMALL} --seed x --cycles-only`,       /--seed/],
    ["BAD_USAGE", "no threads",                          `replay ${SMALL} --threads 0`,                  /--threads/],
    ["BAD_USAGE", "too many threads",                    `replay ${SMALL} --threads 65`,                 /--threads/],
    ["BAD_USAGE", "no threads, though none would work",  `replay ${SMALL} --threads 0 --cycles-only`,    /--threads/],
    ["BAD_USAGE", "an option that the program has not",  "plan siglip-attention --hidden 64",            /--hidden means nothing to siglip-attention/],
    ["BAD_USAGE", "a width for attention alone",         "plan attention --width 64",                    /--width means nothing to attention/],
    ["BAD_USAGE", "tokens for a gemm",                   "plan gemm --tokens 5",                         /--tokens means nothing to gemm/],
    ["BAD_USAGE", "heads for an mlp",                    "plan mlp --heads 2",                           /--heads means nothing to mlp/],
    ["BAD_USAGE", "a shape for a program's file",        "plan x.json --tiles 8",                        /--tiles means nothing to x.json.*stand in the file/],
    ["BAD_USAGE", "a file for values, and no values",    `replay ${SMALL} --cycles-only --save-output y.npy`, /--save-output/],
    ["BAD_USAGE", "an input for no values",              `replay ${SMALL} --cycles-only --input x.npy`,  /--input/],
    ["BAD_USAGE", "a check of no values",                `replay ${SMALL} --cycles-only --check full`,   /--check beside --cycles-only/],
    ["BAD_USAGE", "rounding of no values",               `replay ${SMALL} --rounding exact --cycles-only`, /--rounding beside --cycles-only/],
    ["BAD_USAGE", "a seed of no values",                 `replay ${SMALL} --cycles-only --seed=3`,       /--seed beside --cycles-only/],
    ["BAD_USAGE", "a program for no values",             "run x.json --cycles-only --against gemm",      /--against beside --cycles-only/],
    ["BAD_USAGE", "a program for no check",              "run x.json --check none --against gemm",       /--against beside --check none/],
    ["BAD_USAGE", "SIMD for the reference",              `replay ${SMALL} --backend reference --simd strict`, /--simd beside --backend reference/],
    ["BAD_USAGE", "threads for the reference",           `replay ${SMALL} --threads 2 --backend=reference`, /--threads beside --backend reference/],
    ["BAD_USAGE", "an argument by name, for run",        "run x.json --schedule y.json",                 /without --schedule/],
    ["BAD_USAGE", "an argument by name, for plan",       "plan --program gemm",                          /without --program/],
    ["BAD_USAGE", "an argument by name, for replay",     `replay ${SMALL} --profile=x`,                  /without --profile/],
    ["BAD_USAGE", "a shape without a program",           "run x.json --m 4",                             /--m means nothing/],
    ["BAD_USAGE", "two places for a schedule",           "plan gemm -o a.json --json",                   /--output and --json/],
    ["BAD_USAGE", "an unknown program",                  "plan conv",                                    /conv/],
    ["BAD_USAGE", "a program that every object has",     "plan constructor",                             /constructor/],
    ["FILE_UNREADABLE", "a profile that is not there",   `replay ${SMALL} profile.capnp`,                /profile.capnp/],
    ["BAD_USAGE", "an argument too few for inspect",     "inspect"],
    ["BAD_USAGE", "an argument too few for compare",     "compare a.profile",                            /compare needs a profile-b/],
    ["BAD_USAGE", "an argument too many for query",      "query a.profile b.profile"],
    ["BAD_USAGE", "groups of no such kind",              "query a.profile --group-by size",              /--group-by is "size"/],
    ["BAD_USAGE", "groups by metadata of no name",       "query a.profile --group-by metadata:",         /--group-by/],
    ["BAD_USAGE", "an order of no such kind",            "query a.profile --sort-by size",               /sort-by/],
    ["BAD_USAGE", "fewer than no groups",                "query a.profile --limit -1",                   /--limit is "-1"/],
    ["BAD_USAGE", "half a sample",                       "query a.profile --samples 0.5",                /--samples/],
    ["BAD_USAGE", "a time before all",                   "query a.profile --at-offset -1",               /--at-offset/],
    ["BAD_USAGE", "a time that is no number",            "query a.profile --at-offset soon",             /--at-offset/],
    ["BAD_USAGE", "steps of no such kind",               "query a.profile --kind copy",                  /kind/],
    ["BAD_USAGE", "a tile that is no number",            "query a.profile --tile first",                 /--tile is "first"/],
    ["BAD_USAGE", "a range of tiles backwards",          "query a.profile --tile 9-3",                   /--tile is "9-3"/],
    ["BAD_USAGE", "a phase that is no number",           "query a.profile --phase last",                 /--phase is "last"/],
    ["BAD_USAGE", "a phase beyond 32 bits",              "query a.profile --phase 4294967296",           /--phase/],
    ["BAD_USAGE", "metadata without a value",            "query a.profile --metadata bytes",             /--metadata is "bytes"/],
    ["BAD_USAGE", "metadata without a name",             "query a.profile --metadata =8",                /--metadata/],
    ["BAD_USAGE", "one order twice",                     "query a.profile --sort-by name --sort-by name", /--sort-by is given more than once/],
    ["BAD_USAGE", "rows of two kinds",                   "compare a b --group-by tile --group-by kind",  /--group-by is given more than once/],
    ["BAD_USAGE", "rows of no such kind",                "compare a b --group-by phase",                 /group-by/],
    ["BAD_USAGE", "an option of query",                  "compare a b --shared-clock",                   /shared-clock/],
    ["BAD_USAGE", "an option of query too",              "inspect a --limit 3",                          /limit/],
    ["PLAN_DOES_NOT_FIT", "more tiles than the chip",    `replay ${without("tiles")} --tiles 1473`,      /1473 tiles, ipu21 has 1472/],
    ["PLAN_DOES_NOT_FIT", "fewer tiles than heads",      `replay ${without("tiles")} --tiles 1`,         /2 heads/],
    ["PLAN_DOES_NOT_FIT", "a grid larger than its tiles", `replay ${SMALL} --grid 3x3x3`,                /27 tiles/],
    ["PLAN_DOES_NOT_FIT", "more query parts than tiles", `replay ${SMALL} --query-parts 5`,              /10 needed, 8 there/],
    ["SHAPE_MISMATCH",    "a key block of no panel",     `replay ${SMALL} --key-block 17`,               /17/],
    ["TILE_MEMORY_FULL",  "a gemm larger than the chip", "plan gemm --m 1e6 --n 1e6 --k 1e6"],
    ["TILE_MEMORY_FULL",  "very many tokens",            "plan attention --tokens 100000000"],
    ["TILE_MEMORY_FULL",  "a very large key block",      `replay ${SMALL} --key-block 1000000000`],
    ["TILE_MEMORY_FULL",  "the whole block on few tiles", "replay --tiles 16",                           /--grid/],
    ["TILE_MEMORY_FULL",  "a perceptron on few tiles", "plan mlp --tiles 100",                           /up.weight .* program's file/],
    ["LAYOUT_INVALID",    "more elements than counted",  "plan gemm --m 9007199254740991 --n 9007199254740991"],
  ])("gives %s where it has %s", async (error, _why, line, says = /./) => {
    const run = await tilesim(folder, line);
    expectRefused(run, error);
    expect(run.stderr).toMatch(says);
  });

  test.each([
    ["replay", ""],
    ["replay", " "],
    ["plan gemm", ""],
  ])("gives BAD_USAGE where an option of %s has the value %j", async (command, value) => {
    expectRefused(await tilesim(folder, command, "--tiles", value), "BAD_USAGE");
  });
});

test("a command line that is refused writes no file", () => {
  expect(namesIn(folder)).toEqual([]);
});
