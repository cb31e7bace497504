/** What is scraped every few seconds does not grow with what was sent. */
import { expect, it } from 'vitest';
import { readDatabase } from '../../src/ops/metrics/readings.ts';
import { notePlans } from '../support/plans.ts';
import { temporaryStore } from '../support/store.ts';

it('counts the documents of the outbox by its indexes', async () => {
  const planned = notePlans(await temporaryStore());
  await readDatabase(planned.store.db, 0, {});
  const steps = await planned.steps(/from "outbox"/);
  expect(steps).toContain('SEARCH outbox USING COVERING INDEX outbox_ended (kind=? AND state=?)');
  expect(steps.filter((step) => /^SCAN outbox( USING COVERING|$)/.test(step))).toEqual([]);
});
