/** A chip as numbers. Frozen data; each number's source stands in the preset that gives it. */
export interface Target {
  readonly name: string;
  readonly tiles: number;
  /** Worker contexts of a tile. */
  readonly workers: number;
  readonly clockHz: number;
  readonly memory: TargetMemory;
  readonly exchange: TargetExchange;
  readonly timing: TargetTiming;
  /** Multiply-adds that a tile does in a cycle at its peak, by dtype. */
  readonly macsPerCycle: { readonly f16: number; readonly f32: number };
  /** Choices where nothing is known (F8), by name: reported by each run that met them. */
  readonly assumed: Readonly<Record<string, string>>;
}

export interface TargetMemory {
  /** Address of the first byte of a tile. */
  readonly base: number;
  readonly bytes: number;
  /** First byte that data may use: below it are code, stacks and windows. */
  readonly firstData: number;
  /** From this address on memory is interleaved: 16-byte loads, doubled elements. */
  readonly interleavedBase: number;
  readonly elementBytes: number;
  readonly interleavedElementBytes: number;
  /** The host cannot fill bytes from here on. */
  readonly lastLoadable: number;
}

export interface TargetExchange {
  readonly bytesPerCycle: number;
  readonly maxTransferWords: number;
  /** Tiles in a row of the floor plan: physical number = row * this + place. */
  readonly tilesPerRow: number;
}

/** Cycles that belong to the machine and to no kernel (F4.8, F5.1). */
export interface TargetTiming {
  /** Recording one sample: part of each compute step's time. */
  readonly sample: number;
  /** Launching the workers once and waiting for them. */
  readonly launch: number;
  /** Cycles from one bundle of a worker to its next. */
  readonly cyclesPerBundle: number;
  /** From the last arrival at an exchange to its release. */
  readonly barrier: number;
  /** The same where the phase's rows are shared with another phase and patched before use. */
  readonly patchedBarrier: number;
  /** The same for the first phase of a program. */
  readonly firstBarrier: number;
}
