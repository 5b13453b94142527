import { checkMultiple, checkPositive, shapeMismatch } from "./checks.ts";
import { busiest, counted, perCall } from "./cost.ts";
import type { Kernel, Operand } from "./kernel.ts";
import type { CopySpec, FillZeroSpec } from "./spec.ts";
import type { Target } from "../target/target.ts";

/** Helper that moves a copy, by osmarks/ipu-stack's choice (crates/ipu-codegen/src/copy.rs, tile.rs). */
export type CopyHelper = "copy_u64" | "copy_strided_u64" | "copy_u32" | "copy_u16";

/** Bytes from which the workers do it, and up to which rows go in one strided call. */
const LEAST_U64 = 48;
const MOST_STRIDED = 512;

export function copyHelper({ bytes, rows, sourceStride, outputStride }: CopySpec): CopyHelper {
  const rowBytes = bytes / rows;
  const steps = rows > 1 ? rowBytes | sourceStride | outputStride : rowBytes;
  if (rows > 1 && steps % 8 === 0 && bytes <= MOST_STRIDED) return "copy_strided_u64";
  if (bytes >= LEAST_U64 && steps % 8 === 0) return "copy_u64";
  return steps % 4 === 0 ? "copy_u32" : "copy_u16";
}

/**
 * `bytes` moved within a tile, in `rows` of bytes / rows each, their starts `sourceStride` and
 * `outputStride` bytes apart. Bit exact: no number is looked at.
 */
export const copy: Kernel<CopySpec> = {
  check(spec) {
    checkPositive(spec, ["bytes", "rows", "sourceStride", "outputStride"]);
    checkMultiple(spec, "bytes", 2);
    const rowBytes = spec.bytes / spec.rows;
    if (!Number.isInteger(rowBytes) || rowBytes % 2 !== 0) {
      const fix = "Give rows of an even number of bytes";
      throw shapeMismatch(spec, `${spec.bytes} B do not make ${spec.rows} rows`, "rows", fix);
    }
    if (spec.rows > 1 && (spec.sourceStride < rowBytes || spec.outputStride < rowBytes)) {
      const fix = "Give strides of at least a row";
      throw shapeMismatch(spec, `rows of ${rowBytes} B overlap`, "sourceStride", fix);
    }
  },

  operands(spec) {
    const { bytes, rows, sourceStride, outputStride } = spec;
    const span = (stride: number): number => (rows - 1) * stride + bytes / rows;
    const alignment = { copy_u64: 8, copy_strided_u64: 8, copy_u32: 4, copy_u16: 2 }[
      copyHelper(spec)
    ];
    const operand = (name: string, stride: number): Operand => ({
      name,
      dtype: "f16",
      bytes: span(stride),
      alignment,
    });
    return {
      output: operand("output", outputStride),
      inputs: [operand("input", sourceStride)],
      outputMayAlias: [],
      apart: [],
    };
  },

  cost(spec, invocations, target) {
    const calls = countedCalls(spec, target);
    if (calls) return counted(target, invocations * calls.calls, calls.bundles);
    // Supervisor loops. By words: load, store and branch, and setup; by halves over pairs of addresses: two loads
    // of addresses, a read-modify-write.
    const { bytes } = spec;
    const call = copyHelper(spec) === "copy_u32" ? 20 + 3 * (bytes / 4) : 20 + 8 * (bytes / 2);
    return perCall(target, invocations, call, "assumed");
  },

  reference({ bytes, rows, sourceStride, outputStride }, [input], output) {
    const rowBytes = bytes / rows;
    for (let row = 0; row < rows; row++) {
      for (let i = 0; i < rowBytes; i++) {
        output.u8[row * outputStride + i] = input.u8[row * sourceStride + i];
      }
    }
  },
};

/** Calls of the workers that a copy or a fill makes, each of so many bundles; null where no count is known. */
export function countedCalls(
  spec: CopySpec | FillZeroSpec,
  target: Target,
): { readonly calls: number; readonly bundles: number } | null {
  const words = spec.bytes / 8;
  if (spec.kind === "fill-zero") return { calls: 1, bundles: fillBundles(spec.bytes, target) };
  const { rows } = spec;
  switch (copyHelper(spec)) {
    case "copy_u64":
      // Rows too long for one strided call are a call each.
      return { calls: rows, bundles: 17 + 2 * busiest(words / rows, target) };
    case "copy_strided_u64":
      return { calls: 1, bundles: 24 + busiest(rows, target) * (6 + (6 * words) / rows) };
    default:
      return null;
  }
}

/** Zeros over `bytes`, a multiple of 8. */
export const fillZero: Kernel<FillZeroSpec> = {
  check(spec) {
    checkPositive(spec, ["bytes"]);
    checkMultiple(spec, "bytes", 8);
  },

  operands({ bytes }) {
    return {
      output: { name: "output", dtype: "f16", bytes, alignment: 8 },
      inputs: [],
      outputMayAlias: [],
      apart: [],
    };
  },

  cost({ bytes }, invocations, target) {
    return counted(target, invocations, fillBundles(bytes, target));
  },

  reference({ bytes }, _inputs, output) {
    for (let i = 0; i < bytes; i++) output.u8[i] = 0;
  },
};

function fillBundles(bytes: number, target: Target): number {
  return 15 + busiest(bytes / 8, target);
}
