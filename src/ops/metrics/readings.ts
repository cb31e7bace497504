/** Reads metrics from the database, all of them from an index or a small table. */

import { sql } from 'kysely';
import { OUTBOX_KINDS } from '../../config/words.ts';
import { type Pausable, readPauses } from '../../store/pauses.ts';
import type { Db } from '../../store/store.ts';
import { type BookStatus, readBookStatus } from '../order-book.ts';
import { type RelayFigures, readRelayFigures } from '../relay.ts';
import { countRejects, type FreshnessMs, openIncidentsByKind } from '../status.ts';
import { countWaiting, type Waiting } from '../waiting.ts';

interface StreamReading {
  readonly stream: string;
  /** Milliseconds since the start of the last complete run; infinite: there was none. */
  readonly ageMs: number;
  readonly limitMs: number;
  readonly failures: number;
  /** Rows of the stream's last complete run; undefined: there was none. */
  readonly rows: number | undefined;
}

/** A number of things of one kind, and the age of the oldest of them. */
interface CountedAge {
  readonly name: string;
  readonly count: number;
  readonly oldestMs: number;
}

export interface DatabaseReadings {
  readonly waiting: Waiting;
  readonly streams: readonly StreamReading[];
  /** Pending deliveries by the outcome of their latest decision. */
  readonly pending: readonly CountedAge[];
  /** Held deliveries by the rule that holds them. */
  readonly holds: readonly CountedAge[];
  /** Pushes that have not ended, by `kind/state`. */
  readonly outbox: readonly CountedAge[];
  /** Pushes given up as dead; `needsAttention`: pushes that wait for a person. */
  readonly dead: number;
  readonly needsAttention: number;
  /** Rejects of rules that wait out their grace. */
  readonly rejects: number;
  readonly paused: readonly (Pausable & { readonly forMs: number })[];
  /** Book of open orders; null: no sweep has ended yet. */
  readonly book: BookStatus | null;
  readonly toRead: CountedAge;
  /** Epoch ms when the latest event arrived; undefined: none has. */
  readonly lastEventAt: number | undefined;
  readonly quarantine: Readonly<Record<string, number>>;
  /** Open incidents by kind. */
  readonly incidents: Readonly<Record<string, number>>;
  readonly relay: RelayFigures | undefined;
}

async function streamReadings(
  db: Db,
  now: number,
  freshnessMs: FreshnessMs,
): Promise<StreamReading[]> {
  const states = await db.selectFrom('stream_state').selectAll().orderBy('stream').execute();
  return states
    .filter(({ stream }) => freshnessMs[stream] !== undefined)
    .map((state) => ({
      stream: state.stream,
      ageMs: state.complete_at === null ? Infinity : now - state.complete_at,
      limitMs: freshnessMs[state.stream] ?? Infinity,
      failures: state.failures,
      rows: state.complete_rows ?? undefined,
    }));
}

type Aged = { readonly name: string; readonly count: number; readonly oldest: number | null };

function aged(rows: readonly Aged[], now: number): CountedAge[] {
  return rows.map(({ name, count, oldest }) => ({
    name,
    count: Number(count),
    oldestMs: oldest === null ? 0 : Math.max(0, now - oldest),
  }));
}

/** Pending deliveries by outcome: their number is kept, and the oldest is the first of an index. */
async function pendingDeliveries(db: Db): Promise<Aged[]> {
  const { rows } = await sql<Aged>`select name, rows count, (
      select min(first_seen_at) from claim where outcome = name) oldest
    from tally where entity = 'pending' and rows > 0`.execute(db);
  return rows;
}

/** Held deliveries by rule. */
async function holdsByRule(db: Db): Promise<Aged[]> {
  const { rows } = await sql<Aged>`select name, rows count, (
      select min(since) from hold where rule_id = name) oldest
    from tally where entity = 'hold' and rows > 0`.execute(db);
  return rows;
}

/**
 * Counts waiting pushes in the index and reads only the oldest row, because rows are large and
 * there may be very many.
 */
async function waitingOutbox(db: Db): Promise<Aged[]> {
  return db
    .selectFrom((eb) =>
      eb
        .selectFrom('outbox')
        .select((of) => [
          sql<string>`kind || '/' || state`.as('name'),
          of.fn.countAll<number>().as('count'),
          of.fn.min<number>('outbox_id').as('first'),
        ])
        .where('kind', 'in', OUTBOX_KINDS)
        .where('state', 'in', ['queued', 'sending', 'sent'])
        .where('ended_at', 'is', null)
        .groupBy(['kind', 'state'])
        .as('waiting'),
    )
    .innerJoin('outbox', 'outbox.outbox_id', 'waiting.first')
    .select(['waiting.name', 'waiting.count', 'outbox.created_at as oldest'])
    .execute();
}

/** Counts pushes whose outcome is unknown, and those of them that need a person. */
async function unknownOutcomes(
  db: Db,
): Promise<readonly (Aged & { readonly needsAttention: number })[]> {
  return db
    .selectFrom('outbox')
    .select((eb) => [
      sql<string>`kind || '/' || state`.as('name'),
      eb.fn.countAll<number>().as('count'),
      eb.fn.count<number>('blocked_reason').as('needsAttention'),
      eb.fn.min<number | null>(eb.fn.coalesce('in_doubt_since', 'created_at')).as('oldest'),
    ])
    .where('kind', 'in', OUTBOX_KINDS)
    .where('state', '=', 'in_doubt')
    .where('ended_at', 'is', null)
    .groupBy('kind')
    .execute();
}

async function quarantineByEntity(db: Db): Promise<Record<string, number>> {
  const rows = await db
    .selectFrom('quarantine')
    .select((eb) => ['entity', eb.fn.countAll<number>().as('count')])
    .groupBy('entity')
    .execute();
  return Object.fromEntries(rows.map(({ entity, count }) => [entity, Number(count)]));
}

async function readOutbox(db: Db, now: number) {
  const dead = await db
    .selectFrom('outbox')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    // Names all kinds, because the index begins with the kind: else SQLite would scan all of it.
    .where('kind', 'in', OUTBOX_KINDS)
    .where('state', '=', 'dead')
    .executeTakeFirstOrThrow();
  const unknown = await unknownOutcomes(db);
  return {
    outbox: aged([...(await waitingOutbox(db)), ...unknown], now),
    dead: Number(dead.count),
    needsAttention: unknown.reduce((sum, one) => sum + Number(one.needsAttention), 0),
  };
}

export async function readDatabase(
  db: Db,
  now: number,
  freshnessMs: FreshnessMs,
  dataDir?: string,
): Promise<DatabaseReadings> {
  const event = await db
    .selectFrom('webhook_event')
    .select((eb) => eb.fn.max<number | null>('received_at').as('at'))
    .executeTakeFirst();
  const waiting = await db
    .selectFrom('refresh')
    .select((eb) => [
      eb.val('orders').as('name'),
      eb.fn.countAll<number>().as('count'),
      eb.fn.min<number | null>('requested_at').as('oldest'),
    ])
    .execute();
  return {
    waiting: await countWaiting(db),
    streams: await streamReadings(db, now, freshnessMs),
    pending: aged(await pendingDeliveries(db), now),
    holds: aged(await holdsByRule(db), now),
    ...(await readOutbox(db, now)),
    rejects: await countRejects(db),
    paused: (await readPauses(db, dataDir)).map(({ target, name, at }) => {
      return { target, name, forMs: Math.max(0, now - at) };
    }),
    book: await readBookStatus(db, now),
    toRead: aged(waiting, now)[0] ?? { name: 'orders', count: 0, oldestMs: 0 },
    lastEventAt: event?.at ?? undefined,
    quarantine: await quarantineByEntity(db),
    incidents: await openIncidentsByKind(db),
    relay: await readRelayFigures(db),
  };
}
