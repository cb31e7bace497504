import { defineConfig } from 'vitest/config';
import base from './vitest.config.ts';

/**
 * `npm run test:slow`: tests that need nothing but Node and take long, because they kill processes,
 * walk through a browser or many services, or wait for a real clock.
 */
export default defineConfig({
  test: { ...base.test, include: ['test/**/*.slow.test.ts'], exclude: ['test/system/**'] },
});
