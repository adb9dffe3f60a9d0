import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { KubeObject } from '../../../src/resources/kube-object.ts';
import { leaksIn } from '../../scenarios/leak-forms.ts';
import { SHOP } from './transport-cluster.ts';
import { instanceRef, releaseRef, type TransportMember } from './transport-member.ts';
import type { TransportWorld } from './transport-world.ts';

export function describeSealedValues(current: () => TransportWorld): void {
  it('brings secret values to the release sealed, and in the clear to nothing but the Secret that it reads', async () => {
    const { member } = current();
    const password = randomBytes(18).toString('base64url');
    await member.install('secretive', { secretValues: { auth: { password } } });
    const ref = { apiVersion: 'v1', kind: 'Secret', namespace: SHOP, name: 'secretive-sealed-values' };
    const secret = await member.cluster.admin.get<KubeObject & { readonly data?: Record<string, string> }>(ref);
    const texts = Object.values(secret?.data ?? {}).map((data) => Buffer.from(data, 'base64').toString());
    expect(texts).toEqual([expect.stringContaining(password)]);
    expect((await member.read(releaseRef('secretive'))).spec?.['valuesFrom']).toEqual([
      expect.objectContaining({ kind: 'Secret', name: ref.name }),
    ]);
    const { spec } = await member.read(instanceRef('secretive'));
    expect(spec?.['sealedValues']).toMatch(/^[\w-]+\.[\w-]*\.[\w-]+\.[\w-]+\.[\w-]+$/);

    const secrets = new Map([['password', password]]);
    const found = await evidence(member);
    const leaks = [...found].flatMap(([where, text]) => leaksIn(text, secrets).map((leak) => `${where}: ${leak}`));
    expect(leaks).toEqual([]);
    // What was searched holds the application, so that nothing found means something.
    const [, sealed = ''] = /"sealedValues":"([\w.-]+)"/.exec(JSON.stringify(spec)) ?? [
      '',
      String(spec?.['sealedValues']),
    ];
    const holding = [...found].filter(([, text]) => text.includes(sealed)).map(([where]) => where);
    expect(holding).toEqual(expect.arrayContaining(['database', 'objects', 'requests']));
    if (current().transport.mode === 'gitops') expect(holding).toContain('git');
  });
}

/** What others may look at, by where it was found. */
async function evidence(member: TransportMember): Promise<ReadonlyMap<string, Buffer>> {
  const { plane, cluster, id } = member;
  const lists = ['events', 'intents', 'jobs'].map(async (list) =>
    JSON.stringify((await plane.call('GET', `/clusters/${id}/${list}?limit=500`)).body),
  );
  const kinds = [
    instanceRef(''),
    releaseRef(''),
    { apiVersion: 'v1', kind: 'Event' },
    { apiVersion: 'v1', kind: 'ConfigMap' },
  ];
  const objects = kinds.map(async ({ apiVersion, kind }) =>
    JSON.stringify((await cluster.admin.list({ apiVersion, kind })).items),
  );
  const files = readdirSync(plane.folder).filter((name) => name.startsWith('control-plane.db'));
  const requests = [...cluster.operatorGate.writes, ...cluster.pushGate.writes].filter(
    ({ path }) => !path.includes('/secrets'),
  );
  return new Map([
    ['database', Buffer.concat(files.map((name) => readFileSync(join(plane.folder, name))))],
    ['git', everyGitObject(join(plane.folder, 'git'))],
    ['answers', Buffer.from((await Promise.all(lists)).join('\n'))],
    ['objects', Buffer.from((await Promise.all(objects)).join('\n'))],
    ['requests', Buffer.from(requests.map(({ path, body }) => `${path} ${body}`).join('\n'))],
  ]);
}

function everyGitObject(root: string): Buffer {
  const names = existsSync(root) ? readdirSync(root, { recursive: true, encoding: 'utf8' }) : [];
  const objects = names
    .filter((name) => name.endsWith('.git'))
    .map((name) =>
      execFileSync('git', ['-C', join(root, name), 'cat-file', '--batch-all-objects', '--batch'], {
        maxBuffer: 1 << 26,
      }),
    );
  return Buffer.concat(objects);
}
