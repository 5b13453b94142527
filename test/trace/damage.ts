import { SHOWN } from "../../src/trace/capture.ts";
import type { Profile } from "../../src/trace/profile.ts";
import { writeProfile } from "../../src/trace/write-profile.ts";

/** Cycle counts as a chip reads them: whole rounds of six workers apart, from some count on. */
export function onTurns(profile: Profile, origin: number): Profile {
  const at = (time: number): number => origin + 6 * Math.ceil(time / 6);
  return {
    ...profile,
    tiles: profile.tiles.map((tile) => ({
      ...tile,
      samples: tile.samples.map((sample) => ({
        ...sample,
        start: at(sample.start),
        end: at(sample.end),
      })),
    })),
  };
}

/** A profile's file saved as text by something that took it for text, with stretches `[from, to)` of it missing. */
export function damaged(profile: Profile, missing: readonly (readonly [number, number])[]): string {
  const text = asText(writeProfile(profile));
  const kept: string[] = [];
  let at = 0;
  for (const [from, to] of missing) {
    kept.push(text.slice(at, from));
    at = to;
  }
  return kept.join("") + text.slice(at);
}

function asText(bytes: Uint8Array): string {
  const shown = [...bytes].filter((byte) => byte >= 0x20 || (byte >= 0x09 && byte <= 0x0d));
  const out: string[] = [];
  for (let i = 0; i < shown.length; i++) {
    const first = shown[i];
    const next = i + 1 < shown.length ? shown[i + 1] : 0;
    if (first >= 0xc2 && first <= 0xdf && next >= 0x80 && next <= 0xbf) {
      const character = String.fromCharCode(((first & 0x1f) << 6) | (next & 0x3f));
      const code = character.charCodeAt(0);
      out.push(code < 0xa0 ? SHOWN[code] : code === 0xad ? "" : character);
      i++;
    } else if (SHOWN[first] !== " " || out.at(-1) !== " ") {
      out.push(SHOWN[first]);
    }
  }
  return out.join("");
}

/** Numbers from 0 to 1 (Park and Miller). */
export function generator(seed: number): () => number {
  let state = seed;
  return () => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647;
}
