/** Blocks of `row_block` rows by `column_block` columns. */
export interface Blocks {
  readonly row_block: number;
  readonly column_block: number;
}

/**
 * Where [row, col] is stored, in elements (F2.2): blocks follow each other row-major; a block is panels of
 * `micro` rows by `column_block` columns, one below the other; a panel is stored column by column. `rows` is a
 * multiple of `row_block`, `cols` of `column_block`, `row_block` of `micro`.
 */
export function blockMajorOffset(
  { row_block, column_block }: Blocks,
  cols: number,
  row: number,
  col: number,
  micro: number,
): number {
  const blocksAcross = Math.floor(cols / column_block);
  const panelsInBlock = Math.floor(row_block / micro);
  const block = Math.floor(row / row_block) * blocksAcross + Math.floor(col / column_block);
  const panel = block * panelsInBlock + Math.floor((row % row_block) / micro);
  return panel * micro * column_block + (col % column_block) * micro + (row % micro);
}

/** The [row, col] stored at `offset`: the inverse of `blockMajorOffset`. */
export function blockMajorPlace(
  { row_block, column_block }: Blocks,
  cols: number,
  offset: number,
  micro: number,
): readonly [number, number] {
  const blocksAcross = Math.floor(cols / column_block);
  const panelsInBlock = Math.floor(row_block / micro);
  const panel = Math.floor(offset / (micro * column_block));
  const inPanel = offset % (micro * column_block);
  const block = Math.floor(panel / panelsInBlock);
  const firstRow = Math.floor(block / blocksAcross) * row_block + (panel % panelsInBlock) * micro;
  return [
    firstRow + (inPanel % micro),
    (block % blocksAcross) * column_block + Math.floor(inPanel / micro),
  ];
}
