import { statSync } from "node:fs";
import { dirname, join } from "node:path";
import { setFloat16 } from "fp16";
import { SimError, type Finding } from "../base/errors.ts";
import { toF16 } from "../numerics/f16.ts";
import { gaussian } from "../numerics/random.ts";
import { readNpy, writeNpy, type NpyArray } from "../io/npy.ts";
import { checkTensor, type HostTensor } from "../sim/host-io.ts";
import { occurrences } from "./findings.ts";
import type { Binding } from "../sim/schedule.ts";

export interface DataOptions {
  readonly data: string;
  readonly seed: number;
  readonly input?: readonly string[] | undefined;
  readonly weights?: readonly string[] | undefined;
}

/** Standard deviation of the data made here; the compiler's smoke tests use the same. */
const DEVIATION = 0.25;

/** Tensors by name, and what their files hold that these cannot. */
export interface Inputs {
  readonly inputs: Map<string, HostTensor>;
  readonly findings: readonly Finding[];
}

/**
 * A tensor for each input: from the file that names it, else made from the seed. Finite values of a file that become
 * infinite in a narrower type are a finding.
 *
 * @throws SimError `BAD_USAGE`, `FILE_UNREADABLE`, `FILE_MALFORMED`, `SHAPE_MISMATCH`, `DTYPE_MISMATCH`
 */
export function readInputs(bindings: readonly Binding[], options: DataOptions): Inputs {
  const files = inputFiles(bindings, options);
  const inputs = new Map<string, HostTensor>();
  const findings: Finding[] = [];
  bindings.forEach((binding, index) => {
    const file = files.get(binding.name);
    let tensor: HostTensor;
    if (file === undefined) tensor = made(binding, index, options);
    else {
      const array = readNpy(file);
      tensor = converted(binding, array, file);
      findings.push(...overflowFindings(binding, array, tensor, file));
    }
    checkTensor(binding, tensor);
    inputs.set(binding.name, tensor);
  });
  return { inputs, findings };
}

/** The tensors of `readInputs` alone. */
export function loadInputs(
  bindings: readonly Binding[],
  options: DataOptions,
): Map<string, HostTensor> {
  return readInputs(bindings, options).inputs;
}

/**
 * The file of each tensor that one is given for, by the tensor's name.
 *
 * @throws SimError `BAD_USAGE`
 */
export function inputFiles(
  bindings: readonly Binding[],
  { input = [], weights = [] }: Pick<DataOptions, "input" | "weights">,
): Map<string, string> {
  const files = new Map<string, string>();
  const names = bindings.map(({ name }) => name);
  const add = (name: string, file: string, option: string): void => {
    if (!names.includes(name)) {
      throw new SimError("BAD_USAGE", {
        what: `--${option} names ${name}, which the schedule does not read`,
        where: { option, tensor: name },
        fix: `Name one of: ${names.join(", ")}`,
      });
    }
    if (files.has(name)) {
      throw new SimError("BAD_USAGE", {
        what: `two files are given for ${name}`,
        where: { option, tensor: name },
        fix: "Give one",
      });
    }
    files.set(name, file);
  };
  for (const entry of input) {
    const [name, file] = splitName(entry, "input");
    const inputs = bindings.filter(({ role }) => role === "input");
    if (name === null && inputs.length !== 1) {
      throw new SimError("BAD_USAGE", {
        what: `--input ${file} could be any of ${inputs.length} inputs`,
        where: { option: "input" },
        fix: `Say which: NAME=${file} with NAME one of ${inputs.map((one) => one.name).join(", ")}`,
      });
    }
    add(name ?? inputs[0].name, file, "input");
  }
  for (const entry of weights) {
    const [name, file] = splitName(entry, "weights");
    if (name !== null) {
      add(name, file, "weights");
      continue;
    }
    if (!isFolder(file)) {
      throw new SimError("BAD_USAGE", {
        what: `--weights ${file} is no folder`,
        where: { option: "weights" },
        fix: "Give a folder of NAME.npy files, or NAME=FILE",
      });
    }
    for (const { name: weight, role } of bindings) {
      if (role === "weight") add(weight, fileOf(weight, file), "weights");
    }
  }
  return files;
}

/** The name, null where none is given, and the file. */
function splitName(entry: string, option: string): readonly [string | null, string] {
  const at = entry.indexOf("=");
  if (at < 0) return [null, entry];
  const [name, file] = [entry.slice(0, at), entry.slice(at + 1)];
  const empty = name === "" ? "tensor" : file === "" ? "file" : null;
  if (empty === null) return [name, file];
  throw new SimError("BAD_USAGE", {
    what: `--${option} ${entry} names no ${empty}`,
    where: { option },
    fix: "Give NAME=FILE, or the file alone",
  });
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

function made({ shape, dtype, role }: Binding, index: number, options: DataOptions): HostTensor {
  const elements = shape.reduce((product, extent) => product * extent, 1);
  if (options.data === "constant") {
    // The compiler's benchmark: ones, and weights that average them (F0.3).
    const value = role === "weight" ? 1 / (shape.at(-2) ?? 1) : 1;
    return dtype === "f16"
      ? { shape, dtype, data: new Uint16Array(elements).fill(toF16(value)) }
      : { shape, dtype, data: new Float32Array(elements).fill(value) };
  }
  // Each tensor has a stream of its own.
  const values = gaussian(options.seed + index, elements, DEVIATION);
  return dtype === "f16"
    ? { shape, dtype, data: halves(values, toF16) }
    : { shape, dtype, data: new Float32Array(values) };
}

/** Each value's half; `Uint16Array.from` would make an object for each on the way. */
function halves(values: ArrayLike<number>, toHalf: (value: number) => number): Uint16Array {
  const bits = new Uint16Array(values.length);
  for (let i = 0; i < bits.length; i++) bits[i] = toHalf(values[i]);
  return bits;
}

const half = new DataView(new ArrayBuffer(2));

/**
 * Bits of a half as a host makes it from a wider float: through f32, to nearest even, beyond the range to infinity.
 * The chip's own narrowing saturates: see numerics/f16.ts.
 */
function hostHalf(value: number): number {
  setFloat16(half, 0, value);
  return half.getUint16(0);
}

function overflowFindings(
  { name, dtype }: Binding,
  array: NpyArray,
  { data }: HostTensor,
  file: string,
): Finding[] {
  if (array.dtype === dtype || array.dtype === "f16") return [];
  const { count, first } = occurrences(array.data, (value, index) => {
    const isInfinite =
      dtype === "f16" ? (data[index] & 0x7fff) === 0x7c00 : !Number.isFinite(data[index]);
    return Number.isFinite(value) && isInfinite;
  });
  if (count === 0) return [];
  return [
    {
      code: "NON_FINITE",
      severity: "warning",
      what: `${count} of ${data.length} elements of ${name} are finite in ${file} and beyond ${dtype}: read as infinite, the first at ${first}`,
      where: { tensor: name, element: first, file },
      fix: `Scale or clip the array to the range of ${dtype}`,
    },
  ];
}

/** A file's array as the binding's dtype. */
function converted({ name, dtype, shape }: Binding, array: NpyArray, file: string): HostTensor {
  const isShape =
    array.shape.length === shape.length && array.shape.every((extent, i) => extent === shape[i]);
  if (!isShape) {
    throw new SimError("SHAPE_MISMATCH", {
      what: `${name} has shape [${shape.join(", ")}], ${file} holds [${array.shape.join(", ")}]`,
      where: { tensor: name, file, shape: [...array.shape] },
      fix: "Reshape the array, or run a program of that shape",
    });
  }
  if (array.dtype === dtype) return { shape, dtype, data: array.data } as HostTensor;
  if (dtype === "f16" && array.dtype !== "f16") {
    return { shape, dtype, data: halves(array.data, hostHalf) };
  }
  if (dtype === "f32" && array.dtype === "f64") {
    return { shape, dtype, data: new Float32Array(array.data) };
  }
  throw new SimError("DTYPE_MISMATCH", {
    what: `${name} is ${dtype}, ${file} holds ${array.dtype}`,
    where: { tensor: name, file, dtype: array.dtype },
    fix: `Save the array as ${dtype}`,
  });
}

/** Writes outputs, each to its file. */
export function saveOutputs(
  outputs: ReadonlyMap<string, HostTensor>,
  files: ReadonlyMap<string, string>,
): void {
  for (const [name, { shape, dtype, data }] of outputs) {
    const file = files.get(name);
    if (file !== undefined) writeNpy(file, { shape, dtype, data } as NpyArray);
  }
}

/**
 * The file of each output, by its name: a single one's is `path` itself, several go to NAME.npy in that folder. None
 * where there is no path.
 *
 * @throws SimError `BAD_USAGE` where, as far as it shows before a run, they cannot be written
 */
export function outputFiles(
  outputs: readonly Binding[],
  path: string | undefined,
): Map<string, string> {
  if (path === undefined) return new Map();
  if (isFolder(path)) return new Map(outputs.map(({ name }) => [name, fileOf(name, path)]));
  const folder = outputs.length === 1 ? dirname(path) : path;
  if (outputs.length === 1 && isFolder(folder)) return new Map([[outputs[0].name, path]]);
  throw new SimError("BAD_USAGE", {
    what: `--save-output ${path}: ${folder} is no folder`,
    where: { option: "save-output" },
    fix:
      outputs.length === 1 ? "Make the folder first" : "Give a folder: there are several outputs",
  });
}

/** A tensor's file in a folder. Names come from a schedule's file: none may lead out of the folder. */
function fileOf(name: string, folder: string): string {
  if (!/[/\\\0]/.test(name)) return join(folder, `${name}.npy`);
  throw new SimError("BAD_USAGE", {
    what: `a tensor called ${JSON.stringify(name)} names no file in ${folder}`,
    where: { tensor: name },
    fix: "Name its file, or rename the tensor",
  });
}
