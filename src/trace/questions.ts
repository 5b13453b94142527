import type { Inspection } from "./inspect.ts";

/** Whether a profile answers a question, and why. */
export interface Answer {
  readonly question: string;
  readonly answer: "yes" | "no";
  readonly why: string;
}

/** What a profile answers: some of it depends on what it holds, some no profile can tell (F4.9). */
export function questionsOf(held: Omit<Inspection, "questions">): readonly Answer[] {
  const { sampleCount, kernels, specifications, metadata, activities, exchange, losses } = held;
  const timed = sampleCount - losses.untimedSamples;
  const named = kernels.reduce((sum, { name, samples }) => sum + (name === "" ? 0 : samples), 0);
  const read = specifications
    .filter(({ spec }) => spec !== null && spec.kind !== "other")
    .reduce((sum, { samples }) => sum + samples, 0);
  const withElements = samplesWith(metadata, "outputElements");
  const withBytes = samplesWith(metadata, "bytes");
  const listed = activities.send + activities.receive + activities.partnerBusy;
  const measured = exchange.phases.filter(({ measuredCycles }) => measuredCycles !== null).length;
  return [
    answer(
      "How many cycles did each step take, and when did it run?",
      timed > 0,
      `${timed} of ${sampleCount} samples have times; each includes the cycles of sampling itself`,
    ),
    answer(
      "Which kernels ran, on which tiles, for which operation?",
      named > 0,
      `${named} of ${sampleCount} samples name a kernel; tiles are physical ones`,
    ),
    answer(
      "Which shapes did kernels work on?",
      read > 0 || withElements > 0,
      `${read} samples have a specification that can be read, ${withElements} have element counts`,
    ),
    answer("How many bytes did local copies move?", withBytes > 0, `${withBytes} samples say so`),
    answer(
      "How long was each exchange phase, scheduled and measured?",
      measured > 0,
      exchange.phases.length === 0
        ? "no exchange has event cycles; schema versions before 4 lack them"
        : `${exchange.phases.length} phases have event cycles, ${measured} of these have times`,
    ),
    answer(
      "When did each tile send and receive within a phase?",
      listed > 0,
      listed === 0
        ? "no step has activities; schema versions before 4 lack them"
        : `${listed} activities, as scheduled from the phase's release on, not as measured`,
    ),
    answer(
      "Which tile sent to which?",
      false,
      "activities have no peers: a schedule has them (tilesim plan)",
    ),
    answer(
      "How many bytes did tiles exchange?",
      false,
      "activities have no word counts: a schedule has them (tilesim plan)",
    ),
    answer(
      "At which addresses did operands lie?",
      false,
      "a profile has no addresses: a schedule has them (tilesim plan)",
    ),
    answer(
      "Which values did tensors hold?",
      false,
      "a profile has no data: run a program or a schedule (tilesim replay, tilesim run)",
    ),
    answer(
      "How often did a worker stall, and on what?",
      false,
      "a sample is a whole step of a tile: nothing within it was recorded",
    ),
  ];
}

function answer(question: string, isYes: boolean, why: string): Answer {
  return { question, answer: isYes ? "yes" : "no", why };
}

function samplesWith(metadata: Inspection["metadata"], name: string): number {
  return metadata.find((entry) => entry.name === name)?.samples ?? 0;
}
