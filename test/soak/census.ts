/** A census of what a daemon has lent, learned and left waiting, which calm must give back. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { sql } from 'kysely';
import { systemClock } from '../../src/lib/clock.ts';
import type { Db } from '../../src/store/store.ts';
import type { Soaked } from './fixture.ts';

/** What each row says by itself, as long as it is there. */
const ROWS: Readonly<Record<string, string>> = {
  'order reads that wait': 'select order_id name from refresh',
  'announcements that wait': 'select thing_id name from announced',
  'incidents that are open':
    "select kind || ' ' || key name from incident where resolved_at is null",
  'pushes that are open': 'select reference name from outbox where ended_at is null',
  'candidates of unknown outcomes': 'select order_id name from outbox_candidate',
  'orders that are lost': 'select order_id name from outbox_lost',
  pauses: "select target || ' ' || name name from pause",
  holds: 'select order_delivery_id name from hold',
  'runs that have not ended': 'select stream name from sync_run where ended_at is null',
  'absences that are counted': 'select key name from absence',
  quarantine: 'select entity name from quarantine',
  'messages that wait': "select channel name from notification where state = 'waiting'",
  'deliveries that are not decided': `select order_delivery_id name from delivery d
    where status = 'pending' and not exists (
      select 1 from evaluation e where e.order_delivery_id = d.order_delivery_id)`,
  // Besides dates, and a lateness that is forgotten by its own rule.
  'things remembered': `select key name from daemon_state
    where key not in ('second_writer_at', 'claims_since', 'outbox.latest_effect_ms')`,
};

/** Metrics that are the same at each calm. */
const METRICS = [
  'selvedge_service_requests_waiting',
  'selvedge_service_requests_active',
  'selvedge_service_requests_per_second',
  'selvedge_stream_failures',
];

export type Census = ReadonlyMap<string, string>;

async function rowsOf(db: Db): Promise<[string, string][]> {
  const found: [string, string][] = [];
  for (const [what, query] of Object.entries(ROWS)) {
    const { rows } = await sql<{ readonly name: unknown }>`${sql.raw(query)}`.execute(db);
    const names = rows.map(({ name }) => String(name)).sort();
    found.push([what, names.join(', ')]);
  }
  return found;
}

async function metricsOf({ folder, clock }: Soaked): Promise<[string, string][]> {
  const { url } = JSON.parse(readFileSync(join(folder, 'data', 'local.json'), 'utf8'));
  const answer = await clock.during(fetch(`${url}/metrics`));
  const lines = (await clock.during(answer.text())).split('\n');
  return lines
    .filter((line) => METRICS.some((name) => line.startsWith(name)))
    .map((line): [string, string] => {
      const [name = '', value = ''] = line.split(' ');
      return [name, value];
    });
}

/** Real time in which kept connections end: by then, both sides have given them up. */
const CONNECTIONS_MS_MAX = 60_000;

/** Number of open descriptors, once it is no more than before; the present one if it stays more. */
async function descriptors(before: number): Promise<number> {
  const real = systemClock();
  const until = real.monotonic() + CONNECTIONS_MS_MAX;
  for (;;) {
    const { length } = readdirSync('/proc/self/fd');
    if (length <= before || real.monotonic() > until) return length;
    await real.sleep(100);
  }
}

/** @param before an earlier census, whose open connections are waited for. */
export async function takeCensus(soaked: Soaked, before?: Census): Promise<Census> {
  const { clock } = soaked;
  const daemon = soaked.daemon();
  const metrics = await metricsOf(soaked);
  const failing = daemon.health().filter(({ state }) => state !== 'running');
  return new Map([
    ...(await rowsOf(daemon.store.db)),
    ...metrics,
    ['workers that do not run', failing.map(({ name }) => name).join(', ')],
    ['timers', String(clock.pending())],
    ['descriptors', String(await descriptors(Number(before?.get('descriptors') ?? Infinity)))],
  ]);
}

/** Of these, fewer are no loss: connections that were kept for a while are closed. */
const ONLY_MORE = new Set(['timers', 'descriptors']);

/** What differs between two censuses, one line each. */
export function differences(before: Census, after: Census): readonly string[] {
  const names = new Set([...before.keys(), ...after.keys()]);
  return [...names]
    .filter((name) =>
      ONLY_MORE.has(name)
        ? Number(after.get(name)) > Number(before.get(name))
        : before.get(name) !== after.get(name),
    )
    .map((name) => `${name}: ${before.get(name) ?? '-'} before, ${after.get(name) ?? '-'} now`);
}
