/** An accept stays short enough to be read in one sitting, and cheap: by the benchmark's counts. */
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { runBench } from '../../bench/support/child.ts';

/** Counts that an accept may reach; somewhat above those seen, since wake-ups may meet or not. */
const MOST: Readonly<Record<string, number>> = {
  'files of src': 90,
  'named functions': 645,
  'SQL statements': 140,
  'write transactions': 8,
  'looks at pause files': 12,
  requests: 4,
  'rounds of the decider': 2,
};

/** Runs of the benchmark: the upkeep of other things may fall into the moment that it watches. */
const RUNS = 3;

it('an accept runs no more code, statements and looks at files than it did', async () => {
  const root = join(import.meta.dirname, '../..');
  let seen: readonly unknown[] = [];
  for (let run = 0; run < RUNS; run += 1) {
    const { code, figures } = await runBench({ root, name: 'trace-accept', options: [] });
    const most = figures.filter(({ name }) => Object.hasOwn(MOST, name));
    const over = most.filter(({ name, value }) => value > (MOST[name] ?? 0));
    seen = [code, most.length, over];
    if (code === 0 && over.length === 0) break;
  }
  expect(seen).toEqual([0, Object.keys(MOST).length, []]);
});
