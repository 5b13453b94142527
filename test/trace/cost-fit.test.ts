import { describe, expect, test } from "vitest";
import { bundledProfile } from "../../src/cli/profile-file.ts";
import { IPU21 } from "../../src/target/ipu21.ts";
import { calibrate } from "../../src/trace/calibration.ts";
import { fitCosts } from "../../src/trace/cost-fit.ts";
import type { CostFit, FitFamily, LeftOut } from "../../src/trace/cost-fit.ts";
import type { Profile } from "../../src/trace/profile.ts";
import { copyStep, gemmStep, profileOf, softmaxStep, sourced } from "./calibrated.ts";

function fitOf(
  family: FitFamily,
  profiles: readonly Profile[],
  leftOut: LeftOut = "kernel",
): CostFit {
  const fits = fitCosts(calibrate(sourced(...profiles), IPU21), leftOut, IPU21);
  return fits.filter((fit) => fit.family === family)[0];
}

function constantsOf(fit: CostFit): Record<string, number | null> {
  return Object.fromEntries(fit.constants.map(({ name, fitted }) => [name, fitted]));
}

/** `calls` copies of 48 * k bytes, k words for each worker, in one sample; `more` cycles than the constants make. */
function copies(k: number, calls: number, more = 0, { sample = 90, launch = 54 } = {}) {
  const cycles = sample + calls * (launch + 6 * (17 + 2 * k)) + more;
  return [cycles, copyStep(48 * k, calls)] as const;
}

describe("a fit gives back the constants that a profile was made of", () => {
  test("copy", () => {
    const made = { sample: 100, launch: 61 };
    const fit = fitOf("copy", [
      profileOf(
        copies(1, 1, 0, made),
        copies(2, 1, 0, made),
        copies(3, 5, 0, made),
        copies(4, 2, 0, made),
      ),
    ]);
    expect(constantsOf(fit)).toEqual(made);
    expect(fit.constants.map(({ inUse }) => inUse)).toEqual([90, 54]);
    expect(fit.rows.map(({ residualCycles }) => residualCycles)).toEqual([0, 0, 0, 0]);
    expect(fit.score).toEqual({
      predicted: 4,
      measurements: 4,
      meanAbsPercent: 0,
      worstPercent: 0,
    });
  });

  test("gemm", () => {
    const made = {
      call: 70,
      standardLoad: 81,
      interleavedLoad: 66,
      columnGroup: 20,
      loneRetained: -3,
      loneColumnGroup: -1,
    };
    const step = (
      rows: number,
      innerGroups: number,
      columnGroups: number,
      weights: "standard" | "interleaved" = "standard",
    ) => {
      // docs/costs.md, by its own names.
      const rw = Math.ceil(rows / 6);
      const part = rows % 6 === 0 ? 4 : 9;
      const retained = columnGroups * (innerGroups - 1);
      const bundles =
        part + 21 + 4 * rw + (columnGroups - 1) * (17 + 4 * rw) + retained * (16 + 4 * rw);
      const loads = innerGroups * columnGroups;
      const load = weights === "standard" ? made.standardLoad : made.interleavedLoad;
      const lone =
        rows % 6 === 1 ? retained * made.loneRetained + columnGroups * made.loneColumnGroup : 0;
      const cycles =
        90 + 6 * bundles + made.call + load * loads + made.columnGroup * columnGroups + lone;
      return [cycles, gemmStep(rows, 16 * innerGroups, 16 * columnGroups, weights)] as const;
    };
    const shapes = [
      step(12, 5, 3),
      step(8, 5, 48),
      step(8, 48, 5),
      step(72, 36, 1, "interleaved"),
      step(24, 4, 9, "interleaved"),
      step(7, 5, 48),
      step(7, 48, 5),
    ];
    const fit = fitOf("gemm", [profileOf(...shapes)]);
    expect(constantsOf(fit)).toEqual(made);
    expect([fit.rank, fit.kernels]).toEqual([6, 7]);
    expect(fit.rows.map(({ residualCycles }) => residualCycles)).toEqual(shapes.map(() => 0));
  });

  test("softmax", () => {
    const made = { call: 9, row: 60, rowOfWorker: 52, panel: 31, earlyRow: 2 };
    const step = (rows: number, keys: number, padded: number) => {
      const logical = Math.ceil(Math.ceil(keys / 16) / 6);
      const panels = Math.ceil(padded / 96);
      const bundles =
        made.call +
        rows * (made.row + 48 * logical + 95 * panels) +
        made.rowOfWorker * Math.ceil(rows / 6) +
        made.panel * panels +
        made.earlyRow * Math.min(rows, 21);
      return [90 + 4 * 54 + 6 * bundles, softmaxStep(rows, keys, padded)] as const;
    };
    const fit = fitOf("softmax", [
      profileOf(
        step(7, 729, 768),
        step(8, 729, 768),
        step(13, 190, 192),
        step(30, 190, 192),
        step(31, 729, 768),
        step(40, 500, 512),
      ),
    ]);
    expect(constantsOf(fit)).toEqual(made);
    expect(fit.score?.predicted).toBeGreaterThan(0);
    expect(fit.score?.worstPercent).toBe(0);
  });
});

describe("what is left out", () => {
  // Beyond what bundles take, calls 1 to 4 take 144, 198, 252 and, 40 more than their line, 346.
  const shapes = [copies(1, 1), copies(2, 2), copies(3, 3), copies(4, 4, 40)];
  const fit = fitOf("copy", [profileOf(...shapes)]);

  // prettier-ignore
  test.each([
    // bytes  off by, in cycles  why
    [    48,  -80 / 3,           "the line of 198, 252, 346 is 117 1/3 at 1"],
    [    96,   40 / 7,           "the line of 144, 252, 346 is 203 5/7 at 2"],
    [   144,  160 / 7,           "the line of 144, 198, 346 is 274 6/7 at 3"],
    [   192,  -40,               "the other three lie on a line: the outlier is shown whole"],
  ])("%i B: off by %d cycles: %s", (bytes, off) => {
    const at = bytes / 48 - 1;
    const [cycles] = shapes[at];
    const row = fit.rows.filter(({ measuredCycles }) => measuredCycles === cycles)[0];
    expect((row.predictedCycles ?? 0) - cycles).toBeCloseTo(off, 9);
    expect(row.errorPercent).toBeCloseTo((100 * off) / cycles, 9);
  });

  test("is scored by the mean error in size and the worst", () => {
    const errors = [-80 / 3, 40 / 7, 160 / 7, -40].map((off, i) => (100 * off) / shapes[i][0]);
    const sizes = errors.map(Math.abs);
    expect(fit.score?.meanAbsPercent).toBeCloseTo(sizes.reduce((sum, size) => sum + size) / 4, 9);
    expect(fit.score?.worstPercent).toBeCloseTo(errors[0], 9);
  });

  test("is also what costs count alike", () => {
    // 2304 B and 2296 B are 48 words of the busiest worker.
    const [cycles] = copies(48, 2);
    const twins = [
      [cycles, copyStep(2304, 2)],
      [cycles, copyStep(2296, 2)],
    ] as const;
    const { rows, kernels } = fitOf("copy", [profileOf(copies(1, 1), ...twins)]);
    expect(kernels).toBe(2);
    expect(rows.map(({ predictedCycles }) => predictedCycles)).toEqual([null, null, null]);
  });

  test("by profile is all that it has", () => {
    const a = profileOf(copies(1, 1), copies(2, 1));
    const b = profileOf(copies(1, 1), copies(5, 3, 12));
    const { rows, score } = fitOf("copy", [a, b], "profile");
    expect(
      rows.map(({ source, invocations, undetermined }) => [source, invocations, undetermined]),
    ).toEqual([
      [1, 3, ["sample", "launch"]],
      [0, 1, []],
      [1, 1, []],
      [0, 1, []],
    ]);
    expect(score).toMatchObject({ predicted: 3, measurements: 4, worstPercent: 0 });
  });
});

describe("constants that measurements do not determine", () => {
  test("are named, and what needs only their sum is predicted all the same", () => {
    const fit = fitOf("copy", [profileOf(copies(1, 1), copies(2, 1), copies(3, 1))]);
    expect(constantsOf(fit)).toEqual({ sample: null, launch: null });
    expect(fit.rank).toBe(1);
    expect(fit.score).toMatchObject({ predicted: 3, worstPercent: 0 });
  });

  test("are half of GEMM's and all of softmax's of the recorded block", () => {
    const calibration = calibrate([bundledProfile("siglip-attention.profile.gz")], IPU21);
    const [copy, gemm, softmax] = fitCosts(calibration, "kernel", IPU21);
    expect(constantsOf(copy)).toEqual({ sample: 90, launch: 54 });
    expect(copy.score).toMatchObject({ predicted: 6, measurements: 6, worstPercent: 0 });
    expect(constantsOf(gemm)).toMatchObject({
      call: null,
      standardLoad: null,
      interleavedLoad: null,
      columnGroup: 18,
    });
    expect([gemm.rank, gemm.kernels, gemm.score]).toEqual([5, 5, null]);
    expect(Object.values(constantsOf(softmax))).toEqual([null, null, null, null, null]);
    expect([softmax.rank, softmax.kernels, softmax.score]).toEqual([2, 2, null]);
  });

  test("are all there are where no kernel of the family was measured", () => {
    const fit = fitOf("gemm", [profileOf(copies(1, 1))]);
    expect(fit).toMatchObject({ rank: 0, kernels: 0, rows: [], score: null });
  });
});
