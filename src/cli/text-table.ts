const GAP = 3;

/**
 * Rows in columns as `kubectl get` prints them; the first is the header.
 *
 * @param paint colours a cell, without the blanks after it
 */
export function textTable(
  rows: readonly (readonly string[])[],
  paint: (text: string, row: number, column: number) => string = (text) => text,
): string {
  const columns = Math.max(...rows.map(({ length }) => length));
  const widths = Array.from(
    { length: columns },
    (_, column) => rows.reduce((widest, row) => Math.max(widest, row[column]?.length ?? 0), 0) + GAP,
  );
  return rows
    .map((row, index) => {
      const cells = row.map((cell, column) => {
        const blanks = column === row.length - 1 ? '' : ' '.repeat((widths[column] ?? 0) - cell.length);
        return `${paint(cell, index, column)}${blanks}`;
      });
      return `${cells.join('').trimEnd()}\n`;
    })
    .join('');
}
