import { SimError } from "../base/errors.ts";
import type { Finding } from "../base/errors.ts";
import type { Target } from "../target/target.ts";
import { align } from "./align.ts";
import { takeApart } from "./capture.ts";
import { expectedText } from "./expected.ts";
import { fieldPlaces, STEP_FIELDS } from "./field-places.ts";
import type { StepField, StepPlaces } from "./field-places.ts";
import { inferTimes } from "./infer-times.ts";
import type { InferredTime, InferredTimes, ShownStep, TimeOrigin } from "./infer-times.ts";
import type { Profile, ProfileStep, Sample, TileProfile } from "./profile.ts";
import { gapsBetween, SeenBytes } from "./seen.ts";
import { shownTimes } from "./shown-times.ts";

/**
 * How a field of a recovered profile is known, in one letter:
 * - `r` read: every byte of it that the capture can show is shown, where it should be;
 * - `t` turn, `d` duration, `p` phase: a time that only some of its bytes show, inferred to one value (`inferTimes`);
 * - `s` schedule: not shown, or not whole; what the schedule says, whose bytes fill the place exactly;
 * - `l` lost: a time without a value, or activities in whose place something else is shown.
 */
export const CERTAINTIES = {
  r: "read: every byte of it that the capture can show is shown",
  t: "inferred, turn: the one candidate at the cycle of a round at which the counter is read",
  d: "inferred, duration: work whose cycles the capture shows elsewhere lies between it and a time that is known",
  p: "inferred, phase: the one candidate at a distance from other phases' ends that other tiles show",
  s: "inferred, schedule: what the schedule says; its bytes fill the place to the byte",
  l: "lost",
} as const;
export type Certainty = keyof typeof CERTAINTIES;

const OF_ORIGIN: Readonly<Record<TimeOrigin, Certainty>> = {
  read: "r",
  turn: "t",
  duration: "d",
  phase: "p",
  lost: "l",
};

/** How the fields of a tile are known: a letter for each of its samples, in order. */
export interface TileCertainty {
  readonly physicalTile: number;
  /** Of the number itself. */
  readonly known: Certainty;
  /** The sample's place among all of the tile's: those of which nothing is known are left out. */
  readonly samples: readonly number[];
  readonly startCycle: string;
  readonly endCycle: string;
  readonly fields: Readonly<Record<StepField, string>>;
  /** `y` for a step of which the capture shows a text. */
  readonly isShown: string;
}

export interface RecoverySummary {
  readonly tiles: {
    readonly inSchedule: number;
    readonly recovered: number;
    /** Lists of samples of which every time is shown, at least in part; and those of which some are. */
    readonly wholeTables: number;
    readonly partTables: number;
  };
  /** Times between samples, by how they are known: of whole tables, and of all. */
  readonly times: {
    readonly ofWholeTables: Readonly<Record<TimeOrigin, number>>;
    readonly all: Readonly<Record<TimeOrigin, number>>;
  };
  readonly steps: {
    readonly inSchedule: number;
    readonly recovered: number;
    /** Of which the capture shows a text; each is laid at one place of one tile. */
    readonly shown: number;
    /** Of which operation, kernel and metadata are all read. */
    readonly textRead: number;
  };
  readonly fields: Readonly<Record<StepField, Readonly<Partial<Record<Certainty, number>>>>>;
  readonly activities: { readonly read: number; readonly inferred: number; readonly lost: number };
  /** Characters of the capture: laid beside what should stand there, in lists of times, and neither. */
  readonly characters: {
    readonly captured: number;
    readonly expected: number;
    readonly aligned: number;
    readonly explained: number;
    readonly different: number;
    readonly times: number;
  };
  readonly turn: number | null;
  readonly contradictions: number;
}

export interface Recovery {
  readonly profile: Profile;
  readonly certainty: readonly TileCertainty[];
  readonly summary: RecoverySummary;
  readonly durations: ReadonlyMap<string, number>;
  readonly findings: readonly Finding[];
}

/** Share of the capture's characters that must agree with the schedule. */
const FEWEST_ALIGNED = 0.5;
/** Characters by which a step's text is known for shown: the shortest run that is laid. */
const FEWEST_SHOWN = 8;

/**
 * The profile behind a damaged capture (`readCapture`). `expected` is the profile that a run of the recorded
 * schedule would leave (`profileOfRun`): it gives the steps, and the place of each of their bytes; its times are
 * not looked at. The capture gives the times, and which steps it shows.
 *
 * @throws SimError `FILE_MALFORMED` where the capture is not one of that schedule
 */
export function recoverProfile(
  capture: string,
  expected: Profile,
  target: Target,
  file: string,
): Recovery {
  const message = expectedText(expected);
  const captured = takeApart(capture);
  const blocks = align(message.text, captured);
  const aligned = blocks.reduce((sum, { length }) => sum + length, 0);
  if (aligned < FEWEST_ALIGNED * captured.length) {
    throw new SimError("FILE_MALFORMED", {
      what: `${file}: ${aligned} of its ${captured.length} characters are what a capture of this schedule shows`,
      where: { file },
      fix: "Give the program or the schedule that was recorded, and the profile's text as it was saved: in order, and no part of it twice",
    });
  }
  const gaps = gapsBetween(blocks, message.text, captured);
  const seen = new SeenBytes(message, captured, blocks, gaps);
  const times = inferred(shownTimes(message.text, captured, gaps), expected, target);
  const places = fieldPlaces(message.bytes);
  const records = expected.tiles.map((tile, index) =>
    recoverTile(tile, times.inferred.tiles[index], places[index].steps, seen),
  );
  const origin = earliestStart(records);
  const kept = records.flatMap((record, index) =>
    record.samples.length > 0 ? [{ record, index }] : [],
  );
  const certainty = kept.map(({ record, index }) =>
    tileCertainty(record, sightLetter(seen, places[index].physicalTile)),
  );
  const profile: Profile = {
    schemaVersion: expected.schemaVersion,
    clockHz: expected.clockHz,
    tiles: kept.map(({ record }) => ({
      physicalTile: record.physicalTile,
      samples: record.samples.map((sample) => timed(sample, record.times, origin)),
    })),
  };
  const timeCharacters = captured.length - aligned - seen.explained - seen.different;
  return {
    profile,
    certainty,
    durations: times.inferred.durations,
    findings: [...lossFindings(times, file), ...findingsOf(times.inferred, expected)],
    summary: {
      tiles: {
        inSchedule: expected.tiles.length,
        recovered: kept.length,
        wholeTables: times.whole.filter(Boolean).length,
        partTables: times.some.filter((some, i) => some && !times.whole[i]).length,
      },
      times: {
        ofWholeTables: countOrigins(times.inferred.tiles.filter((_, i) => times.whole[i])),
        all: countOrigins(times.inferred.tiles),
      },
      ...countSteps(expected, records),
      characters: {
        captured: captured.length,
        expected: message.text.length,
        aligned,
        explained: seen.explained,
        different: seen.different,
        times: timeCharacters,
      },
      turn: times.inferred.turn,
      contradictions: times.inferred.contradictions.length,
    },
  };
}

function inferred(
  candidates: readonly (readonly (readonly number[] | null)[])[],
  expected: Profile,
  target: Target,
): { inferred: InferredTimes; whole: boolean[]; some: boolean[] } {
  const lists = candidates[Symbol.iterator]();
  const tiles = expected.tiles.map(({ samples }) => ({
    candidates: samples.length > 0 ? (lists.next().value ?? []) : [],
    steps: samples.map(({ step }) => shownStep(step)),
  }));
  return {
    inferred: inferTimes(tiles, target.workers),
    whole: tiles.map(
      ({ candidates: own }) => own.length > 0 && own.every((shown) => shown !== null),
    ),
    some: tiles.map(({ candidates: own }) => own.some((shown) => shown !== null)),
  };
}

/** Metadata that says nothing about how long work takes. */
const NAMES_ONLY: ReadonlySet<string> = new Set(["reason", "value"]);

function shownStep(step: ProfileStep): ShownStep {
  const isPhase = step.kind !== "compute";
  const work = step.metadata.filter(({ name }) => !NAMES_ONLY.has(name)).map(({ value }) => value);
  return {
    isPhase,
    key: isPhase ? `${step.kind} ${step.phase}` : [step.kernel, ...work].join(),
    horizon: step.activities.reduce((last, { end }) => Math.max(last, end), 0),
  };
}

interface RecoveredSample {
  readonly index: number;
  readonly step: ProfileStep;
  readonly fields: Readonly<Record<StepField, Certainty>>;
  readonly isShown: boolean;
}

interface RecoveredTile {
  readonly physicalTile: number;
  readonly times: readonly InferredTime[];
  /** Those of which the capture shows anything. */
  readonly samples: readonly RecoveredSample[];
}

function recoverTile(
  { physicalTile, samples }: TileProfile,
  times: readonly InferredTime[],
  places: readonly StepPlaces[],
  seen: SeenBytes,
): RecoveredTile {
  const recovered = samples.flatMap(({ step }, index): RecoveredSample[] => {
    const own = places[index];
    const { operation, kernel, metadata, activities } = own;
    const isShown = [[...operation, ...kernel, ...metadata], activities].some(
      (ranges) => seen.sight(ranges).seen >= FEWEST_SHOWN,
    );
    const isTimed = times[index].value !== null || times[index + 1].value !== null;
    if (!isShown && !isTimed) return [];
    const fields = Object.fromEntries(
      STEP_FIELDS.map((field) => [field, stepLetter(seen, field, own[field])] as const),
    ) as Record<StepField, Certainty>;
    return [{ index, step, fields, isShown }];
  });
  return { physicalTile, times, samples: recovered };
}

/** The number `0` and the like are not shown at all: the schedule says them. */
function sightLetter(seen: SeenBytes, ranges: StepPlaces[StepField]): Certainty {
  const { shown, seen: count } = seen.sight(ranges);
  return shown > 0 && count === shown ? "r" : "s";
}

/** Only activities may be others than the schedule has: the compiler breaks ties that are not known. */
function stepLetter(seen: SeenBytes, field: StepField, ranges: StepPlaces[StepField]): Certainty {
  const isLost = field === "activities" && seen.sight(ranges).isDifferent;
  return isLost ? "l" : sightLetter(seen, ranges);
}

/** A sample whose times are not both known has no length; it lies where one is known, or the last before it. */
function timed(
  { index, step, fields }: RecoveredSample,
  times: readonly InferredTime[],
  origin: number,
): Sample {
  const start = times[index].value;
  const end = times[index + 1].value;
  const recorded = fields.activities === "l" ? { ...step, activities: [] } : step;
  if (start !== null && end !== null) return { start, end, step: recorded };
  const before = times.slice(0, index).findLast(({ value }) => value !== null)?.value;
  const at = start ?? end ?? before ?? origin;
  return { start: at, end: at, step: recorded };
}

/** When the first tile began: what a tile without times has, so that it moves no origin (F6.4). */
function earliestStart(tiles: readonly RecoveredTile[]): number {
  const starts = tiles.flatMap(
    ({ times }) => times.find(({ value }) => value !== null)?.value ?? [],
  );
  return starts.reduce((least, start) => Math.min(least, start), starts[0] ?? 0);
}

function tileCertainty(tile: RecoveredTile, known: Certainty): TileCertainty {
  const { physicalTile, times, samples } = tile;
  const letters = (of: (sample: RecoveredSample) => string): string => samples.map(of).join("");
  return {
    physicalTile,
    known,
    samples: samples.map(({ index }) => index),
    startCycle: letters(({ index }) => OF_ORIGIN[times[index].origin]),
    endCycle: letters(({ index }) => OF_ORIGIN[times[index + 1].origin]),
    fields: Object.fromEntries(
      STEP_FIELDS.map((field) => [field, letters(({ fields }) => fields[field])] as const),
    ) as Record<StepField, string>,
    isShown: letters(({ isShown }) => (isShown ? "y" : "n")),
  };
}

function countOrigins(tiles: readonly (readonly InferredTime[])[]): Record<TimeOrigin, number> {
  const counts: Record<TimeOrigin, number> = { read: 0, turn: 0, duration: 0, phase: 0, lost: 0 };
  for (const times of tiles) for (const { origin } of times) counts[origin]++;
  return counts;
}

function countSteps(
  expected: Profile,
  tiles: readonly RecoveredTile[],
): Pick<RecoverySummary, "steps" | "fields" | "activities"> {
  const samples = tiles.flatMap(({ samples: own }) => own);
  const fields = Object.fromEntries(
    STEP_FIELDS.map((field) => {
      const counts: Partial<Record<Certainty, number>> = {};
      for (const { fields: own } of samples) counts[own[field]] = (counts[own[field]] ?? 0) + 1;
      return [field, counts] as const;
    }),
  ) as Record<StepField, Partial<Record<Certainty, number>>>;
  const activities = { read: 0, inferred: 0, lost: 0 };
  for (const { step, fields: own } of samples) {
    const as = own.activities === "r" ? "read" : own.activities === "l" ? "lost" : "inferred";
    activities[as] += step.activities.length;
  }
  const isRead = ({ fields: own }: RecoveredSample): boolean =>
    own.operation === "r" && own.kernel === "r" && own.metadata === "r";
  return {
    steps: {
      inSchedule: expected.tiles.reduce((sum, tile) => sum + tile.samples.length, 0),
      recovered: samples.length,
      shown: samples.filter(({ isShown }) => isShown).length,
      textRead: samples.filter(isRead).length,
    },
    fields,
    activities,
  };
}

/** What must not pass for a success. */
function lossFindings({ some }: { readonly some: readonly boolean[] }, file: string): Finding[] {
  if (some.some(Boolean)) return [];
  return [
    {
      code: "FILE_MALFORMED",
      severity: "error",
      what: `${file} shows no time of any sample: the profile has steps, and no cycles`,
      where: { file },
      fix: "Give the profile's text as it was saved: in order, and no part of it twice",
    },
  ];
}

function findingsOf({ contradictions }: InferredTimes, { tiles }: Profile): Finding[] {
  return contradictions.map(({ tile, boundary }) => ({
    code: "FILE_MALFORMED",
    severity: "note",
    what: "the capture shows another time than the work before and behind it leaves",
    where: { tile: tiles[tile].physicalTile, step: boundary },
    fix: "Nothing to do: the time that fits is kept, as inferred",
  }));
}
