import * as v from "valibot";
import { parseJson } from "../base/json.ts";
import { layoutSchema } from "../sim/schedule-file.ts";
import type { Program } from "./program.ts";

const name = v.pipe(v.string(), v.minLength(1, "a name has at least one character"));
const positive = v.pipe(v.number(), v.safeInteger(), v.minValue(1));
const dtype = v.picklist(["f16", "f32"]);

const operation = v.variant("kind", [
  v.strictObject({
    kind: v.literal("gemm"),
    output: name,
    left: name,
    right: name,
    grid: v.strictObject({ m: positive, n: positive, k: positive }),
    orientation: v.picklist(["plain", "swapped"]),
    weights: v.picklist(["standard", "interleaved"]),
    multiply: v.exactOptional(dtype),
  }),
  v.strictObject({ kind: v.literal("split-heads"), output: name, input: name, heads: positive }),
  v.strictObject({
    kind: v.literal("attention"),
    output: name,
    query: name,
    key: name,
    value: name,
    queryParts: positive,
    keyBlock: positive,
  }),
  v.strictObject({ kind: v.literal("gelu"), output: name, input: name }),
  v.strictObject({ kind: v.literal("add"), output: name, inputs: v.strictTuple([name, name]) }),
  v.strictObject({ kind: v.literal("cast"), output: name, input: name, to: dtype }),
  v.strictObject({ kind: v.literal("rearrange"), output: name, input: name, layout: layoutSchema }),
]);

/** A tensor of more elements than this is refused before anything is planned. */
const MOST_ELEMENTS = 2 ** 31;

const shape = v.pipe(
  v.array(positive),
  v.minLength(1, "a shape has at least one axis"),
  v.maxLength(8, "a shape has at most eight axes"),
  v.check(
    (extents) => extents.reduce((product, extent) => product * extent, 1) <= MOST_ELEMENTS,
    `a tensor has at most ${MOST_ELEMENTS} elements`,
  ),
);

const program = v.strictObject({
  format: v.literal("tilesim-program"),
  version: v.literal(1),
  name,
  tiles: positive,
  inputs: v.array(v.strictObject({ name, role: v.picklist(["input", "weight"]), shape, dtype })),
  operations: v.pipe(v.array(operation), v.maxLength(10_000)),
  outputs: v.array(name),
});

/**
 * The program in a file's text.
 *
 * @throws SimError `FILE_MALFORMED` with the path of the first field that does not fit
 */
export function parseProgram(text: string, file: string): Program {
  return parseJson(text, program, file);
}
