import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { NEAREST } from "../../src/numerics/rounding.ts";
import { plan } from "../../src/plan/plan.ts";
import type { Program } from "../../src/plan/program.ts";
import { gemm } from "../../src/plan/programs/gemm.ts";
import { mlp } from "../../src/plan/programs/mlp.ts";
import { siglipAttention } from "../../src/plan/programs/siglip-attention.ts";
import { metAssumptions } from "../../src/report/assumptions.ts";
import { timeSchedule } from "../../src/sim/timing.ts";
import { IPU21 } from "../../src/target/ipu21.ts";

const NUMERICS = { ...NEAREST, seed: 1 };

function met(program: Program, numerics: typeof NUMERICS | null): string[] {
  const schedule = plan(program, IPU21);
  return metAssumptions(schedule, IPU21, timeSchedule(schedule, IPU21), numerics);
}

describe("the assumptions that a run met", () => {
  const product = gemm({ m: 64, n: 32, k: 64, tiles: 4 });
  const block = siglipAttention({ tokens: 64, width: 128, heads: 2, headSize: 64, tiles: 16 });

  test("of a product alone are those of GEMM", () => {
    expect(met(product, NUMERICS)).toEqual([
      "overflow",
      "subnormals",
      "ampSum",
      "bankConflicts",
      "gemmCosts",
    ]);
  });

  test("of cycles alone hold none about values", () => {
    expect(met(product, null)).toEqual(["bankConflicts", "gemmCosts"]);
  });

  test("of an exchange are its barrier and its repairs, and wide controls only where they are", () => {
    expect(met(block, null)).toEqual(expect.arrayContaining(["barriers", "exchangeRepairs"]));
    expect(met(block, null)).not.toContain("wideControls");
  });

  test("name an estimated cost where a kernel has one, and only there", () => {
    const perceptron = mlp({ tokens: 32, width: 32, hidden: 64, tiles: 4 });
    expect(met(perceptron, null)).toContain("costs");
    expect(met(product, null)).not.toContain("costs");
  });
});

test("docs/costs.md lists each assumption of the target in its words", () => {
  const page = readFileSync(new URL("../../docs/costs.md", import.meta.url), "utf8");
  const section = page.slice(page.indexOf("## Assumptions"));
  const listed = [...section.matchAll(/^\| `(\w+)` +\| (.*?) +\|$/gm)].map(([, name, words]) => [
    name,
    words,
  ]);
  expect(Object.fromEntries(listed)).toEqual(IPU21.assumed);
});
