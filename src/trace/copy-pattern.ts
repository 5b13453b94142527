import { debugText, numberOf, readDebug } from "../layouts/rust-debug.ts";

/** How a recorded copy went over memory: in one piece, or by rows, with the compiler's names for their counts. */
export type CopyPattern =
  | { readonly kind: "contiguous" }
  | { readonly kind: "strided"; readonly fields: Readonly<Record<string, number>> }
  | { readonly kind: "other"; readonly text: string };

/**
 * The pattern in a copy's `pattern` (F6.5). `printCopyPattern` of what is returned is `text`, always.
 *
 * @throws FILE_MALFORMED with `where.offset` where it is no debug output of names, lists and numbers
 */
export function parseCopyPattern(text: string): CopyPattern {
  const value = readDebug(text);
  if (text === "Contiguous") return { kind: "contiguous" };
  const isStrided =
    value.kind === "name" &&
    value.name === "Strided" &&
    debugText(value) === text &&
    value.fields.size > 0 &&
    [...value.fields.values()].every(({ kind }) => kind === "number");
  if (!isStrided) return { kind: "other", text };
  const fields = [...value.fields].map(([name, of]) => [name, numberOf(of)] as const);
  return { kind: "strided", fields: Object.fromEntries(fields) };
}

/** The pattern as the compiler prints it. */
export function printCopyPattern(pattern: CopyPattern): string {
  if (pattern.kind === "contiguous") return "Contiguous";
  if (pattern.kind === "other") return pattern.text;
  const fields = Object.entries(pattern.fields).map(([name, of]) => `${name}: ${of}`);
  return `Strided { ${fields.join(", ")} }`;
}
