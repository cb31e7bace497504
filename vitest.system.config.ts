import { defineConfig } from 'vitest/config';
import base from './vitest.config.ts';

/** `npm run test:system`: tests that need programs beside Node (test/system/programs.ts names them). */
export default defineConfig({
  test: {
    ...base.test,
    include: ['test/system/**/*.test.ts'],
    exclude: [],
    globalSetup: ['test/system/programs.ts', 'test/support/migrated.ts'],
  },
});
