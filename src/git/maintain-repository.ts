import { gitConfigEnvironment, runGit } from './git-process.ts';

/** Of one turn: what is left is done in the next. The filters of one commit take its difference from its parent. */
const MAX_FILTERS = 20_000;

/**
 * Keeps reading a repository as fast in a year as on the first day: few packs, each twice as large as the next, so that
 * the work follows what is new; and a commit graph with a filter of paths for each commit, so that neither the history
 * nor the last commit of a path is read commit by commit. Runs beside reads, pushes and fetches, and removes no object.
 *
 * `dropsUnreachable`: the history was rewritten, and what nobody can reach any more goes at once. Nothing may be written to the
 * repository meanwhile.
 */
export async function maintainRepository(deps: {
  readonly path: string;
  readonly settings: readonly (readonly [string, string])[];
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  readonly dropsUnreachable?: boolean;
}): Promise<void> {
  const drops = deps.dropsUnreachable === true;
  const git = async (...args: readonly string[]): Promise<unknown> =>
    await runGit(args, {
      cwd: deps.path,
      env: { ...gitConfigEnvironment(deps.settings), GIT_DIR: deps.path },
      timeoutMs: deps.timeoutMs,
      signal: deps.signal,
    });
  if (drops) {
    await git('repack', '-a', '-d', '-q');
    await git('prune', '--expire=now');
  } else {
    await git('repack', '--geometric=2', '-d', '-q');
  }
  // One that names commits which are gone would be believed.
  const split = drops ? '--split=replace' : '--split';
  await git('commit-graph', 'write', '--reachable', split, '--changed-paths', `--max-new-filters=${MAX_FILTERS}`);
}
