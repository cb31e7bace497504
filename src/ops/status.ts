/** Reads the installation's state from the database alone, with or without a daemon. */
import { type Selectable, sql } from 'kysely';
import type { Config } from '../config/schema.ts';
import { pulledStreams } from '../config/streams.ts';
import { pausedWords } from '../config/words.ts';
import { parseJsonObject } from '../lib/json.ts';
import { formatDuration } from '../lib/units.ts';
import { absent, readAnswers, type ServiceAnswer } from '../store/answering.ts';
import { type Pause, pauseOf, readPauses } from '../store/pauses.ts';
import { readAccountHold, readExchangeWait } from '../store/state.ts';
import type { Db } from '../store/store.ts';
import { foreignEvents } from '../store/system-keys.ts';
import type { Tables } from '../store/tables.ts';
import { openCauses, type ToldCause } from './causes.ts';
import { type BookStatus, readBookStatus } from './order-book.ts';
import { readPace, type ServicePace } from './pace.ts';
import { type RelayFigures, readRelayFigures } from './relay.ts';
import { type RulesActing, readRulesActing } from './rules-acting.ts';
import { countWaiting, describeWaiting, type Waiting } from './waiting.ts';

export interface StreamStatus {
  readonly stream: string;
  /** Milliseconds since the start of the last complete run; null: there was none. */
  readonly ageMs: number | null;
  /** The same, or while there was none, since the first run began; null: none ever began. */
  readonly waitsMs: number | null;
  readonly rows: number | null;
  readonly running: boolean;
  readonly paused: boolean;
  /** Whether the configuration has the stream switched off, so that its data is from before. */
  readonly off: boolean;
  /** Level of the account, if the stream does not exist at it; null: it does. */
  readonly notAtLevel: string | null;
  readonly dueInMs: number;
  /** Whether the data is older than the configuration allows. */
  readonly stale: boolean;
  readonly lastError: string | null;
}

interface FailingWorker {
  readonly worker: string;
  /** Epoch ms when the failures began. */
  readonly since: number;
  /** Error with which the failures began. */
  readonly error: string;
}

/** Incident of a worker of the daemon that fails again and again. */
export const WORKER_FAILING = { kind: 'worker_failing', entity: 'worker' } as const;

export interface Status {
  /** The daemon, as far as the database knows: whether one holds the lease now. */
  readonly daemon: {
    readonly running: boolean;
    readonly holder: string | null;
    /**
     * Epoch ms when the lease ends, which a daemon that can write postpones again and again; null:
     * the lease was given up.
     */
    readonly leaseEndsAt: number | null;
  };
  /** Whether each API of the service answers; empty while no daemon has asked. */
  readonly service: readonly ServiceAnswer[];
  readonly schema: number;
  readonly streams: readonly StreamStatus[];
  readonly deliveries: Readonly<Record<string, number>>;
  /** Pending deliveries by the outcome of their latest decision. */
  readonly pending: Readonly<Record<string, number>>;
  /** How far the rules in force may go; null while no daemon has had any. */
  readonly rules: RulesActing | null;
  readonly outbox: Readonly<Record<string, number>>;
  readonly events: { readonly count: number; readonly lastAgeMs: number | null };
  /** Events of other accounts, by system key; no order is read for them. */
  readonly foreignEvents: Readonly<Record<string, number>>;
  /** Figures of the relay's events; null while no daemon has measured any. */
  readonly relay: RelayFigures | null;
  /** Pace of requests to the service; null: none has waited for the limit. */
  readonly pace: ServicePace | null;
  readonly refreshWaiting: number;
  /** The book of open orders, and how old the looks of the sweeps are; null: none has ended yet. */
  readonly book: BookStatus | null;
  readonly quarantined: number;
  readonly openIncidents: number;
  /** Open incidents by kind, such as `rules_invalid` or `reject_breaker`. */
  readonly incidents: Readonly<Record<string, number>>;
  /** Causes for which deliveries cannot be decided or streams completed, with advice. */
  readonly causes: readonly ToldCause[];
  /** Workers of the daemon that fail again and again. */
  readonly failingWorkers: readonly FailingWorker[];
  readonly waiting: Waiting;
  /** Deliveries whose hold has run out and that wait for a person. */
  readonly holdsOverdue: number;
  /** Deliveries that a rule will reject, and that can still be stopped. */
  readonly rejectsWaiting: number;
  /** Active pauses with reason, person and time; empty: none. */
  readonly paused: readonly Pause[];
  /** Why requests to the service are held: an unknown account. Null: they are not held. */
  readonly accountHold: string | null;
  /** Since when receipts wait for the lock of exchange.db (epoch ms); null: they do not. */
  readonly receiptsWaitSince: number | null;
}

/** Maximum age in ms of each stream's data, for the streams that are pulled. */
export type FreshnessMs = Readonly<Record<string, number>>;

/** Streams that are switched on and do not exist at the account's level, each with that level. */
type NotAtLevel = Readonly<Record<string, string>>;

export function freshnessOf(config: Pick<Config, 'streams' | 'service'>): FreshnessMs {
  return Object.fromEntries(
    Object.entries(pulledStreams(config)).map(([name, { freshness }]) => [name, freshness]),
  );
}

type Counted = { readonly name: string; readonly count: number };

function asRecord(rows: readonly Counted[]): Record<string, number> {
  return Object.fromEntries(rows.map((row) => [row.name, Number(row.count)]));
}

type StreamState = Readonly<Selectable<Tables['stream_state']>>;

/** Epoch ms when the first run of each stream that was never complete began. */
async function firstRuns(
  db: Db,
  states: readonly StreamState[],
): Promise<ReadonlyMap<string, number>> {
  const begun = new Map<string, number>();
  for (const { stream, complete_at } of states) {
    if (complete_at !== null) continue;
    const run = await db
      .selectFrom('sync_run')
      .select('started_at')
      .where('stream', '=', stream)
      .orderBy('run_id')
      .limit(1)
      .executeTakeFirst();
    if (run) begun.set(stream, run.started_at);
  }
  return begun;
}

function sinceOf(
  { stream, complete_at }: StreamState,
  begun: ReadonlyMap<string, number>,
  now: number,
): number | null {
  const at = complete_at ?? begun.get(stream);
  return at === undefined ? null : now - at;
}

async function streamStatuses(
  db: Db,
  now: number,
  freshnessMs: FreshnessMs,
  notAtLevel: NotAtLevel,
  pauses: readonly Pause[],
): Promise<StreamStatus[]> {
  const states = await db.selectFrom('stream_state').selectAll().orderBy('stream').execute();
  const running = await db
    .selectFrom('sync_run')
    .select('stream')
    // As the text of its index, which a parameter would not be.
    .where('outcome', '=', sql.lit('running'))
    .execute();
  const begun = await firstRuns(db, states);
  const open = new Set(running.map((row) => row.stream));
  const known = new Set(states.map(({ stream }) => stream));
  const never = Object.entries(notAtLevel).filter(([stream]) => !known.has(stream));
  const absent = never.map(([stream, level]): StreamStatus => {
    const nothing = {
      ageMs: null,
      waitsMs: null,
      rows: null,
      running: false,
      paused: false,
      stale: false,
    };
    return { stream, ...nothing, off: true, notAtLevel: level, dueInMs: 0, lastError: null };
  });
  const present = states.map(
    (state): StreamStatus => ({
      stream: state.stream,
      ageMs: state.complete_at === null ? null : now - state.complete_at,
      waitsMs: sinceOf(state, begun, now),
      rows: state.complete_rows,
      running: open.has(state.stream),
      paused: pauseOf(pauses, 'stream', state.stream) !== undefined,
      off: freshnessMs[state.stream] === undefined,
      notAtLevel: notAtLevel[state.stream] ?? null,
      dueInMs: state.due_at - now,
      stale: now - (state.complete_at ?? 0) > (freshnessMs[state.stream] ?? Infinity),
      lastError: notAtLevel[state.stream] === undefined ? state.last_error : null,
    }),
  );
  return [...present, ...absent].sort((a, b) => (a.stream < b.stream ? -1 : 1));
}

/** Numbers of rows by status or state, which triggers keep: nobody counts what there ever was. */
async function tallyOf(db: Db, entity: 'delivery' | 'pending' | 'outbox' | 'webhook_event') {
  return db
    .selectFrom('tally')
    .select(['name', 'rows as count'])
    .where('entity', '=', entity)
    .where('rows', '>', 0)
    .execute();
}

async function countOf(db: Db, table: 'refresh' | 'quarantine'): Promise<number> {
  const row = await db
    .selectFrom(table)
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow();
  return Number(row.count);
}

export async function openIncidentsByKind(db: Db): Promise<Record<string, number>> {
  const rows = await db
    .selectFrom('incident')
    .select((eb) => ['kind as name', eb.fn.countAll<number>().as('count')])
    .where('resolved_at', 'is', null)
    .groupBy('kind')
    .orderBy('kind')
    .execute();
  return asRecord(rows);
}

async function readFailingWorkers(db: Db): Promise<FailingWorker[]> {
  const rows = await db
    .selectFrom('incident')
    .select(['key', 'at', 'detail'])
    .where('kind', '=', WORKER_FAILING.kind)
    .where('resolved_at', 'is', null)
    .orderBy('key')
    .execute();
  return rows.map(({ key, at, detail }) => {
    return { worker: key, since: at, error: String(parseJsonObject(detail).error) };
  });
}

/** Counts rejects of rules that wait out their grace. */
export async function countRejects(db: Db): Promise<number> {
  const row = await db
    .selectFrom('reject_entry')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('ended_at', 'is', null)
    .where('state', '=', 'waiting')
    .executeTakeFirstOrThrow();
  return Number(row.count);
}

export async function readStatus(
  db: Db,
  now: number,
  freshnessMs: FreshnessMs,
  notAtLevel: NotAtLevel = {},
  dataDir?: string,
): Promise<Status> {
  const paused = await readPauses(db, dataDir);
  const lease = await db
    .selectFrom('lease')
    .selectAll()
    .where('name', '=', 'daemon')
    .executeTakeFirst();
  const schema = await db
    .selectFrom('schema_migration')
    .select((eb) => eb.fn.max('version').as('version'))
    .executeTakeFirst();
  const [events] = await tallyOf(db, 'webhook_event');
  const lastEvent = await db
    .selectFrom('webhook_event')
    .select((eb) => eb.fn.max<number | null>('received_at').as('at'))
    .executeTakeFirst();
  const incidents = await openIncidentsByKind(db);
  const service = await readAnswers(db);
  const waiting = await countWaiting(db);
  const lastAt = lastEvent?.at ?? null;
  return {
    daemon: {
      running: (lease?.expires_at ?? 0) > now,
      holder: lease?.holder ?? null,
      leaseEndsAt: lease?.expires_at || null,
    },
    service,
    schema: schema?.version ?? 0,
    streams: await streamStatuses(db, now, freshnessMs, notAtLevel, paused),
    rules: (await readRulesActing(db)) ?? null,
    deliveries: asRecord(await tallyOf(db, 'delivery')),
    pending: asRecord(await tallyOf(db, 'pending')),
    outbox: asRecord(await tallyOf(db, 'outbox')),
    events: { count: events?.count ?? 0, lastAgeMs: lastAt === null ? null : now - lastAt },
    foreignEvents: await foreignEvents(db),
    relay: (await readRelayFigures(db)) ?? null,
    pace: await readPace(db),
    refreshWaiting: await countOf(db, 'refresh'),
    book: await readBookStatus(db, now),
    quarantined: await countOf(db, 'quarantine'),
    openIncidents: Object.values(incidents).reduce((sum, count) => sum + count, 0),
    incidents,
    causes: await openCauses(db, service),
    failingWorkers: await readFailingWorkers(db),
    waiting,
    holdsOverdue: waiting.deliveries.overdue,
    rejectsWaiting: await countRejects(db),
    paused,
    accountHold: (await readAccountHold(db)) ?? null,
    receiptsWaitSince: (await readExchangeWait(db)) ?? null,
  };
}

/** The status in one line, read from indices alone: cheap enough for every few seconds. */
export async function headline(db: Db, now: number, config: Config): Promise<string> {
  const freshnessMs = freshnessOf(config);
  const streams = await db
    .selectFrom('stream_state')
    .select(['stream', 'complete_at'])
    // A stream that is switched off counts neither as fresh nor as stale.
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
  const paused = (await readPauses(db, config.dataDir)).map(pausedWords);
  const away = absent(await readAnswers(db));
  const waiting = describeWaiting(await countWaiting(db));
  const lastEvent: number | null = events?.at ?? null;
  const parts = [
    ...(away === undefined ? [] : [away]),
    `${streams.length - stale.length} streams fresh, ${stale.length} stale`,
    ...(paused.length > 0 ? [`PAUSED: ${paused.join(', ')}`] : []),
    ...(config.outbox.dryRun ? ['DRY RUN'] : []),
    ...open.map(({ state, count }) => `${count} ${state.replace('_', ' ')}`),
    lastEvent === null ? 'no event yet' : `last event ${formatDuration(now - lastEvent)} ago`,
    ...(waiting === '' ? [] : [`waiting: ${waiting}`]),
  ];
  return parts.join('; ');
}
