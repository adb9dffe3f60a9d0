import type { JSX } from 'preact';

const KINDS: Readonly<Record<string, string>> = { '+': 'added', '-': 'removed', '@': 'place' };
const MAX_LINES = 5000;

export interface ChangedFile {
  readonly path: string;
  readonly status: string;
  readonly patch?: string;
}

/** The files of a change with a unified patch each. Added and removed lines differ by their sign too, not by colour alone. */
export function Patch({ files }: { readonly files: readonly ChangedFile[] }): JSX.Element {
  return (
    <div>
      {files.map(({ path, status, patch = '' }) => (
        <details key={path} open class="file">
          <summary>
            <code>{path}</code> {status}
          </summary>
          {patch === '' ? (
            <p class="quiet">Not shown: it is too large, or not text.</p>
          ) : (
            <pre tabIndex={0} role="region" aria-label={`Changes of ${path}`}>
              <Lines patch={patch} />
            </pre>
          )}
        </details>
      ))}
    </div>
  );
}

function Lines({ patch }: { readonly patch: string }): JSX.Element {
  const lines = patch.replace(/\n$/, '').split('\n');
  const from = Math.max(
    0,
    lines.findIndex((line) => line.startsWith('@@')),
  );
  const shown = lines.slice(from, from + MAX_LINES);
  const cut = lines.length - from - shown.length;
  return (
    <>
      {shown.map((line, index) => (
        <span key={index} class={`line ${KINDS[line.charAt(0)] ?? ''}`}>{`${line}\n`}</span>
      ))}
      {cut > 0 ? <span class="line place">{`… ${cut} more lines: servicectl shows them\n`}</span> : null}
    </>
  );
}
