/** The part of a tensor that one tile holds. All bounds are half-open, one entry per axis. */
export interface Shard {
  /** Index of the tile within the layout, 0 .. tile_count - 1. */
  readonly tile: number;
  readonly start: readonly number[];
  /** Where the tensor's own elements end. */
  readonly logicalEnd: readonly number[];
  /** Where the stored elements end, padding included. */
  readonly physicalEnd: readonly number[];
}
