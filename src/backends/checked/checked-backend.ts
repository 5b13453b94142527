import type { Finding } from "../../base/errors.ts";
import type { Address, TileId } from "../../base/units.ts";
import type { Backend, MemoryMap } from "../../kernels/backend.ts";
import type { KernelCall } from "../../kernels/call.ts";
import type { Transfer } from "../../kernels/exchange.ts";
import type { OperandView } from "../../kernels/kernel.ts";
import { kernelOf } from "../../kernels/registry.ts";
import type { Numerics } from "../../numerics/rounding.ts";
import { operandView, viewOf } from "../operand-view.ts";

/** Findings that are kept; more of one kind tell nothing new. */
const MOST_FINDINGS = 20;

/**
 * Another backend, watched: of each call of each step one tile is also computed by the reference kernel, on
 * what the operands were before, and its whole output is compared bit by bit.
 */
export class CheckedBackend implements Backend {
  readonly name: string;
  readonly description: string;
  readonly findings: Finding[] = [];
  readonly #inner: Backend;
  #map: MemoryMap | null = null;

  constructor(inner: Backend) {
    this.#inner = inner;
    this.name = inner.name;
    this.description = `${inner.description}, checked`;
  }

  async attach(map: MemoryMap): Promise<void> {
    this.#map = map;
    await this.#inner.attach(map);
  }

  memoryChanged(address: number, bytes: number): void {
    this.#inner.memoryChanged(address, bytes);
  }

  async compute(calls: readonly KernelCall[], numerics: Numerics, step: number): Promise<void> {
    const map = this.#map;
    const watched = map ? calls.map((call) => watch(map, call, numerics, step)) : [];
    await this.#inner.compute(calls, numerics, step);
    for (const compare of watched) {
      const finding = compare();
      if (finding && this.findings.length < MOST_FINDINGS) this.findings.push(finding);
    }
  }

  async exchange(transfers: readonly Transfer[]): Promise<void> {
    await this.#inner.exchange(transfers);
  }

  async close(): Promise<void> {
    await this.#inner.close();
  }
}

/** Computes one tile of a call by the reference; what comes back compares the tile's memory with it. */
function watch(
  map: MemoryMap,
  call: KernelCall,
  numerics: Numerics,
  step: number,
): () => Finding | null {
  const { spec, tiles, invocations } = call;
  const kernel = kernelOf(spec);
  const operands = kernel.operands(spec);
  // Not always the first: tiles at the ends of a grid are special.
  const tile = tiles[step % tiles.length];
  const wanted = invocations.map(({ output, inputs }) => {
    const copies = inputs.map((at, index) =>
      copyOf(operandView(map, tile, at, operands.inputs[index])),
    );
    const want = copyOf(operandView(map, tile, output, operands.output));
    kernel.reference(spec, copies, want, { ...numerics, tile, step });
    return { at: output, want };
  });
  return () => {
    for (const { at, want } of wanted) {
      const got = operandView(map, tile, at, operands.output);
      const byte = want.u8.findIndex((value, index) => value !== got.u8[index]);
      if (byte >= 0) return differs(call, tile, at, byte, step);
    }
    return null;
  };
}

function copyOf({ u8 }: OperandView): OperandView {
  return viewOf(u8.slice().buffer, 0, u8.length);
}

function differs(
  { kernel }: KernelCall,
  tile: TileId,
  at: Address,
  byte: number,
  step: number,
): Finding {
  return {
    code: "BACKEND_DIFFERS",
    severity: "error",
    what: `${kernel} gave other bits than the reference, first at byte ${byte} of its output`,
    where: { step, tile, kernel, address: at + byte },
    fix: "Run with --backend reference, and report the command",
  };
}
