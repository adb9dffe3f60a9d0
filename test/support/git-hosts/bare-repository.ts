import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { gitEnvironment, runGit } from '../../../src/git/git-process.ts';

export type MergeStrategy = 'merge' | 'squash' | 'rebase';

const PERSON = {
  GIT_AUTHOR_NAME: 'A Reviewer',
  GIT_AUTHOR_EMAIL: 'reviewer@example.test',
  GIT_COMMITTER_NAME: 'A Git Host',
  GIT_COMMITTER_EMAIL: 'noreply@host.example.test',
};

/** A bare repository as a Git host has one, with `main`, worked on and served by native git alone. */
export class BareRepository implements AsyncDisposable {
  readonly #folder: string;
  readonly path: string;
  #worktrees = 0;

  private constructor(folder: string) {
    this.#folder = folder;
    this.path = join(folder, 'bare.git');
  }

  static async make(): Promise<BareRepository> {
    const made = new BareRepository(await mkdtemp(join(tmpdir(), 'git-host-')));
    await runGit(['init', '--quiet', '--bare', '--initial-branch=main', made.path]);
    await made.#git(['config', 'http.receivepack', 'true']);
    await made.write('main', { 'README.md': '# Fleet\n' }, 'Begin');
    return made;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.#folder, { recursive: true, force: true, maxRetries: 5 });
  }

  async head(branch: string): Promise<string | undefined> {
    return (await this.#git(['for-each-ref', '--format=%(objectname)', `refs/heads/${branch}`])) || undefined;
  }

  /** Subjects of a branch, the newest first. */
  async subjects(branch: string): Promise<string[]> {
    return (await this.#git(['log', '--format=%s', branch])).split('\n');
  }

  async read(branch: string, path: string): Promise<string> {
    return await this.#git(['show', `${branch}:${path}`]);
  }

  async paths(branch: string): Promise<string[]> {
    return (await this.#git(['ls-tree', '-r', '--name-only', branch])).split('\n');
  }

  /** Puts a branch where another one is, whatever it was. */
  async branch(name: string, at: string): Promise<void> {
    await this.#git(['update-ref', `refs/heads/${name}`, `refs/heads/${at}`]);
  }

  /** All branches of another one, and nothing else. */
  async copyFrom(other: BareRepository): Promise<void> {
    await this.#git(['fetch', '--quiet', '--prune', other.path, '+refs/heads/*:refs/heads/*']);
  }

  async deleteBranch(branch: string): Promise<void> {
    await this.#git(['update-ref', '-d', `refs/heads/${branch}`]);
  }

  /** Merges as a host's button does. Answers the commit of `base` that has it; rejects on a conflict. */
  async merge(branch: string, base: string, strategy: MergeStrategy, title: string): Promise<string> {
    return await this.#inWorktree(base, async (run) => {
      if (strategy === 'merge') await run(['merge', '--quiet', '--no-ff', '-m', `Merge: ${title}`, `origin/${branch}`]);
      else if (strategy === 'squash') {
        await run(['merge', '--quiet', '--squash', `origin/${branch}`]);
        await run(['commit', '--quiet', '-m', `${title} (#1)`]);
      } else {
        await run(['checkout', '--quiet', '-B', 'rebased', `origin/${branch}`]);
        // As hosts do it: committed anew, so that it has another id than what was proposed.
        await run(['rebase', '--quiet', '--force-rebase', base]);
        await run(['checkout', '--quiet', base]);
        await run(['merge', '--quiet', '--ff-only', 'rebased']);
      }
    });
  }

  /** A person's commit on top of a branch; `undefined` removes a file. Makes the branch where there is none. */
  async write(branch: string, files: Readonly<Record<string, string | undefined>>, subject: string): Promise<string> {
    return await this.#inWorktree(branch, async (run, folder) => {
      for (const [path, text] of Object.entries(files)) {
        if (text === undefined) {
          await run(['rm', '--quiet', path]);
          continue;
        }
        await mkdir(dirname(join(folder, path)), { recursive: true });
        await writeFile(join(folder, path), text);
      }
      await run(['add', '--all']);
      await run(['commit', '--quiet', '-m', subject]);
    });
  }

  /** The smart HTTP protocol for `<prefix>/info/refs`, `/git-upload-pack`, `/git-receive-pack`. */
  serve(request: IncomingMessage, response: ServerResponse, rest: string, query: string): void {
    const child = spawn('git', ['http-backend'], {
      env: gitEnvironment({
        GIT_PROJECT_ROOT: this.#folder,
        GIT_HTTP_EXPORT_ALL: '1',
        PATH_INFO: `/bare.git${rest}`,
        QUERY_STRING: query,
        REQUEST_METHOD: request.method ?? 'GET',
        CONTENT_TYPE: request.headers['content-type'] ?? '',
        ...(request.headers['content-length'] === undefined
          ? {}
          : { CONTENT_LENGTH: request.headers['content-length'] }),
        HTTP_CONTENT_ENCODING: request.headers['content-encoding'] ?? '',
        GIT_PROTOCOL: String(request.headers['git-protocol'] ?? ''),
        REMOTE_USER: 'service',
        REMOTE_ADDR: '127.0.0.1',
      }),
    });
    const output: Buffer[] = [];
    child.stdout.on('data', (chunk: Buffer) => output.push(chunk));
    child.stdin.on('error', () => undefined);
    request.pipe(child.stdin);
    child.on('close', () => answerCgi(response, Buffer.concat(output)));
  }

  async #git(args: readonly string[]): Promise<string> {
    return (await runGit(args, { env: { GIT_DIR: this.path, ...PERSON } })).toString('utf8').trimEnd();
  }

  async #inWorktree(
    branch: string,
    work: (run: (args: readonly string[]) => Promise<unknown>, folder: string) => Promise<void>,
  ): Promise<string> {
    this.#worktrees += 1;
    const folder = join(this.#folder, `work-${this.#worktrees}`);
    const run = async (args: readonly string[]): Promise<Buffer> => await runGit(args, { cwd: folder, env: PERSON });
    await runGit(['clone', '--quiet', '--shared', '--no-checkout', this.path, folder], { env: PERSON });
    const isThere = (await this.head(branch)) !== undefined;
    await run(isThere ? ['checkout', '--quiet', branch] : ['checkout', '--quiet', '--orphan', branch]);
    await work(run, folder);
    await run(['push', '--quiet', 'origin', `HEAD:refs/heads/${branch}`]);
    await rm(folder, { recursive: true, force: true });
    return (await this.head(branch)) ?? '';
  }
}

function answerCgi(response: ServerResponse, output: Buffer): void {
  const end = output.indexOf('\r\n\r\n');
  const headers = new Map(
    output
      .subarray(0, Math.max(0, end))
      .toString('latin1')
      .split('\r\n')
      .map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
  );
  const status = Number(headers.get('status')?.slice(0, 3) ?? (end < 0 ? 500 : 200));
  headers.delete('status');
  response.writeHead(status, Object.fromEntries(headers)).end(end < 0 ? '' : output.subarray(end + 4));
}
