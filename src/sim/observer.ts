import type { Step } from "./schedule.ts";

/** What a run tells as it goes; costs nothing where nobody listens. */
export interface Observer {
  /** After a step; `executed` counts the steps of the run, repeats included. */
  readonly stepDone?: (executed: number, step: Step) => void;
}
