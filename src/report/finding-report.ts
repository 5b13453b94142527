import { message, type Finding, type Place } from "../base/errors.ts";

/** A finding with the places that most have, null where it has them not, and all in one line. */
export interface FindingReport extends Finding {
  readonly tile: PlaceValue;
  readonly step: PlaceValue;
  readonly address: PlaceValue;
  readonly tensor: PlaceValue;
  readonly element: PlaceValue;
  readonly message: string;
}

type PlaceValue = Place[string] | null;

export function findingReport(finding: Finding): FindingReport {
  const { tile = null, step = null, address = null, tensor = null, element = null } = finding.where;
  const text = message(finding.code, finding);
  return { ...finding, tile, step, address, tensor, element, message: text };
}
