/** The newest schema version of a profile; older ones lack kernels, kinds or activities (F6.2). */
export const NEWEST_SCHEMA = 5;

/** A recorded run as osmarks/ipu-stack writes it (schemas/profile.capnp): what each tile did, and when. */
export interface Profile {
  readonly schemaVersion: number;
  /** Cycles a second of the tiles' clock. */
  readonly clockHz: number;
  /** Ascending by physical tile. */
  readonly tiles: readonly TileProfile[];
}

export interface TileProfile {
  readonly physicalTile: number;
  /** In the order of recording; each begins when the one before it ended. */
  readonly samples: readonly Sample[];
}

/** One recorded interval: two readings of the low 32 bits of the tile's cycle counter, which wraps. */
export interface Sample {
  readonly start: number;
  readonly end: number;
  readonly step: ProfileStep;
}

/** What a tile did in a sample. */
export interface ProfileStep {
  /** Position among the recorded samples of the tile. */
  readonly localIndex: number;
  /** Compute: the work item's index in the tile's list; exchange and synchronization: 2^31 + the phase. */
  readonly phase: number;
  readonly epoch: number;
  /** `operation.N`, or empty. */
  readonly operation: string;
  readonly kind: StepKind;
  /** A symbol, or `exchange`, `sync`, `idle`, `repeat`, `diagnostic-checkpoint`. */
  readonly kernel: string;
  /** In the writer's order; a name may stand more than once. */
  readonly metadata: readonly MetadataEntry[];
  readonly activities: readonly ExchangeActivity[];
  /** Horizon of the whole phase, in cycles; 0 for steps that are no exchange. */
  readonly eventCycles: number;
}

/** In the order of the file's enumeration. */
export const STEP_KINDS = ["exchange", "compute", "synchronization", "idle"] as const;
export type StepKind = (typeof STEP_KINDS)[number];

export interface MetadataEntry {
  readonly name: string;
  readonly value: string;
}

/** An interval of a phase in which the tile sends, receives or lends its lane; cycles from the phase's release. */
export interface ExchangeActivity {
  readonly kind: ActivityKind;
  readonly start: number;
  readonly end: number;
}

/** In the order of the file's enumeration. */
export const ACTIVITY_KINDS = ["send", "receive", "partnerBusy"] as const;
export type ActivityKind = (typeof ACTIVITY_KINDS)[number];
