import type { CompareQuery, Comparison } from "../trace/compare.ts";
import type { Inspection } from "../trace/inspect.ts";
import type { ProfileQuery, QueryResult } from "../trace/query.ts";
import type { FindingReport } from "./finding-report.ts";

/** The file that a profile was read from. */
export interface ProfileSource {
  /** As it was named. */
  readonly file: string;
  /** Of the file's bytes as they are, packed or not. */
  readonly sha256: string;
  readonly bytes: number;
}

/** What `inspect` prints as JSON. */
export interface InspectReport extends Omit<Inspection, "findings"> {
  readonly tilesim: string;
  readonly profile: ProfileSource;
  readonly findings: readonly FindingReport[];
}

/** What `query` prints as JSON: the names of ipu-stack's profile-query, and what was asked (F6.6). */
export interface QueryReport extends QueryResult {
  readonly tilesim: string;
  readonly profile: ProfileSource;
  readonly query: ProfileQuery;
}

/** What `compare` prints as JSON. */
export interface CompareReport extends Comparison {
  readonly tilesim: string;
  readonly a: ProfileSource;
  readonly b: ProfileSource;
  readonly query: CompareQuery;
}
