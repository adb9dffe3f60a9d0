import { chmod, copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect } from 'vitest';
import { git, gitFailure } from '../git/git-server.ts';

const HOOK = join(import.meta.dirname, '../../examples/git-hooks/update');
const WRITER = { REMOTE_USER: 'control-plane' };

/** A bare repository with the hook as its README says, and a clone to push from. */
export class HookedHost implements AsyncDisposable {
  readonly folder: string;
  readonly host: string;
  readonly work: string;
  /** Of the present test. */
  serial = 0;

  private constructor(folder: string) {
    this.folder = folder;
    this.host = join(folder, 'fleet.git');
    this.work = join(folder, 'work');
  }

  static async start(): Promise<HookedHost> {
    const hooked = new HookedHost(await mkdtemp(join(tmpdir(), 'git-hooks-')));
    const { folder, host, work } = hooked;
    await git(folder, ['init', '--quiet', '--bare', '--initial-branch=main', host]);
    await git(folder, ['init', '--quiet', '--initial-branch=main', work]);
    await git(work, ['remote', 'add', 'origin', host]);
    await hooked.write('README.md');
    await git(work, ['commit', '--quiet', '-m', 'start']);
    await git(work, ['push', '--quiet', 'origin', 'main']);
    const map = join(folder, 'clusters.map');
    await writeFile(map, '# of the fleet\n\nc-eu clusters/prod-eu\nc-us clusters/prod-us/\n');
    await git(host, ['config', 'scope.map', map]);
    await git(host, ['config', 'scope.writer', 'control-plane']);
    // Git's own rules step back, so that it is the hook that refuses.
    await git(host, ['config', 'receive.denyDeleteCurrent', 'ignore']);
    for (const rule of ['core.protectNTFS', 'core.protectHFS']) await git(work, ['config', rule, 'false']);
    await copyFile(HOOK, join(host, 'hooks/update'));
    await chmod(join(host, 'hooks/update'), 0o755);
    return hooked;
  }

  /** Back to what the host has, with paths that no test had before. */
  async begin(): Promise<void> {
    await git(this.work, ['fetch', '--quiet', 'origin']);
    await git(this.work, ['checkout', '--quiet', '--force', '-B', 'main', 'origin/main']);
    await git(this.work, ['clean', '-qfdx']);
    this.serial += 1;
  }

  async write(path: string, text = `text ${this.serial}\n`): Promise<void> {
    await mkdir(dirname(join(this.work, path)), { recursive: true });
    await writeFile(join(this.work, path), text);
    await git(this.work, ['add', '-A']);
  }

  async commit(...trailers: readonly string[]): Promise<string> {
    const message = ['a change', ...(trailers.length === 0 ? [] : [trailers.join('\n')])].join('\n\n');
    await git(this.work, ['commit', '--quiet', '--allow-empty', '-m', message]);
    return git(this.work, ['rev-parse', 'HEAD']);
  }

  async push(args: readonly string[] = ['main'], env: Record<string, string> = WRITER): Promise<void> {
    await git(this.work, ['push', '--quiet', 'origin', ...args], { env });
  }

  /** What the pusher is shown; nothing has moved. */
  async refusal(args: readonly string[] = ['main'], env: Record<string, string> = WRITER): Promise<string> {
    const before = await git(this.host, ['for-each-ref']);
    const text = await gitFailure(this.work, ['push', 'origin', ...args], { env });
    expect(await git(this.host, ['for-each-ref'])).toBe(before);
    return text;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.folder, { recursive: true, force: true, maxRetries: 3 });
  }
}
