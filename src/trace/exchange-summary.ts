import { clockOrigin, duration, offset } from "./counters.ts";
import { phaseKey } from "./step-names.ts";
import type { ActivityKind, Profile, ProfileStep } from "./profile.ts";
import { covered } from "./timeline.ts";
import type { Interval } from "./timeline.ts";

/** One exchange phase, over all tiles that take part (F6.7). Null: none of its samples has times. */
export interface PhaseSummary {
  /** As in the file: 2^31 + the phase. */
  readonly phase: number;
  readonly epoch: number;
  /** That of the first tile. */
  readonly operation: string;
  /** Exchange samples of the phase: tiles that take part, unless the phase is repeated. */
  readonly samples: number;
  /** Of these, those whose times are not known. */
  readonly untimedSamples: number;
  /** The schedule's horizon: the largest of the samples' event cycles. */
  readonly scheduledCycles: number;
  /** From the last tile's arrival to the last end: max end - max start. */
  readonly measuredCycles: number | null;
  /** From the first tile's arrival to the last one's: max start - min start. */
  readonly arrivalWaitCycles: number | null;
  /** What the phase takes beyond its event cycles: max(0, measured - scheduled). */
  readonly boundaryCycles: number | null;
}

/**
 * What tiles do in phases, summed over the samples with activities. Each of a sample's event cycles counts once, so
 * that send + receive + simultaneous + partnerBusy + idle = scheduled.
 */
export interface ExchangeWork {
  /** Samples with activities. */
  readonly samples: number;
  /** Their event cycles. */
  readonly scheduledCycles: number;
  /** It sends and does not receive. */
  readonly sendCycles: number;
  /** It receives and does not send. */
  readonly receiveCycles: number;
  /** It does both. */
  readonly simultaneousCycles: number;
  /** Its lane is lent, and it does neither. */
  readonly partnerBusyCycles: number;
  /** It does nothing, up to the event cycles. */
  readonly idleCycles: number;
}

/** The exchange of a profile; sums are over the phases, those without times left out. */
export interface ExchangeSummary {
  /** Ascending by epoch, then phase. */
  readonly phases: readonly PhaseSummary[];
  readonly measuredCycles: number;
  readonly scheduledCycles: number;
  readonly arrivalWaitCycles: number;
  readonly boundaryCycles: number;
  readonly work: ExchangeWork;
}

/**
 * Over exchange samples with event cycles, grouped by epoch and phase. Times are those of the shared clock, nothing
 * cropped; samples of no length have no times and count for the schedule alone.
 *
 * @see F6.7, as ipu-stack's profile-inspect sums them
 */
export function exchangeSummary(profile: Profile): ExchangeSummary {
  const origin = clockOrigin(profile);
  const phases = new Map<string, Phase>();
  const work = new Work();
  for (const { samples } of profile.tiles) {
    for (const { start, end, step } of samples) {
      if (!takesPart(step)) continue;
      const key = phaseKey(step);
      const phase = phases.get(key) ?? new Phase(step);
      phases.set(key, phase);
      phase.add(offset(start, origin), duration({ start, end }), step.eventCycles);
      if (step.activities.length > 0) work.add(step);
    }
  }
  const summaries = [...phases.values()].map((phase) => phase.summary());
  const sum = (of: (phase: PhaseSummary) => number | null): number =>
    summaries.reduce((total, phase) => total + (of(phase) ?? 0), 0);
  return {
    phases: summaries.sort((a, b) => a.epoch - b.epoch || a.phase - b.phase),
    measuredCycles: sum((phase) => phase.measuredCycles),
    scheduledCycles: sum((phase) => phase.scheduledCycles),
    arrivalWaitCycles: sum((phase) => phase.arrivalWaitCycles),
    boundaryCycles: sum((phase) => phase.boundaryCycles),
    work: work.sums(),
  };
}

/** Whether a step counts for its phase: an exchange with event cycles. */
export function takesPart({ kind, eventCycles }: ProfileStep): boolean {
  return kind === "exchange" && eventCycles > 0;
}

class Phase {
  readonly #first: ProfileStep;
  #samples = 0;
  #timed = 0;
  #scheduled = 0;
  #firstStart = Infinity;
  #lastStart = -Infinity;
  #lastEnd = -Infinity;

  constructor(first: ProfileStep) {
    this.#first = first;
  }

  add(start: number, length: number, eventCycles: number): void {
    this.#samples++;
    this.#scheduled = Math.max(this.#scheduled, eventCycles);
    if (length === 0) return;
    this.#timed++;
    this.#firstStart = Math.min(this.#firstStart, start);
    this.#lastStart = Math.max(this.#lastStart, start);
    this.#lastEnd = Math.max(this.#lastEnd, start + length);
  }

  summary(): PhaseSummary {
    const { phase, epoch, operation } = this.#first;
    const isTimed = this.#timed > 0;
    const measured = this.#lastEnd - this.#lastStart;
    return {
      phase,
      epoch,
      operation,
      samples: this.#samples,
      untimedSamples: this.#samples - this.#timed,
      scheduledCycles: this.#scheduled,
      measuredCycles: isTimed ? measured : null,
      arrivalWaitCycles: isTimed ? this.#lastStart - this.#firstStart : null,
      boundaryCycles: isTimed ? Math.max(0, measured - this.#scheduled) : null,
    };
  }
}

class Work {
  #samples = 0;
  #scheduled = 0;
  #send = 0;
  #receive = 0;
  #simultaneous = 0;
  #partnerBusy = 0;

  /** From lengths of unions, with S and R the times that are sent and received, P those of the lent lane. */
  add(step: ProfileStep): void {
    const send = clipped(step, "send");
    const receive = clipped(step, "receive");
    const moving = [...send, ...receive];
    const sent = covered(send);
    const received = covered(receive);
    const moved = covered(moving);
    const busy = covered([...moving, ...clipped(step, "partnerBusy")]);
    this.#samples++;
    this.#scheduled += step.eventCycles;
    this.#send += moved - received;
    this.#receive += moved - sent;
    this.#simultaneous += sent + received - moved;
    this.#partnerBusy += busy - moved;
  }

  sums(): ExchangeWork {
    const busy = this.#send + this.#receive + this.#simultaneous + this.#partnerBusy;
    return {
      samples: this.#samples,
      scheduledCycles: this.#scheduled,
      sendCycles: this.#send,
      receiveCycles: this.#receive,
      simultaneousCycles: this.#simultaneous,
      partnerBusyCycles: this.#partnerBusy,
      idleCycles: this.#scheduled - busy,
    };
  }
}

/** A step's activities of one kind, cut at its event cycles. */
function clipped({ activities, eventCycles }: ProfileStep, kind: ActivityKind): Interval[] {
  return activities
    .filter((activity) => activity.kind === kind)
    .map(({ start, end }) => ({ start, end: Math.min(end, eventCycles) }))
    .filter(({ start, end }) => start < end);
}
