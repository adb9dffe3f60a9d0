import { defineConfig } from 'vitest/config';

/**
 * What is run over PostgreSQL a second time: the APIs with all that they store. Left out is what counts turns of the event
 * loop, which a database in another process does not keep to.
 */
const OVER_POSTGRES = {
  include: [
    'test/control-plane/{agent,admin,approvals,channel,operations,proposals,timeline}/**/*.test.ts',
    'test/control-plane/changes/changes.test.ts',
    'test/control-plane/catalog/{catalog-*,upgrades}.test.ts',
    'test/control-plane/start-control-plane.test.ts',
    'test/conformance/control-plane.test.ts',
  ],
  exclude: [
    'test/control-plane/agent/{jobs,config,bad-input,bad-input-wire}.test.ts',
    // Puts an older database file back.
    'test/control-plane/proposals/restored.test.ts',
  ],
};

export default defineConfig({
  // As Node.js runs it: tsconfig.json's target would have `using` rewritten into calls of a package that is not there.
  oxc: { target: 'esnext' },
  test: {
    // These need images that were built, and an engine: npm run test:images.
    exclude: ['**/node_modules/**', 'test/images/**'],
    globalSetup: [
      'test/support/build-page.ts',
      'test/support/real-cluster/say-clusters.ts',
      'test/support/postgres/shared-server.ts',
    ],
    // They only end a test that hangs; no test asserts its speed by them.
    testTimeout: 60_000,
    hookTimeout: 90_000,
    expect: { poll: { timeout: 30_000 } },
    pool: 'forks',
    maxWorkers: 3,
    coverage: {
      provider: 'v8',
      include: ['src/**/*.ts'],
      exclude: ['src/**/main.ts'],
      reporter: ['text-summary', 'json-summary'],
      reportsDirectory: 'coverage',
    },
    projects: [
      { extends: true, test: { name: 'all', include: ['test/**/*.test.ts'] } },
      { extends: true, test: { name: 'over PostgreSQL', ...OVER_POSTGRES, env: { TEST_STORE: 'postgres' } } },
    ],
  },
});
