import { InternalError } from "../../base/errors.ts";
import type { Backend, MemoryMap } from "../../kernels/backend.ts";
import type { KernelCall } from "../../kernels/call.ts";
import type { Transfer } from "../../kernels/exchange.ts";
import { kernelOf } from "../../kernels/registry.ts";
import type { Numerics } from "../../numerics/rounding.ts";
import { operandView } from "../operand-view.ts";

/** The definition at work: each kernel's reference, one call after another. Slow and obvious. */
export class ReferenceBackend implements Backend {
  readonly name = "reference";
  readonly description = "plain TypeScript, one thread";
  #map: MemoryMap | null = null;

  attach(map: MemoryMap): Promise<void> {
    this.#map = map;
    return Promise.resolve();
  }

  /** Remembers nothing. */
  memoryChanged(): void {}

  compute(calls: readonly KernelCall[], numerics: Numerics, step: number): Promise<void> {
    const map = this.#attached();
    for (const { spec, tiles, invocations } of calls) {
      const kernel = kernelOf(spec);
      const operands = kernel.operands(spec);
      for (const tile of tiles) {
        for (const { output, inputs } of invocations) {
          kernel.reference(
            spec,
            inputs.map((at, index) => operandView(map, tile, at, operands.inputs[index])),
            operandView(map, tile, output, operands.output),
            { ...numerics, tile, step },
          );
        }
      }
    }
    return Promise.resolve();
  }

  exchange(transfers: readonly Transfer[]): Promise<void> {
    const map = this.#attached();
    const payloads = transfers.map(({ source, address, words }) =>
      operandView(map, source, address, { bytes: 4 * words }).u8.slice(),
    );
    transfers.forEach(({ words, destinations }, index) => {
      for (const { tiles, address } of destinations) {
        for (const tile of tiles) {
          operandView(map, tile, address, { bytes: 4 * words }).u8.set(payloads[index]);
        }
      }
    });
    return Promise.resolve();
  }

  close(): Promise<void> {
    this.#map = null;
    return Promise.resolve();
  }

  #attached(): MemoryMap {
    if (this.#map) return this.#map;
    throw new InternalError("the reference backend has no tile memory");
  }
}
