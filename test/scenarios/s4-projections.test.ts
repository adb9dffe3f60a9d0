import { execFileSync, execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { readConfig } from '../../src/control-plane/config.ts';
import { openMasterKey } from '../../src/control-plane/master-key.ts';
import { startControlPlane } from '../../src/control-plane/start-control-plane.ts';
import { createLogger } from '../../src/runtime/logger.ts';
import { gitEnv } from '../control-plane/running-control-plane.ts';
import { ManualClock } from '../support/manual-clock.ts';

const FIXTURE = join(import.meta.dirname, 'data-of-0.1.0.tar.gz');
const run = promisify(execFile);

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'previous-release-'));
  execFileSync('tar', ['-C', folder, '-xzf', FIXTURE]);
});
afterEach(() => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }));

function rowOf(sql: string): Record<string, unknown> {
  const database = new DatabaseSync(join(folder, 'data', 'control-plane.db'));
  try {
    return database.prepare(sql).get() ?? {};
  } finally {
    database.close();
  }
}

it('S4: an operator of the previous release is told of its own repository, and its Git credential reads that alone', async () => {
  const known = JSON.parse(readFileSync(join(folder, 'known.json'), 'utf8')) as Record<string, string>;
  const { config_revision: revision } = rowOf("SELECT config_revision FROM clusters WHERE slug = 'eu'");
  const credential = rowOf("SELECT id, token_sealed FROM git_credentials WHERE access = 'read' AND revoked_at IS NULL");
  const config = readConfig({
    SERVICE_LISTEN: '127.0.0.1:0',
    SERVICE_DATA_DIR: join(folder, 'data'),
    SERVICE_ADMIN_TOKEN: known['adminToken'] ?? '',
  });
  const masterKey = openMasterKey({ file: config.masterKeyFile, randomBytes });
  const id = String(credential['id']);
  const password = (await masterKey.open(String(credential['token_sealed']), `git-credential/${id}`)).expose();
  const clock = new ManualClock('2026-11-28T11:30:00.000Z');
  const logger = createLogger('test', 'silent');
  await using plane = await startControlPlane(config, { clock, randomBytes, random: () => 0.5, logger });

  // What it knows of the old address holds no longer: the next poll is answered at once.
  const answer = await fetch(`${plane.url}/api/agent/config?wait=300`, {
    headers: { authorization: `Bearer ${known['agentToken']}`, 'if-none-match': `"${String(revision)}"` },
  });
  expect(answer.status).toBe(200);
  const { git } = (await answer.json()) as { git: Record<string, string> };
  expect(git).toMatchObject({ url: `${plane.url}/git/clusters/eu.git`, path: '', branch: 'main' });

  const env = gitEnv({ username: 'service', password });
  const clone = join(folder, 'clone');
  await run('git', ['clone', '--quiet', git['url'] ?? '', clone], { env });
  const inClone = async (...args: string[]): Promise<string> =>
    (await run('git', ['-C', clone, ...args])).stdout.trim();
  expect(await inClone('rev-parse', 'HEAD^{tree}')).toBe(git['desired_revision']);
  const shared = join(folder, 'data/git/fleet.git');
  const intents = ['log', '--format=%(trailers:key=Intent-Id,valueonly,separator=%x2C)', 'main'];
  expect(await inClone(...intents)).toBe(
    (await run('git', ['-C', shared, ...intents, '--', 'clusters/eu'])).stdout.trim(),
  );
  await expect(run('git', ['ls-remote', `${plane.url}/git/fleet.git`], { env })).rejects.toThrow(/not found|No such/);
});
