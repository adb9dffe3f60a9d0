import { useEffect, useMemo, useState } from 'preact/hooks';
import { changedFields, MAX_FIELDS } from './changed-fields.ts';
import { DiffTable, type DiffLook } from './diff-table.tsx';
import { parsePatch, type Patch } from './parse-patch.ts';

/** A file of a change. Absent or empty `patch`: it is too large, or not text. */
export interface ChangedFile {
  readonly path: string;
  readonly status: string;
  readonly patch?: string;
}

const WIDE = '(min-width: 60rem)';

/** Files of a change, to be read: what changes in short, then each line; beside each other where there is room. */
export function YamlDiff({ files }: { readonly files: readonly ChangedFile[] }) {
  const isWide = useMedia(WIDE);
  const [chosen, choose] = useState<DiffLook | undefined>(undefined);
  const look = chosen ?? (isWide ? 'beside' : 'unified');
  if (files.length === 0) return <p class="quiet">Nothing changes.</p>;
  return (
    <div class="diff">
      {isWide && (
        <div class="diff-look" role="group" aria-label="How the diff is shown">
          <LookButton look="beside" now={look} choose={choose} label="Side by side" />
          <LookButton look="unified" now={look} choose={choose} label="Unified" />
        </div>
      )}
      {inOrder(files).map((file) => (
        <FileDiff key={file.path} file={file} look={isWide ? look : 'unified'} />
      ))}
    </div>
  );
}

/** A folder's README is made of what stands in the files beside it: those are read first. */
function inOrder(files: readonly ChangedFile[]): readonly ChangedFile[] {
  const isMade = ({ path }: ChangedFile): boolean => path.endsWith('README.md');
  return files.toSorted((a, b) => Number(isMade(a)) - Number(isMade(b)));
}

interface LookButtonProps {
  readonly look: DiffLook;
  readonly now: DiffLook;
  readonly label: string;
  readonly choose: (look: DiffLook) => void;
}

function LookButton({ look, now, label, choose }: LookButtonProps) {
  return (
    <button type="button" aria-pressed={look === now} onClick={() => choose(look)}>
      {label}
    </button>
  );
}

function FileDiff({ file, look }: { readonly file: ChangedFile; readonly look: DiffLook }) {
  const { path, status, patch } = file;
  const parsed = useMemo(() => parsePatch(patch ?? ''), [patch]);
  return (
    <details open class="file">
      <summary>
        <code>{path}</code> <span class="quiet">{status}</span>{' '}
        <span class="diff-count">
          <span class="plus">+{parsed.added}</span> <span class="minus">−{parsed.removed}</span>
          <span class="hidden">
            {' '}
            ({parsed.added} added and {parsed.removed} removed lines)
          </span>
        </span>
      </summary>
      {parsed.hunks.length === 0 ? (
        <p class="quiet diff-none">Not shown: it is too large, or not text.</p>
      ) : (
        <>
          <FieldSummary parsed={parsed} />
          <DiffTable hunks={parsed.hunks} look={parsed.removed === 0 ? 'unified' : look} label={`Changes of ${path}`} />
          {parsed.cut > 0 && (
            <p class="quiet diff-none">{parsed.cut} more lines are not shown: servicectl shows them.</p>
          )}
        </>
      )}
    </details>
  );
}

/** Of a file that is new as a whole the lines say it all. */
function FieldSummary({ parsed }: { readonly parsed: Patch }) {
  const fields = useMemo(() => (parsed.removed === 0 ? [] : changedFields(parsed.hunks)), [parsed]);
  if (fields.length === 0) return null;
  return (
    <ul class="diff-fields" aria-label="Fields that change">
      {fields.slice(0, MAX_FIELDS).map(({ path, before, after }) => (
        <li key={path}>
          <code>{path}</code> {before === undefined ? <span class="quiet">new</span> : <del>{cut(before)}</del>}
          <span aria-hidden="true"> → </span>
          <span class="hidden"> becomes </span>
          {after === undefined ? <span class="quiet">gone</span> : <ins>{cut(after)}</ins>}
        </li>
      ))}
      {fields.length > MAX_FIELDS && <li class="quiet">and {fields.length - MAX_FIELDS} more</li>}
    </ul>
  );
}

/** Longer values are read below. */
function cut(text: string): string {
  return text.length > 80 ? `${text.slice(0, 79)}…` : text;
}

function useMedia(query: string): boolean {
  const list = useMemo(() => matchMedia(query), [query]);
  const [fits, setFits] = useState(list.matches);
  useEffect(() => {
    const look = (): void => setFits(list.matches);
    list.addEventListener('change', look);
    return () => list.removeEventListener('change', look);
  }, [list]);
  return fits;
}
