import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** The repository's folder, from sources and from what is built of them. */
export const ROOT: string = rootOf(dirname(fileURLToPath(import.meta.url)));

function rootOf(folder: string): string {
  return existsSync(join(folder, "package.json")) ? folder : rootOf(dirname(folder));
}
