import * as v from "valibot";
import { SimError } from "./errors.ts";

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
    const field = v.getDotPath(issue) ?? "(the whole file)";
    throw new SimError("FILE_MALFORMED", {
      what: `${field}: ${issue.message}`,
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
