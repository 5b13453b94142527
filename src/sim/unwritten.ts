import type { Finding, Place } from "../base/errors.ts";
import { BYTES_PER_ELEMENT } from "../numerics/dtype.ts";
import { elementsOf } from "../layouts/order.ts";
import { extentsOf } from "../layouts/resolve.ts";
import type { KernelCall } from "../kernels/call.ts";
import type { Transfer } from "../kernels/exchange.ts";
import { kernelOf } from "../kernels/registry.ts";
import type { KernelSpec } from "../kernels/spec.ts";
import { ByteSet } from "./byte-set.ts";
import { distinctShards, visitRows } from "./host-io.ts";
import type { Binding, Schedule, Step } from "./schedule.ts";
import { hex } from "./tile-memory.ts";

/**
 * What a sound schedule reads of memory that nothing wrote before: a warning for all its steps together, and one for
 * each output. Found from addresses alone. What a call or a transfer writes counts as written though it comes of
 * bytes that were not, and so do the gaps of a strided copy.
 */
export function unwrittenReads(schedule: Schedule): Finding[] {
  const written = Array.from({ length: schedule.tiles }, () => new ByteSet());
  const reads: UnwrittenRead[] = [];
  for (const input of schedule.inputs) {
    for (const { shard, tiles } of distinctShards(input)) {
      const end = input.address + elementsOf(extentsOf(shard)) * BYTES_PER_ELEMENT[input.dtype];
      for (const tile of tiles) written[tile].add(input.address, end);
    }
  }
  const visit = (steps: readonly Step[], path: string): void => {
    steps.forEach((step, index) => {
      const at = `${path}${index}`;
      if (path === "") fillBuffers(schedule, index, written);
      if (step.kind === "compute") visitCalls(step.calls, at, written, reads);
      else if (step.kind === "exchange") visitTransfers(step.transfers, at, written, reads);
      else if (step.times > 0) visit(step.body, `${at}.`);
    });
  };
  visit(schedule.steps, "");
  return [
    ...stepFindings(reads),
    ...schedule.outputs.flatMap((output) => outputFindings(output, written)),
  ];
}

interface UnwrittenRead {
  readonly what: string;
  readonly where: Place;
}

const FIX = "Write it first: the chip would read what was there before, where this run reads zeros";

function stepFindings(reads: readonly UnwrittenRead[]): Finding[] {
  if (reads.length === 0) return [];
  const [{ what, where }] = reads;
  const others = reads.length === 1 ? "" : `; the first of ${reads.length} such reads`;
  return [
    {
      code: "UNWRITTEN_READ",
      severity: "warning",
      what: `${what}, which nothing wrote${others}`,
      where,
      fix: FIX,
    },
  ];
}

/** Buffers that are zero-filled before a step. */
function fillBuffers({ buffers }: Schedule, step: number, written: readonly ByteSet[]): void {
  for (const { zeroFilled, firstStep, tiles, address, bytes } of buffers) {
    if (!zeroFilled || Math.max(0, firstStep) !== step) continue;
    for (const tile of tiles) written[tile].add(address, address + bytes);
  }
}

function visitCalls(
  calls: readonly KernelCall[],
  step: string,
  written: readonly ByteSet[],
  reads: UnwrittenRead[],
): void {
  for (const { kernel, spec, tiles, invocations } of calls) {
    const { inputs, output } = kernelOf(spec).operands(spec);
    for (const places of invocations) {
      const operands = inputs.map((operand, index) => ({ operand, at: places.inputs[index] }));
      if (readsOutput(spec)) operands.push({ operand: output, at: places.output });
      for (const tile of tiles) {
        for (const { operand, at } of operands) {
          const address = firstUnwritten(spec, at, operand.bytes, written[tile]);
          if (address === null) continue;
          reads.push({
            what: `${kernel} reads ${operand.name} of tile ${tile} at ${hex(address)}`,
            where: { step, tile, address, kernel },
          });
        }
        written[tile].add(places.output, places.output + output.bytes);
      }
    }
  }
}

function readsOutput(spec: KernelSpec): boolean {
  return (
    (spec.kind === "gemm" && spec.mode === "accumulate") ||
    (spec.kind === "attention-merge" && !spec.initial)
  );
}

/** Where an operand is not written; null: nowhere. */
function firstUnwritten(
  spec: KernelSpec,
  at: number,
  bytes: number,
  written: ByteSet,
): number | null {
  if (spec.kind !== "copy" || spec.rows === 1) return written.firstMissing(at, at + bytes);
  for (let row = 0; row < spec.rows; row++) {
    const start = at + row * spec.sourceStride;
    const missing = written.firstMissing(start, start + spec.bytes / spec.rows);
    if (missing !== null) return missing;
  }
  return null;
}

function visitTransfers(
  transfers: readonly Transfer[],
  step: string,
  written: readonly ByteSet[],
  reads: UnwrittenRead[],
): void {
  transfers.forEach(({ source, address, words }, transfer) => {
    const missing = written[source].firstMissing(address, address + 4 * words);
    if (missing === null) return;
    reads.push({
      what: `transfer ${transfer} reads tile ${source} at ${hex(missing)}`,
      where: { step, tile: source, address: missing, transfer },
    });
  });
  for (const { words, destinations } of transfers) {
    for (const { tiles, address } of destinations) {
      for (const tile of tiles) written[tile].add(address, address + 4 * words);
    }
  }
}

function outputFindings(output: Binding, written: readonly ByteSet[]): Finding[] {
  const { name, address, dtype, shape } = output;
  const size = BYTES_PER_ELEMENT[dtype];
  let count = 0;
  let first = -1;
  for (const { shard, tiles } of distinctShards(output)) {
    const bytes = written[tiles[0]];
    const end = address + elementsOf(extentsOf(shard)) * size;
    if (bytes.firstMissing(address, end) === null) continue;
    // Some of it: padding, perhaps, which nobody reads.
    visitRows(output, shard, (hostStart, storedStart, columns) => {
      for (let col = 0; col < columns.length; col++) {
        const at = address + (storedStart + columns[col]) * size;
        if (bytes.firstMissing(at, at + size) === null) continue;
        count++;
        const element = hostStart + col;
        if (first < 0 || element < first) first = element;
      }
    });
  }
  if (count === 0) return [];
  return [
    {
      code: "UNWRITTEN_READ",
      severity: "warning",
      what: `${count} of ${elementsOf(shape)} elements of ${name} were never written, the first is ${first}`,
      where: { tensor: name, element: first, address },
      fix: FIX,
    },
  ];
}
