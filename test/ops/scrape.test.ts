/** What one scrape costs beside the database. */
import { expect, it } from 'vitest';
import { createMetrics } from '../../src/ops/metrics/metrics.ts';

it('looks at files and folders once, however many numbers are made of it', async () => {
  let times = 0;
  const metrics = createMetrics({
    build: { version: '1' },
    readDatabase: () => Promise.reject(new Error('not asked')),
    readLive() {
      times += 1;
      const inbox = { accepted: 1, duplicates: 0, unknownType: 0, commits: 1, failedCommits: 0 };
      const service = { requests: 2, retries: 0, waitMs: 0, bytesReceived: 0, active: 0 };
      return {
        inbox: { ...inbox, refused: {}, clockOffsetMs: undefined },
        service: {
          ...service,
          ...{ clockOffsetMs: undefined, waiting: {}, logins: { done: 0, refused: 0, failed: 0 } },
        },
        ...{ workers: [], stuck: [], backup: undefined },
        space: { freeBytes: 1, stopped: [] },
        files: { databaseBytes: 1, walBytes: 1, walPinnedMs: 0 },
      };
    },
  });
  expect(await metrics.text()).toContain('selvedge_service_requests_total 2\n');
  expect(times).toBe(1);
});
