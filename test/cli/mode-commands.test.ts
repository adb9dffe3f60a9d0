import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { servicectl } from '../../src/cli/servicectl.ts';
import { systemClock, type Clock } from '../../src/runtime/clock.ts';
import { registerAgent, type RunningAgent } from '../control-plane/admin/running-agent.ts';
import { newEncryptionKey } from '../conformance/agent-identity.ts';
import { RunningControlPlane } from '../control-plane/running-control-plane.ts';

let plane: RunningControlPlane;

/** Waits between two looks are short. */
const clock: Clock = {
  now: () => systemClock.now(),
  sleep: async (_ms, signal) => await systemClock.sleep(20, signal),
};

beforeAll(async () => {
  plane = await RunningControlPlane.start();
  writeFileSync(join(plane.folder, 'token'), plane.token);
});
afterAll(async () => await plane[Symbol.asyncDispose]());

async function run(...args: string[]): Promise<{ readonly code: number; readonly out: string; readonly err: string }> {
  let out = '';
  let err = '';
  const env = { SERVICECTL_SERVER: plane.url, SERVICECTL_TOKEN_FILE: join(plane.folder, 'token') };
  const code = await servicectl(['clusters', ...args], {
    env,
    clock,
    out: (text) => (out += text),
    err: (text) => (err += text),
  });
  return { code, out, err };
}

async function newCluster(
  slug: string,
  connectivityMode = 'gitops',
  key?: Readonly<Record<string, string>>,
): Promise<RunningAgent> {
  await plane.newCluster(slug, { connectivityMode });
  return await registerAgent(plane, slug, key === undefined ? {} : { public_key: key });
}

/** Its operator was not heard of for long, so that a switch waits for it. */
async function silence(slug: string): Promise<void> {
  await plane.execute(
    `UPDATE clusters SET last_contact_at = '2026-01-01T00:00:00.000Z', disconnected_at = '2026-01-02T00:00:00.000Z'
      WHERE slug = ?`,
    slug,
  );
}

/** Once the old way is fenced off, its operator says that it goes by the new epoch. */
async function reportEpoch(agent: RunningAgent): Promise<void> {
  const epoch = await vi.waitFor(
    () => {
      const [row] = plane.query("SELECT epoch FROM mode_switches WHERE cluster_id = ? AND phase = 'fencing'", agent.id);
      if (row === undefined) throw new Error('it is not fenced');
      return Number(row['epoch']);
    },
    { timeout: 20_000, interval: 20 },
  );
  const { status, body } = await agent.post('/api/agent/events', {
    cluster_id: agent.id,
    events: [
      {
        eventKey: `epoch/${epoch}`,
        kind: 'ConditionTransition',
        resourceRef: { apiVersion: 'ops.service.io/v1alpha1', kind: 'Cluster', name: 'prod', uid: 'uid-c' },
        conditions: [
          {
            type: 'ControllersHealthy',
            status: 'True',
            reason: 'r',
            message: 'm',
            lastTransitionTime: '2026-11-28T10:00:00Z',
          },
        ],
        timestamp: '2026-11-28T10:00:01Z',
        sequence: `1.${epoch}`,
        source: { mode: 'pull', epoch },
      },
    ],
  });
  expect([status < 300, body]).toEqual([true, body]);
}

describe('servicectl clusters mode', () => {
  it('prints with --dry-run what would be done, does none of it, and exits with 1 where it would not be done', async () => {
    await newCluster('dry');
    const fits = await run('mode', 'dry', 'pull', '--dry-run');
    expect([fits.code, fits.err]).toEqual([0, '']);
    for (const line of [
      /^mode +gitops → pull$/m,
      /^operator +in contact \(last contact at \S+Z, \d+ s ago\)$/m,
      /^operator-credential +ok +good until /m,
      /^git-read +fleet +revoked +/m,
      /^connectivityMode +gitops → pull$/m,
      /^git\.repository +fleet → -$/m,
      /^Nothing is in the way\.$/m,
    ]) {
      expect(fits.out).toMatch(line);
    }
    await newCluster('dry-pull', 'pull');
    const fails = await run('mode', 'dry-pull', 'gitops', '--dry-run', '--review', 'proposal');
    expect([fails.code, fails.err]).toEqual([1, 'servicectl: dry-pull would not be moved to gitops as it is now\n']);
    expect(fails.out).toMatch(/^read-credential +not ok +the cluster has no encryption key/m);
    expect(fails.out).toMatch(/^IN THE WAY\nread-credential: /m);
    expect((await run('mode-switches', 'dry')).out.split('\n')).toHaveLength(2);
    const json = await run('mode', 'dry', 'pull', '--dry-run', '-o', 'json');
    expect(JSON.parse(json.out)).toMatchObject({ dryRun: true, plan: { wouldStart: true } });
  });

  it('warns of a repository that would be made, and of what a switch under way does not use', async () => {
    await newCluster('warns', 'pull', newEncryptionKey().publicKey);
    await silence('warns');
    const dry = await run('mode', 'warns', 'gitops', '--dry-run', '--repository', 'mistyped', '-o', 'json');
    expect(dry.err).toMatch(/^WARNING: git\.repository: there is no repository mistyped; it would be made/);
    expect(JSON.parse(dry.out)).toMatchObject({ dryRun: true });
    const first = await run('mode', 'warns', 'gitops', '--yes', '--repository', 'mistyped');
    expect([first.code, first.err]).toEqual([0, expect.stringMatching(/^WARNING: .* so it was made on /)]);
    const again = await run('mode', 'warns', 'gitops', '--yes', '--repository', 'fleet');
    expect([again.code, again.err]).toEqual([0, expect.stringMatching(/^WARNING: sw-\S+ to gitops .* not used/)]);
  });

  it('says what it would do and does nothing without --yes', async () => {
    await newCluster('asks');
    const asked = await run('mode', 'asks', 'pull');
    expect([asked.code, asked.err]).toEqual([
      2,
      'servicectl: nothing was done. This moves asks from gitops to pull\nIf that is meant, add --yes\n',
    ]);
    expect(asked.out).toMatch(/^Nothing is in the way\.$/m);
    expect((await plane.call('GET', '/clusters/asks')).body).not.toHaveProperty('modeSwitch');
  });

  it('follows a switch to its end with --wait, each step once, and exits with 0 when it is active', async () => {
    const agent = await newCluster('follows');
    const [done] = await Promise.all([run('mode', 'follows', 'pull', '--yes', '--wait'), reportEpoch(agent)]);
    expect([done.code, done.out]).toEqual([0, expect.stringMatching(/^sw-\S+: active\n$/)]);
    const steps = done.err.split('\n').flatMap((line) => /Z {2}([a-z-]+): /.exec(line)?.[1] ?? []);
    expect(steps).toEqual(['requested', 'probing', 'fencing', 'handing-over', 'confirming', 'active']);
    const table = await run('mode-switches', 'follows');
    expect(table.out).toMatch(/^sw-\S+ +gitops → pull +active +0\/0 +admin /m);
    const [id = ''] = /sw-\S+/.exec(table.out) ?? [];
    const shown = await run('mode-switches', 'follows', id);
    expect(shown.out).toMatch(/^state +active$/m);
    expect(shown.out).toMatch(/^git-read +fleet +revoked 20\S+Z +/m);
  });

  it('exits with 1 when the switch was rolled back, and says why and where to look', async () => {
    await newCluster('goes-back');
    await silence('goes-back');
    const cancel = vi.waitFor(
      async () => {
        const cancelled = await run('cancel-mode-switch', 'goes-back');
        if (cancelled.code !== 0) throw new Error(cancelled.err);
        return cancelled;
      },
      { timeout: 20_000, interval: 20 },
    );
    const [done, cancelled] = await Promise.all([run('mode', 'goes-back', 'pull', '--yes', '--wait'), cancel]);
    expect(cancelled.out).toMatch(
      /^goes-back: (sw-\S+) is cancelled; gitops mode stays\nTo follow it: servicectl clusters mode-switches goes-back \1\n$/,
    );
    const unknown = await run('mode-switches', 'goes-back', 'sw-nope');
    expect([unknown.code, unknown.err]).toEqual([
      1,
      expect.stringMatching(
        /has no switch of mode sw-nope.*\nSee which there are: servicectl clusters mode-switches goes-back\n$/,
      ),
    ]);
    expect(done.code).toBe(1);
    expect(done.err).toMatch(
      /cancelled by admin[^]*\nservicectl: (sw-\S+) was rolled back, and goes-back is in gitops mode: .*\nTo see all of it: servicectl clusters mode-switches goes-back \1\n$/,
    );
    expect(done.out).toMatch(/^sw-\S+: rolled-back\n$/);
    expect(await run('cancel-mode-switch', 'goes-back')).toMatchObject({
      code: 1,
      err: expect.stringContaining('servicectl clusters mode-switches goes-back'),
    });
  });

  it('stops following when its time is up, says what the switch waits for, and lets it go on', async () => {
    await newCluster('waits');
    await silence('waits');
    const done = await run('mode', 'waits', 'pull', '--yes', '--wait', '--timeout', '1');
    expect(done.code).toBe(1);
    expect(done.err).toMatch(
      /is still (requested|probing) after 1 s, waiting for the operator: nothing was heard of it since/,
    );
    expect(done.err).toContain('It goes on. To see where it is: servicectl clusters mode-switches waits sw-');
    expect((await plane.call('GET', '/clusters/waits')).body['modeSwitch']).toMatchObject({ to: 'pull' });
    expect((await run('list')).out).toMatch(/^waits .* gitops → pull /m);
  });

  it('takes a kubeconfig from a file alone, and quotes none of it', async () => {
    await newCluster('pushed', 'pull');
    const file = join(plane.folder, 'kubeconfig');
    expect(await run('mode', 'pushed', 'push', '--dry-run', '--kubeconfig', file)).toMatchObject({
      code: 2,
      err: expect.stringContaining('cannot be read (ENOENT)'),
    });
    writeFileSync(file, 'token: nobody-must-see-this\n');
    const refused = await run('mode', 'pushed', 'push', '--yes', '--kubeconfig', file);
    expect(refused).toMatchObject({ code: 1, err: expect.stringContaining('/push/kubeconfig') });
    expect(`${refused.out}${refused.err}`).not.toContain('nobody-must-see-this');
    expect(await run('mode', 'pushed', 'sideways')).toMatchObject({
      code: 2,
      err: expect.stringContaining('Allowed choices are pull, push, gitops.'),
    });
  });
});
