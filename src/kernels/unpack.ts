import { BYTES_PER_ELEMENT } from "../numerics/dtype.ts";
import { MICRO, matricesOf, offset } from "../layouts/order.ts";
import type { Order } from "../layouts/layout.ts";
import { checkMultiple, checkPositive, shapeMismatch } from "./checks.ts";
import { busiest, perCall } from "./cost.ts";
import type { Cost, Kernel } from "./kernel.ts";
import type { MatrixExtents, RearrangeSpec, UnpackSpec } from "./spec.ts";
import type { Target } from "../target/target.ts";

/**
 * out[r*C + c] = r and c logical ? in[offset(r, c)] : 0 for every stored r and c of each matrix, C the
 * stored columns (osmarks/ipu-stack, device/unpack_amp_f16.cpp). Bit moves: no rounding.
 */
export const unpack: Kernel<UnpackSpec> = {
  check(spec) {
    checkExtents(spec);
    checkMultiple(spec, spec.order.kind === "amp-output" ? "physicalColumns" : "physicalRows", 16);
  },

  operands(spec) {
    return moveOperands(storedElements(spec), storedElements(spec));
  },

  cost(spec, invocations, target) {
    const { matrices, logicalRows, physicalRows, physicalColumns } = spec;
    // Compiled from C++: its time is measured, at 16 x 72, and scaled by the elements of the busiest worker.
    const isPartial = logicalRows < physicalRows;
    const measured = isPartial ? 11838 : 11586;
    const rows = busiest(matrices * physicalRows, target);
    const isMeasured =
      physicalRows === 16 &&
      physicalColumns === 72 &&
      matrices === 1 &&
      (logicalRows === 16 || logicalRows === 9);
    return scaled(target, invocations, measured, (rows * physicalColumns) / (3 * 72), isMeasured);
  },

  reference(spec, [input], output) {
    const { matrices, logicalRows, physicalRows, logicalColumns, physicalColumns } = spec;
    const packed = indexIn(spec.order, spec);
    for (let matrix = 0; matrix < matrices; matrix++) {
      for (let r = 0; r < physicalRows; r++) {
        for (let c = 0; c < physicalColumns; c++) {
          const isLogical = r < logicalRows && c < logicalColumns;
          output.u16[(matrix * physicalRows + r) * physicalColumns + c] = isLogical
            ? input.u16[packed(matrix, r, c)]
            : 0;
        }
      }
    }
  },
};

/**
 * out[offset(r, c)] = r and c logical ? in[r*logicalColumns + c] : 0 for every stored r and c of each matrix
 * (osmarks/ipu-stack, device/rearrange_f16.cpp). Bit moves: no rounding.
 */
export const rearrange: Kernel<RearrangeSpec> = {
  check(spec) {
    checkExtents(spec);
    switch (spec.order.kind) {
      case "amp-left":
        return checkMultiple(spec, "physicalColumns", 16);
      case "amp-transposed-right":
        checkMultiple(spec, "physicalRows", 16);
        return checkMultiple(spec, "physicalColumns", 16);
      case "block-major": {
        const { matrix, row_block, column_block } = spec.order;
        if (matrix !== "matrix" || column_block !== 16 || row_block < 16 || row_block % 16 !== 0) {
          throw shapeMismatch(
            spec,
            `no kernel makes ${matrix} blocks of ${row_block} x ${column_block}`,
            "order",
            "Use matrix blocks of whole panels, 64 x 16 for instance",
          );
        }
        checkMultiple(spec, "physicalRows", row_block);
        return checkMultiple(spec, "physicalColumns", 16);
      }
      default:
        throw shapeMismatch(
          spec,
          `no kernel makes order ${String((spec.order as Order).kind)}`,
          "order",
          "Use amp-left, amp-transposed-right or block-major",
        );
    }
  },

  operands(spec) {
    const { matrices, logicalRows, logicalColumns } = spec;
    const operands = moveOperands(matrices * logicalRows * logicalColumns, storedElements(spec));
    return { ...operands, apart: [[-1, 0]] };
  },

  cost(spec, invocations, target) {
    const { matrices, logicalRows, physicalRows, logicalColumns, physicalColumns } = spec;
    // Compiled from C++ in the revision that was recorded; the assembly that replaced it: docs/costs.md.
    switch (spec.order.kind) {
      case "amp-left": {
        const rows = busiest(matrices * physicalRows, target);
        const isMeasured =
          matrices === 1 && (physicalRows === 8 || physicalRows === 7) && physicalColumns === 80;
        return scaled(target, invocations, 9312, (rows * physicalColumns) / (2 * 80), isMeasured);
      }
      case "amp-transposed-right":
      case "block-major": {
        const isTransposed = spec.order.kind === "amp-transposed-right";
        const measured = spec.runTimeShape ? 17322 : 13500;
        const isMeasured =
          isTransposed &&
          matrices === 1 &&
          physicalRows === 64 &&
          physicalColumns === 80 &&
          logicalColumns === 72 &&
          (spec.runTimeShape ? logicalRows === 25 : logicalRows === 64);
        const share = storedElements(spec) / (64 * 80);
        return scaled(target, invocations, measured, share, isMeasured);
      }
    }
  },

  reference(spec, [input], output) {
    const { matrices, logicalRows, physicalRows, logicalColumns, physicalColumns } = spec;
    const packed = indexIn(spec.order, spec);
    for (let matrix = 0; matrix < matrices; matrix++) {
      for (let r = 0; r < physicalRows; r++) {
        for (let c = 0; c < physicalColumns; c++) {
          const isLogical = r < logicalRows && c < logicalColumns;
          output.u16[packed(matrix, r, c)] = isLogical
            ? input.u16[(matrix * logicalRows + r) * logicalColumns + c]
            : 0;
        }
      }
    }
  },
};

/** A measured sample, its work scaled by `share`; `measured` where the shape is the one that was measured. */
function scaled(
  target: Target,
  invocations: number,
  sample: number,
  share: number,
  isMeasured: boolean,
): Cost {
  const { launch, sample: overhead } = target.timing;
  const call = launch + (sample - overhead - launch) * share;
  return perCall(target, invocations, call, isMeasured ? "measured" : "assumed");
}

function checkExtents(spec: UnpackSpec | RearrangeSpec): void {
  checkPositive(spec, [
    "matrices",
    "logicalRows",
    "physicalRows",
    "logicalColumns",
    "physicalColumns",
  ]);
  const { logicalRows, physicalRows, logicalColumns, physicalColumns } = spec;
  if (logicalRows <= physicalRows && logicalColumns <= physicalColumns) return;
  throw shapeMismatch(
    spec,
    `${logicalRows} x ${logicalColumns} logical elements in ${physicalRows} x ${physicalColumns}`,
    "logicalRows",
    "Store at least as many rows and columns as there are",
  );
}

function storedElements({ matrices, physicalRows, physicalColumns }: MatrixExtents): number {
  return matrices * physicalRows * physicalColumns;
}

function moveOperands(input: number, output: number): ReturnType<Kernel<UnpackSpec>["operands"]> {
  const operand = (name: string, elements: number) => ({
    name,
    dtype: "f16" as const,
    bytes: elements * BYTES_PER_ELEMENT.f16,
    alignment: 4,
  });
  return {
    output: operand("output", output),
    inputs: [operand("input", input)],
    outputMayAlias: [],
    apart: [],
  };
}

/** Where [matrix, r, c] is stored in the packed operand. */
function indexIn(
  order: Order,
  { matrices, physicalRows, physicalColumns }: MatrixExtents,
): (matrix: number, r: number, c: number) => number {
  const stored = matricesOf(order, [matrices, physicalRows, physicalColumns]);
  const { rows, cols } = stored;
  return stored.matrices === 1
    ? (matrix, r, c) => offset(order, rows, cols, matrix * physicalRows + r, c, MICRO.f16)
    : (matrix, r, c) => matrix * rows * cols + offset(order, rows, cols, r, c, MICRO.f16);
}
