import { spawnSync } from "node:child_process";
import { readdirSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { TestProject } from "vitest/node";
import { buildIfStale } from "../../scripts/build-wasm.ts";

const ROOT = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

/** Tests run the engine and the command line: both are built before the first of them, and again as sources change. */
export async function setup(project: TestProject): Promise<void> {
  await buildIfStale();
  buildSourcesIfStale();
  project.onTestsRerun(async () => {
    await buildIfStale();
    buildSourcesIfStale();
  });
}

/** Builds dist/src where a source is newer than what was built of it. */
function buildSourcesIfStale(): void {
  const sources = readdirSync(join(ROOT, "src"), { recursive: true, encoding: "utf8" });
  const isFresh = sources
    .filter((file) => file.endsWith(".ts"))
    .every((file) => {
      const built = statSync(join(ROOT, "dist/src", file.replace(/\.ts$/, ".js")), {
        throwIfNoEntry: false,
      });
      return built !== undefined && built.mtimeMs >= statSync(join(ROOT, "src", file)).mtimeMs;
    });
  if (isFresh) return;
  const compiler = join(ROOT, "node_modules/.bin/tsc");
  const { status, stdout } = spawnSync(compiler, ["-p", join(ROOT, "tsconfig.build.json")], {
    encoding: "utf8",
  });
  // Types are the gate's matter: code with wrong ones is built all the same, with status 2.
  if (status !== 0 && status !== 2) throw new Error(`the sources do not build: ${stdout}`);
}
