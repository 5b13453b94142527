import { SimError } from "../base/errors.ts";
import type { KernelSpec } from "./spec.ts";

/** Extents of one operand stay below this: element indices are exact in 32 bits. */
const MOST = 2 ** 30;

/**
 * Each named field of a specification is a whole number of at least one.
 * @throws SimError `SHAPE_MISMATCH`
 */
export function checkPositive<Spec extends KernelSpec>(
  spec: Spec,
  fields: readonly (keyof Spec & string)[],
): void {
  for (const field of fields) {
    const value = spec[field];
    if (typeof value === "number" && Number.isInteger(value) && value >= 1 && value <= MOST)
      continue;
    throw shapeMismatch(
      spec,
      `${field} is ${String(value)}`,
      field,
      `Give a whole number from 1 to ${MOST}`,
    );
  }
}

/** @throws SimError `SHAPE_MISMATCH` */
export function checkMultiple<Spec extends KernelSpec>(
  spec: Spec,
  field: keyof Spec & string,
  unit: number,
): void {
  const value = spec[field];
  if (typeof value === "number" && value % unit === 0) return;
  throw shapeMismatch(
    spec,
    `${field} is ${String(value)}, no multiple of ${unit}`,
    field,
    `Pad it to ${Math.ceil(Number(value) / unit) * unit}`,
  );
}

export function shapeMismatch(
  { kind }: KernelSpec,
  what: string,
  field: string,
  fix: string,
): SimError {
  return new SimError("SHAPE_MISMATCH", {
    what: `${kind}: ${what}`,
    where: { kernel: kind, field },
    fix,
  });
}
