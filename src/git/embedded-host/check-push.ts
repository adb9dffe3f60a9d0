import { componentFault } from '../path-rules.ts';
import type { ScopeEntry } from './git-access.ts';

/** Why a push is not accepted. `moved`: it does not stand on the branch as it is; the client fetches and tries again. */
export type PushFault =
  | { readonly kind: 'moved'; readonly text: string }
  /** One line for each commit at fault, naming it, so that a writer can leave those out and push the rest. */
  | { readonly kind: 'refused'; readonly lines: readonly string[] };

/**
 * Arguments of the one git command that lists every pushed commit, newest first: its id and parents, its `Cluster-Id`
 * trailers, and the raw difference from its parent, directories included, without renames, so that a file moved out shows
 * on both sides.
 *
 * @param known what is not listed: the branch's old tip
 */
export function pushLogArguments(known: string | undefined, newId: string): readonly string[] {
  return [
    'log',
    '--no-color',
    '--no-decorate',
    '--no-show-signature',
    '--no-mailmap',
    '--no-notes',
    '--no-ext-diff',
    '--no-textconv',
    '--ignore-submodules=none',
    '--raw',
    '-r',
    '-t',
    '-m',
    '--no-renames',
    '--no-abbrev',
    '--format=commit %H %P%ncluster %(trailers:key=Cluster-Id,valueonly,unfold,separator=%x2C)',
    newId,
    ...(known === undefined ? [] : [`^${known}`]),
    '--',
  ];
}

const LOWER_CASE_NAME = /^[a-z0-9_][a-z0-9._-]*$/;
const MAX_LINES = 200;

/**
 * The last word on what a scoped credential may push, read from that list. Accepted is exactly a straight line of
 * commits from the old tip to the new one, each with one `Cluster-Id` trailer of the scope, each changing plain files
 * inside that cluster's directory alone. Looking at every commit, not at the sum, refuses one that leaves its directory
 * and is undone by the next. Names are lower-case but for the README, so no push can bring in a name that another
 * differs from by case alone, and none starts with a dot.
 */
export function checkPush(
  log: string,
  push: {
    readonly oldId: string | undefined;
    readonly newId: string;
    readonly scope: readonly ScopeEntry[];
    /** The branch of a proposal stands anywhere on the shared one, whose commits the list leaves out. */
    readonly standsOnKnown?: true;
  },
): PushFault | undefined {
  const faults = new Map<string, string>();
  const directoryFaults = new Map<string, string>();
  let expected: string | undefined = push.newId;
  let commit = '';
  let cluster: ClusterScope | undefined;
  for (const line of log.split('\n')) {
    if (line.startsWith('commit ')) {
      const [id = '', parent, ...others] = line.slice('commit '.length).trim().split(' ');
      if (id !== expected) return notOnTip();
      commit = id;
      cluster = undefined;
      expected = parent === '' ? undefined : parent;
      if (others.length > 0) faults.set(commit, 'it is a merge; only commits with one parent are accepted');
    } else if (line.startsWith('cluster ')) {
      const scope = clusterScope(line.slice('cluster '.length).trim(), push.scope);
      if (typeof scope === 'string') setOnce(faults, commit, scope);
      else cluster = scope;
    } else if (line.startsWith(':') && cluster !== undefined) {
      const fault = changeFault(line, cluster);
      // A file says more than the directories above it, which the list has first.
      if (fault !== undefined) setOnce(isOfDirectory(line) ? directoryFaults : faults, commit, fault);
    }
  }
  // An empty list stands for a new tip that is an ancestor of the old one. Goes before the faults: commits that are on
  // another history are judged once they are on this one.
  const standsWhereItMust = push.standsOnKnown === true ? expected !== undefined : expected === push.oldId;
  if (!standsWhereItMust || commit === '') return notOnTip();
  for (const [id, text] of directoryFaults) setOnce(faults, id, text);
  if (faults.size === 0) return undefined;
  const lines = [...faults].slice(0, MAX_LINES).map(([id, text]) => `refused: commit ${id}: ${text}`);
  return { kind: 'refused', lines };
}

interface ClusterScope {
  readonly clusterId: string;
  readonly directories: readonly string[];
}

/** The directories that a commit may change, or what is wrong with its trailer. */
function clusterScope(trailer: string, scope: readonly ScopeEntry[]): ClusterScope | string {
  if (trailer === '') return 'it has no Cluster-Id trailer';
  if (trailer.includes(',')) return 'it has more than one Cluster-Id trailer';
  const directories = scope.filter(({ clusterId }) => clusterId === trailer).map(({ directory }) => directory);
  return directories.length === 0
    ? `its Cluster-Id ${JSON.stringify(trailer)} is not one that this credential may write for`
    : { clusterId: trailer, directories };
}

/** What is wrong with one changed path (a line of git's raw format). */
function changeFault(line: string, cluster: ClusterScope): string | undefined {
  const tab = line.indexOf('\t');
  const [, mode, , , status] = line.slice(0, tab).split(' ');
  const path = line.slice(tab + 1);
  // Git quotes what is not plain ASCII; no such name is accepted, so none has to be unquoted.
  if (path.startsWith('"')) return `the path ${path} holds characters that are not allowed`;
  const isDirectory = isOfDirectory(line);
  // Those above it change with it; an empty one beside it is listed, too, though it holds no file.
  if (isDirectory && cluster.directories.some((candidate) => `${candidate}/`.startsWith(`${path}/`))) return undefined;
  const directory = cluster.directories.find((candidate) => path.startsWith(`${candidate}/`));
  if (directory === undefined) {
    return `the path ${path} lies outside ${cluster.directories.join(', ')}, the directory of ${cluster.clusterId}`;
  }
  if (status === 'D') return undefined;
  const inside = path.slice(directory.length + 1);
  if (/^readme\.md(\/|$)/.test(inside)) return `the path ${path} differs from README.md by case alone`;
  if (isDirectory) return hasPlainNames(inside) ? undefined : nameFault(path);
  if (mode === '120000') return `the path ${path} is a symbolic link`;
  if (mode === '160000') return `the path ${path} is a submodule`;
  if (mode !== '100644') return `the path ${path} has the file mode ${mode ?? '?'}; only 100644 is accepted`;
  if (inside === 'README.md') return undefined;
  return hasPlainNames(inside) ? undefined : nameFault(path);
}

/** Whether a line of git's raw format is of a directory, on whichever side it is there. */
export function isOfDirectory(line: string): boolean {
  return /^:(040000 (040000|000000)|000000 040000) /.test(line);
}

function hasPlainNames(inside: string): boolean {
  return inside.split('/').every((name) => LOWER_CASE_NAME.test(name) && componentFault(name) === undefined);
}

function nameFault(path: string): string {
  return `the path ${path} has a name that is not allowed (lower-case letters, digits, . _ - and no leading dot)`;
}

function setOnce(faults: Map<string, string>, commit: string, text: string): void {
  if (!faults.has(commit)) faults.set(commit, text);
}

function notOnTip(): PushFault {
  return {
    kind: 'moved',
    text: 'non-fast-forward: the commits are not a straight line from the tip of the branch; fetch first',
  };
}
