import { mkdirSync, readdirSync, renameSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import asc from "assemblyscript/asc";

/** Builds the WebAssembly engine from assembly/ into dist/wasm, once plain and once with relaxed SIMD. */
const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const SOURCES = join(ROOT, "assembly");
const TARGET = join(ROOT, "dist", "wasm");
const VARIANTS = [
  { name: "strict", features: [] },
  { name: "relaxed", features: ["--enable", "relaxed-simd"] },
];

async function build(): Promise<void> {
  mkdirSync(TARGET, { recursive: true });
  for (const { name, features } of VARIANTS) {
    const file = join(TARGET, `engine-${name}.wasm`);
    const aside = `${file}.new.wasm`;
    const options = [
      join(SOURCES, "engine.ts"),
      ...["-O3", "--noAssert", "--runtime", "stub"],
      ...["--importMemory", "--sharedMemory", "--initialMemory", "32", "--maximumMemory", "65536"],
      ...["--enable", "threads", "--enable", "simd", ...features],
      ...["--disableWarning", "-o", aside],
    ];
    const { error } = await asc.main(options, { stderr: process.stderr });
    if (error) {
      throw new Error(`the engine does not compile: ${error.message}`, { cause: error });
    }
    renameSync(aside, file);
  }
}

/** Builds where a source is newer than what was built. */
export async function buildIfStale(): Promise<void> {
  const newest = Math.max(
    ...readdirSync(SOURCES).map((name) => statSync(join(SOURCES, name)).mtimeMs),
  );
  const isFresh = VARIANTS.every(({ name }) => {
    const built = statSync(join(TARGET, `engine-${name}.wasm`), { throwIfNoEntry: false });
    return built !== undefined && built.mtimeMs >= newest;
  });
  if (!isFresh) await build();
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await buildIfStale();
