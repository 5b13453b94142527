import type {
  CompareReport,
  InspectReport,
  ProfileSource,
  QueryReport,
} from "../report/profile-report.ts";
import type { Sides } from "../trace/compare.ts";
import type { PhaseSummary } from "../trace/exchange-summary.ts";
import { phaseKey } from "../trace/step-names.ts";
import { printable } from "./printable.ts";
import { count, percent, signed, table } from "./table.ts";
import type { Cell } from "./table.ts";

/** Longest name in a table: two kernels, one instead of the other, fit. JSON has them whole. */
const MOST_LETTERS = 160;
/** Most rows of a list of which nobody asked for all. */
const MOST_ROWS = 40;

/** What a profile holds, as text for people. */
export function printInspection(report: InspectReport): string {
  const { tileCount, firstTile, lastTile, sampleCount, elapsedCycles, elapsedMs } = report;
  const tiles =
    tileCount === 0 ? "no tiles" : `${count(tileCount)} tiles (${firstTile} to ${lastTile})`;
  const sections = [
    heading(report.tilesim, report.profile),
    `schema version ${report.schemaVersion}, clock ${count(report.clockHz)} Hz, ${tiles}, ${count(sampleCount)} samples\n` +
      `${count(elapsedCycles)} cycles (${elapsedMs.toFixed(4)} ms) from the first start to the last end; ` +
      `the last tile starts at ${count(report.entrySpanCycles)}`,
    "steps by kind\n" +
      tallies(
        "kind",
        report.kinds.map((row) => ({ ...row, name: row.kind })),
      ),
    `operations\n${tallies("operation", report.operations)}`,
    `kernels\n${tallies("kernel", report.kernels)}`,
  ];
  if (report.specifications.length > 0) {
    const rows = report.specifications.map((row) => ({ ...row, name: row.summary }));
    sections.push(`kernel specifications\n${tallies("specification", rows)}`);
  }
  if (report.patterns.length > 0) {
    const rows = report.patterns.map((row) => ({ ...row, name: row.text }));
    sections.push(`copies\n${tallies("pattern", rows)}`);
  }
  if (report.metadata.length > 0) {
    const rows = report.metadata.map((row): Cell[] => [row.name, row.samples, row.values]);
    sections.push(`metadata\n${rowsOf(["name", "samples", "distinct values"], rows)}`);
  }
  sections.push(printExchange(report), printLosses(report));
  sections.push(
    "questions\n" +
      table(
        ["answer", "question", "why"],
        report.questions.map(({ answer, question, why }) => [answer, question, why]),
      ),
  );
  if (report.findings.length > 0) {
    const lines = report.findings.map(({ severity, message }) =>
      printable(`${severity} ${message}`),
    );
    sections.push(withRest(lines.slice(0, MOST_ROWS).join("\n"), lines.length));
  }
  return `${sections.join("\n\n")}\n`;
}

function printExchange({ exchange, activities }: InspectReport): string {
  const { phases, work } = exchange;
  if (phases.length === 0) return "exchange: no phase has event cycles";
  const cells = (phase: Omit<PhaseSummary, "phase" | "epoch" | "operation">): Cell[] => [
    phase.samples,
    phase.scheduledCycles,
    phase.measuredCycles,
    phase.arrivalWaitCycles,
    phase.boundaryCycles,
  ];
  const sums = {
    ...exchange,
    samples: phases.reduce((sum, { samples }) => sum + samples, 0),
    untimedSamples: 0,
  };
  const rows = phases.map((phase): Cell[] => [phaseKey(phase), phase.operation, ...cells(phase)]);
  const header = [
    "phase",
    "operation",
    "samples",
    "scheduled",
    "measured",
    "arrival wait",
    "boundary",
  ];
  const parts: readonly (readonly [string, number])[] = [
    ["send", work.sendCycles],
    ["receive", work.receiveCycles],
    ["both", work.simultaneousCycles],
    ["partner busy", work.partnerBusyCycles],
    ["idle", work.idleCycles],
  ];
  const share = parts.map(([name, cycles]): Cell[] => [
    name,
    cycles,
    `${((100 * cycles) / Math.max(1, work.scheduledCycles)).toFixed(1)} %`,
  ]);
  return (
    `exchange phases, cycles\n${rowsOf(header, [...rows.slice(0, MOST_ROWS), ["all", "", ...cells(sums)]], rows.length + 1)}\n\n` +
    `scheduled cycles of ${count(work.samples)} samples with activities (${count(activities.send)} send, ` +
    `${count(activities.receive)} receive, ${count(activities.partnerBusy)} partner busy)\n` +
    table(["tile does", "cycles", "share"], share)
  );
}

function printLosses({ losses }: InspectReport): string {
  const { missingTiles, missingRanges, ...counts } = losses;
  const ranges = missingRanges
    .slice(0, 10)
    .map(([first, last]) => (first === last ? first : `${first}-${last}`));
  const missing =
    missingTiles === null
      ? "tiles of another chip than IPU21"
      : `${count(missingTiles)} tiles of IPU21 missing${ranges.length > 0 ? `: ${ranges.join(", ")}` : ""}${missingRanges.length > 10 ? ", ..." : ""}`;
  return (
    `losses: ${missing}; ${count(counts.emptyTiles)} tiles without samples; ${count(counts.missingSamples)} samples missing; ` +
    `${count(counts.untimedSamples)} samples without times on ${count(counts.untimedTiles)} tiles; ` +
    `${count(counts.gaps)} samples that do not begin where the one before ended`
  );
}

/** Groups of a profile's samples, as text for people. */
export function printQuery(report: QueryReport): string {
  const { groups, samples, query } = report;
  const sections = [
    heading(report.tilesim, report.profile),
    `${count(report.tileCount)} tiles, ${count(report.matchedSampleCount)}/${count(report.sampleCount)} samples, ` +
      `${count(report.profileSpanCycles)} cycles (${report.profileSpanMs.toFixed(4)} ms)` +
      (report.droppedSampleCount > 0
        ? `; ${count(report.droppedSampleCount)} without times, or before the last tile began`
        : "") +
      (report.atOffset === null ? "" : `; at cycle ${count(report.atOffset)}`),
  ];
  const isExchange = groups.some(({ arrivalWaitCycles }) => arrivalWaitCycles !== null);
  const by = query.groupBy.map((key) => (key.kind === "metadata" ? key.name : key.kind)).join(", ");
  const header = [by, "samples", "tiles", "phases", "timeline", "active tiles", "work", "mean"];
  header.push(
    "p50",
    "p95",
    "max",
    ...(isExchange ? ["arrival wait", "boundary"] : []),
    "first",
    "last",
  );
  const rows = groups.map((group): Cell[] => [
    group.name,
    group.samples,
    group.tiles,
    group.phases,
    group.phaseCycles,
    group.averageActiveTiles,
    group.workCycles,
    Math.round(group.meanCycles),
    group.p50Cycles,
    group.p95Cycles,
    group.maximumCycles,
    ...(isExchange ? [group.arrivalWaitCycles, group.boundaryCycles] : []),
    group.firstOffset,
    group.lastOffset,
  ]);
  sections.push(
    groups.length === 0 ? "no sample matches" : rowsOf(header, rows, report.groupCount),
  );
  if (samples.length > 0) {
    const longest = samples.map((sample): Cell[] => [
      `tile ${sample.physicalTile}`,
      sample.offset,
      sample.duration,
      phaseKey(sample),
      sample.kind,
      sample.operation,
      sample.kernel,
    ]);
    const names = ["tile", "offset", "cycles", "phase", "kind", "operation", "kernel"];
    sections.push(`longest samples\n${rowsOf(names, longest)}`);
  }
  return `${sections.join("\n\n")}\n`;
}

/** Two profiles beside one another, as text for people. */
export function printComparison(report: CompareReport): string {
  const { a, b, tiles, samples, parts, phases, pairs, elapsedCycles, tileCycles, clockHz } = report;
  const clocks =
    clockHz.difference === 0
      ? ""
      : `; clocks differ: ${count(clockHz.a)} and ${count(clockHz.b)} Hz`;
  const sections = [
    `tilesim ${report.tilesim}: B ${nameOf(b)} against A ${nameOf(a)}`,
    `elapsed cycles: ${count(elapsedCycles.a)} to ${count(elapsedCycles.b)}, ${signed(elapsedCycles.difference)} ` +
      `(${percentOf(elapsedCycles)})${clocks}\n` +
      `tiles: ${count(tiles.both)} in both, ${count(tiles.onlyA)} only in A, ${count(tiles.onlyB)} only in B\n` +
      `samples: ${count(samples.same)} the same, ${count(samples.changed)} changed, ${count(samples.untimed)} without times, ` +
      `${count(samples.onlyA)} only in A, ${count(samples.onlyB)} only in B`,
    "tile cycles, B - A\n" +
      table(
        ["part", "difference", "what"],
        [
          ["same", signed(parts.same), "steps that are the same in both"],
          ["changed", signed(parts.changed), "steps with another shape, kernel or kind"],
          ["only A", signed(parts.onlyA), "steps that only A has"],
          ["only B", signed(parts.onlyB), "steps that only B has"],
          ["untimed", signed(parts.untimed), "pairs of which a time is not known"],
          ["entry", signed(parts.entry), "residual: before a tile's first sample"],
          ["between", signed(parts.between), "residual: between samples"],
          ["exit", signed(parts.exit), "residual: after a tile's last sample"],
          ["total", signed(tileCycles.difference), "elapsed cycles on all tiles"],
        ],
      ),
  ];
  const header = [
    report.query.groupBy,
    "pairs",
    "changed",
    "only A",
    "only B",
    "tiles",
    "A",
    "B",
    "B - A",
    "",
    "moved",
  ];
  const rows = report.rows.map((row): Cell[] => [
    row.name,
    row.same + row.changed,
    row.changed,
    row.onlyA,
    row.onlyB,
    row.tiles,
    row.cycles.a,
    row.cycles.b,
    signed(row.cycles.difference),
    percent(row.percent),
    row.movedCycles,
  ]);
  if (rows.length > 0) sections.push(rowsOf(header, rows, report.rowCount));
  if (phases.length > 0) {
    const cells = ({ a: from, b: to }: Sides): Cell[] => [from, to];
    const names = ["scheduled", "measured", "arrival wait", "boundary"].flatMap((name) => [
      `${name} A`,
      "B",
    ]);
    const list = phases.map((phase): Cell[] => [
      phase.name,
      ...cells(phase.scheduled),
      ...cells(phase.measured),
      ...cells(phase.arrivalWait),
      ...cells(phase.boundary),
    ]);
    sections.push(
      `exchange phases, cycles\n${rowsOf(["phase", ...names], list.slice(0, MOST_ROWS), list.length)}`,
    );
  }
  if (pairs.length > 0) {
    const list = pairs.map((pair): Cell[] => [
      `tile ${pair.physicalTile}`,
      pair.operation,
      pair.stepA === pair.stepB ? pair.stepA : `${pair.stepA} -> ${pair.stepB}`,
      pair.offset.a,
      pair.cycles.a,
      pair.cycles.b,
      signed(pair.cycles.difference),
    ]);
    const names = ["tile", "operation", "step", "offset in A", "A", "B", "B - A"];
    sections.push(`pairs that differ most\n${rowsOf(names, list)}`);
  }
  return `${sections.join("\n\n")}\n`;
}

function heading(version: string, source: ProfileSource): string {
  return `tilesim ${version}: ${nameOf(source)}`;
}

function nameOf({ file, sha256, bytes }: ProfileSource): string {
  return `${printable(file)} (${count(bytes)} bytes, sha256 ${sha256.slice(0, 16)})`;
}

function percentOf({ a, difference }: CompareReport["elapsedCycles"]): string {
  return percent(a === 0 ? null : (100 * difference) / a) ?? "of nothing";
}

interface Row {
  readonly name: string;
  readonly samples: number;
  readonly tiles: number;
  readonly cycles: number;
}

/** Rows by cycles. */
function tallies(title: string, rows: readonly Row[]): string {
  const most = rows.toSorted((a, b) => b.cycles - a.cycles).slice(0, MOST_ROWS);
  const cells = most.map(({ name, samples, tiles, cycles }): Cell[] => [
    name || "(none)",
    samples,
    tiles,
    cycles,
  ]);
  return rowsOf([title, "samples", "tiles", "cycles"], cells, rows.length);
}

/** A table whose texts are cut to what a line can show; it says how many rows are not in it. */
function rowsOf(
  header: readonly string[],
  rows: readonly (readonly Cell[])[],
  all: number = rows.length,
): string {
  const cut = (cell: Cell): Cell =>
    typeof cell === "string" && cell.length > MOST_LETTERS
      ? `${cell.slice(0, MOST_LETTERS - 3)}...`
      : cell;
  return withRest(
    table(
      header,
      rows.map((row) => row.map(cut)),
    ),
    all,
    rows.length,
  );
}

function withRest(text: string, all: number, shown: number = Math.min(all, MOST_ROWS)): string {
  return all > shown ? `${text}\n... and ${count(all - shown)} more` : text;
}
