import { readTrailers } from '../commit-message.ts';
import { signedCommit, treeOfCommit } from '../commit-object.ts';
import { objectId, type NewObject } from '../git-object.ts';

/** The way back from a projected commit to the one that it was made of. Always the last line of the message. */
export const SOURCE_TRAILER = 'Source-Commit';

/** Whose signatures count, of one organization at one moment, and how what they stand for is signed anew. */
export interface ProjectionTrust {
  /** Names of the keys that count. */
  readonly keys: ReadonlySet<string>;
  /** Name of the one that signed the commit with these bytes; undefined when none of them did. */
  readonly signerOf: (commit: Buffer) => string | undefined;
  readonly sign: (payload: Buffer) => Promise<{ readonly signature: string; readonly key: string }>;
}

export type ProjectionSigner = (organizationId: string) => Promise<ProjectionTrust>;

export interface ProjectedCommitParts {
  readonly source: { readonly id: string; readonly bytes: Buffer };
  readonly tree: string;
  readonly parent: string | undefined;
  /** Instead of the source's message: where the commit stands for more than that one. */
  readonly message?: string;
  /** Signs it, where what it stands for is signed itself. */
  readonly sign?: ((payload: Buffer) => Promise<string>) | undefined;
}

/** The commit of a cluster's projection: tree and parent are its own; author, committer, dates and message are the source's. */
export async function projectedCommit(parts: ProjectedCommitParts): Promise<NewObject> {
  const { source, tree, parent, sign } = parts;
  // One character a byte, so that whatever encoding a person used comes through as it is.
  const text = source.bytes.toString('latin1');
  const end = text.indexOf('\n\n');
  const header = end < 0 ? text : text.slice(0, end);
  const kept = header.split('\n').filter((line) => /^(author|committer|encoding) /.test(line));
  const message = parts.message ?? (end < 0 ? '' : text.slice(end + 2));
  const lines = [
    `tree ${tree}`,
    ...(parent === undefined ? [] : [`parent ${parent}`]),
    ...kept,
    '',
    withTrailer(message, `${SOURCE_TRAILER}: ${source.id}`),
  ];
  const bytes = Buffer.from(lines.join('\n'), 'latin1');
  const commit: NewObject = { type: 'commit', id: objectId('commit', bytes), bytes };
  return await signedCommit(commit, sign);
}

/** What a projected commit says of itself; `undefined` for a commit that is none. */
export function readProjectedCommit(bytes: Buffer): { readonly tree: string; readonly source: string } | undefined {
  const source = /\nSource-Commit: ([0-9a-f]{40})\n$/.exec(bytes.toString('latin1'))?.[1];
  return source === undefined ? undefined : { tree: treeOfCommit(bytes), source };
}

function withTrailer(message: string, trailer: string): string {
  const text = message.replaceAll('\0', '').trimEnd();
  if (text.trim() === '') return `(no message)\n\n${trailer}\n`;
  return `${text}${readTrailers(text).size > 0 ? '\n' : '\n\n'}${trailer}\n`;
}
