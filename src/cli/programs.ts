import { SimError } from "../base/errors.ts";
import { readBytes } from "../io/files.ts";
import type { GemmOperation, Program } from "../plan/program.ts";
import { attention } from "../plan/programs/attention.ts";
import { gemm } from "../plan/programs/gemm.ts";
import { mlp } from "../plan/programs/mlp.ts";
import { siglipAttention } from "../plan/programs/siglip-attention.ts";
import { BLOCK_OPTIONS, PROGRAM_NAMES, SHAPE_OPTIONS, type ShapeOptions } from "./options.ts";

/** Largest schedule or program file that is read. */
export const MOST_FILE_BYTES: number = 512 * 2 ** 20;

/**
 * A built-in program of the given shape, or the one in a JSON file.
 *
 * @throws SimError `BAD_USAGE`, `FILE_UNREADABLE`, `FILE_MALFORMED`
 */
export async function programOf(name: string, options: ShapeOptions): Promise<Program> {
  if (!PROGRAM_NAMES.includes(name) && !name.endsWith(".json")) {
    throw new SimError("BAD_USAGE", {
      what: `no built-in program is called ${name}`,
      where: { program: name },
      fix: `Use ${PROGRAM_NAMES.join(", ")} or a .json file`,
    });
  }
  rejectUnread(name, options);
  const shape = {
    tokens: positive("tokens", options.tokens, 729),
    width: positive("width", options.width, 1152),
    heads: positive("heads", options.heads, 16),
    headSize: positive("head-size", options["head-size"], 72),
    tiles: positive("tiles", options.tiles, 1472),
  };
  const grid = options.grid === undefined ? {} : { grid: parseGrid(options.grid) };
  const parts = {
    ...optional("queryParts", "query-parts", options["query-parts"]),
    ...optional("keyBlock", "key-block", options["key-block"]),
  };
  switch (name) {
    case "siglip-attention":
      return siglipAttention({ ...shape, ...grid, ...parts });
    case "attention":
      return attention({ ...shape, ...parts });
    case "gemm":
      return gemm({
        m: positive("m", options.m, 729),
        n: positive("n", options.n, 1152),
        k: positive("k", options.k, 1152),
        tiles: shape.tiles,
        ...grid,
        ...(options.orientation ? { orientation: options.orientation } : {}),
        ...(options["gemm-weights"] ? { weights: options["gemm-weights"] } : {}),
      });
    case "mlp":
      return mlp({ ...shape, hidden: positive("hidden", options.hidden, 4304) });
    default: {
      const { parseProgram } = await import("../plan/program-file.ts");
      return parseProgram(new TextDecoder().decode(readBytes(name, MOST_FILE_BYTES)), name);
    }
  }
}

/** The file that a program is read from: one of the name, or none for a built-in program. */
export function programFiles(name: string | undefined): string[] {
  return name === undefined || PROGRAM_NAMES.includes(name) ? [] : [name];
}

const ATTENTION = ["tokens", "heads", "head-size", "tiles", "query-parts", "key-block"] as const;

/** The options that each built-in program reads; a file's program reads none. */
const READS: Readonly<Record<string, readonly (keyof ShapeOptions)[]>> = {
  "siglip-attention": BLOCK_OPTIONS,
  attention: ATTENTION,
  gemm: ["m", "n", "k", "tiles", "grid", "orientation", "gemm-weights"],
  mlp: ["tokens", "width", "hidden", "tiles"],
};

/** Whether the grids of a program are ours to choose: nobody gave any. */
export function hasFreeGrids(name: string, { grid }: ShapeOptions): boolean {
  return PROGRAM_NAMES.includes(name) && grid === undefined;
}

/** How to give a built-in program grids of one's own. */
export function ownGrids(name: string): string {
  return READS[name].includes("grid")
    ? "or try grids of your own with --grid"
    : "or write a program's file with grids of your own";
}

/**
 * An option that would change nothing is a mistake. `name` null: no program is asked for.
 *
 * @throws SimError `BAD_USAGE`
 */
export function rejectUnread(name: string | null, options: ShapeOptions): void {
  const reads = name !== null && Object.hasOwn(READS, name) ? READS[name] : [];
  const unread = (Object.keys(SHAPE_OPTIONS) as (keyof ShapeOptions)[]).find(
    (option) => options[option] !== undefined && !reads.includes(option),
  );
  if (unread === undefined) return;
  const known = reads.map((option) => `--${option}`).join(", ");
  const isFile = name !== null && !PROGRAM_NAMES.includes(name);
  const drop = isFile ? "Drop it: shapes, grids and tiles stand in the file" : "Drop it";
  throw new SimError("BAD_USAGE", {
    what: `--${unread} means nothing to ${name ?? "a schedule that is checked against no program"}`,
    where: { option: unread },
    fix: known === "" ? drop : `${drop}; ${name} has ${known}`,
  });
}

/** `value` as a whole number of at least one. @throws SimError `BAD_USAGE` */
export function positive(name: string, value: number | undefined, otherwise: number): number {
  if (value === undefined) return otherwise;
  if (Number.isSafeInteger(value) && value >= 1) return value;
  throw new SimError("BAD_USAGE", {
    what: `--${name} is ${value}`,
    where: { option: name },
    fix: "Give a whole number of at least 1",
  });
}

function optional<Key extends string>(
  key: Key,
  name: string,
  value: number | undefined,
): Partial<Record<Key, number>> {
  if (value === undefined) return {};
  return { [key]: positive(name, value, 1) } as Partial<Record<Key, number>>;
}

function parseGrid(text: string): GemmOperation["grid"] {
  const match = /^(\d{1,6})x(\d{1,6})x(\d{1,6})$/.exec(text);
  const [m, n, k] = match ? match.slice(1).map(Number) : [0, 0, 0];
  if (m > 0 && n > 0 && k > 0) return { m, n, k };
  throw new SimError("BAD_USAGE", {
    what: `--grid is ${JSON.stringify(text)}`,
    where: { option: "grid" },
    fix: "Give three whole numbers, rows x columns x inner parts: 46x16x2",
  });
}
