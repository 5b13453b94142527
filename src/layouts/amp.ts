/**
 * The orders that the matrix unit reads and writes (F2.2). `micro` is the width of what it takes at once:
 * 16 elements of f16, 8 of f32. Offsets count elements; `rows` and `cols` are stored ones, padding included.
 * The transposed left and output orders are these with row and col, rows and cols exchanged.
 */

/** Rows or keys in a panel, and columns in a panel of results, whatever the element type. */
export const PANEL = 16;

/** Left operand: strips of `micro` columns; in a strip, row after row. `cols` is a multiple of `micro`. */
export function leftOffset(rows: number, row: number, col: number, micro: number): number {
  return Math.floor(col / micro) * rows * micro + row * micro + (col % micro);
}

/** The [row, col] stored at `offset`: the inverse of `leftOffset`. */
export function leftPlace(rows: number, offset: number, micro: number): readonly [number, number] {
  const strip = Math.floor(offset / (rows * micro));
  const inStrip = offset % (rows * micro);
  return [Math.floor(inStrip / micro), strip * micro + (inStrip % micro)];
}

/**
 * Right operand, held as [key, channel]: panels of 16 keys by `micro` channels, row-major among each other
 * and inside. `rows` is a multiple of 16 and `cols` of `micro`.
 */
export function transposedRightOffset(
  cols: number,
  row: number,
  col: number,
  micro: number,
): number {
  const panelsAcross = Math.floor(cols / micro);
  const panel = Math.floor(row / PANEL) * panelsAcross + Math.floor(col / micro);
  return panel * PANEL * micro + (row % PANEL) * micro + (col % micro);
}

/** The [row, col] stored at `offset`: the inverse of `transposedRightOffset`. */
export function transposedRightPlace(
  cols: number,
  offset: number,
  micro: number,
): readonly [number, number] {
  const panelsAcross = Math.floor(cols / micro);
  const panel = Math.floor(offset / (PANEL * micro));
  const inPanel = offset % (PANEL * micro);
  const row = Math.floor(panel / panelsAcross) * PANEL + Math.floor(inPanel / micro);
  return [row, (panel % panelsAcross) * micro + (inPanel % micro)];
}

/**
 * Results as the matrix unit drains them: strips of 16 columns; in a row of a strip, the pairs of columns
 * 0, 4, 1, 5, 2, 6, 3, 7. `cols` is a multiple of 16.
 */
export function outputOffset(rows: number, row: number, col: number): number {
  const pair = (col % PANEL) >> 1;
  const slot = (pair % 4) * 2 + (pair >> 2);
  return Math.floor(col / PANEL) * rows * PANEL + row * PANEL + 2 * slot + (col % 2);
}

/** The [row, col] stored at `offset`: the inverse of `outputOffset`. */
export function outputPlace(rows: number, offset: number): readonly [number, number] {
  const [row, drained] = leftPlace(rows, offset, PANEL);
  const slot = (drained % PANEL) >> 1;
  const pair = (slot % 2) * 4 + (slot >> 1);
  return [row, drained - (drained % PANEL) + 2 * pair + (drained % 2)];
}
