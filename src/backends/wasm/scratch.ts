import { BackendError } from "../../base/errors.ts";

const PAGE = 65536;

/** Bytes behind the tiles in the shared memory: handed out once, or lent again and again by name. */
export class Scratch {
  readonly #memory: WebAssembly.Memory;
  readonly #lent = new Map<string, { at: number; bytes: number }>();
  #next: number;

  constructor(memory: WebAssembly.Memory) {
    this.#memory = memory;
    this.#next = memory.buffer.byteLength;
  }

  /** @returns a byte offset, a multiple of 64. @throws BackendError `OUT_OF_MEMORY` */
  allocate(bytes: number): number {
    const at = this.#next;
    const end = at + Math.ceil(bytes / 64) * 64;
    const missing = end - this.#memory.buffer.byteLength;
    if (missing > 0) {
      try {
        this.#memory.grow(Math.ceil(missing / PAGE));
      } catch (cause) {
        throw new BackendError(
          "OUT_OF_MEMORY",
          {
            what: `no room for ${bytes} B of working memory beside the tiles`,
            where: { backend: "wasm", bytes },
            fix: "Run fewer tiles or the reference backend",
          },
          { cause },
        );
      }
    }
    this.#next = end;
    return at;
  }

  /** The same place each time, moved where it must grow; what was there is lost then. */
  lend(name: string, bytes: number): number {
    const lent = this.#lent.get(name);
    if (lent && lent.bytes >= bytes) return lent.at;
    const at = this.allocate(bytes);
    this.#lent.set(name, { at, bytes });
    return at;
  }
}
