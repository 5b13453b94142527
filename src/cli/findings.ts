import type { Finding } from "../base/errors.ts";
import type { AccuracyReport } from "../check/accuracy.ts";
import type { HostTensor } from "../sim/host-io.ts";

/** How many elements are of a kind, and the index of the first; -1: none. */
export function occurrences(
  data: ArrayLike<number>,
  isOne: (element: number, index: number) => boolean,
): { readonly count: number; readonly first: number } {
  let count = 0;
  let first = -1;
  for (let index = 0; index < data.length; index++) {
    if (!isOne(data[index], index)) continue;
    count++;
    if (first < 0) first = index;
  }
  return { count, first };
}

/** A warning for each output with infinities or NaN. */
export function nonFiniteFindings(outputs: ReadonlyMap<string, HostTensor>): Finding[] {
  return [...outputs].flatMap(([name, { data, dtype }]): Finding[] => {
    const { count, first } = occurrences(data, (element) =>
      dtype === "f16" ? (element & 0x7c00) === 0x7c00 : !Number.isFinite(element),
    );
    if (count === 0) return [];
    return [
      {
        code: "NON_FINITE",
        severity: "warning",
        what: `${count} of ${data.length} elements of ${name} are infinite or NaN, the first at ${first}`,
        where: { tensor: name, element: first },
        fix: "Look for infinities, NaN or overflow in the inputs",
      },
    ];
  });
}

/** An error for each output outside its tolerance, a warning for one of which nothing could be compared. */
export function accuracyFindings(reports: readonly AccuracyReport[] | null): Finding[] {
  return (reports ?? []).flatMap(
    ({ output, within, elements, nonFinite, tolerance, worst }): Finding[] => {
      const { outside, largestPart, worst: place } = tolerance;
      const { nan, infinite, unlike, first } = nonFinite;
      if (within && elements === 0) {
        return [
          {
            code: "ACCURACY",
            severity: "warning",
            what: `nothing of ${output} could be held against f64: all ${nan + infinite} elements looked at are infinite or NaN, there as here`,
            where: { tensor: output },
            fix: "Give inputs whose result is finite",
          },
        ];
      }
      if (within) return [];
      const faults = [
        ...(outside > 0
          ? [
              `${outside} elements of ${output} are further from f64 than rounding explains, up to ${largestPart.toPrecision(3)} times the tolerance`,
            ]
          : []),
        ...(unlike > 0
          ? [
              `${unlike} elements of ${output} are infinite or NaN where f64 is not, or the other way round`,
            ]
          : []),
      ];
      return [
        {
          code: "ACCURACY",
          severity: "error",
          what: faults.join("; "),
          where: { tensor: output, element: (outside > 0 ? (place ?? worst) : first)?.index ?? [] },
          fix: "Compare with --backend reference; if that differs, report it; else the schedule is wrong",
        },
      ];
    },
  );
}
