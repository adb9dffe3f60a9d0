import { randomBytes } from 'node:crypto';
import { expect, it } from 'vitest';
import { ensureOrganization } from '../../../src/control-plane/store/organizations.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { openTestStore, temporaryFolder } from './open-test-store.ts';

it('makes no organization whose repositories would stand at the addresses of clusters', async () => {
  using folder = temporaryFolder();
  await using store = await openTestStore(folder.path);
  const deps = { clock: systemClock, randomBytes };
  const make = async (name: string): Promise<string> =>
    await store.write(async (trx) => (await ensureOrganization(trx, name, deps)).name);
  expect(await make('acme')).toBe('acme');
  await expect(make('clusters')).rejects.toThrow('an organization cannot be called clusters');
});
