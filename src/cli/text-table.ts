const GAP = 3;

/** Rows in columns as `kubectl get` prints them; the first is the header. */
export function textTable(rows: readonly (readonly string[])[]): string {
  const columns = Math.max(...rows.map(({ length }) => length));
  const widths = Array.from(
    { length: columns },
    (_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)) + GAP,
  );
  return rows
    .map((row) => {
      const cells = row.map((cell, column) => cell.padEnd(widths[column] ?? 0));
      return `${cells.join('').trimEnd()}\n`;
    })
    .join('');
}
