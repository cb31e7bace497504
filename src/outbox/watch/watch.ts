/**
 * Incidents of the outbox: pushes that need a person, gave up or wait too long; pending refunds
 * that the service does not confirm; effects that come later than the settlement delay allows for;
 * and two orders with one reference (which no protocol can prevent). All of them are computed from
 * tables, so an incident ends when its reason does.
 */

import { setImmediate as nextTurn } from 'node:timers/promises';
import { sql } from 'kysely';
import { OUTBOX_KINDS } from '../../config/words.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/log.ts';
import { endIncidents, type Incident, reconcileIncidents } from '../../store/incidents.ts';
import { readState, writeState } from '../../store/state.ts';
import type { Db, Store, Tx } from '../../store/store.ts';
import { knownSpellings, tellsNothing } from '../evidence/known-spellings.ts';
import { claimsOf } from '../evidence/records.ts';
import { worstLateness } from '../reconcile.ts';
import { DIFFERENCE, endedDifferences } from './differences.ts';

export interface WatchDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Logger;
  readonly limits: {
    readonly alertAfterMs: number;
    readonly refundAlertAfterMs: number;
    readonly auditEveryMs: number;
    readonly reconcileAfterMs: number;
  };
}

const ROUND_MS = 60_000;
/** Milliseconds for which changes are gathered, so that a burst makes one round. */
const GATHER_MS = 250;
const ROWS_MAX = 1_000;
const SLICE = 2_000;
const AUDITED_KEY = 'outbox.audited_at';
const KINDS = ['push_in_doubt', 'push_dead', 'push_late'] as const;
const REFUND_KIND = 'refund_unconfirmed';
const QUIET_KIND = 'quiet_time_short';
const DUPLICATE_KIND = 'duplicate_reference';
/** Milliseconds after which an unconfirmed pending refund is not watched any more. */
const REFUND_WATCH_MS = 180 * 86_400_000;

function pushIncident(
  kind: (typeof KINDS)[number],
  row: { readonly outbox_id: number; readonly kind: string; readonly reference: string },
  why: string | null,
): Incident {
  const detail = { kind: row.kind, reference: row.reference, why };
  return { kind, entity: 'outbox', key: String(row.outbox_id), detail };
}

/** SQL: the open row that goes before this one, by their ordering key; one for a person first. */
const firstAhead = sql<number | null>`(
  select a.outbox_id from outbox a where a.ordering_key = outbox.ordering_key
    and a.outbox_id < outbox.outbox_id and a.ended_at is null
  order by a.blocked_reason is null, a.outbox_id limit 1)`;

async function openPushes(tx: Tx, limits: WatchDeps['limits'], now: number): Promise<Incident[]> {
  const open = await tx
    .selectFrom('outbox')
    .select(['outbox_id', 'kind', 'reference', 'blocked_reason', 'last_error'])
    .select(firstAhead.as('ahead'))
    .where('ended_at', 'is', null)
    .where((eb) =>
      eb.or([
        eb('blocked_reason', 'is not', null),
        eb('created_at', '<=', now - limits.alertAfterMs),
      ]),
    )
    // Rows that need a person come first, however many others are late in an outage.
    .orderBy(sql`blocked_reason is null`)
    .orderBy('outbox_id')
    .limit(ROWS_MAX)
    .execute();
  const dead = await tx
    .selectFrom('outbox')
    .select(['outbox_id', 'kind', 'reference', 'last_error'])
    .where('kind', 'in', OUTBOX_KINDS)
    .where('state', '=', 'dead')
    .limit(ROWS_MAX)
    .execute();
  return [
    ...open.map((row) => {
      const behind = row.ahead === null ? null : `waits behind push ${row.ahead}, which goes first`;
      const why = row.blocked_reason ?? behind ?? row.last_error;
      return pushIncident(row.blocked_reason === null ? 'push_late' : 'push_in_doubt', row, why);
    }),
    ...dead.map((row) => pushIncident('push_dead', row, row.last_error)),
  ];
}

/** Refunds that are confirmed or called off, and those of half a year ago, are watched no more. */
async function unconfirmedRefunds(tx: Tx, afterMs: number, now: number): Promise<Incident[]> {
  const id = sql<number>`o.result->>'$.pendingRefundId'`;
  await sql`delete from refund_awaited where outbox_id in (
    select a.outbox_id from refund_awaited a left join outbox o on o.outbox_id = a.outbox_id
    where o.outbox_id is null or o.ended_at <= ${now - afterMs - REFUND_WATCH_MS}
      or o.state = 'confirmed' and (
        exists (select 1 from refund r where r.pending_refund_id = ${id})
        or exists (select 1 from pending_refund p
          where p.pending_refund_id = ${id} and p.status = 'canceled')))`.execute(tx);
  const rows = await tx
    .selectFrom('refund_awaited as a')
    // From the few that are awaited: an inner join would begin with all pushes.
    .crossJoin('outbox as o')
    .whereRef('o.outbox_id', '=', 'a.outbox_id')
    .select(['o.outbox_id', 'o.reference', 'o.order_id as orderId', id.as('pendingRefundId')])
    .where('o.state', '=', 'confirmed')
    .where('o.ended_at', '<=', now - afterMs)
    .limit(ROWS_MAX)
    .execute();
  return rows.map(({ outbox_id, ...detail }) => {
    return { kind: REFUND_KIND, entity: 'outbox', key: String(outbox_id), detail };
  });
}

function shortQuietTime(latenessMs: number, reconcileAfterMs: number): Incident[] {
  if (latenessMs * 2 <= reconcileAfterMs) return [];
  const detail = { latenessMs, reconcileAfterMs, hint: 'raise outbox.quietTime' };
  return [{ kind: QUIET_KIND, entity: 'outbox', key: 'quietTime', detail }];
}

/**
 * Whether each of these orders belongs to a document of its own: then the service cuts references,
 * and no order exists twice.
 */
async function areDocuments(db: Db, orderIds: readonly number[]): Promise<boolean> {
  return (await claimsOf(db, orderIds)).size === orderIds.length;
}

/**
 * Lists references that more than one order has, in slices, so that other work does not wait long.
 */
async function duplicates(db: Db, signal: AbortSignal): Promise<Incident[]> {
  const found: Incident[] = [];
  // Case is ignored by SQLite's NOCASE, which knows only ASCII letters.
  const letters = sql<string>`sales_order.reference collate nocase`;
  const known = await knownSpellings(db, 'order');
  let after = '';
  while (!signal.aborted) {
    const slice = await db
      .selectFrom('sales_order')
      .select((eb) => [
        // Of another name than the column, which ORDER BY would take for this sum and sort all.
        eb.fn.min('reference').as('first'),
        eb.fn.countAll<number>().as('orders'),
      ])
      .select(sql<string>`group_concat(order_id)`.as('ids'))
      .where(letters, '>', after)
      .where('deleted_at', 'is', null)
      .groupBy(letters)
      .orderBy(letters)
      .limit(SLICE)
      .execute();
    for (const { first: reference, orders, ids } of slice) {
      if (reference === null || Number(orders) < 2) continue;
      const orderIds = ids.split(',').map(Number);
      if (tellsNothing(known, reference) || (await areDocuments(db, orderIds))) continue;
      const detail = { orderIds };
      found.push({ kind: DUPLICATE_KIND, entity: 'sales_order', key: reference, detail });
    }
    const last = slice.at(-1)?.first;
    if (slice.length < SLICE || !last) break;
    after = last;
    await nextTurn();
  }
  return found;
}

async function auditDuplicates(
  { store, clock, log }: Pick<WatchDeps, 'store' | 'clock' | 'log'>,
  signal: AbortSignal,
): Promise<void> {
  const found = await duplicates(store.db, signal);
  if (signal.aborted) return;
  const { opened: fresh } = await store.transaction(async (tx) => {
    await writeState(tx, AUDITED_KEY, String(clock.now()), clock);
    return reconcileIncidents(tx, [DUPLICATE_KIND], found, clock.now());
  });
  for (const { key, detail } of fresh) log.error({ reference: key, detail }, 'two orders, one ref');
}

async function round(deps: WatchDeps, signal: AbortSignal): Promise<void> {
  const { store, clock, log, limits } = deps;
  const now = clock.now();
  const lateness = await worstLateness(store.db, now);
  const agreed = await endedDifferences(store.db);
  const { opened: fresh } = await store.transaction(async (tx) => {
    await endIncidents(tx, DIFFERENCE, agreed, now);
    const wanted = [
      ...(await openPushes(tx, limits, now)),
      ...(await unconfirmedRefunds(tx, limits.refundAlertAfterMs, now)),
      ...shortQuietTime(lateness, limits.reconcileAfterMs),
    ];
    return reconcileIncidents(tx, [...KINDS, REFUND_KIND, QUIET_KIND], wanted, now);
  });
  for (const { kind, key, detail } of fresh) log.warn({ kind, key, detail }, 'incident');
  const audited = Number((await readState(store.db, AUDITED_KEY)) ?? 0);
  const since = now - audited;
  // A future time was written before the clock was set back.
  if (since < 0 || since >= limits.auditEveryMs) await auditDuplicates(deps, signal);
}

/** Creates the worker that keeps the incidents, each minute and after each wake-up. */
export function createWatch(deps: WatchDeps) {
  let wake = new AbortController();
  return {
    name: 'outbox-watch',
    wakeUp: () => wake.abort(),
    async run(signal: AbortSignal): Promise<void> {
      while (!signal.aborted) {
        wake = new AbortController();
        await round(deps, signal);
        await deps.clock
          .sleep(ROUND_MS, AbortSignal.any([signal, wake.signal]))
          .catch(() => undefined);
        // The wait joins a burst of documents into one round.
        await deps.clock.sleep(GATHER_MS, signal).catch(() => undefined);
      }
    },
  };
}
