import type { KernelCall } from "../../kernels/call.ts";
import type { Transfer } from "../../kernels/exchange.ts";
import { kernelOf } from "../../kernels/registry.ts";

/** Addresses [start, end) of any tile. */
export interface AddressSpan {
  readonly start: number;
  readonly end: number;
}

/** Addresses that a compute step may write, on any of its tiles. */
export function writtenByCalls(calls: readonly KernelCall[]): AddressSpan[] {
  const spans = calls.flatMap(({ spec, invocations }) => {
    const { bytes } = kernelOf(spec).operands(spec).output;
    return invocations.map(({ output }) => ({ start: output, end: output + bytes }));
  });
  return merged(spans);
}

/** Addresses that an exchange writes, on any of its tiles. */
export function writtenByTransfers(transfers: readonly Transfer[]): AddressSpan[] {
  return merged(
    transfers.flatMap(({ words, destinations }) =>
      destinations.map(({ address }) => ({ start: address, end: address + 4 * words })),
    ),
  );
}

export function overlap(spans: readonly AddressSpan[], { start, end }: AddressSpan): boolean {
  return spans.some((span) => span.start < end && start < span.end);
}

/** The same addresses in as few spans as it takes. */
function merged(spans: readonly AddressSpan[]): AddressSpan[] {
  const all: { start: number; end: number }[] = [];
  for (const { start, end } of spans.toSorted((a, b) => a.start - b.start)) {
    const last = all.at(-1);
    if (last && start <= last.end) last.end = Math.max(last.end, end);
    else all.push({ start, end });
  }
  return all;
}
