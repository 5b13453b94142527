import * as v from "valibot";
import { SimError } from "../base/errors.ts";
import type { Profile } from "./profile.ts";
import type { TileCertainty } from "./recover.ts";

/** Which samples of a recovered profile are seen in the capture, and whose times are known. */
export interface Certainty {
  /** By the profile's tiles and samples. */
  readonly tiles: readonly Pick<TileCertainty, "physicalTile" | "endCycle" | "isShown">[];
}

const letters = v.pipe(v.string(), v.regex(/^[a-z]*$/));
const SCHEMA = v.object({
  format: v.literal("tilesim-certainty"),
  version: v.literal(1),
  tileCertainty: v.array(
    v.object({ physicalTile: v.number(), endCycle: letters, isShown: letters }),
  ),
});

/**
 * The side file of a recovered profile (`tilesim recover`).
 *
 * @throws SimError `FILE_MALFORMED` where it is none, or one of another profile
 */
export function parseCertainty(text: string, file: string, { tiles }: Profile): Certainty {
  const fail = (what: string, field: string): SimError =>
    new SimError("FILE_MALFORMED", {
      what: `${file}: ${what}`,
      where: { file, field },
      fix: "Take the file that recover wrote beside the profile, or move it away",
    });
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    throw fail("it is no JSON", "");
  }
  const result = v.safeParse(SCHEMA, json);
  if (!result.success) {
    const [issue] = result.issues;
    throw fail(issue.message, v.getDotPath(issue) ?? "");
  }
  const { tileCertainty } = result.output;
  const isOf =
    tileCertainty.length === tiles.length &&
    tileCertainty.every(
      ({ physicalTile, endCycle, isShown }, i) =>
        physicalTile === tiles[i].physicalTile &&
        endCycle.length === tiles[i].samples.length &&
        isShown.length === tiles[i].samples.length,
    );
  if (!isOf) throw fail("its tiles and samples are not the profile's", "tileCertainty");
  return { tiles: tileCertainty };
}
