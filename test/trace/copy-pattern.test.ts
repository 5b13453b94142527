import { expect, test } from "vitest";
import { parseCopyPattern, printCopyPattern } from "../../src/trace/copy-pattern.ts";
import type { CopyPattern } from "../../src/trace/copy-pattern.ts";
import { simError } from "../layouts/support.ts";

// prettier-ignore
test.each<[string, CopyPattern]>([
  ["Contiguous", { kind: "contiguous" }],
  ["Strided { rows: 8, row_bytes: 64, source_stride: 128, destination_stride: 64 }",
    { kind: "strided", fields: { rows: 8, row_bytes: 64, source_stride: 128, destination_stride: 64 } }],
  ["Strided { b: 2, a: 1 }",     { kind: "strided", fields: { b: 2, a: 1 } }],
  ["Strided { a: Some(1) }",     { kind: "other", text: "Strided { a: Some(1) }" }],
  ["Strided { a: 01 }",          { kind: "other", text: "Strided { a: 01 }" }],
  ["Strided {\n    a: 1,\n}",  { kind: "other", text: "Strided {\n    a: 1,\n}" }],
  ["Strided",                    { kind: "other", text: "Strided" }],
  ["Contiguous()",               { kind: "other", text: "Contiguous()" }],
  ["Scattered { parts: 3 }",     { kind: "other", text: "Scattered { parts: 3 }" }],
])("%s is read and printed as it was", (text, pattern) => {
  expect(parseCopyPattern(text)).toEqual(pattern);
  expect(printCopyPattern(pattern)).toBe(text);
});

test.each(["", "Strided { a: }", "Strided { .. }", "{".repeat(60_000), "9".repeat(60_000)])(
  "%#: text that is no debug output is refused",
  (text) => {
    simError("FILE_MALFORMED", () => parseCopyPattern(text));
  },
);

test("a field of any name is a field", () => {
  const text = "Strided { __proto__: 1 }";
  expect(printCopyPattern(parseCopyPattern(text))).toBe(text);
});
