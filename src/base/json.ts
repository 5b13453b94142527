import * as v from "valibot";
import { SimError } from "./errors.ts";

/** The field of a file that is wrong as a whole. */
const WHOLE = "(the whole file)";

/**
 * Untrusted JSON text as what `schema` describes.
 *
 * @throws SimError `FILE_MALFORMED` with the path of the first field that does not fit
 */
export function parseJson<Schema extends v.GenericSchema>(
  text: string,
  schema: Schema,
  file: string,
): v.InferOutput<Schema> {
  let data: unknown;
  try {
    data = JSON.parse(text);
  } catch (cause) {
    throw new SimError(
      "FILE_MALFORMED",
      {
        what: `not JSON: ${cause instanceof Error ? cause.message : String(cause)}`,
        where: { file },
        fix: "Give a JSON file that tilesim wrote, or one of the same form",
      },
      { cause },
    );
  }
  try {
    const result = v.safeParse(schema, data, { abortEarly: true, abortPipeEarly: true });
    if (result.success) return result.output;
    const [issue] = result.issues;
    const path = v.getDotPath(issue) ?? WHOLE;
    // A list has none of an object's fields: name it, not the first of these.
    const last = issue.path?.at(-1) as
      { readonly input?: unknown; readonly key?: unknown } | undefined;
    const isList = Array.isArray(last?.input) && typeof last.key === "string";
    const field = isList ? path.split(".").slice(0, -1).join(".") || WHOLE : path;
    throw new SimError("FILE_MALFORMED", {
      what: `${field}: ${isList ? "a list, no object" : issue.message}`,
      where: { file, field },
      fix: "Correct the field",
    });
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause;
    throw new SimError(
      "FILE_MALFORMED",
      { what: "nested too deeply", where: { file }, fix: "Flatten the file" },
      { cause },
    );
  }
}
