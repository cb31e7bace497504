/** Things that people are told of, as rows; a notifier on a clock that is moved. */
import { sql } from 'kysely';
import { Agent } from 'undici';
import { type ManualClock, manualClock } from '../../../src/lib/clock.ts';
import { createLogger } from '../../../src/lib/log.ts';
import { createScrubber, type Scrubber, Secret } from '../../../src/lib/secret.ts';
import { beginTelling } from '../../../src/ops/notify/digest.ts';
import {
  channelsOf,
  type NotifierDeps,
  tendNotifications,
} from '../../../src/ops/notify/notifier.ts';
import type { SqliteStore } from '../../../src/store/store.ts';
import { configOf } from '../../config/config-of.ts';
import { temporaryStore } from '../../support/store.ts';

export const SECRET = `whsec_${Buffer.from('canary-notify-canary-not').toString('base64')}`;
export const EVERYTHING = ['held', 'overdue', 'unknown_outcome', 'suspicious_run', 'disarmed'];
export const MINUTE = 60_000;
/** Monday, 10:00 in Copenhagen. */
const START = Date.UTC(2026, 0, 5, 9);

const ACCOUNT = [
  { path: 'service.v1.baseUrl', value: 'http://127.0.0.1:9/api/v1' },
  { path: 'service.v1.apiKey', value: new Secret('key', 'canary-key-canary') },
];

export interface Told {
  readonly deps: NotifierDeps;
  readonly store: SqliteStore;
  readonly clock: ManualClock;
  /** Everything that was logged. */
  readonly log: readonly string[];
  /** Lets time pass, and looks. */
  later(ms: number): Promise<void>;
}

export function webhookTo(url: string, more: object = {}): object {
  const webhook = { url, secret: new Secret('notify', SECRET) };
  return { name: 'office', on: EVERYTHING, to: { webhook }, ...more };
}

/** A notifier of these channels; `from` goes on with the database of another one. */
export async function startTelling(
  channels: readonly object[],
  from?: Pick<Told, 'store' | 'clock'>,
): Promise<Told> {
  const clock = from?.clock ?? manualClock(START);
  const store = from?.store ?? (await temporaryStore(clock));
  const config = configOf([...ACCOUNT, { path: 'notify.channels', value: channels }]);
  const scrubber: Scrubber = createScrubber();
  scrubber.register(SECRET, 'notify');
  const log: string[] = [];
  const agents = new Map<string | undefined, Agent>();
  const agentOf = (ca?: string): Agent => {
    const connect = ca === undefined ? {} : { ca };
    const agent = agents.get(ca) ?? new Agent({ keepAliveTimeout: 1, connect });
    agents.set(ca, agent);
    return agent;
  };
  const deps: NotifierDeps = {
    ...{ store, clock, instance: 'main', timeZone: () => 'Europe/Copenhagen' },
    scrub: scrubber.scrub,
    dispatcher: (_, caText) => agentOf(caText),
    log: createLogger({
      level: 'trace',
      format: 'json',
      scrubber: createScrubber(),
      write: (line) => void log.push(line),
    }),
  };
  const all = channelsOf(config);
  const { signal } = new AbortController();
  for (const channel of all) await beginTelling(store, channel, clock.now());
  await clock.advance(1_000);
  return {
    ...{ deps, store, clock, log },
    async later(ms) {
      await clock.advance(ms);
      await tendNotifications(deps, all, signal);
    },
  };
}

/** Deliveries that a rule holds since now, numbered from `first` on. */
export async function holdDeliveries(
  { store, clock }: Pick<Told, 'store' | 'clock'>,
  { rule = 'large', first = 500_000, count = 1 } = {},
): Promise<void> {
  const numbers = JSON.stringify(Array.from({ length: count }, (_, nth) => first + nth));
  const now = clock.now();
  await sql`insert into delivery (order_delivery_id, order_id, status, tracking_numbers,
      tracking_links, extra, content_hash, first_seen_at, changed_at, read_seq, source)
    select value, 1, 'pending', '[]', '[]', '{}', '', ${now}, ${now}, 1, ''
    from json_each(${numbers}) where true on conflict do nothing`.execute(store.db);
  await sql`insert into hold (order_delivery_id, rule_id, rule_hash, since, expires_at, afterwards)
    select value, ${rule}, '', ${now}, ${now + 86_400_000}, 'escalate'
    from json_each(${numbers})`.execute(store.db);
}

export async function doubt({ store, clock }: Told, reference: string): Promise<void> {
  const now = clock.now();
  await sql`insert into outbox (kind, ordering_key, reference, body, body_hash, state, due_at,
      in_doubt_since, created_at, cause)
    values ('order', ${reference}, ${reference}, '{}', '', 'in_doubt', ${now}, ${now}, ${now},
      '')`.execute(store.db);
}

export async function endRun({ store, clock }: Told, outcome: string): Promise<void> {
  const now = clock.now();
  await sql`insert into stream_state (stream, due_at) values ('stock', 0)
    on conflict do nothing`.execute(store.db);
  await sql`insert into sync_run (stream, cause, started_at, ended_at, read_seq, options,
      checkpoint, outcome)
    values ('stock', '', ${now}, ${now}, 1, '', '', ${outcome})`.execute(store.db);
}

export async function disarm({ store, clock }: Told, rule: string): Promise<void> {
  const now = clock.now();
  await sql`insert into arming (rule_id, rule_hash, at, actor, reason, report_id, expires_at,
      ended_at, ended_by, end_reason)
    values (${rule}, '', ${now}, 'anna', '', 1, ${now}, ${now}, 'daemon', 'over')`.execute(
    store.db,
  );
}
