import { join } from 'node:path';
import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { GitopsDelivery, type GitopsDeliveryDeps } from '../../../src/delivery/gitops/gitops-delivery.ts';
import type { Receipt } from '../../../src/delivery/delivery.ts';
import type { Rendered } from '../../../src/intent/rendered.ts';
import { Secret } from '../../../src/runtime/secret.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { git, startGitServer, type GitServer } from '../../git/git-server.ts';
import { apply } from './rendered-intent.ts';

let writers = 0;

function writerOn(server: GitServer, overrides: Partial<GitopsDeliveryDeps> = {}): GitopsDelivery {
  writers += 1;
  const id = writers;
  let minted = 0;
  return new GitopsDelivery({
    repository: { name: 'acme', url: server.remote('acme'), branch: 'main', layout: 'flat' },
    mirrorPath: join(server.folder, `mirror-${id}.git`),
    mintCredential: async (scope) => {
      minted += 1;
      const token = `svcgit_${id}_${minted}`;
      server.tokens.set(token, { repository: 'acme', access: { access: 'write', scope } });
      return { username: 'service', password: new Secret(token) };
    },
    committer: { name: 'Control plane', email: 'control-plane@example.test' },
    clock: systemClock,
    random: Math.random,
    logger: pino({ level: 'silent' }),
    ...overrides,
  });
}

async function deliver(delivery: GitopsDelivery, batch: readonly Rendered[]): Promise<Receipt[]> {
  return Array.fromAsync(delivery.deliver(batch, AbortSignal.timeout(60_000)));
}

describe('GitopsDelivery', () => {
  it('delivers an intent as one commit in one push', async () => {
    await using server = await startGitServer();
    await server.host.ensureRepository('acme', { branch: 'main' });
    await using delivery = writerOn(server);
    const intent = apply({ reason: 'First install' });
    const receipts = await deliver(delivery, [intent]);
    const tip = await git(server.path('acme'), ['rev-parse', 'main']);
    const tree = await git(server.path('acme'), ['rev-parse', 'main:clusters/prod-eu']);
    expect(receipts).toEqual([
      { state: 'delivered', intentId: intent.intent.id, mode: 'gitops', commit: tip, revision: tree },
    ]);
    expect(server.pushes()).toBe(1);
    expect(await git(server.path('acme'), ['log', '--format=%s', 'main'])).toBe(
      'prod-eu: install shop/podinfo 6.5.0\nStart the repository',
    );
    await git(server.path('acme'), ['fsck', '--strict']);
  });
});
