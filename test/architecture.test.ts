import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, posix, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";

/** Which folders of src a folder may import, beside itself. What is not here may not be imported. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  base: [],
  target: ["base"],
  numerics: ["base"],
  io: ["base", "numerics"],
  layouts: ["base", "numerics"],
  kernels: ["base", "target", "numerics", "layouts"],
  exchange: ["base", "target"],
  backends: ["base", "numerics", "layouts", "kernels"],
  sim: ["base", "target", "numerics", "layouts", "kernels", "exchange"],
  plan: ["base", "target", "numerics", "layouts", "kernels", "exchange", "sim"],
  check: ["base", "numerics", "layouts", "kernels", "plan"],
  trace: ["base", "target", "numerics", "io", "layouts", "kernels", "exchange", "sim", "plan"],
  // A report tells of kernels, roundings and checks as they name themselves.
  report: ["base", "target", "numerics", "kernels", "sim", "trace", "check"],
};
/** These wire the others: `explore` may import all but `cli`, `cli` all, the package's index all but `cli`. */
const ALL = Object.keys(MAY_IMPORT);
const WIRING: Readonly<Record<string, readonly string[]>> = {
  explore: ALL,
  cli: [...ALL, "explore"],
  "index.ts": [...ALL, "explore"],
};

const SRC = join(dirname(fileURLToPath(import.meta.url)), "../src");

/** Paths below src, with slashes. */
const files = readdirSync(SRC, { recursive: true, encoding: "utf8" })
  .map((file) => file.split(sep).join("/"))
  .filter((file) => /\.m?ts$/.test(file));

interface Import {
  readonly from: string;
  readonly specifier: string;
}

const imports: readonly Import[] = files.flatMap((from) => {
  const text = readFileSync(join(SRC, from), "utf8");
  const found = text.matchAll(
    /^\s*(?:import|export)\s(?:[^"';]*?\sfrom\s+)?["']([^"']+)["']|\bimport\(\s*["']([^"']+)["']/gm,
  );
  return [...found].map(([, of, dynamic]) => ({ from, specifier: of ?? dynamic }));
});

function folderOf(path: string): string {
  return path.split("/")[0];
}

/** What an import names, below src; null for a package. */
function target({ from, specifier }: Import): string | null {
  return specifier.startsWith(".") ? posix.join(posix.dirname(from), specifier) : null;
}

function told(list: readonly Import[]): string[] {
  return list.map(({ from, specifier }) => `${from} imports ${specifier}`);
}

describe("src", () => {
  test("is made of folders that have a row in the table", () => {
    const rows = { ...MAY_IMPORT, ...WIRING };
    expect(files.map(folderOf).filter((folder) => !(folder in rows))).toEqual([]);
  });

  test("imports as the table allows", () => {
    const rows = { ...MAY_IMPORT, ...WIRING };
    const forbidden = imports.filter((entry) => {
      const path = target(entry);
      if (path === null) return false;
      const [from, to] = [folderOf(entry.from), folderOf(path)];
      return from !== to && !rows[from].includes(to);
    });
    expect(imports.length).toBeGreaterThan(0);
    expect(told(forbidden)).toEqual([]);
  });

  test("names imported files as they are, .ts at the end", () => {
    const wrong = imports.filter((entry) => {
      const path = target(entry);
      return path !== null && !files.includes(path);
    });
    expect(told(wrong)).toEqual([]);
  });

  test("has the command line's packages in the command line alone", () => {
    const wrong = imports.filter(
      ({ from, specifier }) => /^yargs(\/|$)/.test(specifier) && folderOf(from) !== "cli",
    );
    expect(told(wrong)).toEqual([]);
  });

  test("has one index, the package's, and no default exports", () => {
    const indexes = files.filter((file) => /(^|\/)index\.ts$/.test(file));
    expect(indexes.filter((file) => file !== "index.ts")).toEqual([]);
    const defaults = files.filter((file) =>
      /^export default\b/m.test(readFileSync(join(SRC, file), "utf8")),
    );
    expect(defaults).toEqual([]);
  });
});
