import type { JSX } from 'preact';
import { path } from '../api/client.ts';
import { href } from '../router.ts';

interface CommitLinkProps {
  readonly repository: string | undefined;
  readonly commit: string | undefined;
}

/** The first characters of a commit; a link where its repository is known. */
export function CommitLink({ repository, commit }: CommitLinkProps): JSX.Element | null {
  if (commit === undefined) return null;
  const text = <code title={commit}>{commit.slice(0, 10)}</code>;
  if (repository === undefined) return text;
  return <a href={href(path`/history/${repository}/commits/${commit}`)}>{text}</a>;
}

export function IntentLink({ id }: { readonly id: string | undefined }): JSX.Element | null {
  return id === undefined ? null : <a href={href(path`/intents/${id}`)}>{id}</a>;
}

/** By its slug where that is known. */
export function ClusterLink({ slug }: { readonly slug: string }): JSX.Element {
  return (
    <a class="slug" href={href(path`/clusters/${slug}`)}>
      {slug}
    </a>
  );
}
