import { SimError } from "../base/errors.ts";

/**
 * A value as Rust's debug output shows it: profiles print layouts and kernel specifications so. A name may
 * carry items (`FromEnd(1)`), fields (`Matrix { row_block: 64 }`) or nothing (`RowMajor`, `true`).
 * `offset` is where it stands in the text.
 */
export type DebugValue =
  | { readonly kind: "number"; readonly value: number; readonly offset: number }
  | { readonly kind: "list"; readonly items: readonly DebugValue[]; readonly offset: number }
  | DebugName;

export interface DebugName {
  readonly kind: "name";
  readonly name: string;
  readonly items: readonly DebugValue[];
  readonly fields: ReadonlyMap<string, DebugValue>;
  readonly offset: number;
}

/** A layout of 32 axes is a tenth of it. */
const MAX_LENGTH = 65_536;
/** The deepest that is printed is 7: a rearrange's layout's axis. */
const MAX_DEPTH = 32;

const SPACE = /\s*/y;
const NAME = /[A-Za-z_][A-Za-z0-9_]*/y;
const DIGITS = /[0-9]+/y;

/**
 * Reads one value, the whole of `text`; takes the pretty form (`{:#?}`) with its line breaks and trailing
 * commas as well. Time and memory are linear in the text, which is at most 64 KiB.
 *
 * @throws FILE_MALFORMED with `where.offset`
 */
export function readDebug(text: string): DebugValue {
  if (text.length > MAX_LENGTH) {
    throw malformed(`${text.length} characters, more than ${MAX_LENGTH}`, MAX_LENGTH);
  }
  const reader = new Reader(text);
  const value = reader.value(0);
  reader.end();
  return value;
}

/** The error for text that is no debug output, or not of what it should be. */
export function malformed(what: string, offset: number): SimError {
  return new SimError("FILE_MALFORMED", {
    what: `debug text: ${what}`,
    where: { offset },
    fix: "Give the text as the compiler prints it",
  });
}

class Reader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  value(depth: number): DebugValue {
    if (depth > MAX_DEPTH) throw malformed(`more than ${MAX_DEPTH} levels`, this.#at);
    this.#match(SPACE);
    const offset = this.#at;
    if (this.#take("[")) {
      return { kind: "list", items: this.#items("]", depth), offset };
    }
    const digits = this.#match(DIGITS);
    if (digits !== "") {
      const value = Number(digits);
      if (!Number.isSafeInteger(value)) throw malformed("a number beyond 2^53", offset);
      return { kind: "number", value, offset };
    }
    const name = this.#match(NAME);
    if (name === "") throw this.#expected("a number, a name or [");
    let items: readonly DebugValue[] = [];
    let fields: ReadonlyMap<string, DebugValue> = new Map();
    if (this.#take("(")) items = this.#items(")", depth);
    else if (this.#take("{")) fields = this.#fields(depth);
    return { kind: "name", name, items, fields, offset };
  }

  end(): void {
    this.#match(SPACE);
    if (this.#at < this.#text.length) throw this.#expected("the end");
  }

  #items(close: string, depth: number): readonly DebugValue[] {
    const items: DebugValue[] = [];
    while (!this.#take(close)) {
      items.push(this.value(depth + 1));
      this.#separator(close);
    }
    return items;
  }

  #fields(depth: number): ReadonlyMap<string, DebugValue> {
    const fields = new Map<string, DebugValue>();
    while (!this.#take("}")) {
      const offset = this.#at;
      const name = this.#match(NAME);
      if (name === "") throw this.#expected("a field's name");
      if (fields.has(name)) throw malformed(`field ${name} twice`, offset);
      if (!this.#take(":")) throw this.#expected(`: after ${name}`);
      fields.set(name, this.value(depth + 1));
      this.#separator("}");
    }
    return fields;
  }

  /** A comma, or nothing before `close`, which stays. */
  #separator(close: string): void {
    if (this.#take(",")) return;
    if (this.#text[this.#at] !== close) throw this.#expected(`, or ${close}`);
  }

  /** Whether `symbol` stands here, after and before space; moves past it. */
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

  #expected(what: string): SimError {
    const found = this.#text[this.#at];
    return malformed(
      `${what} expected, found ${found === undefined ? "the end" : JSON.stringify(found)}`,
      this.#at,
    );
  }
}
