import { printable } from "./printable.ts";

/** A table for people: columns padded, numbers to the right. */
export function table(header: readonly string[], rows: readonly (readonly Cell[])[]): string {
  const text = rows.map((row) => row.map(format));
  const widths = header.map((title, column) =>
    Math.max(title.length, ...text.map((row) => row[column].length)),
  );
  const isNumber = header.map((_, column) =>
    rows.every((row) => typeof row[column] !== "string" || row[column] === ""),
  );
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, column) =>
        isNumber[column] ? cell.padStart(widths[column]) : cell.padEnd(widths[column]),
      )
      .join("  ")
      .trimEnd();
  return [line(header), line(widths.map((width) => "-".repeat(width))), ...text.map(line)].join(
    "\n",
  );
}

/** Null prints as a dash: not known, or not there. */
export type Cell = string | number | null;

function format(cell: Cell): string {
  if (cell === null) return "-";
  if (typeof cell === "string") return printable(cell);
  return Number.isInteger(cell) ? cell.toLocaleString("en-US") : cell.toPrecision(4);
}

/** A signed percentage, two digits. */
export function percent(value: number | null): string | null {
  return value === null ? null : `${value > 0 ? "+" : ""}${value.toFixed(2)} %`;
}
