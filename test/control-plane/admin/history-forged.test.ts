import { execFile } from 'node:child_process';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { gitEnv, INSTALL, RunningControlPlane } from '../running-control-plane.ts';

const run = promisify(execFile);
const FILE = 'clusters/prod-eu/apps/shop/podinfo.yaml';

let plane: RunningControlPlane;
let intent: string;
let own: string;

beforeAll(async () => {
  plane = await RunningControlPlane.start();
  await plane.putPodinfo();
  const cluster = await plane.newCluster('prod-eu');
  const reason = 'in words: ä';
  const { body } = await plane.call('POST', `/clusters/${cluster}/intents`, { ...INSTALL, reason });
  intent = String(body['id']);
  await plane.until(intent, 'delivered');
  own = (await plane.git('rev-parse', 'main')).trim();
  const work = await mkdtemp(join(plane.folder, 'by-hand-'));
  const env = gitEnv({ username: '', password: '' });
  const git = async (...args: string[]) => await run('git', ['-C', work, ...args], { env });
  await run('git', ['clone', '--quiet', join(plane.folder, 'git', 'fleet.git'), work], { env });
  await writeFile(join(work, FILE), '# forged\n');
  // All that its own commit says, but its signature.
  const message = await plane.git('log', '-1', '--format=%B', own);
  await git('commit', '--quiet', '-am', message);
  await git('push', '--quiet', 'origin', 'HEAD:main');
}, 90_000);
afterAll(async () => await plane[Symbol.asyncDispose]());

const kinds = async (): Promise<readonly unknown[]> => {
  const { body } = await plane.call('GET', '/repositories/fleet/commits?limit=2');
  return (body['items'] as Record<string, unknown>[]).map(({ kind, intent: of }) => [kind, of !== undefined]);
};

describe('a commit that copies the trailers of another', () => {
  it('is nobody’s intent, in the list, alone, and in who brought each line', async () => {
    expect(await kinds()).toEqual([
      ['other', false],
      ['intent', true],
    ]);
    const { body } = await plane.call('GET', '/repositories/fleet/commits/HEAD');
    expect([body['kind'], body['intent']]).toEqual(['other', undefined]);
    const blame = await plane.call('GET', '/repositories/fleet/blame?cluster=prod-eu&namespace=shop&name=podinfo');
    expect(blame.body['commits'].map(({ kind }: { kind: string }) => kind)).toEqual(['other']);
  });

  it('differs from one of ours that no receipt names any more: that one is signed', async () => {
    await plane.execute('UPDATE receipts SET commit_id = ? WHERE intent_id = ?', '0'.repeat(40), intent);
    expect(await kinds()).toEqual([
      ['other', false],
      ['intent', true],
    ]);
    expect((await plane.call('GET', `/repositories/fleet/commits/${own}`)).body['intent'].id).toBe(intent);
  });
});
