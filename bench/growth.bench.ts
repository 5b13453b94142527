import { inFreshProcess } from "./support/fresh-process.ts";
import { median, timed } from "./support/paired.ts";
import { timeSchedule } from "../src/sim/timing.ts";
import { IPU21 } from "../src/target/ipu21.ts";
import { inputsOf, macs, planBlock, type BlockOptions } from "./support/block.ts";
import { createReplay } from "./support/replay.ts";

export interface GrowthPoint {
  readonly tiles: number;
  /** Millions of multiply-adds. */
  readonly macs: number;
  readonly planMs: number;
  readonly timeMs: number;
  readonly runMs: number;
  /** Peak resident memory of a process that does this and nothing else. */
  readonly peakMiB: number;
  /** Of that, without a schedule: Node and the code. */
  readonly emptyMiB: number;
}

/**
 * One head on 92 tiles, then 4 and 16 heads: arithmetic in step with the tiles, the same shapes on each. On 23 tiles
 * a quarter of the tokens, hence of the projections, and a sixteenth of the attention.
 */
const POINTS: readonly BlockOptions[] = [
  { tokens: 176, width: 1152, heads: 1, headSize: 72, tiles: 23 },
  { tokens: 729, width: 1152, heads: 1, headSize: 72, tiles: 92 },
  { tokens: 729, width: 1152, heads: 4, headSize: 72, tiles: 368 },
  { tokens: 729, width: 1152, heads: 16, headSize: 72, tiles: 1472 },
];
const RUNS = 5;

/** Time and memory against tiles, one thread, `nearest`; a process for each point. */
export async function growthBench(): Promise<GrowthPoint[]> {
  const points: GrowthPoint[] = [];
  console.log("tiles   MMAC  plan ms  time ms  run ms  ms/tile  ms/GMAC  peak MiB  KiB/tile");
  for (let index = 0; index < POINTS.length; index++) {
    const point = await inFreshProcess<GrowthPoint>(import.meta.url, String(index));
    points.push(point);
    const { tiles, planMs, timeMs, runMs, peakMiB, emptyMiB } = point;
    const columns = [
      planMs.toFixed(0).padStart(9),
      timeMs.toFixed(0).padStart(9),
      runMs.toFixed(1).padStart(8),
      (runMs / tiles).toFixed(3).padStart(9),
      (runMs / (point.macs / 1e3)).toFixed(0).padStart(9),
      peakMiB.toFixed(0).padStart(10),
      (((peakMiB - emptyMiB) * 1024) / tiles).toFixed(0).padStart(10),
    ];
    const head = `${String(tiles).padStart(5)}${point.macs.toFixed(0).padStart(7)}`;
    console.log(head + columns.join(""));
  }
  return points;
}

/** What a fresh process does: one point. */
export async function once(index: string): Promise<GrowthPoint> {
  const emptyMiB = peakMiB();
  const options = POINTS[Number(index)];
  let block: ReturnType<typeof planBlock> | undefined;
  const planMs = await timed(() => void (block = planBlock(options)));
  if (!block) throw new Error("nothing planned");
  const { program, schedule } = block;
  const timeMs = await timed(() => void timeSchedule(schedule, IPU21));
  const replay = await createReplay(schedule, inputsOf(program), {
    threads: 1,
    rounding: "nearest",
  });
  await replay.run();
  const times: number[] = [];
  for (let i = 0; i < RUNS; i++) times.push(await timed(async () => void (await replay.run())));
  await replay.close();
  return {
    tiles: options.tiles,
    macs: macs(options) / 1e6,
    planMs,
    timeMs,
    runMs: median(times),
    peakMiB: peakMiB(),
    emptyMiB,
  };
}

function peakMiB(): number {
  return process.resourceUsage().maxRSS / 1024;
}
