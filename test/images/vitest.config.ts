import { defineConfig } from 'vitest/config';

/** The images, with the engine that DOCKER_HOST names; `npm test` does without one. */
export default defineConfig({
  test: {
    root: `${import.meta.dirname}/../..`,
    include: ['test/images/*.test.ts'],
    globalSetup: ['test/support/real-cluster/say-clusters.ts'],
    testTimeout: 120_000,
    hookTimeout: 180_000,
    pool: 'forks',
    maxWorkers: 1,
  },
});
