import { join } from 'node:path';
import type { Store } from '../../../src/control-plane/store/open-store.ts';
import { newPostgresDatabase } from '../../support/postgres/new-database.ts';
import { openStoreAt } from './open-store-at.ts';
import { temporaryFolder } from './open-test-store.ts';

/** A database for one test, which can be opened again and again. */
export interface TestDatabase extends Disposable {
  readonly url: string;
  open(): Promise<Store>;
}

/** Every kind of store: what one promises the other does too. */
export const TEST_DATABASES: readonly { readonly name: string; readonly create: () => Promise<TestDatabase> }[] = [
  {
    name: 'SQLite',
    create: async () => {
      const folder = temporaryFolder();
      return testDatabase(`sqlite:${join(folder.path, 'control-plane.db')}`, () => folder[Symbol.dispose]());
    },
  },
  { name: 'PostgreSQL', create: async () => testDatabase(await newPostgresDatabase(), () => undefined) },
];

function testDatabase(url: string, dispose: () => void): TestDatabase {
  return { url, open: async () => await openStoreAt(url), [Symbol.dispose]: dispose };
}
