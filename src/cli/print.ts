import type { AccuracyReport } from "../check/accuracy.ts";
import type { Finding } from "../base/errors.ts";
import type { PartsReport, RunReport } from "../report/run-report.ts";
import type { Ends, Match } from "../trace/hold.ts";
import { printable } from "./printable.ts";
import { count, percent, signed, table } from "./table.ts";

/** A run report as text for people. */
export function printReport(report: RunReport, clockHz: number): string {
  const { cycles, accuracy, findings, outputs, wall } = report;
  const sections = [heading(report)];
  for (const { name, shape, dtype, sha256 } of outputs) {
    sections.push(
      `output ${printable(name)} [${shape.join(", ")}] ${dtype}, sha256 ${sha256.slice(0, 16)}`,
    );
  }
  if (accuracy) sections.push(accuracy.map(printAccuracy).join("\n"));
  sections.push(
    "kernels, cycles of one call\n" +
      table(
        ["operation", "kernel", "calls", "cycles", "measured", "error", "origin"],
        cycles.kernels.map((row) => [
          row.operation,
          kernelName(row),
          row.calls,
          row.cycles,
          row.recorded,
          percent(row.errorPercent),
          row.origin,
        ]),
      ),
  );
  if (cycles.phases.length > 0) {
    sections.push(
      "exchange phases, event cycles\n" +
        table(
          ["phase", "operation", "transfers", "cycles", "measured", "error", "lower bound"],
          cycles.phases.map((row) => [
            String(row.phase),
            row.operation,
            row.transfers,
            row.eventCycles,
            row.recorded,
            percent(row.errorPercent),
            row.lowerBound,
          ]),
        ),
    );
  }
  sections.push(printCycles(report, clockHz), printCriticalPath(report.criticalPath));
  if (report.match && report.ends && report.parts) {
    sections.push(printHeld(report.match, report.ends, report.parts, report.profile?.file ?? ""));
  }
  if (report.assumed.length > 0) {
    sections.push(`assumed, since the chip's way is not known: ${report.assumed.join(", ")}`);
  }
  if (findings.length > 0) sections.push(findings.map(printFinding).join("\n"));
  const ms = (value: number): string => `${value.toFixed(0)} ms`;
  sections.push(`wall: plan ${ms(wall.planMs)}, run ${ms(wall.runMs)}, check ${ms(wall.checkMs)}`);
  return `${sections.join("\n\n")}\n`;
}

function heading(report: RunReport): string {
  const { backend, rounding } = report;
  const how = backend
    ? `${backend.name} (${backend.description}), rounding ${rounding}`
    : "cycles only";
  return `tilesim ${report.tilesim}: ${printable(report.program)} on ${report.tiles} tiles of ${report.target}, ${how}`;
}

function kernelName(row: RunReport["cycles"]["kernels"][number]): string {
  const bytes = row.bytes === null ? "" : ` ${row.bytes} B`;
  return `${row.kernel}${bytes}${row.invocations > 1 ? ` x ${row.invocations}` : ""}`;
}

function printAccuracy(report: AccuracyReport): string {
  const { output, heads, maxAbs, rms, relL2, worst, elements, nonFinite } = report;
  const number = (value: number): string => value.toExponential(2);
  const where = heads === null ? `${elements} elements` : `heads ${heads.join(", ")}`;
  const start = `${printable(output)} against f64 (${where}): `;
  if (!worst) {
    const { nan, infinite, unlike } = nonFinite;
    return `${start}nothing to compare, ${nan} NaN and ${infinite} infinite, ${unlike} of them otherwise in f64`;
  }
  return (
    `${start}max abs ${number(maxAbs)} at [${worst.index.join(", ")}], rms ${number(rms)}, ` +
    `relative L2 ${number(relL2)}; ${printVerdict(report)}`
  );
}

/** Each element has its own tolerance: the verdict shows the one that comes nearest to it, or furthest beyond. */
function printVerdict({ within, nonFinite, tolerance }: AccuracyReport): string {
  const { outside, largestPart, worst, atWorst } = tolerance;
  if (!within && outside === 0) {
    return `OUTSIDE tolerance: ${nonFinite.unlike} elements are infinite or NaN where f64 is not, or the other way round`;
  }
  const number = (value: number): string => value.toExponential(2);
  const error =
    worst && atWorst !== null
      ? `${number(Math.abs(worst.got - worst.want))} of ${number(atWorst)} at [${worst.index.join(", ")}]`
      : "";
  const verdict = within ? "within tolerance" : `OUTSIDE tolerance in ${outside} elements`;
  return `${verdict}, at most ${largestPart.toPrecision(2)} times it (${error})`;
}

function printCycles({ cycles, tiles }: RunReport, clockHz: number): string {
  const { total, recorded, errorPercent, tileCycles } = cycles;
  const ms = (1000 * total) / clockHz;
  const beside =
    recorded === null ? "" : `; measured ${count(recorded)} (${percent(errorPercent)})`;
  const share = Object.entries(tileCycles).map(([activity, sum]): [string, number, string] => [
    activity,
    Math.round(sum / tiles),
    `${((100 * sum) / Math.max(1, total * tiles)).toFixed(1)} %`,
  ]);
  return (
    `total ${count(total)} cycles, ${ms.toFixed(4)} ms at ${clockHz / 1e9} GHz${beside}\n` +
    table(["activity", "cycles a tile", "share"], share)
  );
}

function printCriticalPath({ segments, phases, slack }: RunReport["criticalPath"]): string {
  const rows = segments.map((segment, i) => {
    const { tile, phase, boundaryCycles, exchangeCycles, workCycles, work } = segment;
    const [longest] = [...work].sort((a, b) => b.cycles - a.cycles);
    return [
      phase === null ? "start" : `phase ${phase}`,
      String(tile),
      boundaryCycles,
      exchangeCycles,
      workCycles,
      longest?.kernel ?? null,
      phases[i]?.median ?? null,
    ];
  });
  const bound = slack.filter((cycles) => cycles === 0).length;
  return (
    "what decides the end: the tile that all wait for, from sync to sync\n" +
    table(
      ["from", "tile", "boundary", "exchange", "work", "longest work", "others' median slack"],
      rows,
    ) +
    `\n${count(bound)} of ${count(slack.length)} tiles can be no later at some sync`
  );
}

/** Disagreements that are shown; JSON has all of them. */
const MOST_MISMATCHES = 10;

function printMismatches(mismatches: Match["mismatches"]): string {
  const shown = mismatches.slice(0, MOST_MISMATCHES);
  const more = mismatches.length - shown.length;
  const rows = shown.map(({ physicalTile, step, field, recorded, scheduled }) => [
    String(physicalTile),
    String(step),
    field,
    shortened(recorded),
    shortened(scheduled),
  ]);
  const text = table(["physical tile", "step", "field", "recorded", "scheduled"], rows);
  return more === 0 ? text : `${text}\nand ${count(more)} more: see --json`;
}

function shortened(text: string | null): string | null {
  return text !== null && text.length > 60 ? `${text.slice(0, 57)}...` : text;
}

/** How many kinds of steps are shown whose ends are off. */
const MOST_KINDS = 5;

function printHeld(
  match: Match,
  ends: Ends,
  { tiles, parts, residualCycles }: PartsReport,
  file: string,
): string {
  const share = (part: number): string =>
    ends.visible === 0 ? "-" : `${((100 * part) / ends.visible).toFixed(2)} %`;
  const off = ends.kinds.filter(({ worst }) => worst !== 0).slice(0, MOST_KINDS);
  const total = ends.totalErrorPercent === null ? "" : `, total ${percent(ends.totalErrorPercent)}`;
  return [
    `held against ${printable(file)}: ${count(match.matched)} of ${count(match.visible)} steps that it shows are the schedule's, on ${count(match.tiles)} tiles`,
    ...(match.mismatches.length === 0 ? [] : ["", printMismatches(match.mismatches), ""]),
    `ends of ${count(ends.visible)} steps: ${share(ends.exact)} to the cycle, ${share(ends.within12)} within 12, ` +
      `${share(ends.within30)} within 30; median ${ends.medianAbs}, 95 % ${ends.p95Abs}, worst ${ends.worst?.error ?? 0}${total}`,
    ...(parts.length === 0
      ? []
      : [
          table(
            ["part", "samples", "recorded", "simulated", "error", "mean", "weighted"],
            parts.map((part) => [
              part.part,
              part.samples,
              part.recordedCycles,
              part.predictedCycles,
              percent(part.errorPercent),
              percent(part.meanAbsPercent),
              percent(part.weightedAbsPercent),
            ]),
          ),
          `tile cycles of the ${count(tiles)} tiles whose every time is known; ${count(residualCycles)} are in none of these parts`,
        ]),
    ...(off.length === 0
      ? []
      : [
          "",
          table(
            ["steps whose ends are off", "", "ends", "exact", "mean", "worst"],
            off.map((row) => [
              row.operation,
              row.kernel,
              row.ends,
              row.exact,
              signed(Math.round(row.meanError)),
              signed(row.worst),
            ]),
          ),
        ]),
  ].join("\n");
}

export function printFinding({ code, severity, what, fix }: Finding): string {
  return printable(`${severity} ${code}: ${what}. ${fix}.`);
}
