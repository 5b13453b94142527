import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { plan } from "../../src/plan/plan.ts";
import { siglipAttention } from "../../src/plan/programs/siglip-attention.ts";
import { timeSchedule } from "../../src/sim/timing.ts";
import { IPU21 } from "../../src/target/ipu21.ts";
import { readCapture } from "../../src/trace/capture.ts";
import type { Profile } from "../../src/trace/profile.ts";
import { readProfile } from "../../src/trace/read-profile.ts";
import { recoverProfile } from "../../src/trace/recover.ts";
import type { Recovery } from "../../src/trace/recover.ts";
import { profileOfRun } from "../../src/trace/run-profile.ts";
import { writeProfile } from "../../src/trace/write-profile.ts";
import { damaged, generator, onTurns } from "./damage.ts";

const ORIGIN = 0x32_57_3b_2f;
const small = runOf({ tokens: 100, width: 144, heads: 4, headSize: 72, tiles: 60 });
const recorded = onTurns(small, ORIGIN);

describe("a profile saved as text", () => {
  test("shows every step where no stretch of it is missing", () => {
    const { profile, summary } = recover(damaged(recorded, []));
    expect(summary.tiles).toMatchObject({ recovered: 60, wholeTables: 60 });
    expect(summary.steps.shown).toBe(summary.steps.inSchedule);
    expect(summary.turn).toBe(ORIGIN % 6);
    expectTrue(profile, Math.floor(0.6 * summary.steps.inSchedule));
  });

  test.each([1, 2, 3, 4, 5, 6, 7, 8])(
    "keeps only what is true where stretches are missing: seed %i",
    (seed) => {
      const random = generator(seed);
      const length = damaged(recorded, []).length;
      const missing = Array.from({ length: 6 }, () => Math.floor(random() * length))
        .sort((a, b) => a - b)
        .map((from, i, all): [number, number] => [
          from,
          Math.min(from + Math.floor(random() * 4000), all[i + 1] ?? length),
        ]);
      const { profile, summary } = recover(damaged(recorded, missing));
      expect(summary.times.all.lost).toBeGreaterThan(0);
      expect(summary.characters.different).toBeLessThan(100);
      expectTrue(profile, Math.floor(0.5 * summary.steps.inSchedule));
    },
  );

  test("with a stretch of it twice keeps the times of what stands once", () => {
    const text = damaged(recorded, []);
    const half = Math.floor(text.length / 2);
    const { profile, summary } = recover(text.slice(0, half + 8000) + text.slice(half));
    expect(summary.tiles.wholeTables).toBeGreaterThan(40);
    expect(summary.characters.different).toBeGreaterThan(8000);
    expectTrue(profile, Math.floor(0.5 * summary.steps.inSchedule));
  });

  test("whose times are all lost is told apart from one that was recovered", () => {
    const text = damaged(recorded, []).replaceAll(/[\u0080-\uffff]|[^ -~]|[0-9W-Z]{2}/gu, "");
    const { findings, summary } = recover(text);
    expect(summary.times.all.read).toBe(0);
    expect(findings).toContainEqual(expect.objectContaining({ severity: "error" }));
  });

  test("of another program is refused", () => {
    const other = runOf({ tokens: 40, width: 96, heads: 2, headSize: 48, tiles: 12 });
    expect(() => recoverProfile(damaged(recorded, []), other, IPU21, "other")).toThrow(
      expect.objectContaining({ code: "FILE_MALFORMED" }),
    );
  });

  test.each(["x", "  ", "The quick brown fox. ".repeat(2000), "\0\0\0\0"])(
    "is told from text that is no profile: %#",
    (text) => {
      expect(() => recover(text)).toThrow(expect.objectContaining({ code: "FILE_MALFORMED" }));
    },
  );
});

const FUZZ_SEED = 20_260_806;

test(`a capture that is cut, doubled, overwritten or mixed, 30 times from seed ${FUZZ_SEED}: a profile or a typed error`, () => {
  const random = generator(FUZZ_SEED);
  const below = (most: number): number => Math.floor(random() * most);
  const whole = damaged(recorded, []);
  for (let turn = 0; turn < 30; turn++) {
    let text = whole;
    for (let edit = below(6); edit >= 0; edit--) {
      const from = below(text.length);
      const to = Math.min(text.length, from + below(3000));
      const part = [
        "",
        text.slice(from, to) + text.slice(from, to),
        text.slice(from, to).replaceAll(/./gsu, () => String.fromCharCode(32 + below(400))),
        whole.slice(below(whole.length), below(whole.length)),
      ][below(4)];
      text = text.slice(0, from) + part + text.slice(to);
    }
    try {
      const { profile, certainty } = recover(text);
      expect(readProfile(writeProfile(profile))).toEqual(profile);
      expect(certainty).toHaveLength(profile.tiles.length);
    } catch (error) {
      expect(error).toMatchObject({ code: "FILE_MALFORMED" });
    }
  }
});

/** Samples that have a length are those recorded; at least as many as given. */
function expectTrue({ tiles }: Profile, fewest: number): void {
  let timed = 0;
  for (const { physicalTile, samples } of tiles) {
    const tile = recorded.tiles.find((own) => own.physicalTile === physicalTile);
    for (const sample of samples) {
      const { localIndex } = sample.step;
      const truth = tile?.samples[localIndex];
      if (sample.step.activities.length > 0) expect(sample.step).toEqual(truth?.step);
      if (sample.end === sample.start) continue;
      timed++;
      expect([localIndex, sample.start, sample.end]).toEqual([
        localIndex,
        truth?.start,
        truth?.end,
      ]);
    }
  }
  expect(timed).toBeGreaterThanOrEqual(fewest);
}

function recover(text: string): Recovery {
  return recoverProfile(text, small, IPU21, "capture");
}

function runOf(shape: Parameters<typeof siglipAttention>[0]): Profile {
  const schedule = plan(siglipAttention(shape), IPU21);
  return profileOfRun(schedule, timeSchedule(schedule, IPU21), IPU21);
}

describe("the capture of the SigLIP attention block", () => {
  const data = join(import.meta.dirname, "../../data");
  const capture = readFileSync(join(data, "siglip-attention.capture.txt.gz"));
  const bundled = gunzipSync(readFileSync(join(data, "siglip-attention.profile.gz")));
  const recovery = recoverProfile(
    readCapture(capture, "capture"),
    runOf({ tokens: 729, width: 1152, heads: 16, headSize: 72, tiles: 1472 }),
    IPU21,
    "capture",
  );

  test("gives the bundled profile, byte by byte", () => {
    expect(Buffer.compare(writeProfile(recovery.profile), bundled)).toBe(0);
    expect(readProfile(bundled).tiles).toHaveLength(1472);
  });

  test("gives at least 1,240 whole lists of times, 97 % of these known", () => {
    const { tiles, times } = recovery.summary;
    expect(tiles.wholeTables).toBeGreaterThanOrEqual(1240);
    const { lost, ...known } = times.ofWholeTables;
    const count = Object.values(known).reduce((sum, of) => sum + of, 0);
    expect(count / (count + lost)).toBeGreaterThan(0.997);
  });

  test("stands where the schedule puts it, but for a few hundred characters", () => {
    const { captured, aligned, explained, different, times } = recovery.summary.characters;
    expect(aligned + explained + different + times).toBe(captured);
    expect(different).toBeLessThan(600);
  });

  test("was made at one turn of the workers, with work that always takes the same time", () => {
    expect(recovery.summary.turn).toBe(5);
    expect([...recovery.durations.values()].every((cycles) => cycles % 6 === 0)).toBe(true);
    expect(recovery.durations.size).toBe(21);
  });
});
