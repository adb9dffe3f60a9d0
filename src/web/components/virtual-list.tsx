import type { ComponentChildren, JSX } from 'preact';
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';

/** Rows drawn above and below what is seen. */
const MARGIN_ROWS = 8;

export interface VirtualColumn<T> {
  readonly head: string;
  readonly cell: (row: T) => ComponentChildren;
  /** Names the cell in the grid of the style sheet. */
  readonly area: string;
}

interface VirtualListProps<T> {
  readonly label: string;
  readonly columns: readonly VirtualColumn<T>[];
  readonly rows: readonly T[];
  readonly rowKey: (row: T) => string;
  /** Of all pages, where it is known. */
  readonly total: number | undefined;
  /** Told which rows are on the screen whenever that changes. */
  readonly onSeen: (first: number, last: number) => void;
  /** Names the grid of its rows in the style sheet. */
  readonly look: string;
}

interface Range {
  readonly first: number;
  readonly last: number;
}

/**
 * A table of any length that draws only the rows in sight; it scrolls with the window. Up and down move between the links of
 * its rows, a screen reader is told which row of how many each is.
 */
export function VirtualList<T>(props: VirtualListProps<T>): JSX.Element {
  const { label, columns, rows, rowKey, total, onSeen, look } = props;
  const body = useRef<HTMLDivElement>(null);
  const [height, setHeight] = useState(0);
  const [{ first, last }, setRange] = useState<Range>({ first: 0, last: 40 });
  const wanted = useRef<number | undefined>(undefined);

  const measure = useCallback(() => {
    const element = body.current;
    if (element === null) return;
    const size = Number.parseFloat(getComputedStyle(element).getPropertyValue('--row')) || 44;
    const top = -element.getBoundingClientRect().top;
    const from = Math.max(0, Math.floor(top / size) - MARGIN_ROWS);
    const to = Math.min(rows.length - 1, Math.ceil((top + innerHeight) / size) + MARGIN_ROWS);
    setHeight(size);
    setRange((before) => (before.first === from && before.last === to ? before : { first: from, last: to }));
  }, [rows.length]);

  // Before the rows are painted, which would all stand at its top.
  useLayoutEffect(() => {
    measure();
    addEventListener('scroll', measure, { passive: true });
    addEventListener('resize', measure);
    return () => {
      removeEventListener('scroll', measure);
      removeEventListener('resize', measure);
    };
  }, [measure]);

  useEffect(() => onSeen(first, last), [first, last, onSeen]);

  // The row that had the focus may be gone with this drawing: no key falls in between.
  useLayoutEffect(() => {
    if (wanted.current === undefined) return;
    const link = rowLink(body.current, wanted.current);
    if (link === null) return;
    wanted.current = undefined;
    link.focus();
  });

  const move = (event: KeyboardEvent): void => {
    const row = event.target instanceof Element ? event.target.closest('[data-index]') : null;
    const step = STEPS[event.key];
    if (row === null || step === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    const index = step(Number(row.getAttribute('data-index')), rows.length);
    const link = rowLink(body.current, index);
    if (link !== null) {
      link.focus();
      return;
    }
    wanted.current = index;
    const top = (body.current?.getBoundingClientRect().top ?? 0) + scrollY + index * height;
    scrollTo({ top: top - innerHeight / 2 });
  };

  return (
    <div class={`virtual ${look}`} role="table" aria-label={label} aria-rowcount={total === undefined ? -1 : total + 1}>
      <div class="virtual-head" role="rowgroup">
        <div class="virtual-row" role="row" aria-rowindex={1}>
          {columns.map(({ head, area }) => (
            <div key={area} role="columnheader" class={`area-${area}`}>
              {head}
            </div>
          ))}
        </div>
      </div>
      <div
        ref={body}
        class="virtual-body"
        role="rowgroup"
        style={{ height: `${rows.length * height}px` }}
        onKeyDown={move}
      >
        {rows.slice(first, last + 1).map((row, offset) => (
          <div
            key={rowKey(row)}
            class="virtual-row"
            role="row"
            aria-rowindex={first + offset + 2}
            data-index={first + offset}
            style={{ transform: `translateY(${(first + offset) * height}px)` }}
          >
            {columns.map(({ cell, area }) => (
              <div key={area} role="cell" class={`area-${area}`}>
                {cell(row)}
              </div>
            ))}
          </div>
        ))}
      </div>
    </div>
  );
}

const STEPS: Readonly<Record<string, ((index: number, count: number) => number) | undefined>> = {
  ArrowDown: (index, count) => Math.min(count - 1, index + 1),
  ArrowUp: (index) => Math.max(0, index - 1),
  PageDown: (index, count) => Math.min(count - 1, index + 20),
  PageUp: (index) => Math.max(0, index - 20),
  Home: () => 0,
  End: (_index, count) => count - 1,
};

function rowLink(body: HTMLElement | null, index: number): HTMLElement | null {
  return body?.querySelector<HTMLElement>(`[data-index="${index}"] a`) ?? null;
}
