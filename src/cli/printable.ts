/** Control characters, line separators, and marks that reorder a line: nothing that a name may do to a terminal. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** Text from a file or a command line, in one line; what does not print stands as JSON may write it: \u001b. */
export function printable(text: string): string {
  const escaped = (character: string): string =>
    Array.from({ length: character.length }, (_, index) => {
      const unit = character.charCodeAt(index).toString(16);
      return `\\u${unit.padStart(4, "0")}`;
    }).join("");
  return text.replace(UNPRINTABLE, escaped);
}

/** JSON over several lines; characters that do not print are escaped, which it means the same with. */
export function printableJson(value: unknown): string {
  return JSON.stringify(value, null, 2).split("\n").map(printable).join("\n");
}
