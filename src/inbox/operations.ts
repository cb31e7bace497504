/**
 * Replays stored events: parses each with the current program and reads its order again. Safe at
 * any time, because an event only triggers a read. Types unknown on arrival are understood this way
 * after an upgrade.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { sql } from 'kysely';
import type { Clock } from '../lib/clock.ts';
import { RefusedError } from '../lib/errors.ts';
import { sha256 } from '../lib/json.ts';
import { requestRefetches } from '../mirror/refetch-queue.ts';
import { type Actor, writeAudit } from '../store/audit.ts';
import { inKeys } from '../store/bulk.ts';
import { readState, writeState } from '../store/state.ts';
import type { Db, Store } from '../store/store.ts';
import { KNOWN_TYPES, parseEvent } from './event-store.ts';

/** Events to replay: by id, by arrival since an epoch ms, or all that led to no read. */
export type Selection =
  | { readonly ids: readonly string[] }
  | { readonly since: number }
  | { readonly outcome: 'stored' };

export interface ReplayResult {
  readonly events: number;
  /** Orders to read again; ten events of one order make one read. */
  readonly orders: number;
  /** Events that name no order, or are of an unknown type. */
  readonly withoutOrder: number;
  /** Events that lead to a read now and did not on arrival. */
  readonly newlyUnderstood: number;
}

export interface EventOperations {
  /** Counts what a replay would do, without doing it. */
  preview(selection: Selection): Promise<ReplayResult>;
  replay(selection: Selection, asker: Actor): Promise<ReplayResult>;
}

export interface EventOperationsDeps {
  readonly store: Store;
  readonly clock: Clock;
  /** Wakes the order refetcher. */
  readonly wakeUp: () => void;
}

const EVENTS_PER_COMMIT = 200;
/** Stored events read per query; more than per commit, because most of them do not match. */
const EVENTS_PER_LOOK = 500;
const KNOWN_KEY = 'inbox_types';

function stored(db: Db) {
  return db
    .selectFrom('webhook_event')
    .select(['event_id', 'body', 'type', 'order_id', 'outcome', 'received_at'])
    .select(sql<number>`rowid`.as('row'));
}

type Row = Awaited<ReturnType<ReturnType<typeof stored>['execute']>>[number];

/**
 * Stored events since a time, in slices. Each continues at the index on time and row, so that the
 * last slice is as fast as the first.
 */
async function* eventsSince(db: Db, since: number): AsyncGenerator<readonly Row[]> {
  for (let last = { received_at: since, row: 0 }; ; ) {
    const rows = await stored(db)
      .where(sql<boolean>`(received_at, rowid) > (${last.received_at}, ${last.row})`)
      .orderBy('received_at')
      .orderBy(sql`rowid`)
      .limit(EVENTS_PER_COMMIT)
      .execute();
    yield rows;
    const [end] = rows.slice(-1);
    if (!end) return;
    last = end;
  }
}

/** Stored events with an outcome: scans the whole table in slices. */
async function* eventsWith(db: Db, outcome: 'stored'): AsyncGenerator<readonly Row[]> {
  const ends = sql<{ first: number; last: number }>`
    select (select min(rowid) from webhook_event) as first,
      (select max(rowid) from webhook_event) as last`;
  const [{ first, last } = { first: 0, last: -1 }] = (await ends.execute(db)).rows;
  for (let from = first; from <= last; from += EVENTS_PER_LOOK) {
    yield await stored(db)
      .where(sql<boolean>`rowid between ${from} and ${from + EVENTS_PER_LOOK - 1}`)
      .where(sql<boolean>`+outcome = ${outcome}`)
      .execute();
  }
}

async function* eventsById(db: Db, ids: readonly string[]): AsyncGenerator<readonly Row[]> {
  const each = [...new Set(ids)];
  for (let start = 0; start < each.length; start += EVENTS_PER_COMMIT) {
    yield await stored(db)
      .where(inKeys('event_id', each.slice(start, start + EVENTS_PER_COMMIT)))
      .execute();
  }
}

function eventsOf(db: Db, selection: Selection): AsyncGenerator<readonly Row[]> {
  if ('ids' in selection) return eventsById(db, selection.ids);
  if ('since' in selection) return eventsSince(db, selection.since);
  return eventsWith(db, selection.outcome);
}

/** Stored events of the selection, each parsed again. */
async function* slicesOf(db: Db, selection: Selection) {
  for await (const rows of eventsOf(db, selection)) {
    if (rows.length > 0) yield rows.map((row) => ({ row, parsed: parseEvent(row.body) }));
    // Yields between slices: the driver is synchronous, and the listener needs its turn.
    await nextTurn();
  }
}

type Slice = readonly { readonly row: Row; readonly parsed: ReturnType<typeof parseEvent> }[];

async function requestAgain(store: Store, slice: Slice, now: number): Promise<void> {
  await store.transaction(async (tx) => {
    for (const { row, parsed } of slice) {
      if (parsed.type === row.type && parsed.orderId === row.order_id) continue;
      await tx
        .updateTable('webhook_event')
        .set({
          type: parsed.type,
          order_id: parsed.orderId,
          outcome: parsed.orderId === null ? 'stored' : 'refresh',
        })
        .where('event_id', '=', row.event_id)
        .execute();
    }
    const requests = slice.flatMap(({ row, parsed }) =>
      parsed.orderId === null ? [] : [{ orderId: parsed.orderId, cause: `replay:${row.event_id}` }],
    );
    await requestRefetches(tx, requests, now);
  });
}

/** Counts what a replay would do, without doing it. */
export function previewReplay(db: Db, selection: Selection): Promise<ReplayResult> {
  return replay(db, selection);
}

function replayEvents(store: Store, selection: Selection, now: number): Promise<ReplayResult> {
  return replay(store.db, selection, (slice) => requestAgain(store, slice, now));
}

/** Counts the effect of a replay; with `write` also carries it out. */
async function replay(
  db: Db,
  selection: Selection,
  write?: (slice: Slice) => Promise<void>,
): Promise<ReplayResult> {
  const orders = new Set<number>();
  const seen = new Set<string>();
  const count = { events: 0, withoutOrder: 0, newlyUnderstood: 0 };
  for await (const slice of slicesOf(db, selection)) {
    for (const { row, parsed } of slice) {
      count.events += 1;
      if ('ids' in selection) seen.add(row.event_id);
      if (parsed.orderId === null) count.withoutOrder += 1;
      else orders.add(parsed.orderId);
      if (parsed.orderId !== null && row.outcome === 'stored') count.newlyUnderstood += 1;
    }
    await write?.(slice);
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
  const { store, clock, wakeUp } = deps;
  return {
    preview: (selection) => previewReplay(store.db, selection),
    async replay(selection, asker) {
      const now = clock.now();
      // Checks that all ids exist before anything is changed.
      if ('ids' in selection) await previewReplay(store.db, selection);
      const result = await replayEvents(store, selection, now);
      const detail = { ...selection, ...result };
      const act = { action: 'events.replay', subject: 'events', detail };
      await writeAudit(store.db, { ...asker, ...act }, now);
      wakeUp();
      return result;
    },
  };
}

/** Replays events that led to no read, once after an upgrade that knows other event types. */
export async function replayAfterUpgrade(store: Store, clock: Clock): Promise<number> {
  const known = sha256([...KNOWN_TYPES].sort().join(' '));
  const before = await readState(store.db, KNOWN_KEY);
  if (before === known) return 0;
  const { newlyUnderstood } = await replayEvents(store, { outcome: 'stored' }, clock.now());
  await writeState(store.db, KNOWN_KEY, known, clock);
  return newlyUnderstood;
}
