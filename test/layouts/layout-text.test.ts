import fc from "fast-check";
import { expect, test } from "vitest";
import { SimError } from "../../src/base/errors.ts";
import { axisTiling, fromEnd, layout, tiling } from "../../src/layouts/constructors.ts";
import { layoutText, parseLayout } from "../../src/layouts/layout-text.ts";
import type { Layout } from "../../src/layouts/layout.ts";
import { readDebug } from "../../src/layouts/rust-debug.ts";
import { layouts, simError } from "./support.ts";

/** As a recorded profile has it. */
const PROFILE_TEXT =
  "Layout { order: Amp(TransposedLeft), tiling: TensorTiling { tile_count: 736, replicas: 1, axes: [" +
  "AxisTiling { axis: FromEnd(2), partitions: 46, block_size: 16, padding_multiple: 16, " +
  "shard_padding_multiple: 1, padding: Zero, tile_stride: Some(1) }, " +
  "AxisTiling { axis: FromEnd(1), partitions: 16, block_size: 2, padding_multiple: 2, " +
  "shard_padding_multiple: 1, padding: Zero, tile_stride: Some(46) }] }, memory_class: Ipu21Interleaved }";

const PROJECTION: Layout = layout(
  { kind: "amp-transposed-left" },
  tiling([
    axisTiling(fromEnd(2), 46, { block_size: 16, padding: "zero", tile_stride: 1 }),
    axisTiling(fromEnd(1), 16, { block_size: 2, padding: "zero", tile_stride: 46 }),
  ]),
  "interleaved",
);

test("a profile's layout is read, and printed again as it was", () => {
  expect(parseLayout(PROFILE_TEXT)).toEqual(PROJECTION);
  expect(layoutText(PROJECTION, "profile")).toBe(PROFILE_TEXT);
});

test("padding that older profiles do not print is one", () => {
  const older = PROFILE_TEXT.replaceAll("shard_padding_multiple: 1, ", "");
  expect(parseLayout(older)).toEqual(PROJECTION);
});

test("the pretty form with its trailing commas is the same layout", () => {
  const pretty = PROFILE_TEXT.replaceAll(/([{[(])/g, "$1\n").replaceAll(/ ?([}\])])/g, ",\n$1");
  expect(parseLayout(pretty)).toEqual(PROJECTION);
});

// prettier-ignore
test.each<[string, string, string, string]>([
  // why                              replaced               by                         the text that the error stands at
  ["an order that is none",           "Amp(TransposedLeft)", "Diagonal",                "Diagonal,"],
  ["an AMP order that is none",       "TransposedLeft",      "Sideways",                "Sideways)"],
  ["an order without its item",       "Amp(TransposedLeft)", "Amp",                     "Amp, tiling"],
  ["a block that is none",            "Amp(TransposedLeft)", "BlockMajor(Cube {})",     "Cube"],
  ["a block without a column block",  "Amp(TransposedLeft)", "BlockMajor(Matrix { row_block: 1 })", "Matrix"],
  ["another struct",                  "Layout",              "Outlay",                  "Outlay"],
  ["a field missing",                 "replicas: 1, ",       "",                        "TensorTiling"],
  ["a field too many",                "replicas: 1",         "replicas: 1, copies: 2",  "2, axes"],
  ["a field twice",                   "replicas: 1",         "tile_count: 1",           "tile_count: 1, axes"],
  ["a name where a number stands",    "736",                 "many",                    "many"],
  ["a number where a name stands",    "Amp(TransposedLeft)", "7",                       "7, tiling"],
  ["a number beyond counting",        "736",                 "99999999999999999999",    "99999"],
  ["a negative number",               "736",                 "-1",                      "-1"],
  ["a comma missing",                 "736,",                "736",                     "replicas"],
  ["a bracket of another kind",       "(2)",                 "(2]",                     "], partitions: 46"],
  ["an axis that is none",            "FromEnd(2)",          "Middle",                  "Middle"],
  ["a stride that is none",           "Some(1)",             "Maybe",                   "Maybe"],
  ["a padding that is none",          "padding: Zero",       "padding: Fill",           "Fill"],
  ["a memory class that is none",     "Ipu21Interleaved",    "Ipu42",                   "Ipu42"],
  ["more after the end",              "Ipu21Interleaved }",  "Ipu21Interleaved } {}",   "{}"],
  ["a text that stops",               " memory_class: Ipu21Interleaved }", "",           ""],
])("%s is refused where it stands", (_, replaced, by, at) => {
  const text = PROFILE_TEXT.replace(replaced, by);
  const { fault } = simError("FILE_MALFORMED", () => parseLayout(text));
  const rest = text.slice(Number(fault.where.offset));
  expect(rest.slice(0, at.length || undefined)).toBe(at);
});

// prettier-ignore
test.each<[string, string]>([
  ["nothing",                        ""],
  ["deep nesting",                   "[".repeat(60_000)],
  ["deep names",                     "a(".repeat(30_000)],
  ["deep fields",                    "a{a:".repeat(15_000)],
  ["a text longer than any layout",  " ".repeat(10_000_000)],
  ["spaces before nothing",          " ".repeat(65_536)],
  ["a control character",            "Layout\0"],
  ["the name of a prototype",        "Layout { __proto__: 1 }"],
])("%s is refused at once", (_, text) => {
  const started = performance.now();
  simError("FILE_MALFORMED", () => parseLayout(text));
  expect(performance.now() - started).toBeLessThan(1000);
});

test("a kernel's debug text reads as names, fields, lists and numbers", () => {
  expect(readDebug("Planned(Gemm { multiply: F16, inner: [1, 2] })")).toEqual({
    kind: "name",
    name: "Planned",
    fields: new Map(),
    offset: 0,
    items: [
      {
        kind: "name",
        name: "Gemm",
        items: [],
        offset: 8,
        fields: new Map<string, unknown>([
          ["multiply", { kind: "name", name: "F16", items: [], fields: new Map(), offset: 25 }],
          [
            "inner",
            {
              kind: "list",
              offset: 37,
              items: [
                { kind: "number", value: 1, offset: 38 },
                { kind: "number", value: 2, offset: 41 },
              ],
            },
          ],
        ]),
      },
    ],
  });
});

test("any layout, printed in either spelling, reads back as itself", () => {
  fc.assert(
    fc.property(
      layouts,
      fc.constantFrom("current" as const, "profile" as const),
      (one, spelling) => {
        expect(parseLayout(layoutText(one, spelling))).toEqual(one);
      },
    ),
  );
});

test("damaged text is a layout or a typed error", () => {
  const damage = fc.array(
    fc.tuple(
      fc.nat(),
      fc.constantFrom("", "{", "}", "(", ")", "[", "]", ",", ":", " ", "9", "x", "\u{FFFD}"),
    ),
    { minLength: 1, maxLength: 6 },
  );
  fc.assert(
    fc.property(layouts, damage, (one, edits) => {
      let text = layoutText(one);
      for (const [seed, by] of edits) {
        const at = seed % text.length;
        text = text.slice(0, at) + by + text.slice(at + 1);
      }
      try {
        parseLayout(text);
      } catch (error) {
        expect(error).toBeInstanceOf(SimError);
        expect((error as SimError).code).toBe("FILE_MALFORMED");
      }
    }),
    { numRuns: 2000 },
  );
});
