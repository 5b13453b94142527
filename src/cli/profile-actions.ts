import { SimError } from "../base/errors.ts";
import { VERSION } from "../base/version.ts";
import { findingReport } from "../report/finding-report.ts";
import type { CompareReport, InspectReport, QueryReport } from "../report/profile-report.ts";
import { IPU21 } from "../target/ipu21.ts";
import { compareProfiles } from "../trace/compare.ts";
import type { CompareQuery } from "../trace/compare.ts";
import { inspectProfile } from "../trace/inspect.ts";
import { queryProfile } from "../trace/query.ts";
import type { GroupKey, ProfileQuery, SampleFilters } from "../trace/query.ts";
import { parsePhase } from "../trace/step-names.ts";
import type { CompareOptions, QueryOptions } from "./options.ts";
import { printComparison, printInspection, printQuery } from "./print-profile.ts";
import { printableJson } from "./printable.ts";
import { loadProfile } from "./profile-file.ts";
import type { LoadedProfile } from "./profile-file.ts";
import { Progress } from "./progress.ts";

export interface InspectArguments {
  readonly profile: string;
  readonly json: boolean;
}

export interface QueryArguments extends QueryOptions {
  readonly profile: string;
}

export interface CompareArguments extends CompareOptions {
  readonly "profile-a": string;
  readonly "profile-b": string;
}

/** `tilesim inspect`. */
export function inspect({ profile: file, json }: InspectArguments): void {
  const { source, profile } = read(file);
  const { findings, ...held } = inspectProfile(profile, IPU21);
  const report: InspectReport = {
    tilesim: VERSION,
    profile: source,
    ...held,
    findings: findings.map(findingReport),
  };
  print(json ? null : printInspection(report), report);
}

/** `tilesim query`. */
export function query(options: QueryArguments): void {
  const asked = queryOf(options);
  const { source, profile } = read(options.profile);
  const report: QueryReport = {
    tilesim: VERSION,
    profile: source,
    query: asked,
    ...queryProfile(profile, asked),
  };
  print(options.json ? null : printQuery(report), report);
}

/** `tilesim compare`. */
export async function compare(options: CompareArguments): Promise<void> {
  const asked: CompareQuery = {
    groupBy: options["group-by"],
    sortBy: options["sort-by"],
    limit: whole("limit", options.limit),
    samples: whole("samples", options.samples),
  };
  const a = await readEither(options["profile-a"]);
  const b = await readEither(options["profile-b"]);
  const report: CompareReport = {
    tilesim: VERSION,
    a: a.source,
    b: b.source,
    query: asked,
    ...compareProfiles(a.profile, b.profile, asked),
  };
  print(options.json ? null : printComparison(report), report);
}

/** A profile, or the one that the run of a schedule file would leave. */
async function readEither(file: string): Promise<LoadedProfile> {
  if (!file.endsWith(".json")) return read(file);
  const progress = new Progress();
  progress.say(`running ${file}`);
  try {
    const { profileOfSchedule } = await import("./schedule-profile.ts");
    return profileOfSchedule(file);
  } finally {
    progress.end();
  }
}

function read(file: string): LoadedProfile {
  const progress = new Progress();
  progress.say(`reading ${file}`);
  try {
    return loadProfile(file);
  } finally {
    progress.end();
  }
}

function print(text: string | null, report: object): void {
  process.stdout.write(text ?? `${printableJson(report)}\n`);
}

function queryOf(options: QueryArguments): ProfileQuery {
  return {
    groupBy: options["group-by"].map(groupKey),
    filters: filtersOf(options),
    sortBy: options["sort-by"],
    limit: whole("limit", options.limit),
    samples: whole("samples", options.samples),
    isSharedClock: options["shared-clock"],
  };
}

function filtersOf(options: QueryOptions): SampleFilters {
  const { kind, kernel, tile, phase, metadata } = options;
  const at = options["at-offset"];
  const kernelContains = options["kernel-contains"];
  const operationContains = options["operation-contains"];
  return {
    ...(kind && { kinds: kind }),
    ...(kernel && { kernels: kernel }),
    ...(kernelContains !== undefined && { kernelContains }),
    ...(operationContains !== undefined && { operationContains }),
    ...(tile && { tiles: tile.map(tileRange) }),
    ...(phase && { phases: phase.map(phaseNumber) }),
    ...(metadata && { metadata: metadata.map(metadataEntry) }),
    ...(at !== undefined && { atOffset: whole("at-offset", at) }),
  };
}

const METADATA = "metadata:";

function groupKey(text: string): GroupKey {
  switch (text) {
    case "kind":
    case "kernel":
    case "operation":
    case "phase":
    case "tile":
      return { kind: text };
    default:
      if (text.startsWith(METADATA) && text.length > METADATA.length) {
        return { kind: "metadata", name: text.slice(METADATA.length) };
      }
      throw bad("group-by", text, "Give kernel, operation, phase, tile, kind or metadata:NAME");
  }
}

function tileRange(text: string): readonly [number, number] {
  const [, first, last = first] = /^(\d{1,10})(?:-(\d{1,10}))?$/.exec(text) ?? [];
  const range = [Number(first), Number(last)] as const;
  if (first !== undefined && range[0] <= range[1]) return range;
  throw bad("tile", text, "Give a physical tile, or a range as 0-63");
}

function phaseNumber(text: string): number {
  const phase = parsePhase(text);
  if (phase !== null) return phase;
  throw bad("phase", text, "Give a number below 2^32, or 2^31+3 for exchange phase 3");
}

function metadataEntry(text: string): { readonly name: string; readonly value: string } {
  const at = text.indexOf("=");
  if (at > 0) return { name: text.slice(0, at), value: text.slice(at + 1) };
  throw bad("metadata", text, "Give NAME=VALUE");
}

function whole(option: string, value: number): number {
  if (Number.isSafeInteger(value) && value >= 0) return value;
  throw bad(option, String(value), "Give a whole number of at least 0");
}

function bad(option: string, value: string, fix: string): SimError {
  return new SimError("BAD_USAGE", {
    what: `--${option} is ${JSON.stringify(value)}`,
    where: { option },
    fix,
  });
}
