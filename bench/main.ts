import { writeFileSync } from "node:fs";
import { cpus, totalmem } from "node:os";
import { join } from "node:path";
import { cyclesBench } from "./cycles.bench.ts";
import { growthBench } from "./growth.bench.ts";
import { kernelsBench } from "./kernels.bench.ts";
import { replayBench } from "./replay.bench.ts";
import { ROOT } from "./support/root.ts";

/** All benches, by the names that `npm run bench -- NAME ...` takes; without a name, all. */
const BENCHES = {
  replay: replayBench,
  cycles: cyclesBench,
  growth: growthBench,
  kernels: kernelsBench,
} as const;

const RESULTS = join(ROOT, "bench", "results.json");

const names = process.argv.slice(2);
const unknown = names.filter((name) => !(name in BENCHES));
if (unknown.length > 0) {
  console.error(`no bench ${unknown.join(", ")}; there are ${Object.keys(BENCHES).join(", ")}`);
  process.exit(2);
}

const results: Record<string, unknown> = {
  machine: {
    cpu: cpus()[0]?.model ?? "unknown",
    cores: cpus().length,
    memoryMiB: Math.round(totalmem() / 2 ** 20),
    platform: `${process.platform} ${process.arch}`,
    node: process.version,
    v8: process.versions.v8,
  },
};
for (const [name, bench] of Object.entries(BENCHES)) {
  if (names.length > 0 && !names.includes(name)) continue;
  console.log(`\n${name}`);
  results[name] = await bench();
  writeFileSync(RESULTS, `${JSON.stringify(results, null, 2)}\n`);
}
console.log(`\nwritten to ${RESULTS}`);
