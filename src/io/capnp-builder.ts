/**
 * Builds a message (https://capnproto.org/encoding.html) the way the Rust crate `capnp` does by default, byte for
 * byte: what a file of ours holds, and where, is then what its tools are used to.
 */

const WORD = 8;
const STRUCT = 0;
const LIST = 1;
const FAR = 2;
const BYTE_LIST = 2;
const COMPOSITE_LIST = 7;

/** Words of the first segment; each later one has at least this many and all allocated before it. */
const FIRST_SEGMENT = 1024;

class Segment {
  readonly id: number;
  readonly bytes: Uint8Array;
  readonly view: DataView;
  usedWords = 0;

  constructor(id: number, words: number) {
    this.id = id;
    this.bytes = new Uint8Array(words * WORD);
    this.view = new DataView(this.bytes.buffer);
  }

  get words(): number {
    return this.bytes.length / WORD;
  }
}

/** A place for a value: the word where it begins. */
interface Place {
  readonly segment: Segment;
  readonly word: number;
}

export class MessageBuilder {
  readonly #segments: Segment[] = [];
  readonly #encoder = new TextEncoder();
  /** Bytes of texts, which stand many times in a message. */
  readonly #encoded = new Map<string, Uint8Array>();
  #nextWords = FIRST_SEGMENT;

  /** The struct that the message is; once. */
  root(dataWords: number, pointers: number): StructBuilder {
    const segment = this.#addSegment(1);
    segment.usedWords = 1;
    return this.struct({ segment, word: 0 }, dataWords, pointers);
  }

  /** The message with its table of segments, unpacked. */
  bytes(): Uint8Array<ArrayBuffer> {
    const table = Math.ceil((4 + 4 * this.#segments.length) / WORD) * WORD;
    const words = this.#segments.reduce((sum, { usedWords }) => sum + usedWords, 0);
    const bytes = new Uint8Array(table + words * WORD);
    const view = new DataView(bytes.buffer);
    view.setUint32(0, this.#segments.length - 1, true);
    let at = table;
    for (const { id, bytes: content, usedWords } of this.#segments) {
      view.setUint32(4 + 4 * id, usedWords, true);
      bytes.set(content.subarray(0, usedWords * WORD), at);
      at += usedWords * WORD;
    }
    return bytes;
  }

  struct(pointer: Place, dataWords: number, pointers: number): StructBuilder {
    const high = dataWords | (pointers << 16);
    const { segment, word } = this.#allocate(pointer, dataWords + pointers, STRUCT, high);
    return new StructBuilder(this, segment, word, dataWords);
  }

  structs(
    pointer: Place,
    count: number,
    dataWords: number,
    pointers: number,
  ): readonly StructBuilder[] {
    const step = dataWords + pointers;
    const words = count * step;
    const place = this.#allocate(pointer, 1 + words, LIST, (words << 3) | COMPOSITE_LIST);
    const { segment, word } = place;
    writePointer(place, STRUCT | (count << 2), dataWords | (pointers << 16));
    return Array.from(
      { length: count },
      (_, i) => new StructBuilder(this, segment, word + 1 + i * step, dataWords),
    );
  }

  text(pointer: Place, text: string): void {
    let encoded = this.#encoded.get(text);
    if (encoded === undefined) {
      encoded = this.#encoder.encode(text);
      this.#encoded.set(text, encoded);
    }
    const length = encoded.length + 1;
    const words = Math.ceil(length / WORD);
    const { segment, word } = this.#allocate(pointer, words, LIST, (length << 3) | BYTE_LIST);
    segment.bytes.set(encoded, word * WORD);
  }

  /** Makes room beside the pointer, or else in the first segment that has some, behind a landing pad. */
  #allocate(pointer: Place, words: number, kind: number, high: number): Place {
    const word = take(pointer.segment, words);
    if (word !== null) {
      writePointer(pointer, kind | ((word - pointer.word - 1) << 2), high);
      return { segment: pointer.segment, word };
    }
    const pad = this.#allocateAnywhere(words + 1);
    writePointer(pointer, FAR | (pad.word << 3), pad.segment.id);
    writePointer(pad, kind, high);
    return { segment: pad.segment, word: pad.word + 1 };
  }

  #allocateAnywhere(words: number): Place {
    for (const segment of this.#segments) {
      const word = take(segment, words);
      if (word !== null) return { segment, word };
    }
    const segment = this.#addSegment(words);
    segment.usedWords = words;
    return { segment, word: 0 };
  }

  #addSegment(words: number): Segment {
    const segment = new Segment(this.#segments.length, Math.max(words, this.#nextWords));
    this.#nextWords += segment.words;
    this.#segments.push(segment);
    return segment;
  }
}

/** Words at the end of a segment; null where it has not as many left. */
function take(segment: Segment, words: number): number | null {
  const word = segment.usedWords;
  if (word + words > segment.words) return null;
  segment.usedWords += words;
  return word;
}

function writePointer({ segment: { view }, word }: Place, low: number, high: number): void {
  view.setUint32(word * WORD, low, true);
  view.setUint32(word * WORD + 4, high, true);
}

/** A struct in a message: fields are set by the byte or the pointer where they stand, in the order of calls. */
export class StructBuilder {
  readonly #message: MessageBuilder;
  readonly #segment: Segment;
  readonly #word: number;
  readonly #dataWords: number;

  constructor(message: MessageBuilder, segment: Segment, word: number, dataWords: number) {
    this.#message = message;
    this.#segment = segment;
    this.#word = word;
    this.#dataWords = dataWords;
  }

  u16(byte: number, value: number): void {
    this.#segment.view.setUint16(this.#word * WORD + byte, value, true);
  }

  u32(byte: number, value: number): void {
    this.#segment.view.setUint32(this.#word * WORD + byte, value, true);
  }

  u64(byte: number, value: number): void {
    this.#segment.view.setBigUint64(this.#word * WORD + byte, BigInt(value), true);
  }

  text(pointer: number, text: string): void {
    this.#message.text(this.#pointer(pointer), text);
  }

  struct(pointer: number, dataWords: number, pointers: number): StructBuilder {
    return this.#message.struct(this.#pointer(pointer), dataWords, pointers);
  }

  structs(
    pointer: number,
    count: number,
    dataWords: number,
    pointers: number,
  ): readonly StructBuilder[] {
    return this.#message.structs(this.#pointer(pointer), count, dataWords, pointers);
  }

  #pointer(pointer: number): Place {
    return { segment: this.#segment, word: this.#word + this.#dataWords + pointer };
  }
}
