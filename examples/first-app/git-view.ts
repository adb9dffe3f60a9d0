import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { join } from 'node:path';
import type { Stage } from './stage.ts';

const run = promisify(execFile);

/** The repository as a reviewer who clones it sees it. */
export interface GitView {
  /** Commits that carry an intent. */
  readonly commits: number;
  /** The cluster's directory. */
  readonly path: string;
  readonly log: string;
}

/** Clones with a read credential, as any reviewer can, and reads the log of the cluster's directory. */
export async function readGit(stage: Stage): Promise<GitView> {
  const { items } = await stage.admin.call<{ items: readonly { name: string; url: string; branch: string }[] }>(
    'GET',
    '/repositories',
  );
  const [repository] = items;
  if (repository === undefined)
    throw new Error('the control plane has no repository although a cluster is in gitops mode');
  const credential = await stage.admin.call<{ username: string; password: string }>(
    'POST',
    `/repositories/${repository.name}/read-credential`,
  );
  const clone = join(stage.folder, 'clone');
  const basic = Buffer.from(`${credential.username}:${credential.password}`).toString('base64');
  // By environment: an argument or a URL would show the credential to every process of the machine.
  const env = {
    ...process.env,
    GIT_TERMINAL_PROMPT: '0',
    GIT_CONFIG_COUNT: '1',
    GIT_CONFIG_KEY_0: 'http.extraHeader',
    GIT_CONFIG_VALUE_0: `Authorization: Basic ${basic}`,
  };
  await run('git', ['clone', '--quiet', '--branch', repository.branch, repository.url, clone], {
    env,
    timeout: 20_000,
  });
  const path = `clusters/${stage.slug}`;
  const log = await run(
    'git',
    [
      '-C',
      clone,
      'log',
      '--reverse',
      '--stat',
      '--format=%C(auto)%h %s%n  %an, requested by %(trailers:key=Requested-By,valueonly,separator=%x2C)',
      '--',
      `${path}/apps/shop/podinfo.yaml`,
      `${path}/tombstones/shop/podinfo.json`,
    ],
    { timeout: 10_000 },
  );
  const count = await run(
    'git',
    ['-C', clone, 'log', '--format=%(trailers:key=Intent-Id,valueonly,separator=%x2C)', '--', path],
    { timeout: 10_000 },
  );
  return { commits: count.stdout.split('\n').filter((line) => line.trim() !== '').length, path, log: log.stdout };
}
