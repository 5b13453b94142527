import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import type { Fault } from "../../src/base/errors.ts";
import { layoutText, orderOf, parseLayout } from "../../src/layouts/layout-text.ts";
import type { Axis, Layout } from "../../src/layouts/layout.ts";
import { elementIndex, elementsOf, storedElements } from "../../src/layouts/order.ts";
import { extentsOf, resolveLayout, shardBytes } from "../../src/layouts/resolve.ts";
import { readDebug } from "../../src/layouts/rust-debug.ts";
import type { Shard } from "../../src/layouts/shard.ts";
import type { DType } from "../../src/numerics/dtype.ts";
import { simError } from "./support.ts";

/** Layouts as osmarks/ipu-stack resolves them; the revision is in the file's `origin`. */
interface GoldenCase {
  readonly name: string;
  readonly shape: readonly number[];
  readonly precision: "F16" | "F32";
  readonly layout: {
    readonly order: string;
    readonly tileCount: number;
    readonly replicas: number;
    readonly axes: readonly GoldenAxis[];
    readonly debug: string;
  };
  readonly error?: { readonly kind: string };
  readonly paddedShape: readonly number[];
  readonly totalElements: number;
  readonly maximumTileElements: number;
  readonly hasEmptyShards: boolean;
  readonly shards: readonly (Shard & { readonly bytes: number })[];
  readonly elementMaps: readonly {
    readonly shard: number;
    readonly tile: number;
    readonly offsets?: readonly number[];
    readonly error?: string;
  }[];
}

interface GoldenAxis {
  readonly axis: "Linear" | { readonly FromStart: number } | { readonly FromEnd: number };
  readonly partitions: number;
  readonly paddingGroups: number;
  readonly blockSize: number;
  readonly paddingMultiple: number;
  readonly shardPaddingMultiple: number;
  readonly padding: "Zero" | "Reject";
  readonly tileStride: number | null;
}

const file = new URL("../golden/layouts.json.gz", import.meta.url);
const { cases } = JSON.parse(gunzipSync(readFileSync(file)).toString()) as {
  readonly cases: readonly GoldenCase[];
};
const resolving = cases.filter(({ error }) => !error);
const rejected = cases.filter(({ error }) => error);

function dtypeOf({ precision }: GoldenCase): DType {
  return precision === "F16" ? "f16" : "f32";
}

function axisOf(axis: GoldenAxis["axis"]): Axis {
  if (axis === "Linear") return { kind: "linear" };
  if ("FromStart" in axis) return { kind: "from-start", index: axis.FromStart };
  return { kind: "from-end", index: axis.FromEnd };
}

/** The layout by the case's fields; only the memory class stands in `debug` alone. */
function layoutOfFields({ layout }: GoldenCase): Layout {
  return {
    order: orderOf(readDebug(layout.order)),
    tiling: {
      tile_count: layout.tileCount,
      replicas: layout.replicas,
      axes: layout.axes.map((entry) => ({
        axis: axisOf(entry.axis),
        partitions: entry.partitions,
        padding_groups: entry.paddingGroups,
        block_size: entry.blockSize,
        padding_multiple: entry.paddingMultiple,
        shard_padding_multiple: entry.shardPaddingMultiple,
        padding: entry.padding === "Zero" ? "zero" : "reject",
        tile_stride: entry.tileStride,
      })),
    },
    memory_class: layout.debug.endsWith("Interleaved }") ? "interleaved" : "standard",
  };
}

test("the file holds what it did", () => {
  expect([resolving.length, rejected.length]).toEqual([47, 12]);
});

describe.each(resolving)("$name", (golden) => {
  const dtype = dtypeOf(golden);
  const layout = layoutOfFields(golden);
  const resolved = resolveLayout(layout, golden.shape, dtype);

  test("resolves to the same shards", () => {
    const shards = resolved.shards.map((shard) => ({ ...shard, bytes: shardBytes(shard, dtype) }));
    expect(shards).toEqual(golden.shards);
    expect(resolved.paddedShape).toEqual(golden.paddedShape);
    expect(resolved.totalElements).toBe(golden.totalElements);
    expect(resolved.maximumTileElements).toBe(golden.maximumTileElements);
    expect(resolved.hasEmptyShards).toBe(golden.hasEmptyShards);
  });

  test.each(golden.elementMaps)("stores the elements of shard $shard in the same order", (map) => {
    const shard = resolved.shards[map.shard];
    const extents = extentsOf(shard);
    expect(shard.tile).toBe(map.tile);
    if (map.error !== undefined) {
      simError("LAYOUT_INVALID", () => storedElements(layout.order, extents, dtype));
      return;
    }
    expect(storedElements(layout.order, extents, dtype)).toBe(map.offsets?.length);
    const offsets = Array.from({ length: elementsOf(extents) }, (_, i) =>
      elementIndex(layout.order, extents, rowMajorCoordinates(extents, i), dtype),
    );
    expect(offsets).toEqual(map.offsets);
  });
});

function rowMajorCoordinates(extents: readonly number[], index: number): number[] {
  return extents.map(
    (extent, axis) => Math.floor(index / elementsOf(extents.slice(axis + 1))) % extent,
  );
}

test.each(rejected)("$name is rejected for the same reason", (golden) => {
  const { fault } = simError("LAYOUT_INVALID", () =>
    resolveLayout(layoutOfFields(golden), golden.shape, dtypeOf(golden)),
  );
  expect(reason(fault.where)).toBe(golden.error?.kind);
});

/** The error as the compiler prints it; where it has no fields, ours are not compared. */
function reason({ kind, ...fields }: Fault["where"]): string {
  if (kind === "EmptyTileGroup" || kind === "EmptyAxisTiling" || kind === "InvalidTileMapping") {
    return kind;
  }
  if (kind === "DuplicateAxis") return `${kind}(${String(fields.axis)})`;
  const pairs = Object.entries(fields).map(([name, value]) => `${name}: ${String(value)}`);
  return `${String(kind)} { ${pairs.join(", ")} }`;
}

test.each(cases)("$name is printed and read back as the compiler prints it", (golden) => {
  const layout = layoutOfFields(golden);
  expect(layoutText(layout)).toBe(golden.layout.debug);
  expect(parseLayout(golden.layout.debug)).toEqual(layout);
  expect(parseLayout(layoutText(layout, "profile"))).toEqual(layout);
});
