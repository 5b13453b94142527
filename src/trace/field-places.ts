import { readFrame } from "../io/capnp-frame.ts";
import { readRoot } from "../io/capnp-reader.ts";
import type { ByteRange, StructReader } from "../io/capnp-reader.ts";

/** The fields of a recorded step, as the side file of a recovery names them. */
export const STEP_FIELDS = [
  "localIndex",
  "phase",
  "epoch",
  "operation",
  "kind",
  "kernel",
  "metadata",
  "activities",
  "eventCycles",
] as const;
export type StepField = (typeof STEP_FIELDS)[number];

/** Where the bytes of a step's fields stand in a message. */
export type StepPlaces = Readonly<Record<StepField, readonly ByteRange[]>>;

export interface TilePlaces {
  readonly physicalTile: readonly ByteRange[];
  readonly steps: readonly StepPlaces[];
}

/** Where each field of a profile's file stands, tile by tile. */
export function fieldPlaces(message: Uint8Array): TilePlaces[] {
  const root = readRoot(readFrame(message, "profile"), "profile");
  return root.structs(0, "tiles").map((tile) => ({
    physicalTile: [tile.place(0, 4)],
    steps: tile.structs(0, "samples").map((sample) => stepPlaces(sample.struct(0, "step"))),
  }));
}

function stepPlaces(step: StructReader): StepPlaces {
  return {
    localIndex: [step.place(0, 4)],
    phase: [step.place(4, 4)],
    epoch: [step.place(8, 4)],
    operation: [step.listPlace(0, "operation")],
    kind: [step.place(12, 2)],
    kernel: [step.listPlace(1, "kernel")],
    metadata: step
      .structs(2, "metadata")
      .flatMap((entry) => [entry.listPlace(0, "name"), entry.listPlace(1, "value")]),
    activities: [step.listPlace(3, "activities")],
    eventCycles: [step.place(16, 4)],
  };
}
