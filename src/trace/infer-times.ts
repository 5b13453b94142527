/** What is known of a tile's times before they are held against each other. */
export interface ShownTile {
  /** For each boundary between samples the times that its bytes may be; null: not shown. */
  readonly candidates: readonly (readonly number[] | null)[];
  /**
   * For each sample: which work it did, the same text for the same work; or the phase that it waited for, as text
   * too. Work takes the same time on any tile; a phase ends at about the same time on all tiles.
   */
  readonly steps: readonly ShownStep[];
}

export interface ShownStep {
  readonly isPhase: boolean;
  readonly key: string;
  /** Of a phase, the cycles from its release to the tile's last activity in it. */
  readonly horizon: number;
}

/** How a time came about. */
export type TimeOrigin =
  /** All its bytes are shown. */
  | "read"
  /** Of its candidates one is at the cycle of a round at which the worker that reads the counter has its turn. */
  | "turn"
  /** Work of known length lies between it and times of which enough is shown. */
  | "duration"
  /** Of its candidates one lies where the phase ended on the tiles that show it. */
  | "phase"
  | "lost";

export interface InferredTime {
  readonly value: number | null;
  readonly origin: TimeOrigin;
}

export interface InferredTimes {
  readonly tiles: readonly (readonly InferredTime[])[];
  /** The cycles that each work took wherever it is seen. */
  readonly durations: ReadonlyMap<string, number>;
  /** The cycle of a round of `contexts` at which all times were taken; null: not seen, or they differ. */
  readonly turn: number | null;
  /** Shown times that contradict the rest of their tile: tile and boundary. */
  readonly contradictions: readonly { readonly tile: number; readonly boundary: number }[];
}

/** Pairs of candidates that are compared for one sample when the length of its work is sought. */
const MOST_PAIRS = 4096;
/** Samples that must show a length of work. */
const FEWEST_WITNESSES = 2;
/** Passes of learning lengths and fixing times; each can only add. */
const PASSES = 4;

/** Boundaries tied to each other by work of known length: boundary `first + i` lies `offsets[i]` behind the first. */
interface Chain {
  readonly first: number;
  readonly offsets: readonly number[];
}

/**
 * Fixes times of which only some bytes are shown. A tile's workers have turns of one cycle (`contexts` of them make a
 * round), and the counter is read by one worker, so all times differ by whole rounds. Work of one kind takes the same cycles on every tile (that is
 * learned from the samples, not assumed: a length counts only if samples show it and none rules it out), so the
 * times between two exchanges hang together, and one that is shown fixes the others. Where that leaves
 * more than one, those decide that show when the phase ended on other tiles.
 */
export function inferTimes(shown: readonly ShownTile[], contexts: number): InferredTimes {
  const turn = turnOf(shown, contexts);
  const tiles = turn === null ? shown : shown.map((tile) => onTurn(tile, turn, contexts));
  const durations = new Map<string, number>();
  let byDuration = tiles.map(({ candidates }) => candidates.map(single));
  let contradictions: { tile: number; boundary: number }[] = [];
  for (let pass = 0; pass < PASSES; pass++) {
    learnDurations(tiles, byDuration, durations);
    contradictions = [];
    byDuration = tiles.map((tile, index) => {
      const { times, contradicting } = fixChains(tile, durations);
      contradictions.push(...contradicting.map((boundary) => ({ tile: index, boundary })));
      return times;
    });
  }
  const byPhase = fixByPhases(tiles, byDuration, durations);
  const origin = (tile: number, boundary: number): TimeOrigin => {
    if (byPhase[tile][boundary] === null) return "lost";
    if (byDuration[tile][boundary] === null) return "phase";
    const isOnly = (candidates: readonly number[] | null): boolean =>
      candidates?.length === 1 && candidates[0] === byDuration[tile][boundary];
    if (isOnly(shown[tile].candidates[boundary])) return "read";
    return isOnly(tiles[tile].candidates[boundary]) ? "turn" : "duration";
  };
  return {
    tiles: byPhase.map((times, tile) =>
      times.map((value, boundary) => ({ value, origin: origin(tile, boundary) })),
    ),
    durations,
    turn,
    contradictions,
  };
}

/** Of the times that are shown whole, the share that must have been taken at one turn. */
const MOST_AT_TURN = 0.99;

function turnOf(tiles: readonly ShownTile[], contexts: number): number | null {
  const counts = Array.from({ length: contexts }, () => 0);
  let total = 0;
  for (const { candidates } of tiles) {
    for (const shown of candidates) {
      if (shown?.length !== 1) continue;
      counts[shown[0] % contexts]++;
      total++;
    }
  }
  const turn = counts.indexOf(Math.max(...counts));
  return total > 0 && counts[turn] >= MOST_AT_TURN * total ? turn : null;
}

function onTurn({ candidates, steps }: ShownTile, turn: number, contexts: number): ShownTile {
  const isOn = (time: number): boolean => time % contexts === turn;
  return { steps, candidates: candidates.map((shown) => shown?.filter(isOn) ?? null) };
}

function single(candidates: readonly number[] | null): number | null {
  return candidates?.length === 1 ? candidates[0] : null;
}

/** Lengths that every sample of a work allows, if there is one that more samples show than any other. */
function learnDurations(
  tiles: readonly ShownTile[],
  known: readonly (readonly (number | null)[])[],
  durations: Map<string, number>,
): void {
  const votes = new Map<string, Map<number, number>>();
  tiles.forEach(({ candidates, steps }, tile) => {
    steps.forEach(({ isPhase, key }, i) => {
      if (isPhase || durations.has(key)) return;
      const starts = optionsOf(known[tile][i], candidates[i]);
      const ends = optionsOf(known[tile][i + 1], candidates[i + 1]);
      if (!starts || !ends || starts.length * ends.length > MOST_PAIRS) return;
      const differences = new Set(starts.flatMap((start) => ends.map((end) => end - start)));
      let own = votes.get(key);
      if (!own) votes.set(key, (own = new Map<number, number>()));
      for (const difference of differences) {
        if (difference > 0) own.set(difference, (own.get(difference) ?? 0) + 1);
      }
    });
  });
  for (const [key, own] of votes) {
    const ranked = [...own].sort((a, b) => b[1] - a[1]);
    const [length, count] = ranked[0];
    const rival = ranked.length > 1 ? ranked[1][1] : 0;
    // A few misread times may not hide what all others show; two lengths that serve as well leave it open.
    if (count >= FEWEST_WITNESSES && count > rival) durations.set(key, length);
  }
}

function optionsOf(
  known: number | null,
  candidates: readonly number[] | null,
): readonly number[] | null {
  return known === null ? candidates : [known];
}

function chainsOf(
  { candidates, steps }: ShownTile,
  durations: ReadonlyMap<string, number>,
): Chain[] {
  const chains: { first: number; offsets: number[] }[] = [{ first: 0, offsets: [0] }];
  for (let i = 1; i < candidates.length; i++) {
    const { isPhase, key } = steps[i - 1];
    const duration = isPhase ? undefined : durations.get(key);
    const last = chains[chains.length - 1];
    if (duration === undefined) chains.push({ first: i, offsets: [0] });
    else last.offsets.push(last.offsets[last.offsets.length - 1] + duration);
  }
  return chains;
}

/** For each time of a chain's first boundary, how many of its shown boundaries allow it; and how many are shown. */
function support(
  { candidates }: ShownTile,
  { first, offsets }: Chain,
): { counts: Map<number, number>; shown: number } {
  const counts = new Map<number, number>();
  let shown = 0;
  offsets.forEach((offset, i) => {
    const options = candidates[first + i];
    if (!options || options.length === 0) return;
    shown++;
    for (const option of options)
      counts.set(option - offset, (counts.get(option - offset) ?? 0) + 1);
  });
  return { counts, shown };
}

/** The times of a chain's first boundary that most of what is shown allows. */
function basesOf(tile: ShownTile, chain: Chain): number[] {
  const { counts, shown } = support(tile, chain);
  const most = Math.max(0, ...counts.values());
  // More than one in three against it: nothing is believed.
  if (most === 0 || most * 3 < shown * 2) return [];
  return [...counts].filter(([, count]) => count === most).map(([base]) => base);
}

function fixChains(
  tile: ShownTile,
  durations: ReadonlyMap<string, number>,
): { times: (number | null)[]; contradicting: number[] } {
  const times = tile.candidates.map((): number | null => null);
  const contradicting: number[] = [];
  for (const chain of chainsOf(tile, durations)) {
    const bases = basesOf(tile, chain);
    if (bases.length !== 1) continue;
    chain.offsets.forEach((offset, i) => {
      const boundary = chain.first + i;
      times[boundary] = bases[0] + offset;
      const shown = tile.candidates[boundary];
      if (shown && !shown.includes(bases[0] + offset)) contradicting.push(boundary);
    });
  }
  return { times, contradicting };
}

/** One phase of so many may be at a distance that no other tiles show. */
const MOST_AGAINST = 4;
/** Tiles that must show the distance between the ends of two phases before it counts as one that occurs. */
const FEWEST_TILES = 3;

/**
 * Fixes a chain that begins where a phase ended: of its candidates those stay whose distance from another phase's
 * end on the tile, less what the tile's own activities take in either, is one that occurs on other tiles. The phase
 * whose distance varies least decides.
 */
function fixByPhases(
  tiles: readonly ShownTile[],
  known: readonly (readonly (number | null)[])[],
  durations: ReadonlyMap<string, number>,
): (number | null)[][] {
  const ends = tiles.map(({ steps }, tile) => phaseEnds(steps, known[tile]));
  const distances = distancesOf(ends);
  return tiles.map((tile, index) => {
    const times = [...known[index]];
    for (const chain of chainsOf(tile, durations)) {
      if (times[chain.first] !== null || chain.first === 0) continue;
      const { key, horizon } = tile.steps[chain.first - 1];
      const bases = basesOf(tile, chain);
      const votes = [...ends[index]]
        .map(([other, end]) => ({ end, occurring: distances.get(`${other}|${key}`) }))
        .filter(
          (vote): vote is { end: number; occurring: Set<number> } => vote.occurring !== undefined,
        )
        .sort((a, b) => a.occurring.size - b.occurring.size)
        .map(({ end, occurring }) => bases.filter((base) => occurring.has(base - horizon - end)));
      const decisive = votes.find((fitting) => fitting.length > 0);
      if (decisive?.length !== 1) continue;
      const against = votes.filter((fitting) => !fitting.includes(decisive[0])).length;
      if (against * MOST_AGAINST > votes.length) continue;
      chain.offsets.forEach((offset, i) => {
        times[chain.first + i] = decisive[0] + offset;
      });
    }
    return times;
  });
}

/** For each two phases the distances between their ends, less the horizons, that several tiles show. */
function distancesOf(ends: readonly ReadonlyMap<string, number>[]): Map<string, Set<number>> {
  const counts = new Map<string, Map<number, number>>();
  for (const own of ends) {
    for (const [a, from] of own) {
      for (const [b, to] of own) {
        const key = `${a}|${b}`;
        let counted = counts.get(key);
        if (!counted) counts.set(key, (counted = new Map<number, number>()));
        counted.set(to - from, (counted.get(to - from) ?? 0) + 1);
      }
    }
  }
  const distances = new Map<string, Set<number>>();
  for (const [key, counted] of counts) {
    const occurring = [...counted].filter(([, count]) => count >= FEWEST_TILES);
    if (occurring.length > 0) distances.set(key, new Set(occurring.map(([distance]) => distance)));
  }
  return distances;
}

/** When each phase ended on a tile less the tile's horizon, and under the empty name when the tile began. */
function phaseEnds(
  steps: readonly ShownStep[],
  times: readonly (number | null)[],
): Map<string, number> {
  const ends = new Map<string, number>();
  if (times[0] !== null) ends.set("", times[0]);
  steps.forEach(({ isPhase, key, horizon }, i) => {
    const end = times[i + 1];
    if (isPhase && end !== null) ends.set(key, end - horizon);
  });
  return ends;
}
