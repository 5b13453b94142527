/** Two ways to do one thing, to be timed against each other. */
export interface Pair {
  readonly name: string;
  readonly candidate: () => void | Promise<void>;
  readonly baseline: () => void | Promise<void>;
  /** How often each runs and is timed; once more, before, to warm up. */
  readonly rounds: number;
}

/** Plain data, for the results file. Times are of one run. */
export interface PairedResult {
  readonly name: string;
  readonly rounds: number;
  readonly candidateMs: number;
  readonly baselineMs: number;
  /** Median over the rounds of candidate time / baseline time: below 1, the candidate is faster. */
  readonly ratio: number;
  /** The same ratio's smallest and largest value. */
  readonly ratioRange: readonly [number, number];
}

/**
 * Times both in turn, round by round, so that a machine that slows down slows both; who goes first changes
 * with each round. Prints a line and returns the medians.
 */
export async function paired({ name, candidate, baseline, rounds }: Pair): Promise<PairedResult> {
  await candidate();
  await baseline();
  const candidateTimes: number[] = [];
  const baselineTimes: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const candidateFirst = round % 2 === 0;
    if (candidateFirst) candidateTimes.push(await timed(candidate));
    baselineTimes.push(await timed(baseline));
    if (!candidateFirst) candidateTimes.push(await timed(candidate));
  }
  const ratios = candidateTimes.map((time, round) => time / baselineTimes[round]);
  const result: PairedResult = {
    name,
    rounds,
    candidateMs: median(candidateTimes),
    baselineMs: median(baselineTimes),
    ratio: median(ratios),
    ratioRange: [Math.min(...ratios), Math.max(...ratios)],
  };
  console.log(pairedLine(result));
  return result;
}

/** Column titles for the lines that `paired` prints. */
export const PAIRED_HEADER: string =
  "name".padEnd(52) + "candidate".padStart(12) + "baseline".padStart(12) + "ratio".padStart(9);

function pairedLine({ name, candidateMs, baselineMs, ratio, ratioRange }: PairedResult): string {
  const [least, most] = ratioRange.map((r) => r.toFixed(2));
  const times = [candidateMs, baselineMs].map((time) => `${milliseconds(time)} ms`.padStart(12));
  return `${name.padEnd(52)}${times.join("")}${ratio.toFixed(2).padStart(9)}  (${least} .. ${most})`;
}

function milliseconds(time: number): string {
  return time >= 100 ? time.toFixed(0) : time >= 1 ? time.toFixed(2) : time.toPrecision(3);
}

/** Milliseconds that `work` takes. */
export async function timed(work: () => void | Promise<void>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

/** The middle value; of an even number of values the mean of the middle two. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}
