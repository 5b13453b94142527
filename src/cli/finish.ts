import type { RunReport } from "../report/run-report.ts";
import { IPU21 } from "../target/ipu21.ts";
import { printReport } from "./print.ts";

/** Prints a run's report; the process ends with 1 where a finding is an error. */
export function finish(report: RunReport, json: boolean): void {
  process.stdout.write(
    json ? `${JSON.stringify(report, null, 2)}\n` : printReport(report, IPU21.clockHz),
  );
  if (report.findings.some(({ severity }) => severity === "error")) process.exitCode = 1;
}
