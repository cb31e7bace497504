/**
 * Replaying stored events: each is interpreted again, as this program understands it, and its
 * order is read again. It is safe at any time, because an event is only a hint: what the service
 * says now is what counts. Types that were unknown when they came are understood this way after an
 * upgrade.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Clock } from '../lib/clock.ts';
import { RefusedError } from '../lib/errors.ts';
import { sha256 } from '../lib/json.ts';
import { requestRefreshes } from '../mirror/refresh.ts';
import { readState, writeState } from '../store/state.ts';
import type { Db, Store } from '../store/store.ts';
import { KNOWN_TYPES, readEvent } from './event.ts';

/** By id; all that arrived from then on (epoch milliseconds); all that led to no read. */
export type Selection =
  | { readonly ids: readonly string[] }
  | { readonly since: number }
  | { readonly outcome: 'stored' };

export interface ReplayResult {
  readonly events: number;
  /** How many orders are read again: ten events of one order are one read. */
  readonly orders: number;
  /** Events that name no order, or are of a type that nobody knows. */
  readonly withoutOrder: number;
  /** Events that lead to a read now and did not when they came. */
  readonly newlyUnderstood: number;
}

export interface Asker {
  readonly actor: string;
  readonly reason: string;
}

export interface EventOperations {
  replay(selection: Selection, asker: Asker): Promise<ReplayResult>;
}

export interface EventOperationsDeps {
  readonly store: Store;
  readonly clock: Clock;
  /** Orders are to be read. */
  readonly nudge: () => void;
}

const EVENTS_PER_COMMIT = 200;
const KNOWN_KEY = 'inbox_types';

/** The next stored events of the selection, by id; each interpreted anew. */
async function nextSlice(db: Db, selection: Selection, after: string) {
  let query = db
    .selectFrom('webhook_event')
    .select(['event_id', 'body', 'type', 'order_id', 'outcome'])
    .where('event_id', '>', after)
    .orderBy('event_id')
    .limit(EVENTS_PER_COMMIT);
  if ('ids' in selection) query = query.where('event_id', 'in', [...selection.ids]);
  if ('since' in selection) query = query.where('received_at', '>=', selection.since);
  if ('outcome' in selection) query = query.where('outcome', '=', selection.outcome);
  const rows = await query.execute();
  return rows.map((row) => ({ row, hint: readEvent(row.body) }));
}

type Slice = Awaited<ReturnType<typeof nextSlice>>;

async function requestAgain(store: Store, slice: Slice, now: number): Promise<void> {
  await store.transaction(async (tx) => {
    for (const { row, hint } of slice) {
      if (hint.type === row.type && hint.orderId === row.order_id) continue;
      await tx
        .updateTable('webhook_event')
        .set({
          ...{ type: hint.type, order_id: hint.orderId },
          outcome: hint.orderId === null ? 'stored' : 'refresh',
        })
        .where('event_id', '=', row.event_id)
        .execute();
    }
    const requests = slice.flatMap(({ row, hint }) =>
      hint.orderId === null ? [] : [{ orderId: hint.orderId, cause: `replay:${row.event_id}` }],
    );
    await requestRefreshes(tx, requests, now);
  });
}

/** What a replay does; with `write` it does it. */
export async function replayEvents(
  store: Store,
  selection: Selection,
  options: { readonly write: boolean; readonly now: number },
): Promise<ReplayResult> {
  const orders = new Set<number>();
  const seen = new Set<string>();
  const count = { events: 0, withoutOrder: 0, newlyUnderstood: 0 };
  for (let after = ''; ; ) {
    const slice = await nextSlice(store.db, selection, after);
    for (const { row, hint } of slice) {
      count.events += 1;
      if ('ids' in selection) seen.add(row.event_id);
      if (hint.orderId === null) count.withoutOrder += 1;
      else orders.add(hint.orderId);
      if (hint.orderId !== null && row.outcome === 'stored') count.newlyUnderstood += 1;
    }
    if (options.write) await requestAgain(store, slice, options.now);
    const last = slice.at(-1);
    if (!last || slice.length < EVENTS_PER_COMMIT) break;
    after = last.row.event_id;
    // The driver is synchronous: without this the listener would wait until all is done.
    await nextTurn();
  }
  const missing = 'ids' in selection ? selection.ids.find((id) => !seen.has(id)) : undefined;
  if (missing !== undefined) {
    throw new RefusedError('events.unknown', `there is no event ${missing}`, {
      hint: 'the ids are those of the relay: selvedge events list',
    });
  }
  return { ...count, orders: orders.size };
}

export function createEventOperations(deps: EventOperationsDeps): EventOperations {
  const { store, clock, nudge } = deps;
  return {
    async replay(selection, { actor, reason }) {
      const now = clock.now();
      // Whether all of them exist is known before the first is touched.
      if ('ids' in selection) await replayEvents(store, selection, { write: false, now });
      const result = await replayEvents(store, selection, { write: true, now });
      const detail = JSON.stringify({ ...selection, ...result });
      await store.db
        .insertInto('audit')
        .values({ at: now, actor, action: 'events.replay', subject: 'events', reason, detail })
        .execute();
      nudge();
      return result;
    },
  };
}

/** After an upgrade that knows other types of events: what was only stored is looked at again. */
export async function replayAfterUpgrade(store: Store, clock: Clock): Promise<number> {
  const known = sha256([...KNOWN_TYPES].sort().join(' '));
  const before = await readState(store.db, KNOWN_KEY);
  if (before === known) return 0;
  const options = { write: true, now: clock.now() };
  const { newlyUnderstood } = await replayEvents(store, { outcome: 'stored' }, options);
  await writeState(store.db, KNOWN_KEY, known, clock);
  return newlyUnderstood;
}
