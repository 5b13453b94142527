import { SHOWN } from "./capture.ts";
import type { Profile, Sample } from "./profile.ts";
import { writeProfile } from "./write-profile.ts";

/** Stands in `ExpectedText.text` for a byte that only the capture can tell. */
export const UNKNOWN = "\u0000";

/** What the capture of a whole profile would show, were its times and phase numbers known. */
export interface ExpectedText {
  /** The message's bytes; zero where unknown. */
  readonly bytes: Uint8Array;
  /** One character for each that is shown, `UNKNOWN` for each unknown byte. */
  readonly text: string;
  /** Where in the message each character's first byte is. */
  readonly at: Int32Array;
}

/**
 * A profile's steps tell every byte of its file but the times, and its writer where each stands (F6.3): so what a
 * damaged capture shows can be laid beside what it should show.
 */
export function expectedText(profile: Profile): ExpectedText {
  const bytes = writeProfile(withUnknown(profile, 0));
  const other = writeProfile(withUnknown(profile, 0xffffffff));
  const characters: string[] = [];
  const at = new Int32Array(bytes.length);
  let count = 0;
  for (let byte = 0; byte < bytes.length; byte++) {
    const isUnknown = bytes[byte] !== other[byte];
    const shown = isUnknown ? UNKNOWN : SHOWN[bytes[byte]];
    if (shown === "") continue;
    characters.push(shown);
    at[count++] = byte;
  }
  return { bytes, text: characters.join(""), at: at.slice(0, count) };
}

function withUnknown(profile: Profile, value: number): Profile {
  return {
    ...profile,
    tiles: profile.tiles.map((tile) => ({
      ...tile,
      samples: tile.samples.map(({ step }): Sample => ({
        start: value,
        end: value,
        step,
      })),
    })),
  };
}
