import type { CalibrateReport } from "../report/profile-report.ts";
import type { CostFit } from "../trace/cost-fit.ts";
import { printable } from "./printable.ts";
import { count, percent, table } from "./table.ts";
import type { Cell } from "./table.ts";

/** Most rows of a table, and letters of a cell. JSON has all. */
const MOST_ROWS = 100;
const MOST_LETTERS = 80;

/** Measured cycles of kernels, and what fits to them are worth, as text for people. */
export function printCalibration(report: CalibrateReport): string {
  const { tilesim, database, untimedSamples, findings, written } = report;
  const samples = database.measurements.reduce((sum, measurement) => sum + measurement.samples, 0);
  const sections = [
    `tilesim ${tilesim}: ${count(database.measurements.length)} measurements of kernels on ${database.target} at ` +
      `${count(database.clockHz)} Hz, ${count(samples)} samples; ${count(untimedSamples)} samples without times are left out`,
    database.sources
      .map(({ file, sha256 }) => `${printable(file)}, sha256 ${sha256.slice(0, 16)}`)
      .join("\n"),
    `cycles of one invocation\n${measurements(report)}`,
    ...report.fits.map((fit) => printFit(fit, report)),
  ];
  if (findings.length > 0) {
    const lines = findings
      .slice(0, MOST_ROWS)
      .map(({ severity, message }) => printable(`${severity} ${message}`));
    sections.push(lines.join("\n") + rest(findings.length));
  }
  if (written !== null) sections.push(`database written to ${printable(written)}`);
  return `${sections.join("\n\n")}\n`;
}

function measurements({ database, models }: CalibrateReport): string {
  const header = ["kernel", "shape", "samples", "min", "median", "p95", "max", "spread"];
  const rows = database.measurements.slice(0, MOST_ROWS).map((measurement, i): Cell[] => {
    const { modelCycles, errorPercent, origin, work } = models[i];
    return [
      kernelName(measurement.key.kernel),
      short(work),
      measurement.samples,
      measurement.minimumCycles,
      measurement.medianCycles,
      measurement.p95Cycles,
      measurement.maximumCycles,
      measurement.spreadCycles,
      modelCycles,
      percent(errorPercent),
      origin,
    ];
  });
  return table([...header, "model", "error", "origin"], rows) + rest(database.measurements.length);
}

function printFit(fit: CostFit, report: CalibrateReport): string {
  const { family, constants, kernels, rows } = fit;
  if (rows.length === 0) return `${family}: no measurement to fit`;
  const free = constants.filter(({ fitted }) => fitted === null).map(({ name }) => name);
  const lines = [
    `${family}: ${rows.length} measurements of ${kernels} kernels for ${constants.length} constants, of which they determine ` +
      `${constants.length - free.length}${free.length > 0 ? `; not ${free.join(", ")}` : ""}`,
    table(
      ["constant", "unit", "in use", "fitted"],
      constants.map(({ name, unit, inUse, fitted }) => [
        name,
        unit,
        decimal(inUse),
        fitted === null ? "not determined" : decimal(fitted),
      ]),
    ),
    "",
    table(
      ["shape", "calls", "profile", "measured", "fitted", "residual", "left out", "error"],
      rows
        .slice(0, MOST_ROWS)
        .map((row): Cell[] => [
          short(report.models[row.measurement].work),
          row.invocations,
          row.source + 1,
          row.measuredCycles,
          decimal(row.fittedCycles),
          decimal(row.residualCycles),
          row.predictedCycles === null
            ? `not determined: ${row.undetermined.join(", ")}`
            : decimal(row.predictedCycles),
          percent(row.errorPercent),
        ]),
    ) + rest(rows.length),
    scoreText(fit, report),
  ];
  return lines.join("\n");
}

function scoreText({ score, rows }: CostFit, { leftOut }: CalibrateReport): string {
  const told = `score, each ${leftOut} left out in turn:`;
  if (score === null) {
    return `${told} none, for the rest determines none of ${rows.length} measurements`;
  }
  const { predicted, measurements: all, meanAbsPercent, worstPercent } = score;
  return (
    `${told} ${predicted} of ${all} measurements predicted, mean |error| ${meanAbsPercent.toFixed(2)} %, ` +
    `worst ${percent(worstPercent)}`
  );
}

/** A symbol without what all have. */
function kernelName(kernel: string): string {
  return short(kernel.replace(/^ipu_stack_/, ""));
}

function short(text: string): string {
  return text.length <= MOST_LETTERS ? text : `${text.slice(0, MOST_LETTERS - 3)}...`;
}

/** Whole, or to the thousandth: a number that is nearly whole is no whole one. */
function decimal(value: number): Cell {
  if (Number.isInteger(value)) return value;
  const digits = { minimumFractionDigits: 3, maximumFractionDigits: 3 };
  return value.toLocaleString("en-US", digits).replace(/^-(0\.000)$/, "$1");
}

function rest(all: number): string {
  return all > MOST_ROWS ? `\n... and ${count(all - MOST_ROWS)} more` : "";
}
