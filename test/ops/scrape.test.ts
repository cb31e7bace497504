/** Cost of a scrape beside the database. */
import { expect, it } from 'vitest';
import { type Clock, manualClock } from '../../src/lib/clock.ts';
import { createMetrics, type Metrics } from '../../src/ops/metrics/metrics.ts';

/** Counts how often it looks. */
function countedMetrics(clock: Clock): { readonly metrics: Metrics; looks(): number } {
  let looks = 0;
  const metrics = createMetrics({
    clock,
    build: { version: '1' },
    readDatabase: () => Promise.reject(new Error('not asked')),
    readLive() {
      looks += 1;
      const inbox = { accepted: 1, duplicates: 0, unknownType: 0, failedCommits: 0 };
      const service = { requests: 2, retries: 0, waitMs: 0, bytesReceived: 0, active: 0 };
      const pace = { perSecond: 20, dialects: {}, answered: [], answers: [] };
      return {
        inbox: { ...inbox, refused: {}, clockOffsetMs: undefined },
        service: {
          ...service,
          ...pace,
          ...{ clockOffsetMs: undefined, waiting: {}, logins: { done: 0, refused: 0, failed: 0 } },
        },
        ...{ workers: [], stuck: [], backup: undefined, plane: undefined },
        space: { freeBytes: 1, stopped: [] },
        files: { databaseBytes: 1, walBytes: 1, walPinnedMs: 0 },
      };
    },
  });
  return { metrics, looks: () => looks };
}

it('looks at files and folders once, however many numbers are made of it', async () => {
  const { metrics, looks } = countedMetrics(manualClock());
  expect(await metrics.text()).toContain('selvedge_service_requests_total 2\n');
  expect(looks()).toBe(1);
});

it('is made once for a flood of those who ask, and anew after a moment', async () => {
  const clock = manualClock();
  const { metrics, looks } = countedMetrics(clock);
  await Promise.all(Array.from({ length: 100 }, () => metrics.text()));
  await metrics.text();
  expect(looks()).toBe(1);
  await clock.advance(15_000);
  await metrics.text();
  expect(looks()).toBe(2);
});
