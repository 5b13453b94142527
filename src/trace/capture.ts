import { gunzipSync } from "node:zlib";
import { SimError } from "../base/errors.ts";

/**
 * How a capture shows bytes. A profile was saved as text by something that took it for text: a run of bytes that
 * is valid UTF-8 became that character, any other byte its Windows-1252 character. Bytes below 0x20, 0x7f and 0xad
 * (the soft hyphen) are gone, but for 0x09 to 0x0d, which became a space; the five bytes that Windows-1252 lacks became U+FFFD.
 */
const WINDOWS_1252_HIGH = "€\ufffd‚ƒ„…†‡ˆ‰Š‹Œ\ufffdŽ\ufffd\ufffd‘’“”•–—˜™š›œ\ufffdžŸ";

/** Largest text that is read, and largest file: a profile of a chip is some 20 MB. */
export const MOST_CAPTURE_BYTES: number = 2 ** 26;

/** The character that shows a lone byte; empty: the byte is gone. */
export const SHOWN: readonly string[] = Array.from({ length: 256 }, (_, byte) => {
  if (byte >= 0x09 && byte <= 0x0d) return " ";
  if (byte < 0x20 || byte === 0x7f || byte === 0xad) return "";
  if (byte >= 0x80 && byte < 0xa0) return WINDOWS_1252_HIGH[byte - 0x80];
  return String.fromCharCode(byte);
});

const SINGLE: ReadonlySet<string> = new Set(SHOWN);

/**
 * A capture's text with the characters that two or three bytes made taken apart again, each byte shown alone.
 * U+0080 to U+00FF stay: they may be one byte or two.
 */
export function takeApart(text: string): string {
  return text.replace(/[^\0-\u00ff]/gu, (character) =>
    SINGLE.has(character)
      ? character
      : Array.from(encoder.encode(character), (byte) => SHOWN[byte]).join(""),
  );
}

const encoder = new TextEncoder();

/**
 * The text of a capture's file, plain or gzip.
 *
 * @throws SimError `FILE_MALFORMED` where it is empty, no UTF-8 or no gzip
 */
export function readCapture(bytes: Uint8Array, file: string): string {
  const fail = (what: string, offset: number, fix: string): SimError =>
    new SimError("FILE_MALFORMED", { what: `${file}: ${what}`, where: { file, offset }, fix });
  let plain = bytes;
  if (bytes[0] === 0x1f && bytes[1] === 0x8b) {
    try {
      plain = gunzipSync(bytes, { maxOutputLength: MOST_CAPTURE_BYTES });
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      throw fail(`not a gzip file that can be read: ${reason}`, 0, "Fetch the file again");
    }
  }
  if (plain.length === 0) throw fail("it is empty", 0, "Give a profile's text");
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(plain);
  } catch {
    throw fail("it is no text in UTF-8", 0, "Read an undamaged profile with inspect instead");
  }
}
