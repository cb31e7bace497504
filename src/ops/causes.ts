/**
 * Causes for which nothing can be decided, or for which a stream is never complete: an unknown
 * status, an unreadable member, no currency. However many rows a cause concerns, it is one incident
 * with their number, an example, and advice.
 */

import { setImmediate as nextTurn } from 'node:timers/promises';
import { sql } from 'kysely';
import { STATUSES } from '../config/statuses.ts';
import { memberWords, wordFor } from '../config/words.ts';
import { isJsonObject, tryParseJson } from '../lib/json.ts';
import { isAmbiguous } from '../lib/reading/ambiguous.ts';
import { quoted } from '../lib/reading/quoted.ts';
import { formatDuration } from '../lib/units.ts';
import { ENTITIES } from '../mirror/catalog/entities.ts';
import { absent, apiOfStream, type ServiceAnswer } from '../store/answering.ts';
import type { Incident } from '../store/incidents.ts';
import type { Db } from '../store/store.ts';
import { INCIDENTS } from './incident-kinds.ts';

/** Step by which time zones differ: quarters of an hour. */
const ZONE_STEP_MS = 15 * 60_000;
/** Most milliseconds by which the real delays of events vary. */
const SPREAD_MS_MAX = 5 * 60_000;
/** Fewest delays that a time-zone offset is concluded from; fewer may agree by chance. */
const TIMES_MIN = 10;

/** Offset in ms that all delays have in common, as between two time zones; 0: they have none. */
function constantOffset(lates: readonly number[]): number {
  if (lates.length < TIMES_MIN) return 0;
  const [least, most] = [Math.min(...lates), Math.max(...lates)];
  const steps = Math.floor((least + SPREAD_MS_MAX / 5) / ZONE_STEP_MS) * ZONE_STEP_MS;
  return steps > 0 && most - steps <= SPREAD_MS_MAX ? steps : 0;
}
export const CAUSE_KINDS = [
  'unknown_status',
  'unreadable_member',
  'no_currency',
  'clock_ahead',
  'clock_behind',
  'shared_number',
  'never_complete',
  'reads_late',
  'quarantined',
] as const;

export interface Cause extends Incident {
  readonly kind: (typeof CAUSE_KINDS)[number];
  readonly detail: {
    readonly says: string;
    /** Advice: the setting to write, or the command to run. */
    readonly advice: string;
    readonly rows: number;
  };
}

/** A fault as the status shows it to people: a sentence, and what to do. */
export interface ToldCause {
  /** Kind of the incident. */
  readonly kind: string;
  readonly says: string;
  readonly advice: string;
}

/** Kinds whose reason is the service while it does not answer, whatever else they name. */
const BY_ABSENCE: ReadonlySet<string> = new Set([
  'accepts_wait',
  'never_complete',
  'push_late',
  'reads_late',
  'refund_unconfirmed',
]);

/** Most kinds and sentences that are told; beyond them a person reads the list of incidents. */
const TOLD_MAX = 50;

/**
 * Tells the open incidents: by their own sentence and advice if they have one, else by the words of
 * their kind, with their number. Waits are told with the absence of the service that explains them.
 */
export async function openCauses(
  db: Db,
  answers: readonly ServiceAnswer[] = [],
): Promise<readonly ToldCause[]> {
  const { rows } = await sql<{
    readonly kind: string;
    readonly key: string;
    readonly says: string | null;
    readonly advice: string | null;
    readonly count: number;
  }>`
    select kind, detail ->> '$.says' says, max(key) key,
      max(coalesce(detail ->> '$.advice', detail ->> '$.hint')) advice, count(*) count
    from (select id, kind, key, iif(json_valid(detail), detail, '{}') detail from incident
      where resolved_at is null)
    group by 1, 2 order by min(id) limit ${TOLD_MAX}
    `.execute(db);
  return rows.map(({ kind, key, says, advice, count }) => {
    const { when = kind, todo = '' } = INCIDENTS[kind] ?? {};
    const known = count > 1 ? `${count} times: ${when}` : when;
    const look = `${todo.replaceAll('`', '')}; details: "selvedge incidents list"`;
    const away = BY_ABSENCE.has(kind) ? absent(answers, apiOfStream(key)) : undefined;
    const because = away === undefined ? '' : `; ${away}`;
    return { kind, says: `${says ?? known}${because}`, advice: advice ?? look };
  });
}

/** Entities whose rows people find by words and a path. */
const THINGS = ENTITIES.flatMap(({ shown, ...rest }) => (shown ? [{ ...rest, ...shown }] : []));
type Thing = (typeof THINGS)[number];

/** Most unknown statuses of one entity that are reported. */
const STATUSES_MAX = 20;

interface Odd {
  readonly status: string;
  readonly rows: number;
  readonly example: number;
}

/** Known statuses as SQL literals: with parameters SQLite would not use the partial index. */
function listed(of: keyof typeof STATUSES) {
  return sql.raw(STATUSES[of].map((status) => `'${status}'`).join(', '));
}

async function oddIn(db: Db, { table, key, of }: Thing): Promise<readonly Odd[]> {
  if (of === undefined) return [];
  const { rows } = await sql<Odd>`
    select status, count(*) rows, max(${sql.ref(key)}) example from ${sql.table(table)}
    where status not in (${listed(of)}) and status <> '' and deleted_at is null
    group by status order by rows desc limit ${STATUSES_MAX}`.execute(db);
  return rows;
}

/** Writes a status as a YAML scalar. */
function scalar(word: string): string {
  return /^[A-Za-z][\w-]*$/.test(word) ? word : JSON.stringify(word);
}

async function unknownStatuses(db: Db): Promise<readonly Cause[]> {
  const causes: Cause[] = [];
  for (const thing of THINGS) {
    const { entity, plural, of } = thing;
    for (const { status, rows, example } of await oddIn(db, thing)) {
      const which = `${rows} ${plural} (such as ${example})`;
      const says = `${which} have the status "${status}", which nobody knows: none is decided`;
      const means = of === undefined ? '' : STATUSES[of].join('|');
      const word = `{ of: ${of}, says: ${scalar(status)}, means: … }`;
      const advice = `say what it means (${means}): service.dialect.v1.statuses: [${word}]`;
      causes.push({ kind: 'unknown_status', entity, key: status, detail: { says, advice, rows } });
    }
  }
  return causes;
}

/** Most different values of the column `unread` that are examined; with lines there are many. */
const LISTS_MAX = 500;
const MEMBERS_MAX = 20;
const EXAMPLE_CHARS_MAX = 60;

interface Unread {
  readonly unread: string;
  readonly rows: number;
  readonly example: string | number;
}

interface Found {
  rows: number;
  readonly path: string;
  readonly example: string | number;
}

/** Name of a member without line numbers: `fulfilledLineItems.price` for all lines. */
function memberOf(path: string): string {
  return path.replaceAll(/\.\d+(?=\.|$)/g, '');
}

async function foundIn(db: Db, { table, key }: Thing): Promise<ReadonlyMap<string, Found>> {
  const { rows: lists } = await sql<Unread>`
    select unread, count(*) rows, max(${sql.ref(key)}) example from ${sql.table(table)}
    where unread is not null and deleted_at is null
    group by unread order by rows desc limit ${LISTS_MAX}`.execute(db);
  const found = new Map<string, Found>();
  for (const { unread, rows, example } of lists) {
    const paths = tryParseJson(unread);
    const own = new Map((Array.isArray(paths) ? paths : []).map((p) => [memberOf(String(p)), p]));
    for (const [member, path] of own) {
      const known = found.get(member);
      if (known) known.rows += rows;
      else found.set(member, { rows, path: String(path), example });
    }
  }
  return found;
}

function at(value: unknown, path: readonly string[]): unknown {
  const [name, ...below] = path;
  if (name === undefined) return value;
  return isJsonObject(value) ? at(value[name], below) : undefined;
}

async function keptOf(db: Db, thing: Thing, { path, example }: Found): Promise<unknown> {
  const [head = '', index, ...below] = path.split('.');
  const lines = head === thing.lines?.member ? thing.lines.table : undefined;
  const isLine = lines !== undefined && index !== undefined;
  const table = isLine ? lines : thing.entity;
  const line = isLine ? sql`and line_no = ${Number(index) + 1}` : sql``;
  const column = sql.ref(head === 'shippingAddress' && index ? 'shipping_address' : 'extra');
  const { rows } = await sql<{ readonly kept: string }>`select ${column} kept
    from ${sql.table(table)} where ${sql.ref(thing.key)} = ${example} ${line}`.execute(db);
  const kept = tryParseJson(rows[0]?.kept ?? '');
  if (isLine) return at(kept, below);
  return at(kept, head === 'shippingAddress' && index ? [index, ...below] : path.split('.'));
}

async function orderOf(db: Db, { table, key }: Thing, example: string | number): Promise<unknown> {
  const { rows } = await sql<{ readonly id: number }>`select order_id id from ${sql.table(table)}
    where ${sql.ref(key)} = ${example}`.execute(db);
  return rows[0]?.id;
}

async function adviceFor(db: Db, thing: Thing, { example }: Found): Promise<string> {
  const isOfOrder = thing.path.includes('{order}');
  const order = isOfOrder ? String(await orderOf(db, thing, example)) : '';
  const name = encodeURIComponent(String(example));
  const path = thing.path.replace('{order}', order).replace('{key}', name);
  const look = `"selvedge api GET ${path}" shows it as it comes`;
  return isOfOrder ? look : `${look}; under another name: service.dialect.v1.members`;
}

const DECIMALS =
  'say whether it has decimals or thousands: service.dialect.v1.decimals: point or comma';

async function unreadableMembers(db: Db): Promise<readonly Cause[]> {
  const causes: Cause[] = [];
  for (const thing of THINGS) {
    const { entity, plural } = thing;
    const found = [...(await foundIn(db, thing))].sort(([, a], [, b]) => b.rows - a.rows);
    for (const [member, one] of found.slice(0, MEMBERS_MAX)) {
      const raw = await keptOf(db, thing, one);
      const shown = quoted((JSON.stringify(raw) ?? '').slice(0, EXAMPLE_CHARS_MAX));
      const came = raw === undefined ? 'is missing' : `came as ${shown}`;
      const example = `${came}, for example in ${one.example}`;
      const what = `${memberWords(member)} of ${one.rows} ${plural}`;
      const says = `${what} cannot be read (${example}): it is unknown`;
      const look = await adviceFor(db, thing, one);
      const named = `the member is ${member}; ${look}`;
      const advice = isAmbiguous(raw) ? `${DECIMALS}; ${named}` : named;
      const detail = { says, advice, rows: one.rows };
      causes.push({ kind: 'unreadable_member', entity, key: member, detail });
    }
  }
  return causes;
}

/** Newest deliveries examined: they tell how it is now, and all would take as long as a report. */
const NEWEST = 200;

/** SQL: a list of variants was never read to its end, so their currencies may still come. */
const variantsAreUnread = sql<boolean>`exists (select 1 from stream_state
  where stream in ('stock', 'season') and complete_at is null)`;

/** Newest pending deliveries whose order has no known currency. */
async function noCurrency(db: Db): Promise<readonly Cause[]> {
  const { rows } = await sql<{
    readonly rows: number;
    readonly example: number | null;
    readonly word: string | null;
  }>`
    select count(*) rows, max(order_id) example, max(currency) word from (
      select d.order_id,
        (select c.currency from order_currency c where c.order_id = d.order_id) currency
      from (
        select order_id from delivery where status = 'pending' and deleted_at is null
        order by order_delivery_id desc limit ${NEWEST}) d
      join sales_order o on o.order_id = d.order_id)
    where currency is null and not ${variantsAreUnread}
      or trim(currency) not glob '[A-Za-z][A-Za-z][A-Za-z]'`.execute(db);
  const [found] = rows;
  if (!found || found.rows === 0) return [];
  const { rows: count, example, word } = found;
  const why =
    word === null
      ? 'the order names none, and the variants of its lines agree on none'
      : `the order names "${word}", which is no code`;
  const which = `${count} of the newest pending deliveries (such as of order ${example})`;
  const says = `the currency of ${which} is not known: ${why}`;
  const advice = 'set service.dialect.v1.currency, for example EUR';
  const detail = { says, advice, rows: count };
  return [{ kind: 'no_currency', entity: 'sales_order', key: 'currency', detail }];
}

const ZONE_ADVICE =
  'if they name no zone, set service.dialect.v1.timeZone, for example Europe/Copenhagen; else ' +
  'look at both clocks (timedatectl)';

/** Milliseconds by which the service's clock may be ahead of ours before it is a cause. */
const AHEAD_MS_MAX = 5 * 60_000;
/** Largest difference in ms that may still be a time zone's. */
const ZONE_MS_MAX = 86_400_000;
/** Newest rows of each table that are examined. */
const LATEST = 20;

/**
 * Finds times of the service that lay in the future when they were read: its clock is ahead, or
 * they are of another time zone.
 */
async function clockAhead(db: Db, timeZone: string): Promise<readonly Cause[]> {
  const { rows } = await sql<{ readonly ahead: number; readonly of: number }>`
    select created_at - changed_at ahead, order_id "of" from (
      select * from (select order_id, created_at, changed_at from sales_order
        order by order_id desc limit ${LATEST})
      union all
      select * from (select order_id, created_at, changed_at from delivery
        order by order_delivery_id desc limit ${LATEST}))
    where created_at > changed_at + ${AHEAD_MS_MAX} order by 1`.execute(db);
  const [least] = rows;
  if (!least) return [];
  const steps = Math.round(least.ahead / ZONE_STEP_MS) * ZONE_STEP_MS;
  const isZone = Math.abs(least.ahead - steps) < AHEAD_MS_MAX;
  const by = formatDuration(isZone ? steps : least.ahead);
  const which = `order ${least.of}; read as ${timeZone}`;
  const says = `times of the service are ${by} ahead of this clock (${which})`;
  const detail = { says, advice: ZONE_ADVICE, rows: rows.length };
  return [{ kind: 'clock_ahead', entity: 'service', key: 'createdAt', detail }];
}

/** Finds times a time-zone difference in the past, although their events come at once. */
async function clockBehind(db: Db, timeZone: string): Promise<readonly Cause[]> {
  const { rows } = await sql<{ readonly late: number }>`
    select at - created_at late from event_coverage
    where by_event and order_delivery_id >= (select min(order_delivery_id) from (
      select order_delivery_id from delivery order by order_delivery_id desc limit ${NEWEST}))
    order by order_delivery_id desc limit ${LATEST}`.execute(db);
  // A delivery dated back by more than a zone can differ was packed long before its event.
  const lates = rows.map(({ late }) => late).filter((late) => late < ZONE_MS_MAX);
  const offsetMs = constantOffset(lates);
  if (offsetMs === 0) return [];
  const by = formatDuration(offsetMs);
  const says = `times of the service are ${by} behind this clock (read as ${timeZone})`;
  const detail = { says, advice: ZONE_ADVICE, rows: 1 };
  return [{ kind: 'clock_behind', entity: 'service', key: 'createdAt', detail }];
}

const PLURALS: Readonly<Record<string, string>> = {
  delivery: 'deliveries',
  refund: 'refunds',
  pending_refund: 'pending refunds',
};

/** Finds deliveries and refunds whose number two orders have. */
async function sharedNumbers(db: Db): Promise<readonly Cause[]> {
  const { rows } = await sql<{
    readonly entity: string;
    readonly rows: number;
    readonly number: number;
    readonly other: number;
  }>`
    select entity, count(*) rows, max(number) number, order_id other from shared_number
    group by entity order by entity`.execute(db);
  const causes: Cause[] = [];
  for (const { entity, rows: count, number, other } of rows) {
    const [table, key] = [sql.table(entity), sql.ref(NUMBERS[entity] ?? 'order_id')];
    const own = await sql<{ readonly id: number }>`
      select order_id id from ${table} where ${key} = ${number}`.execute(db);
    const orders = [own.rows[0]?.id, other].filter((id) => id !== undefined).join(' and ');
    const plural = PLURALS[entity] ?? entity;
    const which = `${number} in orders ${orders}`;
    const says = `${count} ${plural} have a number of another order's as well: ${which}; they wait`;
    const advice = 'they are told apart by their number alone: decide them in the service';
    const detail = { says, advice, rows: count };
    causes.push({ kind: 'shared_number', entity, key: 'number', detail });
  }
  return causes;
}

const NUMBERS: Readonly<Record<string, string>> = {
  delivery: 'order_delivery_id',
  refund: 'order_refund_id',
  pending_refund: 'pending_refund_id',
};

/** Runs in a row without a complete one that make a stream count as never complete. */
const RUNS = 4;

interface EndedRun {
  readonly outcome: string;
  readonly reason: string | null;
}

/** Reason of an incomplete run without its numbers, which grow from run to run. */
function doubtIn({ outcome, reason }: EndedRun): string {
  return `${outcome}: ${reason ?? ''}`.replaceAll(/\d+/g, '#');
}

/** Finds streams none of whose latest runs was complete, whether for one reason or for several. */
async function neverComplete(db: Db, pulled: readonly string[]): Promise<readonly Cause[]> {
  const known = await db.selectFrom('stream_state').select('stream').orderBy('stream').execute();
  const streams = known.filter(({ stream }) => pulled.includes(stream));
  const causes: Cause[] = [];
  for (const { stream } of streams) {
    const runs = await db
      .selectFrom('sync_run')
      .select(['outcome', 'reason'])
      .where('stream', '=', stream)
      .where('outcome', '!=', 'running')
      .orderBy('run_id', 'desc')
      .limit(RUNS)
      .execute();
    const [last] = runs;
    if (!last || runs.length < RUNS || runs.some(({ outcome }) => outcome === 'complete')) continue;
    const reasons = new Set(runs.map(doubtIn)).size;
    const why = last.reason ?? `its last run: ${wordFor('runOutcome', last.outcome)}`;
    const which = reasons === 1 ? why : `for ${reasons} reasons, the last: ${why}`;
    const named = wordFor('stream', stream);
    const says = `the pull of ${named} was not complete ${RUNS} times in a row: ${which}`;
    const isSuspicious = last.outcome === 'suspicious';
    const release = isSuspicious ? ['if its data is right: selvedge sync release <run>'] : [];
    const advice = [`selvedge sync show ${stream}`, ...release].join('; ');
    const detail = { says, advice, rows: RUNS };
    causes.push({ kind: 'never_complete', entity: 'stream', key: stream, detail });
  }
  return causes;
}

/** Milliseconds for which an order may wait to be read again before that is told. */
const READS_MS_MAX = 15 * 60_000;

/** Finds orders that events announced, or that wait after a failure, and that nobody has read. */
async function readsLate(db: Db, now: number): Promise<readonly Cause[]> {
  const { rows } = await sql<{
    readonly rows: number;
    readonly example: number | null;
    readonly since: number | null;
    readonly error: string | null;
  }>`
    select count(*) rows, order_id example, min(requested_at) since, last_error error
    from refresh where requested_at <= ${now - READS_MS_MAX}`.execute(db);
  const [found] = rows;
  if (!found || found.since === null) return [];
  const since = new Date(found.since).toISOString();
  const which = `${found.rows} orders wait to be read again, the oldest (${found.example})`;
  const why = found.error === null ? '' : `: ${found.error}`;
  const says = `${which} since ${since}${why}`;
  const advice = 'selvedge events list --follow; selvedge doctor tries the service';
  const detail = { says, advice, rows: found.rows };
  return [{ kind: 'reads_late', entity: 'sales_order', key: 'refresh', detail }];
}

/** Finds rows of the service or the ERP that could not be understood, by their kind. */
async function quarantined(db: Db): Promise<readonly Cause[]> {
  const { rows } = await sql<{ readonly entity: string; readonly rows: number }>`
    select entity, count(*) rows from quarantine group by entity order by entity`.execute(db);
  return rows.map(({ entity, rows: count }) => {
    const what = wordFor('thing', entity);
    const says = `${count} rows (${what}) could not be understood, and are not in the mirror`;
    const advice =
      'the table quarantine has each with its reason; once it is corrected: ' +
      'selvedge sync retry-quarantine --reason "…"';
    const detail = { says, advice, rows: count };
    return { kind: 'quarantined', entity, key: 'rows', detail };
  });
}

export interface CausesAsked {
  readonly timeZone: string;
  readonly now: number;
  /** Streams that are pulled, since nothing ends what others were told for. */
  readonly pulled: readonly string[];
}

export async function readCauses(
  db: Db,
  { timeZone, now, pulled }: CausesAsked,
): Promise<readonly Cause[]> {
  const questions = [
    unknownStatuses,
    unreadableMembers,
    noCurrency,
    sharedNumbers,
    (of: Db) => neverComplete(of, pulled),
    (of: Db) => readsLate(of, now),
    quarantined,
    (of: Db) => clockAhead(of, timeZone),
    (of: Db) => clockBehind(of, timeZone),
  ];
  const causes: Cause[] = [];
  for (const ask of questions) {
    causes.push(...(await ask(db)));
    // Yields between questions: the driver is synchronous, and others need their turn.
    await nextTurn();
  }
  return causes;
}
