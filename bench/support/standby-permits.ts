/** Permits that are asked for one after the other, each behind a row of a commit. */
import { performance } from 'node:perf_hooks';
import { systemClock, systemUptime } from '../../src/lib/clock.ts';
import { silentLogger } from '../../src/lib/log.ts';
import { beginFeed, forgetKept, openFeed } from '../../src/standby/feed.ts';
import { takeFirst } from '../../src/standby/lease.ts';
import { createRecord } from '../../src/standby/record.ts';
import { writeAudit } from '../../src/store/audit.ts';
import { openStore } from '../../src/store/store.ts';
import { drawTaking, serversFor, withSession } from '../../test/standby/support.ts';

const LEASE_MS = 15_000;

/** Gives the milliseconds of each permit. */
export async function measurePermits(
  path: string,
  url: string,
  permits: number,
): Promise<readonly number[]> {
  const clock = systemClock();
  const me = { account: 'permits', machine: 'here', leaseMs: LEASE_MS, taking: drawTaking() };
  await withSession(url, (session) => takeFirst(session, me));
  const { store } = await openStore({ path, busyTimeoutMs: 5_000 }, clock);
  await beginFeed(store, clock, 'feed');
  const feed = openFeed({ path, busyTimeoutMs: 5_000 });
  const record = createRecord({
    settings: { permitMs: LEASE_MS / 3, timeoutMs: LEASE_MS / 5, acknowledge: 'postgresql' },
    servers: serversFor([url]),
    feed,
    clock,
    clocks: { clock, uptime: systemUptime },
    log: silentLogger(),
    holding: () => me,
    onFenced: () => undefined,
    onTurn: () => undefined,
    forget: (kept) => forgetKept(store, clock, kept),
    place: 0,
    isOfOnePast: () => Promise.resolve(true),
    oldest: () => 0,
  });
  const stop = new AbortController();
  const running = record.run(stop.signal);
  const took: number[] = [];
  for (let attempt = 1; attempt <= permits; attempt += 1) {
    const act = { actor: 'bench', action: 'push', subject: `push ${attempt}`, reason: '' };
    await writeAudit(store.db, act, clock.now());
    const about = { outboxId: attempt, attempt: 1, kind: 'order', reference: 'A', bodyHash: 'h' };
    const askedAt = performance.now();
    await record.permit(about);
    took.push(performance.now() - askedAt);
  }
  stop.abort();
  await running;
  feed.close();
  await store.close();
  return took;
}
