/** A set of addresses, as intervals that neither meet nor overlap, ascending. */
export class ByteSet {
  readonly #starts: number[] = [];
  readonly #ends: number[] = [];

  /** Adds [start, end). */
  add(start: number, end: number): void {
    if (end <= start) return;
    const first = this.#firstEndingAt(start);
    let after = first;
    while (after < this.#starts.length && this.#starts[after] <= end) {
      start = Math.min(start, this.#starts[after]);
      end = Math.max(end, this.#ends[after]);
      after++;
    }
    if (after === first + 1) {
      this.#starts[first] = start;
      this.#ends[first] = end;
      return;
    }
    this.#starts.splice(first, after - first, start);
    this.#ends.splice(first, after - first, end);
  }

  /** The first address of [start, end) that is not in the set; null: all are. */
  firstMissing(start: number, end: number): number | null {
    if (end <= start) return null;
    const index = this.#firstEndingAt(start + 1);
    if (index === this.#starts.length || this.#starts[index] > start) return start;
    return this.#ends[index] >= end ? null : this.#ends[index];
  }

  /** The first interval that ends at `address` or behind it. */
  #firstEndingAt(address: number): number {
    let low = 0;
    let high = this.#ends.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#ends[middle] < address) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
