import { objectId, type NewObject } from './git-object.ts';

export interface Identity {
  readonly name: string;
  readonly email: string;
}

/** A commit of `tree` on `parent` (`undefined` for a root), written by `identity` at `at`, in UTC. */
export function commitObject(parts: {
  readonly tree: string;
  readonly parent: string | undefined;
  readonly identity: Identity;
  readonly at: Date;
  readonly message: string;
}): NewObject {
  const who = `${plain(parts.identity.name)} <${plain(parts.identity.email)}> ${Math.floor(parts.at.getTime() / 1000)} +0000`;
  const lines = [
    `tree ${parts.tree}`,
    ...(parts.parent === undefined ? [] : [`parent ${parts.parent}`]),
    `author ${who}`,
    `committer ${who}`,
    '',
    parts.message,
  ];
  const bytes = Buffer.from(lines.join('\n'), 'utf8');
  return { type: 'commit', id: objectId('commit', bytes), bytes };
}

/** Armored signature of a commit's bytes, as Git keeps it in a `gpgsig` header (`SSH SIGNATURE` or `PGP SIGNATURE`). */
export type CommitSigner = (payload: Buffer) => Promise<string>;

/** `commit` with its signature; the same commit where nobody signs. What is signed is the commit without the signature. */
export async function signedCommit(commit: NewObject, sign: CommitSigner | undefined): Promise<NewObject> {
  if (sign === undefined) return commit;
  const endOfHeader = commit.bytes.indexOf('\n\n') + 1;
  // Each line after a header's first starts with a space, an empty line too.
  const folded = (await sign(commit.bytes)).trimEnd().replaceAll('\n', '\n ');
  const bytes = Buffer.concat([
    commit.bytes.subarray(0, endOfHeader),
    Buffer.from(`gpgsig ${folded}\n`, 'latin1'),
    commit.bytes.subarray(endOfHeader),
  ]);
  return { type: 'commit', id: objectId('commit', bytes), bytes };
}

/** Tree id of a commit's bytes. @throws on anything else */
export function treeOfCommit(bytes: Buffer): string {
  const match = /^tree ([0-9a-f]{40})\n/.exec(bytes.toString('latin1', 0, 48));
  if (match?.[1] === undefined) throw new Error('a commit names no tree');
  return match[1];
}

/** Ids of a commit's parents, the first one first. */
export function parentsOfCommit(bytes: Buffer): string[] {
  const header = bytes.toString('latin1', 0, Math.max(0, bytes.indexOf('\n\n')));
  return [...header.matchAll(/^parent ([0-9a-f]{40})$/gm)].map(([, id = '']) => id);
}

/** Git ends a name at `<`, `>` or a line break. */
function plain(text: string): string {
  // oxlint-disable-next-line no-control-regex -- control characters are what it looks for
  return text.replace(/[<>\u0000-\u001f\u007f]/g, '').trim();
}
