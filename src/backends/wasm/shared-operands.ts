import type { GemmSpec } from "../../kernels/spec.ts";
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

/** Calls with the operands that they share. */
export interface SharedCalls {
  readonly left: readonly SharedOperand[];
  readonly right: readonly SharedOperand[];
}

/** Compares pairs of byte runs: for each, whether they are the same. */
export type Compare = (
  pairs: readonly { readonly a: number; readonly b: number; readonly bytes: number }[],
) => Promise<readonly boolean[]>;

/** Words that a fingerprint samples, evenly over the operand. */
const SAMPLES = 16;

/**
 * Which calls hold the same operands, decided by their bytes: after a multicast many tiles do, and what is
 * packed for one serves all. Fingerprints only choose whom to compare with.
 */
export async function findShared(
  calls: readonly GemmCall[],
  words: Uint32Array,
  compare: Compare,
): Promise<SharedCalls> {
  const left = await findSide(calls, "left", words, compare);
  const right = await findSide(calls, "right", words, compare);
  return { left, right };
}

async function findSide(
  calls: readonly GemmCall[],
  side: "left" | "right",
  words: Uint32Array,
  compare: Compare,
): Promise<SharedOperand[]> {
  const first = new Map<string, SharedOperand>();
  const operands: SharedOperand[] = [];
  const pairs: { a: number; b: number; bytes: number; call: number }[] = [];
  calls.forEach((call, index) => {
    const at = call[side];
    const { rows, innerBlock, outputColumns } = call.spec;
    const elements = innerBlock * (side === "left" ? rows : outputColumns);
    const key = `${rows}:${innerBlock}:${outputColumns}:${fingerprint(words, at, elements)}`;
    const known = first.get(key);
    if (known) {
      operands[index] = known;
      if (known.at !== at) pairs.push({ a: known.at, b: at, bytes: elements * 2, call: index });
      return;
    }
    operands[index] = { side, at, spec: call.spec, users: 0 };
    first.set(key, operands[index]);
  });
  const isSame = await compare(pairs);
  pairs.forEach(({ call, b }, index) => {
    if (!isSame[index]) operands[call] = { side, at: b, spec: calls[call].spec, users: 0 };
  });
  for (const operand of operands) operand.users++;
  return operands;
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

/** Bytes of an operand once packed, a multiple of 64: its f32 values and their norms. */
export function packedBytes({ side, spec }: SharedOperand): number {
  const across = side === "left" ? spec.rows : spec.outputColumns;
  return Math.ceil((4 * across * (spec.innerBlock + spec.innerBlock / 16)) / 64) * 64;
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
