import type { JSX } from 'preact';
import { href, useAddress } from '../router.ts';

/** The way on through a keyed list. The place is in the address, so it can be shared; back is the browser's. */
export function Pager({ next }: { readonly next: string | undefined }): JSX.Element | null {
  const { path, parameters } = useAddress();
  const others = Object.fromEntries([...parameters].filter(([name]) => name !== 'cursor'));
  const isFirst = !parameters.has('cursor');
  if (isFirst && next === undefined) return null;
  return (
    <nav class="pager" aria-label="Pages of this list">
      {isFirst ? null : <a href={href(path, others)}>First page</a>}
      {next === undefined ? (
        <span class="quiet">The end</span>
      ) : (
        <a href={href(path, { ...others, cursor: next })}>Next page</a>
      )}
    </nav>
  );
}
