import * as v from "valibot";
import { SimError } from "../base/errors.ts";
import { parseJson } from "../base/json.ts";
import type { Profile } from "./profile.ts";
import type { TileCertainty } from "./recover.ts";

/** Which samples of a recovered profile are seen in the capture, and whose times are known. */
export interface Certainty {
  /** By the profile's tiles and samples. */
  readonly tiles: readonly Pick<TileCertainty, "physicalTile" | "endCycle" | "isShown">[];
}

const known = v.pipe(v.string(), v.regex(/^[rtdpsl]*$/));
const SCHEMA = v.object({
  format: v.literal("tilesim-certainty"),
  version: v.literal(1),
  profile: v.object({ sha256: v.string() }),
  tileCertainty: v.array(
    v.object({
      physicalTile: v.number(),
      startCycle: known,
      endCycle: known,
      isShown: v.pipe(v.string(), v.regex(/^[yn]*$/)),
    }),
  ),
});

/**
 * The side file of a recovered profile (`tilesim recover`). `sha256` is that of the profile's file, inflated.
 *
 * @throws SimError `FILE_MALFORMED` where it is none, or one of another profile
 */
export function parseCertainty(
  text: string,
  file: string,
  { tiles }: Profile,
  sha256: string,
): Certainty {
  const { profile, tileCertainty } = parseJson(text, SCHEMA, file);
  const fail = (what: string, field: string): SimError =>
    new SimError("FILE_MALFORMED", {
      what: `${file}: ${what}`,
      where: { file, field },
      fix: "Take the file that recover wrote beside the profile, or move it away",
    });
  if (profile.sha256 !== sha256) {
    throw fail("it is the side file of another profile", "profile.sha256");
  }
  const isOf =
    tileCertainty.length === tiles.length &&
    tileCertainty.every(
      ({ physicalTile, startCycle, endCycle, isShown }, i) =>
        physicalTile === tiles[i].physicalTile &&
        startCycle.length === tiles[i].samples.length &&
        endCycle.length === tiles[i].samples.length &&
        isShown.length === tiles[i].samples.length &&
        tiles[i].samples.every(
          ({ start, end }, k) => (startCycle[k] !== "l" && endCycle[k] !== "l") === (start !== end),
        ),
    );
  if (!isOf) throw fail("its tiles, samples and times are not the profile's", "tileCertainty");
  return { tiles: tileCertainty };
}
