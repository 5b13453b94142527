import type { ProfileStep } from "./profile.ts";

/** Steps that exchange or sync carry their phase's number with this bit set; others the work item's (F6.5). */
export const PHASE_BIT: number = 2 ** 31;
const PREFIX = "2^31+";

/** Whether a step's `phase` is the number of an exchange phase and no work item's. */
export function isExchangePhase(phase: number): boolean {
  return phase >= PHASE_BIT;
}

/** A step's `phase` as people read it: `17`, or `2^31+3` for exchange phase 3. */
export function phaseText(phase: number): string {
  return isExchangePhase(phase) ? `${PREFIX}${phase - PHASE_BIT}` : String(phase);
}

/** The number that `phaseText` or a file shows; null for any other text. */
export function parsePhase(text: string): number | null {
  const isMarked = text.startsWith(PREFIX);
  const digits = isMarked ? text.slice(PREFIX.length) : text;
  if (!/^\d{1,10}$/.test(digits)) return null;
  const phase = Number(digits) + (isMarked ? PHASE_BIT : 0);
  return phase < 2 ** 32 ? phase : null;
}

/** What tells phases apart: `P/E`, as F6.6 names them, with `phaseText` for P. */
export function phaseKey({ phase, epoch }: Pick<ProfileStep, "phase" | "epoch">): string {
  return `${phaseText(phase)}/${epoch}`;
}

/** The value of a step's first metadata entry of that name; null where there is none. */
export function metadataOf({ metadata }: ProfileStep, name: string): string | null {
  return metadata.find((entry) => entry.name === name)?.value ?? null;
}

const collator = new Intl.Collator("en", { numeric: true });

/** Names in order, with numbers in them by value: tile 9 before tile 10. */
export function byName(a: { readonly name: string }, b: { readonly name: string }): number {
  return collator.compare(a.name, b.name) || (a.name < b.name ? -1 : Number(a.name > b.name));
}
