import type { SimError } from "../base/errors.ts";
import { malformed } from "./capnp-frame.ts";
import type { Frame } from "./capnp-frame.ts";

/**
 * Reads structs, lists and text from a message (https://capnproto.org/encoding.html). Nothing in it is trusted:
 * a pointer is followed inside its segment or refused, and what is read in all is bounded, so that a message whose
 * pointers meet, or which claims more than it has, ends early.
 */

const WORD = 8;
/** Pointer kinds, by the low two bits. */
const STRUCT = 0;
const LIST = 1;
const FAR = 2;
const KINDS = ["struct", "list", "far pointer", "capability"] as const;
/** List element sizes: code 6 is a pointer, 7 a struct with a tag. */
const BYTE_LIST = 2;
const POINTER_LIST = 6;
const COMPOSITE_LIST = 7;
/** Bytes of an element by code; bits (code 1) are no structs. */
const ELEMENT_BYTES = [0, NaN, 1, 2, 4, 8];

/** Words may be read this many times over in all: honest messages read each once. */
const TRAVERSALS = 4;
/** Elements of all lists; a profile of 1,472 tiles has about 0.6 million. They bound the memory of the result. */
const MAX_ELEMENTS = 2 ** 23;

/** A pointer after far pointers: its two halves and what it points to. */
interface Target {
  /** Byte of the pointer as it stood in the struct, for errors. */
  readonly at: number;
  readonly low: number;
  readonly high: number;
  readonly segment: number;
  readonly start: number;
}

/** Bytes of the message from `start` to before `end`. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/** The struct that a message's root points to. @throws FILE_MALFORMED */
export function readRoot(frame: Frame, name: string): StructReader {
  return new Message(frame).root(name);
}

class Message {
  readonly #frame: Frame;
  readonly #bytes: Uint8Array;
  readonly #utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  /** One string for each text, however often it stands in the message. */
  readonly #texts = new Map<string, string>();
  #wordsLeft: number;
  #elementsLeft = MAX_ELEMENTS;

  constructor(frame: Frame) {
    this.#frame = frame;
    const { buffer, byteOffset, byteLength } = frame.view;
    this.#bytes = new Uint8Array(buffer, byteOffset, byteLength);
    this.#wordsLeft = (TRAVERSALS * byteLength) / WORD;
  }

  get view(): DataView {
    return this.#frame.view;
  }

  root(name: string): StructReader {
    const { starts } = this.#frame;
    if (starts[1] - starts[0] < WORD) {
      throw this.error(name, starts[0], "the first segment has no root pointer");
    }
    return this.struct(0, starts[0], () => name);
  }

  struct(segment: number, at: number, path: () => string): StructReader {
    const target = this.#follow(segment, at, path);
    if (target === null) return new StructReader(this, path, segment, at, 0, 0);
    this.#expect(STRUCT, target, path);
    const dataBytes = (target.high & 0xffff) * WORD;
    const pointers = target.high >>> 16;
    this.#claim(target, dataBytes + pointers * WORD, path);
    return new StructReader(this, path, target.segment, target.start, dataBytes, pointers);
  }

  structs(segment: number, at: number, path: () => string): readonly StructReader[] {
    const target = this.#follow(segment, at, path);
    if (target === null) return [];
    this.#expect(LIST, target, path);
    const code = target.high & 7;
    const count = target.high >>> 3;
    if (code === COMPOSITE_LIST) return this.#composites(target, count, path);
    // A list of numbers, bytes or pointers may have become one of structs in a later schema.
    const pointers = code === POINTER_LIST ? 1 : 0;
    const bytes = pointers === 1 ? 0 : ELEMENT_BYTES[code];
    if (Number.isNaN(bytes)) {
      throw this.error(path(), target.at, "a list of bits where one of structs should be");
    }
    this.#claim(target, count * (bytes + pointers * WORD), path);
    return this.#elements(target, target.start, count, bytes, pointers, path);
  }

  text(segment: number, at: number, path: () => string): string {
    const target = this.#follow(segment, at, path);
    if (target === null) return "";
    this.#expect(LIST, target, path);
    const length = target.high >>> 3;
    if ((target.high & 7) !== BYTE_LIST || length === 0) {
      throw this.error(path(), target.at, "a list that is no text");
    }
    this.#claim(target, length, path);
    const end = target.start + length - 1;
    if (this.#bytes[end] !== 0) throw this.error(path(), end, "a text that does not end in NUL");
    return this.#decode(target.start, end, path);
  }

  /** The bytes of a list: its tag and elements, or a text with its NUL. */
  list(segment: number, at: number, path: () => string): ByteRange {
    const target = this.#follow(segment, at, path);
    if (target === null) return { start: at, end: at };
    this.#expect(LIST, target, path);
    const code = target.high & 7;
    const count = target.high >>> 3;
    const bytes =
      code === COMPOSITE_LIST
        ? (count + 1) * WORD
        : code === POINTER_LIST
          ? count * WORD
          : Math.ceil(count * (ELEMENT_BYTES[code] || 1 / 8));
    this.#claim(target, bytes, path);
    return { start: target.start, end: target.start + bytes };
  }

  error(field: string, offset: number, what: string, cause?: unknown): SimError {
    return malformed(this.#frame.origin, field, offset, what, cause);
  }

  #composites(target: Target, words: number, path: () => string): readonly StructReader[] {
    this.#claim(target, (words + 1) * WORD, path);
    const { view } = this.#frame;
    const low = view.getUint32(target.start, true);
    const high = view.getUint32(target.start + 4, true);
    if ((low & 3) !== STRUCT) {
      throw this.error(path(), target.start, "a list's tag that is no struct's");
    }
    const count = low >>> 2;
    const dataBytes = (high & 0xffff) * WORD;
    const pointers = high >>> 16;
    const needed = count * (dataBytes / WORD + pointers);
    if (needed > words) {
      throw this.error(
        path(),
        target.start,
        `${count} elements take ${needed} words, the list has ${words}`,
      );
    }
    return this.#elements(target, target.start + WORD, count, dataBytes, pointers, path);
  }

  #elements(
    { at, segment }: Target,
    start: number,
    count: number,
    dataBytes: number,
    pointers: number,
    path: () => string,
  ): readonly StructReader[] {
    const step = dataBytes + pointers * WORD;
    // Elements smaller than a word cost one: a list of nothing at all may claim 2^29 of them.
    if (step < WORD) this.#spend(count, at, path);
    this.#elementsLeft -= count;
    if (this.#elementsLeft < 0) {
      throw this.error(path(), at, `the file's lists claim more than ${MAX_ELEMENTS} elements`);
    }
    const elements: StructReader[] = [];
    for (let i = 0; i < count; i++) {
      const element = (): string => `${path()}[${i}]`;
      elements.push(
        new StructReader(this, element, segment, start + i * step, dataBytes, pointers),
      );
    }
    return elements;
  }

  /** The pointer at byte `at` of a segment, past a far pointer and its landing pad; null: no value. */
  #follow(segment: number, at: number, path: () => string): Target | null {
    const { view } = this.#frame;
    const low = view.getUint32(at, true);
    const high = view.getUint32(at + 4, true);
    if (low === 0 && high === 0) return null;
    if ((low & 3) !== FAR) return { at, low, high, segment, start: targetOf(at, low) };

    const isDouble = (low & 4) !== 0;
    const pad = this.#farStart(low, high, isDouble ? 2 : 1, at, path);
    this.#spend(isDouble ? 2 : 1, at, path);
    const padLow = view.getUint32(pad, true);
    const padHigh = view.getUint32(pad + 4, true);
    if (!isDouble) {
      if ((padLow & 3) === FAR) throw this.error(path(), pad, "a far pointer to a far pointer");
      return { at, low: padLow, high: padHigh, segment: high, start: targetOf(pad, padLow) };
    }
    if ((padLow & 7) !== FAR) {
      throw this.error(path(), pad, "a double landing pad that does not begin with a far pointer");
    }
    const start = this.#farStart(padLow, padHigh, 0, pad, path);
    const tagLow = view.getUint32(pad + WORD, true);
    const tagHigh = view.getUint32(pad + WORD + 4, true);
    return { at, low: tagLow, high: tagHigh, segment: padHigh, start };
  }

  /** The byte that a far pointer names, with `words` from it on inside its segment. */
  #farStart(low: number, segment: number, words: number, at: number, path: () => string): number {
    const { starts } = this.#frame;
    const segments = starts.length - 1;
    if (segment >= segments) {
      throw this.error(path(), at, `a far pointer to segment ${segment} of ${segments}`);
    }
    const start = starts[segment] + (low >>> 3) * WORD;
    if (start + words * WORD <= starts[segment + 1]) return start;
    throw this.error(path(), at, `a far pointer beyond the end of segment ${segment}`);
  }

  #expect(kind: number, { at, low }: Target, path: () => string): void {
    if ((low & 3) === kind) return;
    throw this.error(path(), at, `a ${KINDS[low & 3]} where a ${KINDS[kind]} should be`);
  }

  /** Holds `bytes` from the target's start to its segment, and counts them as read. */
  #claim({ at, segment, start }: Target, bytes: number, path: () => string): void {
    const { starts } = this.#frame;
    if (start < starts[segment] || start + bytes > starts[segment + 1]) {
      throw this.error(
        path(),
        at,
        `a pointer to ${bytes} bytes from byte ${start} on, outside segment ${segment}`,
      );
    }
    this.#spend(Math.ceil(bytes / WORD), at, path);
  }

  #spend(words: number, at: number, path: () => string): void {
    this.#wordsLeft -= words;
    if (this.#wordsLeft >= 0) return;
    throw this.error(
      path(),
      at,
      `pointers lead to the same bytes again and again, more than ${TRAVERSALS} times the file's size`,
    );
  }

  #decode(start: number, end: number, path: () => string): string {
    let text: string;
    try {
      text = this.#utf8.decode(this.#bytes.subarray(start, end));
    } catch (cause) {
      throw this.error(path(), start, "a text that is not UTF-8", cause);
    }
    const known = this.#texts.get(text);
    if (known !== undefined) return known;
    this.#texts.set(text, text);
    return text;
  }
}

/** Where a struct or list pointer at byte `at` points: a signed count of words from the pointer's end. */
function targetOf(at: number, low: number): number {
  return at + WORD + (low >> 2) * WORD;
}

/**
 * A struct of any size: a field that it is too small for has its default (0, empty), and what a later schema adds
 * is passed over. `name` is the field's, for errors.
 */
export class StructReader {
  readonly #message: Message;
  readonly #path: () => string;
  readonly #segment: number;
  readonly #start: number;
  readonly #dataBytes: number;
  readonly #pointers: number;

  constructor(
    message: Message,
    path: () => string,
    segment: number,
    start: number,
    dataBytes: number,
    pointers: number,
  ) {
    this.#message = message;
    this.#path = path;
    this.#segment = segment;
    this.#start = start;
    this.#dataBytes = dataBytes;
    this.#pointers = pointers;
  }

  u16(byte: number): number {
    return byte + 2 <= this.#dataBytes ? this.#message.view.getUint16(this.#start + byte, true) : 0;
  }

  u32(byte: number): number {
    return byte + 4 <= this.#dataBytes ? this.#message.view.getUint32(this.#start + byte, true) : 0;
  }

  /** @throws FILE_MALFORMED beyond 2^53 */
  u64(byte: number, name: string): number {
    const value = this.u32(byte) + this.u32(byte + 4) * 2 ** 32;
    if (Number.isSafeInteger(value)) return value;
    throw this.error(name, byte, "a number beyond 2^53");
  }

  /** A 16-bit enumerant as its name. @throws FILE_MALFORMED where it has none */
  choice<Name extends string>(byte: number, name: string, names: readonly Name[]): Name {
    const value = this.u16(byte);
    if (value < names.length) return names[value];
    throw this.error(name, byte, `${value} is none of 0 to ${names.length - 1}`);
  }

  /** @throws FILE_MALFORMED */
  struct(pointer: number, name: string): StructReader {
    const path = this.#below(name);
    if (pointer >= this.#pointers) {
      return new StructReader(this.#message, path, this.#segment, this.#start, 0, 0);
    }
    return this.#message.struct(this.#segment, this.#pointerAt(pointer), path);
  }

  /** @throws FILE_MALFORMED */
  structs(pointer: number, name: string): readonly StructReader[] {
    if (pointer >= this.#pointers) return [];
    return this.#message.structs(this.#segment, this.#pointerAt(pointer), this.#below(name));
  }

  /** @throws FILE_MALFORMED where it is no UTF-8 */
  text(pointer: number, name: string): string {
    if (pointer >= this.#pointers) return "";
    return this.#message.text(this.#segment, this.#pointerAt(pointer), this.#below(name));
  }

  /** Where bytes of the struct's data stand in the message. */
  place(byte: number, length: number): ByteRange {
    const start = this.#start + byte;
    return { start, end: start + (byte + length <= this.#dataBytes ? length : 0) };
  }

  /** Where a list or a text stands in the message. @throws FILE_MALFORMED */
  listPlace(pointer: number, name: string): ByteRange {
    if (pointer >= this.#pointers) return { start: this.#start, end: this.#start };
    return this.#message.list(this.#segment, this.#pointerAt(pointer), this.#below(name));
  }

  /** The error for a field whose value means nothing. */
  error(name: string, byte: number, what: string): SimError {
    return this.#message.error(this.#below(name)(), this.#start + byte, what);
  }

  #below(name: string): () => string {
    return () => `${this.#path()}.${name}`;
  }

  #pointerAt(pointer: number): number {
    return this.#start + this.#dataBytes + pointer * WORD;
  }
}
