import type { CalibrationDatabase, ModelRow } from "../trace/calibration.ts";
import type { CompareQuery, Comparison } from "../trace/compare.ts";
import type { CostFit, LeftOut } from "../trace/cost-fit.ts";
import type { Inspection } from "../trace/inspect.ts";
import type { ProfileQuery, QueryResult } from "../trace/query.ts";
import type { RecoverySummary } from "../trace/recover.ts";
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

/** What `recover` prints as JSON. */
export interface RecoverReport extends RecoverySummary {
  readonly tilesim: string;
  readonly target: string;
  readonly program: string;
  readonly capture: ProfileSource;
  readonly schedule: { readonly sha256: string };
  readonly profile: ProfileSource;
  /** How each field of the profile is known. */
  readonly certainty: { readonly file: string };
  /** Work whose cycles were learned from times that the capture shows. */
  readonly durations: readonly { readonly work: string; readonly cycles: number }[];
  readonly findings: readonly FindingReport[];
}

/** What `calibrate` prints as JSON. */
export interface CalibrateReport {
  readonly tilesim: string;
  /** As `--output` writes it. */
  readonly database: CalibrationDatabase;
  /** What the cost model says of each measurement of the database. */
  readonly models: readonly ModelRow[];
  readonly untimedSamples: number;
  readonly leftOut: LeftOut;
  readonly fits: readonly CostFit[];
  /** The file that the database was written to. */
  readonly written: string | null;
  readonly findings: readonly FindingReport[];
}
