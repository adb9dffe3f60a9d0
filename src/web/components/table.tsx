import type { ComponentChildren, JSX } from 'preact';

export interface Column<T> {
  readonly head: string;
  readonly cell: (row: T) => ComponentChildren;
  /** `fill`: takes what is left; `tight`: as narrow as what is in it; `number`: to the right. */
  readonly look?: 'fill' | 'tight' | 'number';
}

interface TableProps<T> {
  readonly caption: string;
  readonly columns: readonly Column<T>[];
  readonly rows: readonly T[];
  readonly rowKey: (row: T) => string;
}

/**
 * A table; on a phone each row is a block with the heads before its values. The roles are said because a browser forgets
 * them where a table is drawn as blocks.
 */
export function Table<T>({ caption, columns, rows, rowKey }: TableProps<T>): JSX.Element {
  return (
    <table class="stacked" role="table">
      <caption class="hidden">{caption}</caption>
      <thead role="rowgroup">
        <tr role="row">
          {columns.map(({ head, look = '' }) => (
            <th key={head} scope="col" role="columnheader" class={look}>
              {head}
            </th>
          ))}
        </tr>
      </thead>
      <tbody role="rowgroup">
        {rows.map((row) => (
          <tr key={rowKey(row)} role="row">
            {columns.map(({ head, cell, look = '' }) => (
              <td key={head} role="cell" data-head={head} class={look}>
                {cell(row)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
