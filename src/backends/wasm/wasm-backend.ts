import { InternalError } from "../../base/errors.ts";
import type { Backend, MemoryMap } from "../../kernels/backend.ts";
import type { KernelCall } from "../../kernels/call.ts";
import type { Transfer } from "../../kernels/exchange.ts";
import type { GemmSpec, KernelSpec } from "../../kernels/spec.ts";
import { MICRO, offset } from "../../layouts/order.ts";
import { absorb, scramble } from "../../numerics/random.ts";
import type { Numerics } from "../../numerics/rounding.ts";
import { expTable, tanhTable } from "../../numerics/tables.ts";
import { loadEngine, type Simd } from "./engine.ts";
import { exchangeRecords } from "./exchange-records.ts";
import { Landings, offsetOf } from "./landings.ts";
import { inGroups, Pool, type Work } from "./pool.ts";
import { OPERATION, recordOf, type StoredShape, type Tables } from "./records.ts";
import { Scratch } from "./scratch.ts";
import { overlap, writtenByCalls, writtenByTransfers, type AddressSpan } from "./spans.ts";
import {
  concatenate,
  findShared,
  packedBytes,
  packRecord,
  type GemmCall,
  type Run,
  type SharedOperand,
} from "./shared-operands.ts";

export interface WasmOptions {
  /** Threads that compute, the main one among them. */
  readonly threads?: number;
  readonly simd?: "auto" | Simd;
}

/** SIMD code for every kernel, on one or several threads, to the bits of the reference. */
export function createWasmBackend(options: WasmOptions = {}): Backend {
  return new WasmBackend(options);
}

interface KnownOperands {
  readonly operands: readonly SharedOperand[];
  /** Addresses that they lie between. */
  readonly span: AddressSpan;
}

/** Records that a thread takes at a time: small against a step, large against the cost of taking them. */
const GROUP = { plain: 16, gemm: 4, copies: 64, compare: 16, pack: 1 };
/** Packed operands kept for one step; calls beyond it pack their own. */
const MOST_PACKED_BYTES = 256 * 2 ** 20;

interface Attached {
  readonly map: MemoryMap;
  readonly scratch: Scratch;
  readonly pool: Pool;
  readonly tables: Tables;
}

class WasmBackend implements Backend {
  readonly name = "wasm";
  readonly description: string;
  readonly #threads: number;
  readonly #engine: ReturnType<typeof loadEngine>;
  readonly #work = new WeakMap<object, Map<string, Work>>();
  readonly #offsets = new Map<string, number>();
  readonly #written = new WeakMap<object, AddressSpan[]>();
  readonly #landings = new WeakMap<object, Landings>();
  /** Operands of calls that are known to be shared, until something is written to their addresses. */
  readonly #shared = new Map<object, Map<string, KnownOperands>>();
  /** The exchange that was just done; null where anything happened since, or it wrote over its sources. */
  #justLanded: readonly Transfer[] | null = null;
  #attached: Attached | null = null;

  constructor({ threads = 1, simd = "auto" }: WasmOptions) {
    this.#engine = loadEngine(simd);
    this.#threads = threads;
    const plural = threads === 1 ? "1 thread" : `${threads} threads`;
    this.description = `SIMD ${this.#engine.simd}, ${plural}`;
  }

  async attach(map: MemoryMap): Promise<void> {
    await this.close();
    const scratch = new Scratch(map.memory);
    const pool = new Pool(this.#engine, map.memory, scratch, this.#threads);
    const tableAt = (table: Uint16Array): number => {
      const at = scratch.allocate(table.byteLength);
      new Uint16Array(map.memory.buffer, at, table.length).set(table);
      return at;
    };
    const tables: Tables = {
      exp: tableAt(expTable()),
      tanh: tableAt(tanhTable()),
      offsets: (matrix, rows, columns) => this.#offsetTable(matrix, rows, columns),
    };
    this.#attached = { map, scratch, pool, tables };
  }

  async compute(calls: readonly KernelCall[], numerics: Numerics, step: number): Promise<void> {
    const { pool } = this.#ready();
    const isPacked = ({ spec }: KernelCall): boolean => isHalfGemm(spec);
    const gemms = calls.filter(isPacked);
    const others = gemms.length === 0 ? calls : calls.filter((call) => !isPacked(call));
    if (others.length > 0) await pool.run(this.#plainWork(calls, others, numerics));
    if (gemms.length > 0) await this.#runGemms(calls, gemms, numerics, step);
    this.#justLanded = null;
    this.#forget(this.#writtenBy(calls, () => writtenByCalls(calls)));
  }

  memoryChanged(address: number, bytes: number): void {
    this.#justLanded = null;
    this.#forget([{ start: address, end: address + bytes }]);
  }

  async exchange(transfers: readonly Transfer[]): Promise<void> {
    const { map, pool, scratch } = this.#ready();
    const cached = this.#cached(transfers);
    let copies = cached.get("copies");
    if (!copies) {
      const { staged, records } = exchangeRecords(transfers, map, (bytes) =>
        scratch.allocate(bytes),
      );
      copies = inGroups(records, GROUP.copies);
      cached.set("copies", copies);
      cached.set("staged", inGroups(staged, GROUP.copies));
    }
    const staged = cached.get("staged");
    if (staged) await pool.run(staged);
    await pool.run(copies);
    this.#justLanded = staged && staged.records.length > 0 ? null : transfers;
    this.#forget(this.#writtenBy(transfers, () => writtenByTransfers(transfers)));
  }

  #writtenBy(step: object, find: () => AddressSpan[]): AddressSpan[] {
    let written = this.#written.get(step);
    if (!written) this.#written.set(step, (written = find()));
    return written;
  }

  /** Drops what is known of operands at addresses that were written. */
  #forget(written: readonly AddressSpan[]): void {
    for (const known of this.#shared.values()) {
      for (const [name, { span }] of known) if (overlap(written, span)) known.delete(name);
    }
  }

  async close(): Promise<void> {
    await this.#attached?.pool.close();
    this.#attached = null;
    this.#justLanded = null;
    this.#offsets.clear();
    this.#shared.clear();
  }

  #ready(): Attached {
    if (this.#attached) return this.#attached;
    throw new InternalError("the wasm backend has no tile memory");
  }

  #cached(key: object): Map<string, Work> {
    let cached = this.#work.get(key);
    if (!cached) this.#work.set(key, (cached = new Map<string, Work>()));
    return cached;
  }

  /** Records that depend on nothing but the calls and the rounding: made once. */
  #plainWork(key: object, calls: readonly KernelCall[], numerics: Numerics): Work {
    const { tables } = this.#ready();
    const cached = this.#cached(key);
    const name = `${numerics.rounding} ${numerics.overflow}`;
    let work = cached.get(name);
    if (!work) {
      const records: (readonly number[])[] = [];
      // Invocations of one call on one tile run in order: they stay in one group.
      const starts: number[] = [];
      let since = GROUP.plain;
      for (const { spec, tiles, invocations } of calls) {
        for (const tile of tiles) {
          if (since >= GROUP.plain) {
            starts.push(records.length);
            since = 0;
          }
          const at = (address: number): number => this.#byteOffset(tile, address);
          for (const { output, inputs } of invocations) {
            const made = recordOf(spec, at(output), inputs.map(at), numerics, tables);
            records.push(...made);
            since += made.length;
          }
        }
      }
      work = {
        records: concatenate(records),
        starts: Uint32Array.from([...starts, records.length]),
      };
      cached.set(name, work);
    }
    return work;
  }

  #byteOffset(tile: number, address: number): number {
    return offsetOf(this.#ready().map, tile, address);
  }

  /** The calls of f16 GEMMs, tile by tile; several invocations of one tile stay in order. */
  async #runGemms(
    key: object,
    calls: readonly KernelCall[],
    numerics: Numerics,
    step: number,
  ): Promise<void> {
    const most = Math.max(...calls.map(({ invocations }) => invocations.length));
    for (let turn = 0; turn < most; turn++) {
      const gemms: GemmCall[] = [];
      for (const { spec, tiles, invocations } of calls) {
        if (turn >= invocations.length || !isHalfGemm(spec)) continue;
        const { output, inputs } = invocations[turn];
        for (const tile of tiles) {
          gemms.push({
            spec,
            tile,
            output: this.#byteOffset(tile, output),
            left: this.#byteOffset(tile, inputs[0]),
            right: this.#byteOffset(tile, inputs[1]),
          });
        }
      }
      // A turn reads what the one before may have written: nothing is known across turns.
      await this.#runGemmTurn(most === 1 ? key : null, gemms, numerics, step);
    }
  }

  async #sharedOperands(
    key: object | null,
    gemms: readonly GemmCall[],
    side: "left" | "right",
  ): Promise<readonly SharedOperand[]> {
    const { map } = this.#ready();
    const known = key === null ? undefined : this.#shared.get(key)?.get(side);
    if (known) return known.operands;
    const words = new Uint32Array(map.memory.buffer);
    const operands = await findShared(
      gemms,
      side,
      words,
      key === null ? null : this.#landingsNow(),
      (runs) => this.#compare(runs),
    );
    if (key !== null) {
      const addresses = gemms.map((call) => this.#addressOf(call[side], call.tile));
      const bytes = Math.max(
        ...gemms.map(({ spec }) => 2 * spec.innerBlock * Math.max(spec.rows, spec.outputColumns)),
      );
      const span = { start: Math.min(...addresses), end: Math.max(...addresses) + bytes };
      const sides = this.#shared.get(key) ?? new Map<string, KnownOperands>();
      this.#shared.set(key, sides.set(side, { operands, span }));
    }
    return operands;
  }

  #addressOf(at: number, tile: number): number {
    const { origin, tileBytes, baseAddress } = this.#ready().map;
    return at - origin - tile * tileBytes + baseAddress;
  }

  /** Where bytes came from in the exchange just done; null where that tells nothing. */
  #landingsNow(): Landings | null {
    const transfers = this.#justLanded;
    if (!transfers) return null;
    let landings = this.#landings.get(transfers);
    if (!landings) {
      landings = new Landings(transfers, this.#ready().map);
      this.#landings.set(transfers, landings);
    }
    return landings;
  }

  async #compare(runs: readonly Run[]): Promise<readonly boolean[]> {
    const { map, pool, scratch } = this.#ready();
    if (runs.length === 0) return [];
    const flags = scratch.lend("flags", runs.length * 4);
    const records = runs.map(({ a, b, bytes }, index) => [
      OPERATION.same,
      a,
      b,
      flags + 4 * index,
      bytes,
    ]);
    await pool.run(inGroups(concatenate(records), GROUP.compare));
    const results = new Int32Array(map.memory.buffer, flags, runs.length);
    return Array.from(results, (result) => result !== 0);
  }

  async #runGemmTurn(
    key: object | null,
    gemms: readonly GemmCall[],
    numerics: Numerics,
    step: number,
  ): Promise<void> {
    const { pool, scratch } = this.#ready();
    const lefts = await this.#sharedOperands(key, gemms, "left");
    const rights = await this.#sharedOperands(key, gemms, "right");

    // What several calls read is packed once; the rest by its one call, on the fly.
    const packed = new Map<SharedOperand, number>();
    let bytes = 0;
    for (const operand of new Set([...rights, ...lefts])) {
      const size = packedBytes(operand);
      if (operand.users < 2 || bytes + size > MOST_PACKED_BYTES) continue;
      packed.set(operand, bytes);
      bytes += size;
    }
    const start = scratch.lend("packed", bytes);
    const packs = [...packed].map(([operand, at]) => packRecord(operand, start + at));
    await pool.run(inGroups(concatenate(packs), GROUP.pack));

    const operation = {
      nearest: OPERATION.gemmNearest,
      exact: OPERATION.gemmExact,
      stochastic: OPERATION.gemmStochastic,
    }[numerics.rounding];
    const nan = Number(numerics.overflow === "nan");
    const hash = scramble(numerics.seed);
    const records = gemms.map(({ spec, tile, output, left, right }, index) => {
      const packedLeft = packed.get(lefts[index]);
      const packedRight = packed.get(rights[index]);
      return [
        operation,
        output,
        packedLeft === undefined ? left : start + packedLeft,
        packedRight === undefined ? right : start + packedRight,
        spec.rows,
        spec.innerBlock,
        spec.outputColumns,
        Number(spec.mode === "accumulate"),
        nan,
        Number(packedLeft !== undefined),
        Number(packedRight !== undefined),
        absorb(absorb(hash, tile), step),
      ];
    });
    // Neighbours share what is in the cache.
    const order = records.map((_, index) => index);
    order.sort((a, b) => records[a][3] - records[b][3] || records[a][2] - records[b][2]);
    await pool.run(inGroups(concatenate(order.map((index) => records[index])), GROUP.gemm));
  }

  #offsetTable({ order, rows, columns }: StoredShape, listRows: number, listCols: number): number {
    const { map, scratch } = this.#ready();
    const key = JSON.stringify([order, rows, columns, listRows, listCols]);
    let at = this.#offsets.get(key);
    if (at === undefined) {
      at = scratch.allocate(4 * (listRows + listCols));
      const table = new Uint32Array(map.memory.buffer, at, listRows + listCols);
      for (let row = 0; row < listRows; row++) {
        table[row] = offset(order, rows, columns, row, 0, MICRO.f16);
      }
      for (let col = 0; col < listCols; col++) {
        table[listRows + col] = offset(order, rows, columns, 0, col, MICRO.f16);
      }
      this.#offsets.set(key, at);
    }
    return at;
  }
}

function isHalfGemm(spec: KernelSpec): spec is GemmSpec {
  return spec.kind === "gemm" && spec.multiply === "f16";
}
