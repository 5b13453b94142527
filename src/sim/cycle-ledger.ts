import { InternalError } from "../base/errors.ts";

/** What a tile can be doing. Their cycles add up to the time elapsed, on every tile. */
export const ACTIVITIES = ["compute", "copy", "exchange", "sync", "idle"] as const;
export type Activity = (typeof ACTIVITIES)[number];

/**
 * Where each tile's cycles went, and when each of its steps ended.
 *
 * A tile's clock only moves forward: `spend` a span on an activity, or `settle` all tiles at the end, which
 * books what is left as idle.
 */
export class CycleLedger {
  readonly tiles: number;
  /** Cycles since the start at which each tile goes on. */
  readonly clock: Float64Array;
  readonly #spent: Readonly<Record<Activity, Float64Array>>;

  constructor(tiles: number) {
    this.tiles = tiles;
    this.clock = new Float64Array(tiles);
    this.#spent = {
      compute: new Float64Array(tiles),
      copy: new Float64Array(tiles),
      exchange: new Float64Array(tiles),
      sync: new Float64Array(tiles),
      idle: new Float64Array(tiles),
    };
  }

  /** `tile` spends `span` cycles on `activity`. */
  spend(tile: number, activity: Activity, span: number): void {
    if (!(span >= 0)) throw new InternalError(`a span of ${span} cycles`, { tile, activity });
    this.clock[tile] += span;
    this.#spent[activity][tile] += span;
  }

  /** Cycles from the first tile's start to the last tile's end. */
  get elapsed(): number {
    return this.clock.reduce((last, end) => Math.max(last, end), 0);
  }

  /** Ends the run: each tile idles until the last one is done. */
  settle(): void {
    const { elapsed } = this;
    for (let tile = 0; tile < this.tiles; tile++) {
      this.spend(tile, "idle", elapsed - this.clock[tile]);
    }
  }

  /** Cycles that each tile spent on `activity`. */
  spent(activity: Activity): Float64Array {
    return this.#spent[activity];
  }

  /** Cycles spent on each activity, summed over the tiles. */
  totals(): Record<Activity, number> {
    const sum = (activity: Activity): number => this.#spent[activity].reduce((a, b) => a + b, 0);
    return {
      compute: sum("compute"),
      copy: sum("copy"),
      exchange: sum("exchange"),
      sync: sum("sync"),
      idle: sum("idle"),
    };
  }

  /** Every tile's activities add up to its clock. @throws InternalError where they do not. */
  audit(): void {
    for (let tile = 0; tile < this.tiles; tile++) {
      const sum = ACTIVITIES.reduce((total, activity) => total + this.#spent[activity][tile], 0);
      if (sum !== this.clock[tile]) {
        throw new InternalError(`tile ${tile}: ${sum} cycles booked, ${this.clock[tile]} elapsed`);
      }
    }
  }
}
