import { SHOWN } from "./capture.ts";
import type { Profile, Sample } from "./profile.ts";
import { writeProfile } from "./write-profile.ts";

/** Stands in `ExpectedText.text` for a byte that only the capture can tell. */
export const UNKNOWN = "\u0000";

/** What the capture of a whole profile would show, were its times known. */
export interface ExpectedText {
  /** The message's bytes; zero where unknown. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** One character for each that is shown, `UNKNOWN` for each unknown byte. */
  readonly text: string;
  /** Where in the message each character's byte is. */
  readonly at: Int32Array;
}

/**
 * A profile's steps tell every byte of its file but the times, and its writer where each stands (F6.3): so what a
 * damaged capture shows can be laid beside what it should show.
 */
export function expectedText(profile: Profile): ExpectedText {
  const bytes = writeProfile(withTimes(profile, 0));
  const other = writeProfile(withTimes(profile, 0xffffffff));
  const codes = new Uint16Array(bytes.length);
  const at = new Int32Array(bytes.length);
  let count = 0;
  for (let byte = 0; byte < bytes.length; byte++) {
    const isKnown = bytes[byte] === other[byte];
    const shown = SHOWN[bytes[byte]];
    if (isKnown && shown === "") continue;
    codes[count] = isKnown ? shown.charCodeAt(0) : UNKNOWN.charCodeAt(0);
    at[count++] = byte;
  }
  return { bytes, text: textOf(codes.subarray(0, count)), at: at.slice(0, count) };
}

function withTimes(profile: Profile, time: number): Profile {
  return {
    ...profile,
    tiles: profile.tiles.map((tile) => ({
      ...tile,
      samples: tile.samples.map(({ step }): Sample => ({ start: time, end: time, step })),
    })),
  };
}

/** Codes of the basic plane, none of them half of a pair. */
function textOf(codes: Uint16Array): string {
  const bytes = new Uint8Array(codes.buffer, codes.byteOffset, codes.byteLength);
  return new TextDecoder("utf-16le", { ignoreBOM: true }).decode(bytes);
}
