import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import { isVerifiedBy } from '../../src/operator/verify-server.ts';
import { issuePrivateChain } from '../support/private-authority.ts';
import { FakeControlPlane } from './fake-control-plane.ts';

const never = new AbortController().signal;

describe('isVerifiedBy', () => {
  it('says yes to the root that the server ends at, and no to everything else', async () => {
    const [chain, other] = await Promise.all([issuePrivateChain('private'), issuePrivateChain('other')]);
    const { root, intermediate, leaf, key } = chain;
    await using plane = await FakeControlPlane.start({ cert: leaf + intermediate, key });
    const candidates = [
      root,
      other.root + root,
      other.root,
      intermediate,
      leaf,
      'no PEM',
      '-----BEGIN CERTIFICATE-----',
    ];
    const answers = await Promise.all(candidates.map(async (roots) => await isVerifiedBy(roots, plane.url, never)));
    expect(answers).toEqual([true, true, false, false, false, false, false]);
    const named = plane.url.replace('127.0.0.1', 'localhost');
    expect(await isVerifiedBy(root, named, never)).toBe(false);
  });

  it('says yes at a plain http address, and no where nobody answers or the signal ends it', async () => {
    const { root } = await issuePrivateChain('private');
    expect(await isVerifiedBy(root, 'http://127.0.0.1:1', never)).toBe(true);
    expect(await isVerifiedBy(root, 'https://127.0.0.1:1', never)).toBe(false);
    const silent = createServer();
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    const stop = new AbortController();
    silent.once('connection', () => stop.abort());
    const url = `https://127.0.0.1:${(silent.address() as AddressInfo).port}`;
    expect(await isVerifiedBy(root, url, stop.signal)).toBe(false);
    expect(await isVerifiedBy(root, url, stop.signal)).toBe(false);
    await new Promise((resolve) => silent.close(resolve));
  });
});
