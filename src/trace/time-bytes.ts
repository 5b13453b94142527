import { SHOWN, takeApart } from "./capture.ts";

/** A byte that the capture drops where a space stands beside it. */
const isSpace = (text: string): boolean => text === " ";

/**
 * What a capture may show of two bytes that follow each other: each as itself; as one character, where they are
 * UTF-8, or what that is composed of. A first byte 0x8a or 0x8e before one of 0x80 to 0xbf shows as 0xd0 or 0xde,
 * and 0xc3 before a space as 0xe0: not explained, but seen wherever the bytes are known.
 */
export function shownPair(first: number, second: number): readonly string[] {
  const plain = SHOWN[first] + SHOWN[second];
  const shown = [plain];
  const follows = second >= 0x80 && second <= 0xbf;
  if (isSpace(SHOWN[first]) && isSpace(SHOWN[second])) shown.push(" ");
  if (follows && first >= 0xc2 && first <= 0xdf) {
    const code = ((first & 0x1f) << 6) | (second & 0x3f);
    const character = String.fromCharCode(code);
    shown.push(takeApart(character), takeApart(character.normalize("NFKC")));
    // 0x80 to 0x9f as controls of Latin-1 are taken for Windows-1252; 0xad is dropped.
    if (code < 0xa0) shown.push(SHOWN[code]);
    if (code === 0xad) shown.push("");
    if (code === 0xa0) shown.push(" ");
  }
  if (first === 0xc3 && isSpace(SHOWN[second])) shown.push("à ");
  if (follows && first === 0x8a) shown.push("Ð" + SHOWN[second]);
  if (follows && first === 0x8e) shown.push("Þ" + SHOWN[second]);
  return [...new Set(shown)];
}

/** The pairs of bytes, the first one lowest, that a capture may show as a text. */
export function pairsByText(): ReadonlyMap<string, readonly number[]> {
  const pairs = new Map<string, number[]>();
  for (let value = 0; value < 65_536; value++) {
    for (const text of shownPair(value & 0xff, value >> 8)) {
      const known = pairs.get(text);
      if (known) known.push(value);
      else pairs.set(text, [value]);
    }
  }
  return pairs;
}
