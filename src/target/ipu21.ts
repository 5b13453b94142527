import type { Target } from "./target.ts";

/**
 * Graphcore IPU21 (C600), as the public compiler osmarks/ipu-stack and its recorded trace show it.
 *
 * Sources: "IS" is osmarks/ipu-stack at ce7c7e94, "fit" a constant fitted to its recorded trace of an
 * attention block. docs/costs.md lists the fits.
 */
export const IPU21: Target = deepFreeze({
  name: "ipu21",
  tiles: 1472, // IS crates/ipu-target/src/topology.rs
  workers: 6, // IS crates/ipu-codegen/src/memory.rs
  clockHz: 1_500_000_000, // IS crates/ipu-cli/src/main.rs: default of --clock-hz, not measured
  memory: {
    base: 0x4c000, // IS crates/ipu-target/src/memory.rs
    bytes: 0x9c000, // the same: 624 KiB, up to 0xe8000
    firstData: 0x586e0, // IS crates/ipu-codegen/src/memory.rs: the end of runtimeState
    interleavedBase: 0x80000, // IS crates/ipu-target/src/memory.rs
    elementBytes: 0x4000, // the same
    interleavedElementBytes: 0x8000, // the same: interleave factor 2
    lastLoadable: 0xe7bb0, // the same
    codeLimit: 0x80000, // the same
    fetchLookAhead: 64, // the same
    exchangeWindow: { start: 0x50000, end: 0x58000 }, // IS crates/ipu-target/src/exchange.rs
    runtimeState: { start: 0x58000, end: 0x586e0 }, // IS crates/ipu-codegen/src/memory.rs
    bytesPerLoad: { standard: 8, interleaved: 16 }, // IS crates/ipu-codegen/src/cost.rs
    alignment: {
      gemmOperand: 32, // IS crates/ipu-codegen/src/operator.rs, place.rs
      attentionOperand: 8, // the same
      copy: 8, // IS crates/ipu-codegen/src/copy.rs
      exchange: 4, // IS crates/ipu-codegen/src/exchange.rs
      wideExchange: 8, // the same
      row: 0x4000, // IS crates/ipu-codegen/src/package.rs
    },
    leftSlack: { f16: 16, f32: 32 }, // IS crates/ipu-codegen/src/operator.rs
  },
  exchange: {
    bytesPerCycle: 4, // IS crates/ipu-codegen/src/cost.rs
    maxTransferWords: 4148, // IS crates/ipu-target/src/exchange.rs
    tilesPerRow: 64, // IS crates/ipu-target/src/topology.rs
    rows: 23, // the same
    // Closed form of the row builder in IS crates/ipu-target/src/exchange.rs; test/golden/routes.json
    receiveLatency: 53,
    receiveLatencyPerRow: 2,
    receiveTail: 5,
    minSenderEvents: 6,
    onlyReceiveSend: 112,
    earlyWriteWords: 52,
    wide: { minItems: 64, formatDelay: 51 },
  },
  timing: {
    sample: 90, // fit: exact on every copy of the trace
    launch: 54, // fit: exact on every copy of the trace
    cyclesPerBundle: 6, // six issue slots rotate: IS docs, and durations are multiples of 6
    // Fits, each to the cycle on all 13,249 ends of phases that the recorded profile has: docs/costs.md.
    barrier: 204,
    mixedBarrier: 1,
    inactiveLead: 6,
    patch: 74,
    patchPerReceive: 16,
    syncPerRow: 1,
    syncPerColumn: 4,
    entry: 2,
  },
  macsPerCycle: { f16: 64, f32: 16 }, // IS crates/ipu-codegen/src/cost.rs: 128 and 32 flop
  assumed: {
    roundingBase: "outside GEMM f16 results round to nearest even, and nothing traps",
    overflow: "f16 results beyond the range saturate at 65504",
    subnormals: "f16 subnormals are kept, on input and output",
    ampSum: "an AMP phase adds four exact products and the f32 accumulator, rounded once to f32",
    stochasticRounding: "unbiased, from the run's own generator: not the chip's random bits",
    elementary: "exp, tanh and reciprocal are correctly rounded in the dtype of their result",
    maxOfNaN: "a NaN score never becomes the maximum of its row",
    bankConflicts: "the placement avoids them: no cycles are added",
    gemmCosts: "the constants of a GEMM's time are fitted to five of its shapes",
    compiledKernels: "kernels compiled from C++ take the cycles that the trace shows",
    costs:
      "a kernel that is neither counted nor measured takes an estimate, or a sample scaled by its work",
    barriers:
      "the sync network's ways and constants are fitted to one program's phases, and unused tiles join in no sync",
    exchangeRepairs:
      "the order of a phase is repaired at most 2048 / transfers times, at least once",
    wideControls: "64-bit receives are controlled by selection, format, pointer and format again",
    uninitialised: "padding that nothing writes holds zeros",
  },
});

/** Where a byte lies: interleaved memory can be read 16 bytes at a time. */
export function memoryClassOf(target: Target, address: number): "standard" | "interleaved" {
  return address < target.memory.interleavedBase ? "standard" : "interleaved";
}

/**
 * Number of the memory element that holds byte `address`; elements rise with addresses. A tile must not
 * read and write one element at once (IS crates/ipu-target/src/memory.rs).
 */
export function elementOf(target: Target, address: number): number {
  const { interleavedBase, elementBytes, interleavedElementBytes } = target.memory;
  if (address < interleavedBase) return Math.floor(address / elementBytes);
  return (
    Math.ceil(interleavedBase / elementBytes) +
    Math.floor((address - interleavedBase) / interleavedElementBytes)
  );
}

function deepFreeze<T extends object>(data: T): T {
  for (const value of Object.values(data)) {
    if (typeof value === "object" && value !== null) deepFreeze(value as object);
  }
  return Object.freeze(data);
}
