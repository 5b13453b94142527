import { SimError, assertNever } from "../base/errors.ts";

/**
 * A value as Rust's debug output shows it: profiles print layouts and kernel specifications so. A name may
 * carry items (`FromEnd(1)`), fields (`Matrix { row_block: 64 }`) or nothing (`RowMajor`, `true`). A number is
 * whole and has no sign; any other stays text. `offset` is where it stands in the text.
 */
export type DebugValue =
  | { readonly kind: "number"; readonly value: number; readonly offset: number }
  | { readonly kind: "real"; readonly text: string; readonly offset: number }
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
const NUMBER = /-?[0-9]+(?:\.[0-9]+)?(?:e-?[0-9]+)?/y;

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

/** The value on one line, as Rust prints it (`{:?}`). */
export function debugText(value: DebugValue): string {
  switch (value.kind) {
    case "number":
      return String(value.value);
    case "real":
      return value.text;
    case "list":
      return `[${value.items.map(debugText).join(", ")}]`;
    case "name": {
      const { name, items, fields } = value;
      if (items.length > 0) return `${name}(${items.map(debugText).join(", ")})`;
      if (fields.size === 0) return name;
      const named = [...fields].map(([field, of]) => `${field}: ${debugText(of)}`);
      return `${name} { ${named.join(", ")} }`;
    }
    default:
      return assertNever(value);
  }
}

/** The error for text that is no debug output, or not of what it should be. */
export function malformed(what: string, offset: number): SimError {
  return new SimError("FILE_MALFORMED", {
    what: `debug text: ${what}`,
    where: { offset },
    fix: "Give the text as the compiler prints it",
  });
}

/** A map that has every field that is asked of it, by the check that made it. */
export interface Fields {
  get(name: string): DebugValue;
  has(name: string): boolean;
}

/**
 * The fields of a value that must be `name` with these and no others.
 *
 * @throws FILE_MALFORMED
 */
export function fieldsOf(
  value: DebugValue,
  name: string,
  required: readonly string[],
  optional: readonly string[] = [],
): Fields {
  const found = nameOf(value);
  if (found.name !== name) {
    throw malformed(`${name} expected, found ${found.name}`, found.offset);
  }
  const missing = required.find((field) => !found.fields.has(field));
  if (missing !== undefined) throw malformed(`${name} without ${missing}`, found.offset);
  for (const [field, { offset }] of found.fields) {
    if (required.includes(field) || optional.includes(field)) continue;
    throw malformed(`${name} has no field ${field}`, offset);
  }
  return found.fields as Fields;
}

/** @throws FILE_MALFORMED where it is a number or a list */
export function nameOf(value: DebugValue): DebugName {
  if (value.kind === "name") return value;
  throw malformed(`a name expected, found a ${value.kind}`, value.offset);
}

/** @throws FILE_MALFORMED where there is none, or more than one */
export function soleItem({ name, items, offset }: DebugName): DebugValue {
  if (items.length === 1) return items[0];
  throw malformed(`${name} of one item expected, found ${items.length}`, offset);
}

/** @throws FILE_MALFORMED where it is no whole number without sign */
export function numberOf(value: DebugValue): number {
  if (value.kind === "number") return value.value;
  throw malformed(`a number expected, found a ${value.kind}`, value.offset);
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
    const number = this.#match(NUMBER);
    if (/[-.e]/.test(number)) return { kind: "real", text: number, offset };
    if (number !== "") {
      const value = Number(number);
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
