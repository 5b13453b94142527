import { MessageBuilder } from "../io/capnp-builder.ts";
import type { StructBuilder } from "../io/capnp-builder.ts";
import { ACTIVITY_KINDS, NEWEST_SCHEMA, STEP_KINDS } from "./profile.ts";
import type { Profile, ProfileStep, TileProfile } from "./profile.ts";

/**
 * The profile as a file of schema version 5, unpacked, that osmarks/ipu-stack's tools open: fields in the order in
 * which its writer writes them (F6.3), so that all stands where it would in a file of its own. Read again it is the
 * same profile, of version 5. Numbers are 32 bits without sign, but for `clockHz`; tiles ascend.
 */
export function writeProfile({ clockHz, tiles }: Profile): Uint8Array<ArrayBuffer> {
  const message = new MessageBuilder();
  const root = message.root(2, 1);
  root.u32(0, NEWEST_SCHEMA);
  root.u64(8, clockHz);
  const builders = root.structs(0, tiles.length, 1, 1);
  for (const [t, tile] of tiles.entries()) writeTile(builders[t], tile);
  return message.bytes();
}

function writeTile(builder: StructBuilder, { physicalTile, samples }: TileProfile): void {
  builder.u32(0, physicalTile);
  const builders = builder.structs(0, samples.length, 1, 1);
  for (const [s, { start, end, step }] of samples.entries()) {
    const sample = builders[s];
    sample.u32(0, start);
    sample.u32(4, end);
    writeStep(sample.struct(0, 3, 4), step);
  }
}

function writeStep(builder: StructBuilder, step: ProfileStep): void {
  builder.u32(0, step.localIndex);
  builder.u32(4, step.phase);
  builder.u32(8, step.epoch);
  builder.text(0, step.operation);
  builder.u16(12, STEP_KINDS.indexOf(step.kind));
  builder.text(1, step.kernel);
  builder.u32(16, step.eventCycles);
  const entries = builder.structs(2, step.metadata.length, 0, 2);
  for (const [i, { name, value }] of step.metadata.entries()) {
    entries[i].text(0, name);
    entries[i].text(1, value);
  }
  const activities = builder.structs(3, step.activities.length, 2, 0);
  for (const [i, { kind, start, end }] of step.activities.entries()) {
    activities[i].u16(0, ACTIVITY_KINDS.indexOf(kind));
    activities[i].u32(4, start);
    activities[i].u32(8, end);
  }
}
