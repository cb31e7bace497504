import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { folderInMemory } from './test/support/in-memory.ts';
import { SlowestFirst } from './test/support/slowest-first.ts';

// For the workers and the scripts that tests start: what one has compiled, the next need not. Not
// where the launcher keeps what it has compiled: it sets other flags, and each start of the one
// would throw away what the other has written.
process.env.NODE_COMPILE_CACHE ??= fileURLToPath(
  new URL('node_modules/.cache/tests', import.meta.url),
);

// To have a disk keep what goes with its test would take a fifth more of the processor's time, and
// waits for the disk. Whoever wants one all the same names it: `TMPDIR=/tmp npm test`.
const inMemory = folderInMemory();
if (inMemory !== undefined) process.env.TMPDIR ??= inMemory;

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // Other programs than Node: `npm run test:system`. Long ones: `npm run test:slow`.
    exclude: ['test/system/**', 'test/**/*.slow.test.ts'],
    globalSetup: 'test/support/migrated.ts',
    setupFiles: 'test/support/seeded.ts',
    pool: 'forks',
    // Freed code of a database in WebAssembly may end the process (nodejs/node#64500).
    execArgv: ['--no-wasm-code-gc'],
    // The house has no module-level state, so files may share what they imported.
    isolate: false,
    // One more than the cores of the smallest machine: many tests wait for another process.
    maxWorkers: 3,
    sequence: { sequencer: SlowestFirst },
    // Ends what hangs, and is no measure of speed: a machine may be busy with something else.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 240_000, interval: 10 } },
    retry: 0,
    allowOnly: false,
    passWithNoTests: false,
  },
});
