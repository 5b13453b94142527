/** One equation of a fit: the sum of counts[j] * unknown[j] should be `value`. Whole numbers. */
export interface Equation {
  readonly counts: readonly number[];
  readonly value: number;
}

/**
 * Sums of a linear least-squares fit: the normal equations (A^T A) x = A^T y. They are kept and solved in whole numbers
 * and fractions without rounding, so that whether equations determine an unknown is a fact and not a threshold.
 */
export class NormalEquations {
  readonly #unknowns: number;
  /** Row j: sums of counts[j] * counts[k] for each k, then of counts[j] * value. */
  readonly #sums: bigint[][];

  constructor(unknowns: number) {
    this.#unknowns = unknowns;
    this.#sums = Array.from({ length: unknowns }, () =>
      Array.from({ length: unknowns + 1 }, () => 0n),
    );
  }

  add(equation: Equation): void {
    this.#sum(equation, 1n);
  }

  /** All but these, which were added before. */
  without(equations: readonly Equation[]): NormalEquations {
    const rest = new NormalEquations(this.#unknowns);
    this.#sums.forEach((row, j) => row.forEach((sum, k) => (rest.#sums[j][k] = sum)));
    for (const equation of equations) rest.#sum(equation, -1n);
    return rest;
  }

  solve(): Solution {
    return new Solution(
      reduced(this.#sums.map((row) => row.map((sum) => ({ over: sum, under: 1n })))),
      this.#unknowns,
    );
  }

  #sum({ counts, value }: Equation, sign: bigint): void {
    const terms = [...counts, value].map(BigInt);
    for (let j = 0; j < this.#unknowns; j++) {
      const factor = sign * terms[j];
      if (factor === 0n) continue;
      for (let k = 0; k <= this.#unknowns; k++) this.#sums[j][k] += factor * terms[k];
    }
  }
}

/** What a fit says: of unknowns that the equations determine, and of sums of unknowns that they determine. */
export class Solution {
  /** One solution, zero at unknowns that the others leave free. */
  readonly #some: readonly Fraction[];
  /** Directions along which the unknowns may move without a change in any equation. */
  readonly #free: readonly (readonly Fraction[])[];
  readonly rank: number;
  /** Null: not determined. */
  readonly values: readonly (number | null)[];

  constructor({ rows, pivots }: Reduced, unknowns: number) {
    const some = Array.from({ length: unknowns }, () => ZERO);
    pivots.forEach((column, row) => (some[column] = rows[row][unknowns]));
    const free: Fraction[][] = [];
    for (let column = 0; column < unknowns; column++) {
      if (pivots.includes(column)) continue;
      const direction = Array.from({ length: unknowns }, () => ZERO);
      direction[column] = { over: 1n, under: 1n };
      pivots.forEach((pivot, row) => {
        direction[pivot] = times(rows[row][column], { over: -1n, under: 1n });
      });
      free.push(direction);
    }
    this.#some = some;
    this.#free = free;
    this.rank = pivots.length;
    this.values = some.map((value, j) => (this.#isFree(j) ? null : numberOf(value)));
  }

  /** The sum of counts[j] * unknown[j]; null where the equations do not determine it. */
  predict(counts: readonly number[]): number | null {
    if (this.#free.some((direction) => sumOf(counts, direction).over !== 0n)) return null;
    return numberOf(sumOf(counts, this.#some));
  }

  /** The unknowns, by index, that come into a sum and are not determined. */
  undetermined(counts: readonly number[]): readonly number[] {
    return counts.flatMap((count, j) => (count !== 0 && this.#isFree(j) ? [j] : []));
  }

  #isFree(unknown: number): boolean {
    return this.#free.some((direction) => direction[unknown].over !== 0n);
  }
}

/** In lowest terms, `under` positive. */
interface Fraction {
  readonly over: bigint;
  readonly under: bigint;
}

const ZERO: Fraction = { over: 0n, under: 1n };

interface Reduced {
  /** In reduced row echelon form. */
  readonly rows: readonly (readonly Fraction[])[];
  /** The column of each row's leading one. */
  readonly pivots: readonly number[];
}

/** Gauss and Jordan's elimination; the last column holds the right-hand sides. */
function reduced(rows: Fraction[][]): Reduced {
  const pivots: number[] = [];
  for (let column = 0; column < rows.length; column++) {
    const at = rows.findIndex((row, r) => r >= pivots.length && row[column].over !== 0n);
    if (at < 0) continue;
    const to = pivots.length;
    [rows[to], rows[at]] = [rows[at], rows[to]];
    const lead = rows[to][column];
    rows[to] = rows[to].map((value) => times(value, { over: lead.under, under: lead.over }));
    rows.forEach((row, r) => {
      const factor = row[column];
      if (r === to || factor.over === 0n) return;
      const negative = { over: -factor.over, under: factor.under };
      rows[r] = row.map((value, k) => plus(value, times(negative, rows[to][k])));
    });
    pivots.push(column);
  }
  return { rows, pivots };
}

function sumOf(counts: readonly number[], factors: readonly Fraction[]): Fraction {
  return counts.reduce(
    (sum, count, j) => plus(sum, times({ over: BigInt(count), under: 1n }, factors[j])),
    ZERO,
  );
}

function plus(a: Fraction, b: Fraction): Fraction {
  return lowest(a.over * b.under + b.over * a.under, a.under * b.under);
}

function times(a: Fraction, b: Fraction): Fraction {
  return lowest(a.over * b.over, a.under * b.under);
}

function lowest(over: bigint, under: bigint): Fraction {
  let [a, b] = [over < 0n ? -over : over, under < 0n ? -under : under];
  while (b !== 0n) [a, b] = [b, a % b];
  const divisor = under < 0n ? -a : a;
  return { over: over / divisor, under: under / divisor };
}

const BITS = 64n;

/** Exact to 2^-64, and exact where it is a whole number below 2^53. */
function numberOf({ over, under }: Fraction): number {
  return Number((over << BITS) / under) / 2 ** Number(BITS);
}
