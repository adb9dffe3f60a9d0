import { expect, it } from 'vitest';
import { acceptRemovals } from '../../../src/control-plane/store/cluster-admin.ts';
import { findCluster, setAppliedRevision, setDesiredRevision } from '../../../src/control-plane/store/clusters.ts';
import { insertCluster, insertOrganization, openTestStore, temporaryFolder } from './open-test-store.ts';

const TREE = '467b38165e0d32c1adf679dc451c290d05a12385';
const OTHER = 'f'.repeat(40);
const ACCEPTED = `${TREE}@${'0'.repeat(32)}`;

it.each([
  ['ends when that tree is applied', setAppliedRevision, TREE, null],
  ['ends when another tree is wanted', setDesiredRevision, OTHER, null],
  ['outlasts the report of another tree', setAppliedRevision, OTHER, ACCEPTED],
  ['outlasts that the control plane hears of that tree', setDesiredRevision, TREE, ACCEPTED],
] as const)('an acceptance of removals %s', async (_, happen, revision, left) => {
  using folder = temporaryFolder();
  await using store = await openTestStore(folder.path);
  await insertOrganization(store, 'org-1');
  await insertCluster(store, { id: 'c-1', organization_id: 'org-1' });
  await store.write(async (trx) => await acceptRemovals(trx, 'c-1', ACCEPTED));
  await store.write(async (trx) => await happen(trx, 'c-1', revision));
  expect((await findCluster(store.db, 'c-1'))?.accepted_removals).toBe(left);
});
