/** The installation in one line, for `systemctl status`: what waits, and what needs a person. */
import type { Config } from '../config/schema.ts';
import { formatDuration } from '../lib/units.ts';
import { labelOf, readPauses } from '../store/pauses.ts';
import type { Db } from '../store/store.ts';
import { freshnessOf } from './status.ts';

/** Reads what an index holds ready; cheap enough for every few seconds. */
export async function headline(db: Db, now: number, config: Config): Promise<string> {
  const freshnessMs = freshnessOf(config);
  const streams = await db
    .selectFrom('stream_state')
    .select(['stream', 'complete_at'])
    // What is switched off may be of any age, and is not fresh.
    .where('stream', 'in', Object.keys(freshnessMs))
    .execute();
  const stale = streams.filter(
    ({ stream, complete_at: at }) => now - (at ?? 0) > (freshnessMs[stream] ?? Infinity),
  );
  const open = await db
    .selectFrom('outbox')
    .select((eb) => ['state', eb.fn.countAll<number>().as('count')])
    .where('ended_at', 'is', null)
    .groupBy('state')
    .execute();
  const events = await db
    .selectFrom('webhook_event')
    .select((eb) => eb.fn.max('received_at').as('at'))
    .executeTakeFirst();
  const incidents = await db
    .selectFrom('incident')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('resolved_at', 'is', null)
    .executeTakeFirst();
  const paused = (await readPauses(db, config.dataDir)).map(labelOf);
  const lastEvent: number | null = events?.at ?? null;
  const parts = [
    `${streams.length - stale.length} streams fresh, ${stale.length} stale`,
    ...(paused.length > 0 ? [`PAUSED: ${paused.join(', ')}`] : []),
    ...(config.outbox.dryRun ? ['DRY RUN'] : []),
    ...open.map(({ state, count }) => `${count} ${state.replace('_', ' ')}`),
    lastEvent === null ? 'no event yet' : `last event ${formatDuration(now - lastEvent)} ago`,
    ...(Number(incidents?.count ?? 0) > 0 ? [`${incidents?.count} incidents open`] : []),
  ];
  return parts.join('; ');
}
