import { textTable } from './text-table.ts';

interface CommitIntent {
  readonly id: string;
  readonly state: string;
  readonly requestedBy: string;
  readonly requestReason?: string;
  readonly receipt?: { readonly link?: string };
}

/** A commit of the admin API's history, as far as it is printed. */
export interface ListedCommit {
  readonly id: string;
  readonly kind: 'intent' | 'layout-move' | 'other';
  readonly subject: string;
  readonly body?: string;
  readonly author: { readonly name: string; readonly email: string };
  readonly at: string;
  readonly trailers: Readonly<Record<string, string>>;
  readonly clusterSlug?: string;
  readonly intent?: CommitIntent;
}

export interface FilePatches {
  readonly files: readonly { readonly path: string; readonly status: string; readonly patch?: string }[];
  readonly truncated: boolean;
}

export interface ShownCommit extends ListedCommit, FilePatches {
  readonly signature: { readonly state: string; readonly principal?: string; readonly why?: string };
  readonly jobs?: readonly { readonly id: string; readonly state: string; readonly outcome?: string }[];
  readonly status?: readonly { readonly type: string; readonly status: string; readonly reason?: string }[];
}

export interface Blame {
  readonly path: string;
  readonly lines: readonly { readonly line: number; readonly commit: string; readonly text: string }[];
  readonly commits: readonly ListedCommit[];
}

const SHORT = 10;

/** What a terminal would act on, which a person may have put into a commit or a file. */
// oxlint-disable-next-line no-control-regex -- control characters are what it looks for
const UNPRINTABLE = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

export function printable(text: string): string {
  return text.replace(UNPRINTABLE, '\ufffd');
}

/** Like `git log --oneline`: commit, subject, and whose intent it is and where that stands. */
export function logLines(commits: readonly ListedCommit[]): string {
  return commits
    .map((commit) => printable(`${commit.id.slice(0, SHORT)} ${commit.subject} (${whose(commit)})`))
    .map((line) => `${line}\n`)
    .join('');
}

function whose({ kind, intent, author, trailers }: ListedCommit): string {
  if (intent !== undefined) return `${intent.id}, ${intent.requestedBy}, ${intent.state}`;
  if (kind === 'layout-move') return `layout, ${trailers['Requested-By'] ?? author.name}`;
  return `not an intent, ${author.name}`;
}

/** Like `git show`, with what became of the intent. */
export function commitText(commit: ShownCommit): string {
  const { intent, signature, jobs = [], status = [] } = commit;
  const facts: (readonly [string, string | undefined])[] = [
    ['Author', `${commit.author.name} <${commit.author.email}>`],
    ['Date', commit.at],
    [
      'Signature',
      [signature.state, signature.principal ?? signature.why].filter((part) => part !== undefined).join(', '),
    ],
    ['Cluster', commit.clusterSlug],
    ['Intent', intent?.id],
    ['State', intent?.state],
    ['Requested by', intent?.requestedBy ?? commit.trailers['Requested-By']],
    ['Approved by', commit.trailers['Approved-By']],
    ['Reason', intent?.requestReason],
    ...jobs.map(({ id, state, outcome }) => ['Job', `${id} ${outcome ?? state}`] as const),
    ...status.map(({ type, status: is, reason }) => ['Status', `${type}=${is} ${reason ?? ''}`.trimEnd()] as const),
  ];
  const shown = facts.flatMap(([name, value]) => (value === undefined ? [] : [[`${name}:`, value]]));
  const message = [commit.subject, ...(commit.body === undefined ? [] : ['', ...commit.body.split('\n')])];
  const text = message.map((line) => `    ${line}`.trimEnd()).join('\n');
  return printable(`commit ${commit.id}\n${textTable(shown)}\n${text}\n\n${patchText(commit)}`);
}

/** A unified diff. What is too large for the answer is named instead. */
export function patchText({ files, truncated }: FilePatches): string {
  const parts = files.map(({ path, status, patch }) => patch ?? `${status} ${path} (too large to be shown)\n`);
  return printable(`${parts.join('')}${truncated ? 'There is more than is shown; see git itself.\n' : ''}`);
}

/** Like `git blame`: commit, intent, person and day before each line. */
export function blameText({ lines, commits }: Blame): string {
  const known = new Map(commits.map((commit) => [commit.id, commit]));
  const heads = lines.map(({ commit: id, line }) => {
    const commit = known.get(id);
    const who = commit?.intent?.requestedBy ?? commit?.author.name ?? '';
    return [id.slice(0, SHORT), commit?.intent?.id ?? '-', who, commit?.at.slice(0, 10) ?? '', `${line})`];
  });
  const widths = [0, 1, 2, 3, 4].map((column) => Math.max(0, ...heads.map((head) => head[column]?.length ?? 0)));
  return lines
    .map(({ text }, row) => {
      const head = (heads[row] ?? []).map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' ');
      return `${printable(`${head} ${text}`)}\n`;
    })
    .join('');
}
