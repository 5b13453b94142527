import type { GemmSpec } from "../../kernels/spec.ts";
import type { Landings } from "./landings.ts";
import { OPERATION, RECORD_WORDS } from "./records.ts";

/** One f16 GEMM, its operands at byte offsets of the shared memory. */
export interface GemmCall {
  readonly spec: GemmSpec;
  readonly tile: number;
  readonly output: number;
  readonly left: number;
  readonly right: number;
}

/** An operand that at least one call reads. Operands of the same bytes are one. */
export interface SharedOperand {
  readonly side: "left" | "right";
  /** Where its bytes are: those of the first call that has it. */
  readonly at: number;
  readonly spec: GemmSpec;
  /** Calls that read it. */
  users: number;
}

/** Compares runs of bytes: for each, whether they are the same. */
export type Compare = (runs: readonly Run[]) => Promise<readonly boolean[]>;

/** Two places of the shared memory, and bytes from there on. */
export interface Run {
  readonly a: number;
  readonly b: number;
  readonly bytes: number;
}

/** Words that a fingerprint samples, evenly over the operand. */
const SAMPLES = 16;

/**
 * For each call the operand of one side, shared by the calls that hold the same bytes: after a multicast many
 * tiles do, and what is packed for one serves all. That they are the same is known where one exchange, just
 * done, brought both from one place (`landings`), and compared byte by byte elsewhere; fingerprints only choose
 * whom to compare with.
 */
export async function findShared(
  calls: readonly GemmCall[],
  side: "left" | "right",
  words: Uint32Array,
  landings: Landings | null,
  compare: Compare,
): Promise<SharedOperand[]> {
  const first = new Map<string, SharedOperand>();
  const operands: SharedOperand[] = [];
  const runs: Run[] = [];
  /** The call that each run is of. */
  const owners: number[] = [];
  calls.forEach((call, index) => {
    const at = call[side];
    const { rows, innerBlock, outputColumns } = call.spec;
    const elements = innerBlock * (side === "left" ? rows : outputColumns);
    const key = `${rows}:${innerBlock}:${outputColumns}:${fingerprint(words, at, elements)}`;
    const known = first.get(key);
    if (!known) {
      operands[index] = { side, at, spec: call.spec, users: 0 };
      first.set(key, operands[index]);
      return;
    }
    operands[index] = known;
    for (const run of unsure(known.at, at, elements * 2, landings)) {
      runs.push(run);
      owners.push(index);
    }
  });
  const isSame = await compare(runs);
  const others = new Set(owners.filter((_, run) => !isSame[run]));
  for (const call of others) {
    operands[call] = { side, at: calls[call][side], spec: calls[call].spec, users: 0 };
  }
  for (const operand of operands) operand.users++;
  return operands;
}

/** The parts of two operands that are not known to be copies of the same bytes. */
function unsure(a: number, b: number, bytes: number, landings: Landings | null): Run[] {
  if (a === b) return [];
  if (!landings) return [{ a, b, bytes }];
  const runs: Run[] = [];
  const inA = landings.resolve(a, bytes);
  const inB = landings.resolve(b, bytes);
  let [i, j] = [0, 0];
  for (let done = 0; done < bytes;) {
    const end = Math.min(inA[i].end, inB[j].end);
    if (inA[i].shift !== inB[j].shift) runs.push({ a: a + done, b: b + done, bytes: end - done });
    done = end;
    if (inA[i].end === end) i++;
    if (inB[j].end === end) j++;
  }
  return runs;
}

/** A hash of sampled words. */
function fingerprint(words: Uint32Array, at: number, elements: number): number {
  const start = at >> 2;
  const count = elements >> 1;
  let hash = 0;
  for (let sample = 0; sample < SAMPLES; sample++) {
    const index = Math.floor((sample * (count - 1)) / (SAMPLES - 1));
    hash = Math.imul(hash ^ words[start + index], 0x9e3779b1);
    hash ^= hash >>> 15;
  }
  return hash;
}

/** Bytes of an operand once packed, a multiple of 64: see packedLeftBytes in assembly/gemm.ts. */
export function packedBytes({ side, spec }: SharedOperand): number {
  const across = side === "left" ? spec.rows : spec.outputColumns;
  return Math.ceil((4 * across * (spec.innerBlock + spec.innerBlock / 16)) / 64) * 64 + 64;
}

/** The record that packs an operand to `target`. */
export function packRecord({ side, at, spec }: SharedOperand, target: number): readonly number[] {
  return side === "left"
    ? [OPERATION.packLeft, target, at, 0, spec.rows, spec.innerBlock]
    : [OPERATION.packRight, target, at, 0, spec.innerBlock, spec.outputColumns];
}

/** Records, each padded to its fixed length, one after another. */
export function concatenate(records: readonly (readonly number[])[]): Int32Array {
  const all = new Int32Array(records.length * RECORD_WORDS);
  records.forEach((record, index) => all.set(record, index * RECORD_WORDS));
  return all;
}
