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
  /** Code lies below this address. */
  readonly codeLimit: number;
  /** Bytes that the supervisor may fetch beyond the instruction it runs. */
  readonly fetchLookAhead: number;
  /** Bytes reserved for exchanging with the host, half-open. */
  readonly exchangeWindow: { readonly start: number; readonly end: number };
  /** Bytes of the program's own state: headroom and worker stacks, half-open. */
  readonly runtimeState: { readonly start: number; readonly end: number };
  readonly bytesPerLoad: { readonly standard: number; readonly interleaved: number };
  readonly alignment: TargetAlignment;
  /** Readable bytes that must follow a GEMM's left operand, by dtype: its loop loads ahead. */
  readonly leftSlack: { readonly f16: number; readonly f32: number };
}

/** Bytes that addresses must be multiples of. */
export interface TargetAlignment {
  readonly gemmOperand: number;
  readonly attentionOperand: number;
  readonly copy: number;
  readonly exchange: number;
  readonly wideExchange: number;
  /** Recorded counters and the instructions of an exchange. */
  readonly row: number;
}

/** The fabric. Times are events: cycles from a phase's release (F4.4). */
export interface TargetExchange {
  readonly bytesPerCycle: number;
  readonly maxTransferWords: number;
  /** Tiles in a row of the floor plan: physical number = row * this + place. */
  readonly tilesPerRow: number;
  readonly rows: number;
  /** From a route's source selection (its time to mux) to the first word in the receiver's memory. */
  readonly receiveLatency: number;
  /** The same for each row of the floor plan that the receiver lies down. */
  readonly receiveLatencyPerRow: number;
  /** From the last word written to the receiver's last event. */
  readonly receiveTail: number;
  /** A sender's last event is no earlier than this after the transfer's origin. */
  readonly minSenderEvents: number;
  /** A tile's only receive of a phase, of a transfer to it alone, has a fixed place in its row: the send
   * starts at this less the time to mux. */
  readonly onlyReceiveSend: number;
  /** A transfer of this many words is written a cycle early, and its last event stays. */
  readonly earlyWriteWords: number;
  /** 64-bit transfers: fewest items of 8 bytes; gap of its format and pointer controls. */
  readonly wide: { readonly minItems: number; readonly formatDelay: number };
}

/** Cycles that belong to the machine and to no kernel (F4.8, F5.1). */
export interface TargetTiming {
  /** Recording one sample: part of each compute step's time. */
  readonly sample: number;
  /** Launching the workers once and waiting for them. */
  readonly launch: number;
  /** Cycles from one bundle of a worker to its next. */
  readonly cyclesPerBundle: number;
  /** From the last tile's signal reaching the sync network's root to the release leaving it, at a phase of its own row. */
  readonly barrier: number;
  /** More where some tiles have no part in the phase; these hear of the release `inactiveLead` earlier. */
  readonly mixedBarrier: number;
  readonly inactiveLead: number;
  /** More where the phase's rows are shared with another phase and patched before use; and per receive of a tile. */
  readonly patch: number;
  readonly patchPerReceive: number;
  /** A sync signal's way per row and per column of the floor plan. */
  readonly syncPerRow: number;
  readonly syncPerColumn: number;
  /** A tile's first sample begins at its first turn from this and its way on. */
  readonly entry: number;
}
