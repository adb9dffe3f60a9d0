import { readTrailers } from '../../git/commit-message.ts';
import { objectId } from '../../git/git-object.ts';

export interface GitPerson {
  readonly name: string;
  readonly email: string;
  /** RFC 3339, UTC. */
  readonly at: string;
}

/** One commit as Git has it. */
export interface GitCommit {
  readonly id: string;
  readonly parents: readonly string[];
  readonly author: GitPerson;
  readonly committer: GitPerson;
  readonly subject: string;
  /** Without subject and trailers; empty where there is none. */
  readonly body: string;
  readonly trailers: Readonly<Record<string, string>>;
  /** The object itself; absent where the output that was read does not tell all of it (trailing spaces, another charset). */
  readonly bytes?: Buffer;
}

/**
 * Reads the output of `git rev-list --header`: for each commit its id, its header, an empty line, its message with four
 * spaces before each line, and a NUL at the end.
 */
export function parseCommits(output: string): GitCommit[] {
  return output
    .split('\0')
    .filter((record) => record.trim() !== '')
    .map(parseCommit);
}

function parseCommit(record: string): GitCommit {
  const end = record.indexOf('\n\n');
  const [id = '', ...header] = (end === -1 ? record : record.slice(0, end)).split('\n');
  const message = end === -1 ? '' : record.slice(end + 2).replaceAll(/^ {4}/gm, '');
  const values = (key: string): string[] =>
    header.flatMap((line) => (line.startsWith(`${key} `) ? [line.slice(key.length + 1)] : []));
  const [subject = '', ...paragraphs] = message.trimEnd().split(/\n{2,}/);
  const trailers = Object.fromEntries(readTrailers(message));
  const body = Object.keys(trailers).length === 0 ? paragraphs : paragraphs.slice(0, -1);
  const bytes = Buffer.from(`${header.join('\n')}\n\n${message}`, 'utf8');
  return {
    ...(objectId('commit', bytes) === id ? { bytes } : {}),
    id,
    parents: values('parent'),
    author: person(values('author')[0] ?? ''),
    committer: person(values('committer')[0] ?? ''),
    subject: subject.replaceAll('\n', ' '),
    body: body.join('\n\n'),
    trailers,
  };
}

/** `name <email> seconds zone`. What cannot be read is told as it stands. */
function person(text: string): GitPerson {
  const [, name = text, email = '', seconds = '0'] = /^(.*?) ?<(.*)> (-?\d{1,12}) [+-]\d{4}$/.exec(text) ?? [];
  return { name, email, at: new Date(Number(seconds) * 1000).toISOString() };
}
