import type { RecoverReport } from "../report/profile-report.ts";
import { CERTAINTIES, type Certainty } from "../trace/recover.ts";
import { printable } from "./printable.ts";
import { count, table } from "./table.ts";

/** A recovery for people: what was got, by kind and by how it is known. */
export function printRecovery(report: RecoverReport): string {
  const { tiles, times, steps, fields, activities, characters } = report;
  const letters = Object.keys(CERTAINTIES) as Certainty[];
  const all = Object.values(times.ofWholeTables).reduce((sum, count) => sum + count, 0);
  const known = all - times.ofWholeTables.lost;
  const share = (part: number, of: number): string =>
    of === 0 ? "-" : `${((100 * part) / of).toFixed(2)} %`;
  const origins = Object.keys(times.all) as (keyof typeof times.all)[];
  return [
    `${report.program} on ${report.target}: ${tiles.recovered} of ${tiles.inSchedule} tiles, ` +
      `${tiles.wholeTables} with the list of their times whole, ${tiles.partTables} with a part of it`,
    "",
    `characters  ${count(characters.captured)} captured of ${count(characters.expected)}: ` +
      `${count(characters.aligned + characters.explained)} where the schedule puts them, ` +
      `${count(characters.times)} of times, ${count(characters.different)} others`,
    `times       ${share(known, all)} of whole lists known`,
    `steps       ${count(steps.shown)} shown and laid at their places, ${count(steps.textRead)} with all their text; ` +
      `${count(steps.recovered)} of ${count(steps.inSchedule)} in the profile`,
    `activities  ${count(activities.read)} read, ${count(activities.inferred)} as scheduled, ${count(activities.lost)} lost`,
    "",
    table(
      ["times", "of whole lists", "share", "of all lists"],
      origins.map((origin) => [
        origin,
        times.ofWholeTables[origin],
        share(times.ofWholeTables[origin], all),
        times.all[origin],
      ]),
    ),
    "",
    table(
      ["field", ...letters.map((letter) => CERTAINTIES[letter].replace(/:.*/, ""))],
      Object.entries(fields).map(([field, counts]) => [
        field,
        ...letters.map((letter) => counts[letter] ?? 0),
      ]),
    ),
    "",
    table(
      ["work that the capture itself measures", "cycles"],
      report.durations.map(({ work, cycles }) => [shortened(work), cycles]),
    ),
    "",
    ...(report.contradictions > 0
      ? [`${report.contradictions} times shown otherwise than their neighbours leave them`, ""]
      : []),
    ...report.findings
      .filter(({ severity }) => severity !== "note")
      .flatMap(({ severity, message }) => [printable(`${severity} ${message}`), ""]),
    `written to ${report.profile.file} (${count(report.profile.bytes)} bytes) and ${report.certainty.file}`,
    "",
  ].join("\n");
}

/** A kernel's name and its element counts, without the specification between them. */
function shortened(work: string): string {
  return work.replace(/,Planned\(.*\),(?=[\d,]*$)/, ",");
}
