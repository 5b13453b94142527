import type { MemoryMap } from "../kernels/backend.ts";
import type { Operand, OperandView } from "../kernels/kernel.ts";

/** An operand's bytes in one tile; checked with the schedule, so not here. */
export function operandView(
  { memory, origin, tileBytes, baseAddress }: MemoryMap,
  tile: number,
  address: number,
  { bytes }: Pick<Operand, "bytes">,
): OperandView {
  return viewOf(memory.buffer, origin + tile * tileBytes + (address - baseAddress), bytes);
}

/** Bytes of a buffer as each element type; words only where the start is aligned to them. */
export function viewOf(buffer: ArrayBufferLike, start: number, bytes: number): OperandView {
  return {
    u8: new Uint8Array(buffer, start, bytes),
    u16: new Uint16Array(buffer, start, start % 2 === 0 ? bytes >> 1 : 0),
    f32: start % 4 === 0 ? new Float32Array(buffer, start, bytes >> 2) : new Float32Array(0),
  };
}
