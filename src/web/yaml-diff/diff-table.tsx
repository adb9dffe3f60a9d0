import { useMemo, useState } from 'preact/hooks';
import { diffRows, type Row, type ShownLine } from './diff-rows.ts';
import type { Hunk } from './parse-patch.ts';

export type DiffLook = 'beside' | 'unified';

interface DiffTableProps {
  readonly hunks: readonly Hunk[];
  readonly look: DiffLook;
  readonly label: string;
}

/**
 * A table of lines with their numbers. Added and removed lines differ by their sign and by a word for screen readers, not by
 * colour alone.
 */
export function DiffTable({ hunks, look, label }: DiffTableProps) {
  const rows = useMemo(() => diffRows(hunks), [hunks]);
  return (
    <div class="diff-scroll" tabIndex={0} role="region" aria-label={label}>
      <table class={`diff-table ${look}`}>
        <caption class="hidden">{label}</caption>
        <colgroup>
          <col class="diff-number" />
          <col {...(look === 'beside' ? {} : { class: 'diff-number' })} />
          {look === 'beside' && <col class="diff-number" />}
          <col />
        </colgroup>
        <thead class="hidden">
          <tr>
            {look === 'beside' ? (
              <>
                <th scope="col">Line before</th>
                <th scope="col">Before</th>
                <th scope="col">Line after</th>
                <th scope="col">After</th>
              </>
            ) : (
              <>
                <th scope="col">Line before</th>
                <th scope="col">Line after</th>
                <th scope="col">Text</th>
              </>
            )}
          </tr>
        </thead>
        <tbody>
          <Rows rows={rows} look={look} />
        </tbody>
      </table>
    </div>
  );
}

function Rows({ rows, look }: { readonly rows: readonly Row[]; readonly look: DiffLook }) {
  return (
    <>
      {look === 'beside'
        ? rows.map((row, index) => <BesideRow key={index} row={row} />)
        : inRuns(rows).map((run, index) => <UnifiedRun key={index} run={run} />)}
    </>
  );
}

function BesideRow({ row }: { readonly row: Row }) {
  if (row.kind === 'gap') return <GapRow lines={row.lines} columns={4} />;
  if (row.kind === 'fold') return <FoldRow rows={row.rows} look="beside" />;
  const changed = row.kind === 'changed';
  return (
    <tr>
      <NumberCell line={row.before} />
      <TextCell line={row.before} sign={changed && row.before !== undefined ? 'removed' : undefined} />
      <NumberCell line={row.after} />
      <TextCell line={row.after} sign={changed && row.after !== undefined ? 'added' : undefined} />
    </tr>
  );
}

/** Changed rows that follow each other are one run: what was removed stands above what was added. */
function inRuns(rows: readonly Row[]): readonly (readonly Row[])[] {
  const runs: Row[][] = [];
  for (const row of rows) {
    const last = runs.at(-1);
    if (row.kind === 'changed' && last?.[0]?.kind === 'changed') last.push(row);
    else runs.push([row]);
  }
  return runs;
}

function UnifiedRun({ run }: { readonly run: readonly Row[] }) {
  const [row] = run;
  if (row?.kind === 'gap') return <GapRow lines={row.lines} columns={3} />;
  if (row?.kind === 'fold') return <FoldRow rows={row.rows} look="unified" />;
  if (row?.kind === 'same') return <UnifiedRow before={row.before} after={row.after} />;
  const changed = run.flatMap((one) => (one.kind === 'changed' ? [one] : []));
  return (
    <>
      {changed.map((one, index) => one.before && <UnifiedRow key={`-${index}`} before={one.before} sign="removed" />)}
      {changed.map((one, index) => one.after && <UnifiedRow key={`+${index}`} after={one.after} sign="added" />)}
    </>
  );
}

interface UnifiedRowProps {
  readonly before?: ShownLine;
  readonly after?: ShownLine;
  readonly sign?: 'added' | 'removed';
}

function UnifiedRow({ before, after, sign }: UnifiedRowProps) {
  return (
    <tr>
      <NumberCell line={before} />
      <NumberCell line={after} />
      <TextCell line={after ?? before} sign={sign} />
    </tr>
  );
}

function NumberCell({ line }: { readonly line: ShownLine | undefined }) {
  return <td class="diff-number">{line?.number}</td>;
}

const SIGNS = { added: '+', removed: '−' } as const;

interface TextCellProps {
  readonly line: ShownLine | undefined;
  readonly sign: 'added' | 'removed' | undefined;
}

function TextCell({ line, sign }: TextCellProps) {
  if (line === undefined) return <td class="diff-text nothing" />;
  const Mark = sign === 'added' ? 'ins' : 'del';
  return (
    <td class={`diff-text ${sign ?? ''}`}>
      <span class="diff-sign" aria-hidden="true">
        {sign === undefined ? ' ' : SIGNS[sign]}
      </span>
      {sign !== undefined && <span class="hidden">{sign}: </span>}
      {line.pieces.map((piece, index) =>
        piece.isChanged && sign !== undefined ? <Mark key={index}>{piece.text}</Mark> : piece.text,
      )}
      {line.hasNoNewline === true && <span class="quiet"> (no line feed at the end)</span>}
    </td>
  );
}

function GapRow({ lines, columns }: { readonly lines: number; readonly columns: number }) {
  return (
    <tr class="diff-gap">
      <td colSpan={columns}>{counted(lines)} between</td>
    </tr>
  );
}

function FoldRow({ rows, look }: { readonly rows: readonly Row[]; readonly look: DiffLook }) {
  const [isOpen, open] = useState(false);
  if (isOpen) return <Rows rows={rows} look={look} />;
  return (
    <tr class="diff-gap">
      <td colSpan={look === 'beside' ? 4 : 3}>
        <button type="button" onClick={() => open(true)}>
          Show {counted(rows.length)}
        </button>
      </td>
    </tr>
  );
}

function counted(lines: number): string {
  return lines === 1 ? '1 unchanged line' : `${lines} unchanged lines`;
}
