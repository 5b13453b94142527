import { InternalError, SimError, assertNever } from "../base/errors.ts";
import { readBytes, writeAside } from "./files.ts";

/**
 * NumPy's array files. The packages for it (npyjs, numpy-parser, npyz) hold neither the data against the shape
 * nor the header against its grammar, and lack f2, big-endian or Fortran order between them.
 */

/** An array in row-major order. f16 is held as bits. */
export type NpyArray =
  | { readonly dtype: "f16"; readonly shape: readonly number[]; readonly data: Uint16Array }
  | { readonly dtype: "f32"; readonly shape: readonly number[]; readonly data: Float32Array }
  | { readonly dtype: "f64"; readonly shape: readonly number[]; readonly data: Float64Array };

/** A file of more is refused before it is read. */
const MAX_BYTES = 2 ** 30;
/** Far beyond the header of any plain array; version 2 could announce 4 GiB. */
const MAX_HEADER = 65_536;
/** NumPy's own. */
const MAX_RANK = 64;
const MAGIC = [0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59];
/** The data begins at a multiple of it. */
const ALIGNMENT = 64;

const ITEM_BYTES = { f16: 2, f32: 4, f64: 8 } as const;

/**
 * Reads an array of floats from a file of at most 1 GiB.
 *
 * @throws FILE_UNREADABLE, FILE_MALFORMED, DTYPE_MISMATCH
 */
export function readNpy(path: string): NpyArray {
  return parseNpy(readBytes(path, MAX_BYTES), path);
}

/**
 * Writes an array, whole or not at all.
 *
 * @throws FILE_UNWRITABLE
 */
export function writeNpy(path: string, array: NpyArray): void {
  writeAside(path, npyBytes(array));
}

/** The array as a file of version 1.0, little-endian and in row-major order. */
export function npyBytes({ dtype, shape, data }: NpyArray): Uint8Array<ArrayBuffer> {
  const elements = shape.reduce((product, extent) => product * extent, 1);
  if (data.length !== elements) {
    throw new InternalError(`an array of ${data.length} elements is not of its shape`, { shape });
  }
  const extents = shape.length === 1 ? `${shape[0]},` : shape.join(", ");
  const literal = `{'descr': '<f${ITEM_BYTES[dtype]}', 'fortran_order': False, 'shape': (${extents}), }`;
  const start = Math.ceil((10 + literal.length + 1) / ALIGNMENT) * ALIGNMENT;
  const bytes = new Uint8Array(start + data.byteLength);
  bytes.set([...MAGIC, 1, 0, (start - 10) & 0xff, (start - 10) >> 8]);
  bytes.set(new TextEncoder().encode(`${literal.padEnd(start - 11)}\n`), 10);
  bytes.set(new Uint8Array(data.buffer, data.byteOffset, data.byteLength), start);
  return bytes;
}

/**
 * The array in the bytes of a file: versions 1 to 3, either byte order, row-major or Fortran order. The data is
 * a copy. `file` is its name in errors.
 *
 * @throws FILE_MALFORMED with `where.offset` and `where.field`; DTYPE_MISMATCH where it holds no f2, f4 or f8
 */
export function parseNpy(bytes: Uint8Array, file: string = "npy"): NpyArray {
  const { text, start, dataStart } = headerOf(bytes, file);
  const header = new HeaderReader(text, start, file).read();
  const { dtype, shape, isBigEndian, isFortran } = header;
  const elements = shape.includes(0) ? 0 : shape.reduce((product, extent) => product * extent, 1);
  const needed = elements * ITEM_BYTES[dtype];
  const given = bytes.length - dataStart;
  if (needed !== given) {
    throw malformed(
      file,
      "data",
      dataStart,
      `shape [${shape.join(", ")}] of ${dtype} takes ${needed} bytes, ${given} are there`,
    );
  }
  // A copy of its own begins at byte 0, so it is aligned for any element. Hosts are little-endian.
  const copy = new Uint8Array(given);
  copy.set(bytes.subarray(dataStart));
  if (isBigEndian) swapBytes(copy, ITEM_BYTES[dtype]);
  switch (dtype) {
    case "f16":
      return { dtype, shape, data: inOrder(new Uint16Array(copy.buffer), shape, isFortran) };
    case "f32":
      return { dtype, shape, data: inOrder(new Float32Array(copy.buffer), shape, isFortran) };
    case "f64":
      return { dtype, shape, data: inOrder(new Float64Array(copy.buffer), shape, isFortran) };
    default:
      return assertNever(dtype);
  }
}

/** Turns every item around, in place. */
function swapBytes(bytes: Uint8Array, itemBytes: number): void {
  for (let item = 0; item < bytes.length; item += itemBytes) {
    for (let i = 0; i < itemBytes >> 1; i++) {
      const low = bytes[item + i];
      bytes[item + i] = bytes[item + itemBytes - 1 - i];
      bytes[item + itemBytes - 1 - i] = low;
    }
  }
}

/** Row-major data of data whose first axis is the fastest. */
function inOrder<T extends Uint16Array | Float32Array | Float64Array>(
  data: T,
  shape: readonly number[],
  isFortran: boolean,
): T {
  if (!isFortran || shape.length < 2) return data;
  const strides = [1];
  for (let axis = 1; axis < shape.length; axis++)
    strides[axis] = strides[axis - 1] * shape[axis - 1];
  const ordered = data.slice() as T;
  const coordinates = shape.map(() => 0);
  let from = 0;
  for (let to = 0; to < data.length; to++) {
    ordered[to] = data[from];
    for (let axis = shape.length - 1; axis >= 0; axis--) {
      from += strides[axis];
      if (++coordinates[axis] < shape[axis]) break;
      from -= shape[axis] * strides[axis];
      coordinates[axis] = 0;
    }
  }
  return ordered;
}

interface HeaderText {
  readonly text: string;
  /** Where in the file the text begins. */
  readonly start: number;
  readonly dataStart: number;
}

/** What stands before the text: magic, version, length. */
function headerOf(bytes: Uint8Array, file: string): HeaderText {
  const wrong = MAGIC.findIndex((byte, i) => bytes[i] !== byte);
  if (wrong >= 0) throw malformed(file, "magic", wrong, "it does not begin as an .npy file");
  if (bytes.length < 8) throw malformed(file, "version", bytes.length, "the file ends");
  const [major, minor] = bytes.subarray(6);
  if (!(major >= 1 && major <= 3) || minor !== 0) {
    throw malformed(file, "version", 6, `version ${major}.${minor} is none of 1.0, 2.0 and 3.0`);
  }
  const start = major === 1 ? 10 : 12;
  if (bytes.length < start) throw malformed(file, "header length", bytes.length, "the file ends");
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const length = major === 1 ? view.getUint16(8, true) : view.getUint32(8, true);
  if (length > MAX_HEADER) {
    throw malformed(
      file,
      "header length",
      8,
      `a header of ${length} bytes, more than ${MAX_HEADER}`,
    );
  }
  const dataStart = start + length;
  if (bytes.length < dataStart) {
    throw malformed(file, "header", bytes.length, `the file ends in its header of ${length} bytes`);
  }
  // One character a byte, so that offsets are those of the file. Only names of fields could be UTF-8.
  const text = Array.from(bytes.subarray(start, dataStart), (b) => String.fromCharCode(b)).join("");
  return { text, start, dataStart };
}

interface Header {
  readonly dtype: NpyArray["dtype"];
  readonly isBigEndian: boolean;
  readonly isFortran: boolean;
  readonly shape: readonly number[];
}

const DTYPES: Readonly<Record<string, NpyArray["dtype"]>> = { f2: "f16", f4: "f32", f8: "f64" };

const SPACE = /[ \t\n\r\f]*/y;
const STRING = /'[^'\\]*'|"[^"\\]*"/y;
const BOOLEAN = /True|False/y;
/** Python 2 wrote long integers with an L. */
const INTEGER = /[0-9]+L?/y;

/** Reads the header: a Python dictionary literal of `descr`, `fortran_order` and `shape`, in any order. */
class HeaderReader {
  readonly #text: string;
  readonly #start: number;
  readonly #file: string;
  #at = 0;
  #field = "header";

  constructor(text: string, start: number, file: string) {
    this.#text = text;
    this.#start = start;
    this.#file = file;
  }

  read(): Header {
    let type: Pick<Header, "dtype" | "isBigEndian"> | undefined;
    let isFortran: boolean | undefined;
    let shape: readonly number[] | undefined;
    this.#expect("{");
    while (!this.#take("}")) {
      this.#field = "header";
      const at = this.#at;
      const key = this.#string("a key");
      this.#expect(":");
      this.#field = key;
      if (key === "descr" && !type) type = this.#type();
      else if (key === "fortran_order" && isFortran === undefined) isFortran = this.#boolean();
      else if (key === "shape" && !shape) shape = this.#shape();
      else throw this.#error("a key that is unknown or there twice", at);
      if (!this.#take(",") && this.#text[this.#at] !== "}") throw this.#error("no , or } follows");
    }
    this.#field = "header";
    if (this.#at < this.#text.length) throw this.#error("more follows the dictionary");
    if (!type || isFortran === undefined || !shape) {
      throw this.#error("descr, fortran_order or shape is missing");
    }
    return { ...type, isFortran, shape };
  }

  #type(): Pick<Header, "dtype" | "isBigEndian"> {
    const at = this.#at;
    const isRecord = this.#text[at] === "[" || this.#text[at] === "(";
    const descr = isRecord ? "records" : this.#string("a type");
    const dtype = /^[<>]f[248]$/.test(descr) ? DTYPES[descr.slice(1)] : undefined;
    if (dtype) return { dtype, isBigEndian: descr.startsWith(">") };
    throw new SimError("DTYPE_MISMATCH", {
      what: `${this.#file} holds ${JSON.stringify(descr.slice(0, 20))}, no floats of 2, 4 or 8 bytes`,
      where: { file: this.#file, offset: this.#start + at, field: "descr" },
      fix: "Save it with .astype(numpy.float16) or float32",
    });
  }

  #boolean(): boolean {
    const value = this.#match(BOOLEAN);
    if (value === "") throw this.#error("neither True nor False");
    this.#match(SPACE);
    return value === "True";
  }

  #shape(): readonly number[] {
    const shape: number[] = [];
    const at = this.#at;
    let commas = 0;
    this.#expect("(");
    while (!this.#take(")")) {
      const digits = this.#match(INTEGER);
      if (digits === "") throw this.#error("no number of elements");
      this.#match(SPACE);
      shape.push(Number.parseInt(digits, 10));
      if (shape.length > MAX_RANK) throw this.#error(`more than ${MAX_RANK} axes`, at);
      if (this.#take(",")) commas++;
      else if (this.#text[this.#at] !== ")") throw this.#error("no , or ) follows");
    }
    if (shape.length === 1 && commas === 0) throw this.#error("(n) is a number, no shape", at);
    const elements = shape.includes(0) ? 0 : shape.reduce((product, n) => product * n, 1);
    if (!shape.every(Number.isSafeInteger) || !Number.isSafeInteger(elements)) {
      throw this.#error("more elements than any file holds", at);
    }
    return shape;
  }

  #string(what: string): string {
    const quoted = this.#match(STRING);
    if (quoted === "") throw this.#error(`no string for ${what}`);
    this.#match(SPACE);
    return quoted.slice(1, -1);
  }

  #expect(symbol: string): void {
    if (!this.#take(symbol)) throw this.#error(`no ${symbol} where one must be`);
  }

  /** Whether `symbol` stands here, between spaces; moves past it. */
  #take(symbol: string): boolean {
    this.#match(SPACE);
    if (this.#text[this.#at] !== symbol) return false;
    this.#at++;
    this.#match(SPACE);
    return true;
  }

  #match(pattern: RegExp): string {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text)?.[0] ?? "";
    this.#at += found.length;
    return found;
  }

  #error(what: string, at: number = this.#at): SimError {
    return malformed(this.#file, this.#field, this.#start + at, what);
  }
}

function malformed(file: string, field: string, offset: number, what: string): SimError {
  return new SimError("FILE_MALFORMED", {
    what: `${file}: ${what}`,
    where: { file, offset, field: field.slice(0, 20) },
    fix: "Save the array again with numpy.save",
  });
}
