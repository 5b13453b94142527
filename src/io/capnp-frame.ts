import { gunzipSync } from "node:zlib";
import { SimError } from "../base/errors.ts";

/** Cap'n Proto's stream framing, as https://capnproto.org/encoding.html has it; why no package: docs/architecture.md. */

/** A message after unpacking; a profile of 1,472 tiles has some 30 MB. More is refused before memory is taken. */
const MAX_BYTES = 2 ** 28;
/** Bytes inflated at a time; the default of 16 KiB makes it slower by half. */
const INFLATE_STEP = 2 ** 20;
const WORD = 8;

/** Where bytes came from: what an error's place begins with. */
export interface Origin {
  readonly file: string;
  /** What was undone before offsets count: `gzip`, `packed`, both with a comma, or nothing. */
  readonly undone: string;
}

/** A message's segments, one after another in `view`: segment s is the bytes from starts[s] to starts[s + 1]. */
export interface Frame {
  readonly origin: Origin;
  readonly view: DataView;
  readonly starts: Uint32Array;
}

/** The error for bytes that are no message, or not of what it should be. */
export function malformed(
  { file, undone }: Origin,
  field: string,
  offset: number,
  what: string,
  cause?: unknown,
): SimError {
  return new SimError(
    "FILE_MALFORMED",
    {
      what: `${file}: ${what}`,
      where: { file, field, offset, ...(undone === "" ? {} : { offsetAfterUndoing: undone }) },
      fix: "Give the file as it was recorded, whole",
    },
    { cause },
  );
}

/**
 * The one message of a file: packed or not, plain or gzip. `file` is its name in errors.
 *
 * Third bytes tell the forms apart: zero in every plain message of fewer than 65,536 segments; in a packed one
 * never, for it is a byte that packing marked as not zero, or the tag of a root that is not null. A plain message
 * of more segments is known by its table, which fills the file to the byte.
 *
 * @throws FILE_MALFORMED with `where.field` and `where.offset`
 */
export function readFrame(bytes: Uint8Array, file: string): Frame {
  const isGzip = bytes.length >= 2 && bytes[0] === 0x1f && bytes[1] === 0x8b;
  const plain = isGzip ? gunzip(bytes, file) : bytes;
  const origin: Origin = { file, undone: isGzip ? "gzip" : "" };
  if (plain.length <= 2 || plain[2] === 0 || fills(plain)) return frameOf(plain, origin);
  const unpacked = unpack(plain, origin);
  return frameOf(unpacked, { file, undone: isGzip ? "gzip, packed" : "packed" });
}

/** Whether a table of segments begins the bytes whose sizes add up to all the bytes there are. */
function fills(bytes: Uint8Array): boolean {
  if (bytes.length < WORD) return false;
  const view = viewOf(bytes);
  const segments = view.getUint32(0, true) + 1;
  let end = tableBytes(segments);
  if (end > bytes.length) return false;
  for (let s = 0; s < segments && end <= bytes.length; s++) {
    end += view.getUint32(4 + 4 * s, true) * WORD;
  }
  return end === bytes.length;
}

function frameOf(bytes: Uint8Array, origin: Origin): Frame {
  const field = "segment table";
  if (bytes.length < WORD) {
    throw malformed(origin, field, 0, `${bytes.length} bytes are too few for a message`);
  }
  if (bytes.length > MAX_BYTES) throw tooLarge(origin, bytes.length);
  const view = viewOf(bytes);
  const segments = view.getUint32(0, true) + 1;
  const table = tableBytes(segments);
  if (table > bytes.length) throw tooManySegments(origin, segments, bytes.length);
  const starts = new Uint32Array(segments + 1);
  let end = table;
  for (let s = 0; s < segments; s++) {
    starts[s] = end;
    const at = 4 + 4 * s;
    end += view.getUint32(at, true) * WORD;
    if (end <= bytes.length) continue;
    throw malformed(
      origin,
      field,
      at,
      `segment ${s} ends at byte ${end}, ${bytes.length} are there`,
    );
  }
  starts[segments] = end;
  if (end < bytes.length) {
    throw malformed(origin, field, end, `${bytes.length - end} bytes follow the message`);
  }
  return { origin, view, starts };
}

function tableBytes(segments: number): number {
  return Math.ceil((4 + 4 * segments) / WORD) * WORD;
}

function gunzip(bytes: Uint8Array, file: string): Uint8Array {
  const origin: Origin = { file, undone: "" };
  try {
    return gunzipSync(bytes, { maxOutputLength: MAX_BYTES, chunkSize: INFLATE_STEP });
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw malformed(origin, "gzip", 0, `cannot be inflated: ${why}`, cause);
  }
}

/**
 * Each tag's bits name the bytes of a word that are not zero and follow it; after 0x00 comes a count of further
 * zero words, after 0xff and its eight bytes one of words that follow as they are.
 */
function unpack(packed: Uint8Array, origin: Origin): Uint8Array {
  const length = unpackedLength(packed, origin);
  const bytes = new Uint8Array(length);
  let to = 0;
  for (let at = 0; at < packed.length;) {
    const tag = packed[at++];
    for (let bits = tag, byte = to; bits !== 0; bits >>= 1, byte++) {
      if (bits & 1) bytes[byte] = packed[at++];
    }
    to += WORD;
    if (tag === 0) to += packed[at++] * WORD;
    if (tag !== 0xff) continue;
    const run = packed[at++] * WORD;
    bytes.set(packed.subarray(at, at + run), to);
    at += run;
    to += run;
  }
  return bytes;
}

/** So that memory is taken once, and not for a stream that ends too early or claims too much. */
function unpackedLength(packed: Uint8Array, origin: Origin): number {
  // Prose, for one, is refused by the number of segments that it would have, not by how it ends.
  const segments = firstHalf(packed) + 1;
  if (tableBytes(segments) > MAX_BYTES) throw tooManySegments(origin, segments, packed.length);
  let length = 0;
  for (let at = 0; at < packed.length;) {
    const start = at;
    const tag = packed[at++];
    length += WORD;
    for (let bits = tag; bits !== 0; bits >>= 1) at += bits & 1;
    // Beyond the end there is no count; the check below sees `at`.
    if (tag === 0) length += (packed[at++] ?? 0) * WORD;
    if (tag === 0xff) {
      const run = (packed[at++] ?? 0) * WORD;
      length += run;
      at += run;
    }
    if (at > packed.length) {
      throw malformed(origin, "packed words", start, "the file ends within a packed word");
    }
    if (length > MAX_BYTES) throw tooLarge(origin, length);
  }
  return length;
}

/** The first 32 bits of what is packed. */
function firstHalf(packed: Uint8Array): number {
  let value = 0;
  let at = 1;
  for (let byte = 0; byte < 4; byte++) {
    if (packed[0] & (1 << byte)) value += (packed[at++] ?? 0) * 2 ** (8 * byte);
  }
  return value;
}

function tooManySegments(origin: Origin, segments: number, length: number): SimError {
  const table = tableBytes(segments);
  return malformed(
    origin,
    "segment table",
    0,
    `no Cap'n Proto message: a table of ${segments} segments would take ${table} bytes, the file has ${length}`,
  );
}

function tooLarge(origin: Origin, length: number): SimError {
  return malformed(
    origin,
    "segment table",
    0,
    `a message of ${length} bytes or more; ${MAX_BYTES} are allowed`,
  );
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
