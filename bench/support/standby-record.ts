/** The record of a holder as the benchmarks of a standby send it: to one server, from its start. */
import { type Clock, systemUptime } from '../../src/lib/clock.ts';
import { silentLogger } from '../../src/lib/log.ts';
import { forgetKept, openFeed } from '../../src/standby/feed.ts';
import { takeFirst } from '../../src/standby/lease.ts';
import { createRecord, type Recorder } from '../../src/standby/record.ts';
import type { Store, StoreOptions } from '../../src/store/store.ts';
import { drawTaking, serversFor, withSession } from '../../test/standby/support.ts';

const LEASE_MS = 15_000;

/** Takes the account's first lease and sends the record while `work` runs. */
export async function withRecord<T>(
  { store, options, clock }: { store: Store; options: StoreOptions; clock: Clock },
  { url, account }: { url: string; account: string },
  work: (record: Recorder) => Promise<T>,
): Promise<T> {
  const me = { account, machine: 'here', leaseMs: LEASE_MS, taking: drawTaking() };
  await withSession(url, (session) => takeFirst(session, me));
  const feed = openFeed(options);
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
  const result = await work(record);
  stop.abort();
  await running;
  feed.close();
  return result;
}
