/** Where [row, col] is stored when the columns of a row follow each other: row * cols + col. */
export function rowMajorOffset(cols: number, row: number, col: number): number {
  return row * cols + col;
}

/** The [row, col] stored at `offset`: the inverse of `rowMajorOffset`. */
export function rowMajorPlace(cols: number, offset: number): readonly [number, number] {
  return [Math.floor(offset / cols), offset % cols];
}
