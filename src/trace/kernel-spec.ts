import { SimError, assertNever } from "../base/errors.ts";
import type { Finding } from "../base/errors.ts";
import type {
  AttentionMergeSpec,
  AttentionSoftmaxSpec,
  CastSpec,
  GemmSpec,
  GeluSpec,
  ReduceSumSpec,
} from "../kernels/spec.ts";
import type { Layout, MemoryClass } from "../layouts/layout.ts";
import { layoutOf, layoutText } from "../layouts/layout-text.ts";
import type { Spelling } from "../layouts/layout-text.ts";
import {
  debugText,
  fieldsOf,
  malformed,
  nameOf,
  numberOf,
  readDebug,
  soleItem,
} from "../layouts/rust-debug.ts";
import type { DebugName, DebugValue, Fields } from "../layouts/rust-debug.ts";
import type { DType } from "../numerics/dtype.ts";

/**
 * What a profile says that a kernel computed (F6.5): the specification without what the operands' element counts
 * say. `rearrange` stands for unpacks as well; the options of `flash-attention` stay text, of a form not known
 * here. `other` is whole text that this version does not know, or would print otherwise.
 */
export type RecordedSpec =
  | Omit<GemmSpec, "rows">
  | Omit<ReduceSumSpec, "elements">
  | Omit<AttentionSoftmaxSpec, "rows">
  | Omit<AttentionMergeSpec, "rows">
  | Omit<CastSpec, "elements">
  | Omit<GeluSpec, "elements">
  | { readonly kind: "add" }
  | { readonly kind: "fill-zero" }
  | { readonly kind: "rearrange"; readonly from: Layout; readonly to: Layout }
  | { readonly kind: "flash-attention"; readonly options: string; readonly accumulate: string }
  | { readonly kind: "other"; readonly text: string };

/** How revisions of the compiler print a specification; layouts differ in `spelling` alone. */
export interface SpecForm {
  /** Inside `Planned(...)`, as until August 2026. */
  readonly isPlanned: boolean;
  readonly spelling: Spelling;
}

export interface ParsedSpec {
  readonly spec: RecordedSpec;
  readonly form: SpecForm;
  /** One, `UNKNOWN_KERNEL`, where `spec` is `other`. */
  readonly findings: readonly Finding[];
}

/**
 * The specification in a step's `kernelSpec`. `printKernelSpec` of what is returned is `text`, always. Texts
 * repeat: read each once.
 *
 * @throws FILE_MALFORMED with `where.offset` where it is no debug output of names, lists and numbers
 */
export function parseKernelSpec(text: string): ParsedSpec {
  const outer = nameOf(readDebug(text));
  const isPlanned = outer.name === "Planned";
  const named = isPlanned ? nameOf(soleItem(outer)) : outer;
  const spec = known(named);
  if (typeof spec !== "string") {
    for (const spelling of ["profile", "current"] as const) {
      const form = { isPlanned, spelling };
      if (printKernelSpec(spec, form) === text) return { spec, form, findings: [] };
    }
  }
  return {
    spec: { kind: "other", text },
    form: { isPlanned, spelling: "current" },
    findings: [
      {
        code: "UNKNOWN_KERNEL",
        severity: "warning",
        what: `kernel specification ${named.name} is kept as text: ${typeof spec === "string" ? spec : "it would be printed otherwise"}`,
        where: { field: "kernelSpec", kernel: named.name.slice(0, 40) },
        fix: "Its cycles are counted all the same; use a version of tilesim that knows it to compare shapes",
      },
    ],
  };
}

/** The specification as the compiler prints it. */
export function printKernelSpec(spec: RecordedSpec, { isPlanned, spelling }: SpecForm): string {
  if (spec.kind === "other") return spec.text;
  const text = specText(spec, spelling);
  return isPlanned ? `Planned(${text})` : text;
}

const DTYPES: Names<DType> = { f16: "F16", f32: "F32" };
const MODES: Names<GemmSpec["mode"]> = { initialize: "Initialize", accumulate: "Accumulate" };
const WEIGHTS: Names<MemoryClass> = { standard: "Standard", interleaved: "Interleaved" };

/** The compiler's name of each of our words. */
type Names<Word extends string> = Readonly<Record<Word, string>>;

function specText(spec: Exclude<RecordedSpec, { kind: "other" }>, spelling: Spelling): string {
  switch (spec.kind) {
    case "gemm":
      return struct("Gemm", {
        multiply: DTYPES[spec.multiply],
        accumulate: DTYPES[spec.accumulate],
        mode: MODES[spec.mode],
        weights: WEIGHTS[spec.weights],
        inner_block: spec.innerBlock,
        output_columns: spec.outputColumns,
      });
    case "reduce-sum":
      return struct("ReductionSum", { partials: spec.partials });
    case "attention-softmax":
      return struct("AttentionSoftmax", {
        head_dimension: spec.headDimension,
        key_columns: spec.keyColumns,
        padded_key_columns: spec.paddedKeyColumns,
      });
    case "attention-merge":
      return struct("AttentionMerge", {
        value_dimension: spec.valueDimension,
        padded_value_dimension: spec.paddedValueDimension,
        key_block_columns: spec.keyBlockColumns,
        initial: spec.initial,
        final_block: spec.finalBlock,
      });
    case "rearrange":
      return struct("Rearrange", {
        from: layoutText(spec.from, spelling),
        to: layoutText(spec.to, spelling),
      });
    case "cast":
      return struct("Cast", { from: DTYPES[spec.from], to: DTYPES[spec.to] });
    case "flash-attention":
      return struct("FlashAttention", { options: spec.options, accumulate: spec.accumulate });
    case "gelu":
      return "Gelu";
    case "add":
      return "Add";
    case "fill-zero":
      return "FillZero";
    default:
      return assertNever(spec);
  }
}

function struct(name: string, fields: Readonly<Record<string, string | number | boolean>>): string {
  const named = Object.entries(fields).map(([field, value]) => `${field}: ${String(value)}`);
  return `${name} { ${named.join(", ")} }`;
}

/** The specification; or why it is none that is known here: a later revision may have other fields. */
function known(value: DebugName): RecordedSpec | string {
  try {
    return specOf(value) ?? "no specification of that name is known";
  } catch (error) {
    if (error instanceof SimError) return error.fault.what;
    throw error;
  }
}

/** Null for another name. @throws FILE_MALFORMED for other fields */
function specOf(value: DebugName): RecordedSpec | null {
  const fields = (...names: string[]): Fields => fieldsOf(value, value.name, names);
  switch (value.name) {
    case "Gemm": {
      const of = fields(
        "multiply",
        "accumulate",
        "mode",
        "weights",
        "inner_block",
        "output_columns",
      );
      return {
        kind: "gemm",
        multiply: wordOf(of.get("multiply"), DTYPES),
        accumulate: wordOf(of.get("accumulate"), DTYPES),
        mode: wordOf(of.get("mode"), MODES),
        weights: wordOf(of.get("weights"), WEIGHTS),
        innerBlock: numberOf(of.get("inner_block")),
        outputColumns: numberOf(of.get("output_columns")),
      };
    }
    case "ReductionSum":
      return { kind: "reduce-sum", partials: numberOf(fields("partials").get("partials")) };
    case "AttentionSoftmax": {
      const of = fields("head_dimension", "key_columns", "padded_key_columns");
      return {
        kind: "attention-softmax",
        headDimension: numberOf(of.get("head_dimension")),
        keyColumns: numberOf(of.get("key_columns")),
        paddedKeyColumns: numberOf(of.get("padded_key_columns")),
      };
    }
    case "AttentionMerge": {
      const of = fields(
        "value_dimension",
        "padded_value_dimension",
        "key_block_columns",
        "initial",
        "final_block",
      );
      return {
        kind: "attention-merge",
        valueDimension: numberOf(of.get("value_dimension")),
        paddedValueDimension: numberOf(of.get("padded_value_dimension")),
        keyBlockColumns: numberOf(of.get("key_block_columns")),
        initial: booleanOf(of.get("initial")),
        finalBlock: booleanOf(of.get("final_block")),
      };
    }
    case "Rearrange": {
      const of = fields("from", "to");
      return { kind: "rearrange", from: layoutOf(of.get("from")), to: layoutOf(of.get("to")) };
    }
    case "Cast": {
      const of = fields("from", "to");
      return {
        kind: "cast",
        from: wordOf(of.get("from"), DTYPES),
        to: wordOf(of.get("to"), DTYPES),
      };
    }
    case "FlashAttention": {
      const of = fields("options", "accumulate");
      return {
        kind: "flash-attention",
        options: debugText(of.get("options")),
        accumulate: debugText(of.get("accumulate")),
      };
    }
    case "Gelu":
      return { kind: "gelu" };
    case "Add":
      return { kind: "add" };
    case "FillZero":
      return { kind: "fill-zero" };
    default:
      return null;
  }
}

function wordOf<Word extends string>(value: DebugValue, names: Names<Word>): Word {
  const { name, offset } = nameOf(value);
  for (const word of Object.keys(names) as Word[]) {
    if (names[word] === name) return word;
  }
  throw malformed(`${name} is none of ${Object.values(names).join(", ")}`, offset);
}

function booleanOf(value: DebugValue): boolean {
  const { name, offset } = nameOf(value);
  if (name === "true") return true;
  if (name === "false") return false;
  throw malformed(`${name} is neither true nor false`, offset);
}
