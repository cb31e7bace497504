import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    pool: 'forks',
    // One more than the cores of the smallest machine: many tests wait for another process.
    maxWorkers: 3,
    testTimeout: 20_000,
    hookTimeout: 20_000,
    retry: 0,
    allowOnly: false,
    passWithNoTests: false,
  },
});
