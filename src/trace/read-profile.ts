import { readFrame } from "../io/capnp-frame.ts";
import { readRoot } from "../io/capnp-reader.ts";
import type { StructReader } from "../io/capnp-reader.ts";
import { ACTIVITY_KINDS, NEWEST_SCHEMA, STEP_KINDS } from "./profile.ts";
import type {
  ExchangeActivity,
  MetadataEntry,
  Profile,
  ProfileStep,
  Sample,
  TileProfile,
} from "./profile.ts";

const OLDEST_SCHEMA = 1;
/** 1,424 steps on each of 1,472 tiles; they take 0.8 GB when read. A file of 32 MB can claim more than memory holds. */
const MAX_SAMPLES = 2 ** 21;

/**
 * The profile in the bytes of a file that osmarks/ipu-stack wrote (F6.2; schemas/profile.capnp), schema versions 1
 * to 5: packed or not, plain or gzip. What an older schema lacks is empty. `file` is its name in errors; the offset
 * in these counts bytes of the unpacked, inflated message, and `where` says so where that is not the file.
 *
 * @throws FILE_MALFORMED with `where.field` and `where.offset`
 */
export function readProfile(bytes: Uint8Array, file: string = "profile"): Profile {
  const root = readRoot(readFrame(bytes, file), "profile");
  const schemaVersion = root.u32(0);
  if (schemaVersion < OLDEST_SCHEMA || schemaVersion > NEWEST_SCHEMA) {
    throw root.error(
      "schemaVersion",
      0,
      `schema version ${schemaVersion}, ${OLDEST_SCHEMA} to ${NEWEST_SCHEMA} are known`,
    );
  }
  const clockHz = root.u64(8, "clockHz");
  if (clockHz === 0) throw root.error("clockHz", 8, "a clock that stands still");
  return { schemaVersion, clockHz, tiles: tilesOf(root) };
}

function tilesOf(root: StructReader): readonly TileProfile[] {
  let last = -1;
  let count = 0;
  return root.structs(0, "tiles").map((tile) => {
    const physicalTile = tile.u32(0);
    if (physicalTile <= last) {
      throw tile.error("physicalTile", 0, `tile ${physicalTile} after tile ${last}`);
    }
    last = physicalTile;
    const samples = tile.structs(0, "samples");
    count += samples.length;
    if (count > MAX_SAMPLES) {
      throw tile.error("samples", 8, `more than ${MAX_SAMPLES} samples in all`);
    }
    return { physicalTile, samples: samples.map(sampleOf) };
  });
}

function sampleOf(sample: StructReader): Sample {
  return { start: sample.u32(0), end: sample.u32(4), step: stepOf(sample.struct(0, "step")) };
}

function stepOf(step: StructReader): ProfileStep {
  return {
    localIndex: step.u32(0),
    phase: step.u32(4),
    epoch: step.u32(8),
    operation: step.text(0, "operation"),
    kind: step.choice(12, "kind", STEP_KINDS),
    kernel: step.text(1, "kernel"),
    metadata: step.structs(2, "metadata").map(entryOf),
    activities: step.structs(3, "exchangeActivities").map(activityOf),
    eventCycles: step.u32(16),
  };
}

function entryOf(entry: StructReader): MetadataEntry {
  return { name: entry.text(0, "name"), value: entry.text(1, "value") };
}

function activityOf(activity: StructReader): ExchangeActivity {
  return {
    kind: activity.choice(0, "kind", ACTIVITY_KINDS),
    start: activity.u32(4),
    end: activity.u32(8),
  };
}
