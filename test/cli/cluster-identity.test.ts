import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { X509Certificate } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { servicectl } from '../../src/cli/servicectl.ts';
import { REGISTRATION_SECRET_COMMAND } from '../../src/install/install-commands.ts';
import { registerAgent } from '../control-plane/admin/running-agent.ts';
import { RunningControlPlane } from '../control-plane/running-control-plane.ts';
import { ManualClock } from '../support/manual-clock.ts';

describe('servicectl on the identity of clusters', () => {
  const clock = new ManualClock();
  let plane: RunningControlPlane;
  let env: Record<string, string>;

  async function run(line: string): Promise<string> {
    let out = '';
    const code = await servicectl(line.split(' '), {
      env,
      out: (text) => (out += text),
      err: (text) => (out += `! ${text}`),
    });
    return code === 0 ? out : `${code} ${out}`;
  }

  async function statuses(): Promise<string[]> {
    const lines = (await run('clusters list')).split('\n').slice(1, -1);
    return lines.map((line) => line.split(/ {2,}/).slice(0, 2).join(' '));
  }

  beforeAll(async () => {
    plane = await RunningControlPlane.start(clock);
    writeFileSync(join(plane.folder, 'token'), plane.token);
    env = { SERVICECTL_SERVER: plane.url, SERVICECTL_TOKEN_FILE: join(plane.folder, 'token') };
    for (const slug of ['away', 'in-use', 'pending', 'shut-out']) {
      const id = await plane.newCluster(slug);
      if (slug !== 'pending') await (await registerAgent(plane, id)).get('/api/agent/config');
    }
  });

  afterAll(async () => {
    await plane[Symbol.asyncDispose]();
  });

  it('asks for a rotation and says until when the present credential is good', async () => {
    expect(await run('clusters rotate in-use')).toBe(
      'in-use: its operator is asked to rotate; the credential it has is good until 2026-03-31T10:00:00.000Z\n',
    );
    expect(await run('clusters rotate pending')).toMatch(/^1 ! servicectl: cluster pending has no credential/);
  });

  it('does nothing that cannot be taken back without --yes, and says what it would be', async () => {
    for (const line of [
      'clusters revoke in-use',
      'clusters rebind in-use',
      'clusters delete in-use --force',
      'signing-keys revoke in-use some-kid',
    ]) {
      const said = await run(line);
      expect(said).toMatch(/^2 ! servicectl: nothing was done\. This \w+ /);
      expect(said).toContain('\nIf that is meant, add --yes\n');
    }
    expect(await statuses()).toEqual(['away Active', 'in-use Active', 'pending Pending', 'shut-out Active']);
  });

  it('revokes, disables and enables, which the list shows', async () => {
    expect(await run('clusters revoke shut-out --yes')).toBe(
      'shut-out: every credential is revoked; its applications go on running\n' +
        'To let its operator in again: servicectl clusters recovery-command shut-out\n',
    );
    expect(await run('clusters disable in-use')).toBe('in-use: disabled; its applications go on running\n');
    expect(await statuses()).toEqual(['away Active', 'in-use Disabled', 'pending Pending', 'shut-out Revoked']);
    expect(await run('clusters enable in-use')).toContain('in-use: enabled');
  });

  it('A8: prints one script that brings a cluster back after 31 days, and says why it is needed', async () => {
    clock.advance(31 * 86_400_000);
    expect((await statuses())[0]).toBe('away Expired');
    const script = await run('clusters recovery-command away');
    expect(script.split('\n')).toEqual([
      '# Lets the operator of cluster away register again; what it manages and its history stay.',
      '# Now: its credential expired at 2026-03-31T10:00:00.000Z.',
      "command -v servicectl >/dev/null || { echo 'servicectl is not a program that this shell finds in PATH' >&2; exit 1; }",
      '# The registration token, from standard input.',
      `servicectl clusters registration-token away | ${REGISTRATION_SECRET_COMMAND}`,
      '# Until it has registered.',
      'kubectl --namespace service-system wait --for=condition=Authenticated clusters.ops.service.io/away --timeout=180s',
      '',
    ]);
    await registerAgent(plane, 'away');
    expect((await statuses())[0]).toBe('away Active');
  });

  it('rotates, lists and revokes signing keys', async () => {
    const { kid } = JSON.parse(await run('signing-keys list in-use -o json')).items[0];
    const [, successor] =
      /^in-use: signs with (\S+) from now on\n$/.exec(await run('signing-keys rotate in-use')) ?? [];
    const table = (await run('signing-keys list in-use')).split('\n').map((line) => line.split(/ {2,}/).slice(0, 2));
    expect(table).toEqual([['KID', 'STATE'], [successor, 'current'], [kid, 'retired'], ['']]);
    expect(await run(`signing-keys revoke in-use ${kid} --yes`)).toBe(`in-use: signing key ${kid} is revoked\n`);
    expect(await run(`signing-keys revoke in-use ${successor} --yes`)).toMatch(/^1 ! servicectl: this is the key that/);
  });

  it('binds a record anew, and says how its operator is installed', async () => {
    expect(await run('clusters rebind shut-out --cluster-uid uid-9 --yes')).toBe(
      'shut-out: is to be the cluster with UID uid-9\nTo install its operator: servicectl clusters install-command shut-out\n',
    );
  });

  it('deletes what is not in use, and what is only with --force', async () => {
    expect(await run('clusters delete in-use --yes')).toMatch(/^1 ! servicectl: cluster in-use is in use: disable it/);
    expect(await run('clusters delete in-use --yes --force')).toContain('in-use: deleted');
    expect(await run('clusters delete pending --yes')).toContain('pending: deleted');
    expect(await statuses()).toEqual(['away Active', 'shut-out Revoked']);
  });

  it('prints the authority that a proxy verifies client certificates by', async () => {
    const pem = await run('client-authority');
    expect(new X509Certificate(pem).ca).toBe(true);
    expect(await run('client-authority')).toBe(pem);
  });
});
