/** Permits that are asked for one after the other, each behind a row of a commit. */
import { performance } from 'node:perf_hooks';
import { systemClock } from '../../src/lib/clock.ts';
import { beginFeed } from '../../src/standby/feed.ts';
import { writeAudit } from '../../src/store/audit.ts';
import { openStore } from '../../src/store/store.ts';
import { withRecord } from './standby-record.ts';

/** Gives the milliseconds of each permit. */
export async function measurePermits(
  path: string,
  url: string,
  permits: number,
): Promise<readonly number[]> {
  const clock = systemClock();
  const options = { path, busyTimeoutMs: 5_000 };
  const { store } = await openStore(options, clock);
  await beginFeed(store, clock, 'feed');
  const took: number[] = [];
  await withRecord({ store, options, clock }, { url, account: 'permits' }, async (record) => {
    for (let attempt = 1; attempt <= permits; attempt += 1) {
      const act = { actor: 'bench', action: 'push', subject: `push ${attempt}`, reason: '' };
      await writeAudit(store.db, act, clock.now());
      const about = { outboxId: attempt, attempt: 1, kind: 'order', reference: 'A', bodyHash: 'h' };
      const askedAt = performance.now();
      await record.permit(about);
      took.push(performance.now() - askedAt);
    }
  });
  await store.close();
  return took;
}
