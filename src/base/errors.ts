/**
 * The class says who can act: `SimError` the user, `BackendError` the machine it runs on,
 * `InternalError` us. The code says what went wrong; scripts and tests match codes, never prose.
 */

/** Every code that an error or a finding may carry, with its meaning. */
export const CODES = {
  // what a user gives
  BAD_USAGE: "an option or a combination of options that means nothing",
  FILE_UNREADABLE: "a file that cannot be read",
  FILE_UNWRITABLE: "a file, or standard output, that cannot be written",
  FILE_MALFORMED: "a file that is not what it should be",
  SHAPE_MISMATCH: "a shape that does not fit the operation or the other operand",
  DTYPE_MISMATCH: "an element type other than the one that is needed",
  PROGRAM_INVALID: "a program that does not mean anything",
  SCHEDULE_INVALID: "a schedule that does not mean anything",
  UNKNOWN_KERNEL: "a kernel that this version does not know",
  CALIBRATION_INVALID: "profiles of which no cycles of kernels can be learned, or not together",
  LAYOUT_INVALID: "a layout that does not resolve to shards",
  PLAN_DOES_NOT_FIT: "a program that breaks a limit of the target",
  TILE_MEMORY_FULL: "more live bytes than a tile has",
  // what touches tile memory
  OUT_OF_BOUNDS: "an access outside a tile's memory",
  MISALIGNED: "an address that its access cannot have",
  OPERANDS_OVERLAP: "an output that shares bytes with an operand that must stay whole",
  MEMORY_CLASS: "an operand in a memory class that its kernel cannot read",
  ELEMENT_CONFLICT: "two operands in one memory element that the kernel needs apart",
  EXCHANGE_RACE: "two transfers of one phase that write the same bytes",
  EXCHANGE_INVALID: "a transfer that the fabric cannot carry",
  // what a run notices and survives
  UNWRITTEN_READ: "memory that is read before anything wrote it",
  NON_FINITE: "an infinity or NaN in a result, or where a file has a number",
  ACCURACY: "a result further from f64 than its tolerance allows",
  PROFILE_DIFFERS: "steps that a recorded profile shows otherwise than the schedule has them",
  BACKEND_DIFFERS: "a backend whose bits differ from the reference kernels",
  // the machine it runs on
  BACKEND_UNAVAILABLE: "a backend that cannot run here",
  BACKEND_FAILED: "a backend that stopped while running",
  OUT_OF_MEMORY: "more memory than the host gives",
  // us
  INTERNAL: "a state that cannot be; please report it",
} as const;

export type Code = keyof typeof CODES;

/** Where something is: tile, step, address, tensor, kernel, field, offset ... */
export type Place = Readonly<Record<string, string | number | boolean | readonly number[]>>;

export interface Fault {
  /** What is wrong, with the numbers that show it. */
  readonly what: string;
  readonly where: Place;
  /** What the reader can do about it. */
  readonly fix: string;
}

/** What a run noticed and survived: collected, and printed by the command line alone. */
export interface Finding extends Fault {
  readonly code: Code;
  readonly severity: "error" | "warning" | "note";
}

/** An error or a finding in one line: what, where, how to fix it. */
export function message(code: Code, { what, where, fix }: Fault): string {
  const places = Object.entries(where).map(([name, value]) => `${name} ${String(value)}`);
  const place = places.length > 0 ? ` (${places.join(", ")})` : "";
  return `${code}: ${what}${place}. ${fix}.`;
}

abstract class CodedError extends Error {
  readonly code: Code;
  readonly fault: Fault;

  constructor(code: Code, fault: Fault, options?: ErrorOptions) {
    super(message(code, fault), options);
    this.code = code;
    this.fault = fault;
  }
}

/** The user can act: bad input, a program that does not fit, a schedule that breaks a rule. */
export class SimError extends CodedError {
  override readonly name = "SimError";
}

/** The machine that runs the simulator cannot do it: no device, no memory, no feature. */
export class BackendError extends CodedError {
  override readonly name = "BackendError";
}

/** Our own fault: a broken promise between two parts of the simulator. */
export class InternalError extends CodedError {
  override readonly name = "InternalError";

  constructor(what: string, where: Place = {}) {
    super("INTERNAL", { what, where, fix: "Please report it with the command that led here" });
  }
}

/** The end of a switch over a union: does not compile while a member is unhandled. */
export function assertNever(value: never): never {
  throw new InternalError(`unhandled case ${JSON.stringify(value)}`);
}
