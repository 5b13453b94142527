import { describe, expect, test } from "vitest";
import { bundledProfile } from "../../src/cli/profile-file.ts";
import { IPU21 } from "../../src/target/ipu21.ts";
import { calibrate } from "../../src/trace/calibration.ts";
import type { Profile } from "../../src/trace/profile.ts";
import { copyStep, gemmStep, profileOf, sourced } from "./calibrated.ts";
import { exchange, recorded, tile, work } from "./recorded.ts";

const entry = (name: string, value: string) => ({ name, value });

describe("the database", () => {
  test("of a tiny profile is what a person counts", () => {
    const own = (invocations: string, ...more: ReturnType<typeof entry>[]) =>
      work({
        kernel: "b",
        metadata: [
          entry("reason", "LocalCopy"),
          entry("value", "7"),
          ...more,
          entry("invocations", invocations),
        ],
      });
    const size = entry("size", "8");
    const { database, untimedSamples } = calibrate(
      sourced(
        recorded(
          tile(
            0,
            2 ** 32 - 20,
            [10, own("1", size)],
            [31, own("3", size)],
            [0, own("1", size)],
            [13, own("1", size, entry("size", "9"))],
            [40, exchange(1, 25)],
            [99, work({ kernel: "" })],
          ),
          tile(4, 0, [50, work({ kernel: "a" })], [16, own("1", size)], [9, own("1")]),
        ),
      ),
      IPU21,
    );
    // 10, ceil(31 / 3) = 11, 13, 16: median d[floor(1.5)], p95 d[floor(2.85)].
    const cycles = {
      samples: 4,
      minimumCycles: 10,
      medianCycles: 11,
      p95Cycles: 13,
      maximumCycles: 16,
    };
    const one = (value: number) => ({
      samples: 1,
      minimumCycles: value,
      medianCycles: value,
      p95Cycles: value,
      maximumCycles: value,
    });
    const alone = (value: number) => ({
      ...one(value),
      spreadCycles: 0,
      spreadPercent: 0,
      sources: [{ source: 0, ...one(value) }],
    });
    expect(database).toEqual({
      schemaVersion: 1,
      target: "ipu21",
      buildId: null,
      clockHz: 1_000,
      sources: [{ file: "0.profile", sha256: "0" }],
      measurements: [
        { key: { kernel: "a", dimensions: {} }, ...alone(50) },
        { key: { kernel: "b", dimensions: {} }, ...alone(9) },
        {
          key: { kernel: "b", dimensions: { size: "8" } },
          ...cycles,
          spreadCycles: 6,
          spreadPercent: 600 / 11,
          sources: [{ source: 0, ...cycles }],
        },
      ],
    });
    expect(untimedSamples).toBe(1);
  });

  test("is ordered by kernel, then by names and values", () => {
    const of = (kernel: string, ...metadata: ReturnType<typeof entry>[]) =>
      [9, work({ kernel, metadata })] as const;
    const { database } = calibrate(
      sourced(
        profileOf(
          of("b", entry("x", "10")),
          of("b", entry("y", "1"), entry("x", "2")),
          of("b", entry("x", "2")),
          of("a", entry("z", "1")),
          of("b", entry("x", "2"), entry("y", "1")),
          of("B", entry("__proto__", "1")),
        ),
      ),
      IPU21,
    );
    expect(
      database.measurements.map(({ key, samples }) => [
        key.kernel,
        Object.entries(key.dimensions).join(" "),
        samples,
      ]),
    ).toEqual([
      ["B", "__proto__,1", 1],
      ["a", "z,1", 1],
      ["b", "x,10", 1],
      ["b", "x,2", 1],
      ["b", "x,2 y,1", 2],
    ]);
  });

  test("keeps sources apart beside what they are together", () => {
    const { database } = calibrate(
      sourced(
        profileOf([318, copyStep(256)]),
        profileOf([324, copyStep(256)], [330, copyStep(256)]),
      ),
      IPU21,
    );
    const [{ samples, spreadCycles, sources }] = database.measurements;
    expect([samples, spreadCycles]).toEqual([3, 12]);
    expect(sources.map((own) => [own.source, own.samples, own.medianCycles])).toEqual([
      [0, 1, 318],
      [1, 2, 324],
    ]);
  });

  test("leaves out samples whose invocations are no count, and says so", () => {
    const metadata = [entry("invocations", "0")];
    const { database, findings } = calibrate(
      sourced(profileOf([9, work({ kernel: "a", metadata })], [318, copyStep(256)])),
      IPU21,
    );
    expect(database.measurements).toHaveLength(1);
    expect(findings).toMatchObject([{ code: "FILE_MALFORMED", where: { samples: 1 } }]);
  });
});

describe("the cost model beside it", () => {
  // prettier-ignore
  test.each([
    ["one call",                    [[320, copyStep(256)]],                       318, -200 / 320],
    ["several calls a sample",      [[3450, copyStep(2048, 5)]],                  690, 0],
    ["calls one and five at a time", [[762, copyStep(2048)], [3450, copyStep(2048, 5)], [3450, copyStep(2048, 5)]], 690, 0],
  ] as const)("of %s counts samples as they were measured", (_, steps, cycles, error) => {
    const [row] = calibrate(sourced(profileOf(...steps)), IPU21).models;
    expect([row.modelCycles, row.errorPercent, row.origin]).toEqual([cycles, error, "counted"]);
  });

  test("has no value for what cannot be turned back, and a finding names it", () => {
    const { models, findings } = calibrate(
      sourced(profileOf([9, work({ kernel: "mystery" })], [54744, gemmStep(8, 80, 768)])),
      IPU21,
    );
    expect(models.map(({ modelCycles, origin }) => [modelCycles, origin])).toEqual([
      [54744, "fitted"],
      [null, null],
    ]);
    expect(findings).toMatchObject([{ code: "UNKNOWN_KERNEL", where: { kernel: "mystery" } }]);
  });

  test("meets the recorded block, which has no spread", () => {
    const bundled = bundledProfile("siglip-attention.profile.gz");
    const { database, models, findings } = calibrate([bundled], IPU21);
    expect(findings).toEqual([]);
    expect(database.measurements).toHaveLength(23);
    expect(database.measurements.filter(({ spreadCycles }) => spreadCycles !== 0)).toEqual([]);
    expect(models.filter(({ errorPercent }) => errorPercent !== 0)).toEqual([]);
  });
});

describe("profiles are refused with CALIBRATION_INVALID", () => {
  const good = profileOf([318, copyStep(256)]);

  // prettier-ignore
  test.each<[string, readonly Profile[]]>([
    ["where there is none",              []],
    ["without tiles",                    [recorded()]],
    ["without samples",                  [recorded(tile(0, 0))]],
    ["without compute samples",          [recorded(tile(0, 0, [40, exchange(1, 25)]))]],
    ["without times",                    [profileOf([0, copyStep(256)])]],
    ["one good, one empty",              [good, recorded()]],
    ["of different clocks",              [good, { ...good, clockHz: 1_001 }]],
    ["of a chip with more tiles",        [recorded(tile(1_472, 0, [318, copyStep(256)]))]],
  ])("%s", (_, profiles) => {
    expect(() => calibrate(sourced(...profiles), IPU21)).toThrow(
      expect.objectContaining({ code: "CALIBRATION_INVALID" }),
    );
  });

  test("given twice", () => {
    const [first] = sourced(good);
    expect(() => calibrate([first, first], IPU21)).toThrow(
      expect.objectContaining({ code: "CALIBRATION_INVALID" }),
    );
  });
});
