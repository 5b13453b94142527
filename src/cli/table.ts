import { printable } from "./printable.ts";

/** Nothing, a signed number, a decimal, or one with a unit. */
const NUMBER = /^(0|[+-][\d,]+|-?[\d,]+\.\d+|[+-]?[\d.]+ %)?$/;

/** A table for people: columns padded, numbers to the right. */
export function table(header: readonly string[], rows: readonly (readonly Cell[])[]): string {
  const text = rows.map((row) => row.map(format));
  const widths = header.map((title, column) =>
    Math.max(title.length, ...text.map((row) => row[column].length)),
  );
  const isNumber = header.map((_, column) =>
    rows.every(({ [column]: cell }) => typeof cell !== "string" || NUMBER.test(cell)),
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
  return Number.isInteger(cell) ? count(cell) : cell.toPrecision(4);
}

/** A whole number as people read it. */
export function count(value: number): string {
  return value.toLocaleString("en-US");
}

/** A whole number with its sign. */
export function signed(value: number | null): string | null {
  if (value === null) return null;
  return `${value > 0 ? "+" : ""}${count(value)}`;
}

/** A signed percentage, two digits. */
export function percent(value: number | null): string | null {
  if (value === null) return null;
  const digits = value.toFixed(2).replace(/^-(0\.00)$/, "$1");
  return `${value > 0 ? "+" : ""}${digits} %`;
}
