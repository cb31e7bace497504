/**
 * The change guard. Pages are committed as they arrive, so a faulty service (every quantity 0,
 * cents for euros, details cut off) reaches the mirror at once. When most comparable rows of a run
 * changed drastically, people are told and the rules' decisions wait
 * (decisions/accept/freshness.ts) until a person accepts the run or a later run finds the rows
 * restored. Reads the counts of the pages (`sync_run.drastic`) and, for open runs, the change feed.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { sql } from 'kysely';
import { canonicalJson, sha256 } from '../../lib/json.ts';
import { PDM } from '../../mirror/catalog/pdm.ts';
import { STOCK_VARIANT, seasonVariants } from '../../mirror/catalog/variant.ts';
import {
  createDrasticCounter,
  type Drastic,
  describeDrastic,
  drasticIn,
  type GuardedColumns,
  groupsOf,
  membersOfDrastic,
  NOT_DRASTIC,
  sumOfDrastic,
} from '../../mirror/rows/drastic.ts';
import { countGroup } from '../../mirror/rows/full-diff.ts';
import type { EntityDefinition } from '../../mirror/rows/prepared.ts';
import { inKeys, lastChange, type SqlRow, type SqlValue, selectByKeys } from '../../store/bulk.ts';
import type { Db, Store } from '../../store/store.ts';
import type { Stream } from '../stream.ts';
import { READING_VERSION } from '../upgrade.ts';
import type { AssessDeps } from './assess-completeness.ts';
import type { ChangesEnd, Run } from './run-repository.ts';

/** Number of rows that may change drastically in any case: a small shop sells its last pieces. */
const ROWS_MAX = 100;
/**
 * Number of rows of one brand or season that may lose members in any case. There is no such number
 * for a whole list: it may be short.
 */
const GROUP_MEMBERS_MAX = 10;
/** Share of the compared rows that may change drastically. */
const SHARE_MAX = 0.5;
/**
 * Share of the rows that were told of which may still be as they came when the incident ends: a
 * part of a list restores only its own rows.
 */
const LEFT_SHARE_MAX = 0.1;

/** Number of change feed entries that are read per turn of the event loop. */
const SLICE = 1_000;

const READING_CHARS = 16;

/**
 * Hash of all that determines how the stream's list is read: program version, settings and options.
 */
export function readingOf({ reading = '', options }: Stream): string {
  return sha256(canonicalJson([READING_VERSION, reading, options])).slice(0, READING_CHARS);
}

interface Counted {
  readonly drastic: Drastic;
  /** Number of rows that the run could compare with the mirror. */
  readonly compared: number;
}

function countedOf(row: {
  readonly rows_changed: number;
  readonly rows_new: number;
  readonly rows_unchanged: number;
  readonly rows_drastic: number;
  readonly drastic: string;
}): Counted {
  const compared = row.rows_changed - row.rows_new + row.rows_unchanged;
  return { drastic: drasticIn(row), compared: Math.max(compared, row.rows_drastic) };
}

interface Changed {
  readonly rows: number;
  /** Rows of which more than a quantity changed. */
  readonly members: number;
}

/** Number of rows that are too many of so many; undefined: they are within the limits. */
function tooManyOf({ rows, members }: Changed, of: number, membersMax: number): number | undefined {
  if (rows > ROWS_MAX && rows / of > SHARE_MAX) return rows;
  return members > membersMax && members / of > SHARE_MAX ? members : undefined;
}

/** Whether rows of a run may be too many, whatever the number of those it compares. */
export function mayBeTooMany(drastic: Drastic): boolean {
  return drastic.rows > ROWS_MAX || membersOfDrastic(drastic) > 0;
}

type CountGroup = AssessDeps['variants']['countGroup'];

/**
 * Describes why too many rows of the list changed drastically; undefined: they are within the
 * limits.
 */
async function massOf(
  countOf: CountGroup,
  { table, key }: EntityDefinition,
  { drastic, compared }: Counted,
): Promise<string | undefined> {
  const words = (rows: number, of: number, what: string): string =>
    `${rows} of ${of} rows${what} changed at once (${describeDrastic(drastic)})`;
  const all = { rows: drastic.rows, members: membersOfDrastic(drastic) };
  const many = tooManyOf(all, compared, 0);
  if (many !== undefined) return words(many, compared, '');
  for (const { column, value, left, ...changed } of groupsOf(drastic)) {
    if (changed.rows <= ROWS_MAX && changed.members <= GROUP_MEMBERS_MAX) continue;
    const of = left + (await countOf({ table, key }, column, value));
    const ofGroup = tooManyOf(changed, of, GROUP_MEMBERS_MAX);
    if (ofGroup !== undefined) return words(ofGroup, of, ` with the ${column} ${value}`);
  }
  return undefined;
}

function countsOfRun(db: Db, { runId }: Pick<Run, 'runId'>) {
  return db
    .selectFrom('sync_run')
    .select(['rows_changed', 'rows_new', 'rows_unchanged', 'rows_drastic'])
    .select(['drastic', 'change_guard', 'feed_from'])
    .where('run_id', '=', runId)
    .executeTakeFirstOrThrow();
}

interface OpenRun extends Counted {
  readonly runId: number;
  readonly outcome: string;
  readonly from: number;
  readonly to: number;
}

async function openRuns(
  db: Db,
  { stream, runId }: Pick<Run, 'stream' | 'runId'>,
): Promise<readonly OpenRun[]> {
  const rows = await db
    .selectFrom('sync_run')
    .select(['run_id', 'outcome', 'feed_from', 'feed_to', 'drastic'])
    .select(['rows_changed', 'rows_new', 'rows_unchanged', 'rows_drastic'])
    .where('stream', '=', stream)
    // As the text of its index, which a parameter would not be.
    .where('change_guard', '=', sql.lit('open'))
    .where('run_id', '<', runId)
    .orderBy('run_id')
    .execute();
  return rows.map((row) => ({
    ...countedOf(row),
    runId: row.run_id,
    outcome: row.outcome,
    from: row.feed_from,
    to: row.feed_to ?? row.feed_from,
  }));
}

interface Entry {
  readonly seq: number;
  readonly key: string;
  readonly diff: string;
}

/** Former values of the columns that the feed entry names. */
function olderOf({ diff }: Pick<Entry, 'diff'>): SqlRow {
  const changes: Record<string, readonly [SqlValue, SqlValue]> = JSON.parse(diff);
  return Object.fromEntries(Object.entries(changes).map(([column, [old]]) => [column, old]));
}

/** Columns of rows as they were before these runs, which wait for a person, changed them. */
async function trustedOf(
  db: Db,
  { entity }: EntityDefinition,
  keys: readonly string[],
  doubtful: readonly OpenRun[],
): Promise<ReadonlyMap<string, SqlRow>> {
  const trusted = new Map<string, SqlRow>();
  if (doubtful.length === 0) return trusted;
  const causes = doubtful.map(({ runId }) => `run:${runId}`);
  const entries = await db
    .selectFrom('change')
    .select(['key', 'diff'])
    .where('entity', '=', entity)
    .where(inKeys('key', keys))
    .where('seq', '>', Math.min(...doubtful.map(({ from }) => from)))
    .where('cause', 'in', causes)
    .where('op', '=', 'update')
    .orderBy('seq', 'desc')
    .execute();
  for (const entry of entries) {
    trusted.set(entry.key, { ...trusted.get(entry.key), ...olderOf(entry) });
  }
  return trusted;
}

/**
 * Drastic changes of the run that the mirror still has. What takes back a change of the doubtful
 * runs is none, though it may be as large: prices of cents that are euros again.
 */
async function stillDrastic(
  db: Db,
  definition: EntityDefinition,
  guarded: GuardedColumns,
  { runId, from, to }: Pick<OpenRun, 'runId' | 'from' | 'to'>,
  doubtful: readonly OpenRun[],
): Promise<Drastic> {
  const { entity, table, key } = definition;
  const counter = createDrasticCounter(guarded);
  for (let after = from; ; ) {
    const entries = await db
      .selectFrom('change')
      .select(['seq', 'key', 'diff'])
      .where('seq', '>', after)
      .where('seq', '<=', to)
      .where('entity', '=', entity)
      .where('cause', '=', `run:${runId}`)
      .where('op', '=', 'update')
      .orderBy('seq')
      .limit(SLICE)
      .execute();
    const last = entries.at(-1);
    if (!last) return counter.take();
    const keys = entries.map((entry) => entry.key);
    const rows = await selectByKeys(db, table, key, keys);
    const live = rows.filter((row) => row.deleted_at === null);
    const now = new Map(live.map((row) => [String(row[key]), row]));
    const trusted = await trustedOf(db, definition, keys, doubtful);
    for (const entry of entries) {
      const row = now.get(entry.key);
      if (!row) continue;
      const before = { ...row, ...olderOf(entry) };
      const first = { ...before, ...trusted.get(entry.key) };
      counter.note(before, (column) => row[column] ?? null, first);
    }
    after = last.seq;
    // The database driver is synchronous, so the event loop gets a turn for the listener.
    await nextTurn();
  }
}

/**
 * Tells whether the change feed still has all entries after this one: without them it cannot be
 * seen whether rows are as they were.
 */
async function isFeedKept(db: Db, { from, to }: Pick<OpenRun, 'from' | 'to'>): Promise<boolean> {
  if (to <= from) return true;
  const first = await db
    .selectFrom('change')
    .select('seq')
    .orderBy('seq')
    .limit(1)
    .executeTakeFirst();
  return first !== undefined && first.seq <= from + 1;
}

function describeMass(mass: string, { stream, runId }: Pick<Run, 'stream' | 'runId'>): string {
  const advice = `${mass}: rules that read ${stream} wait; look at the service, then:`;
  return `${advice} selvedge sync release ${runId}`;
}

interface JudgeDeps {
  readonly store: Store;
  readonly countOf: CountGroup;
}

interface Guarded {
  readonly entity: EntityDefinition;
  readonly guarded: GuardedColumns;
}

/** Sum of what the stream's runs changed drastically, from the first of these to the last. */
async function drasticSince(
  db: Db,
  first: number,
  { stream, runId }: Pick<Run, 'stream' | 'runId'>,
): Promise<Drastic> {
  const rows = await db
    .selectFrom('sync_run')
    .select(['rows_drastic', 'drastic'])
    .where('stream', '=', stream)
    .where('run_id', '>=', first)
    .where('run_id', '<=', runId)
    .where('rows_drastic', '>', 0)
    .execute();
  return rows.map(drasticIn).reduce(sumOfDrastic, NOT_DRASTIC);
}

/**
 * Looks whether the changes of open runs were reverted, or whether those of one that did not read
 * the whole list are few among all its rows, with all that was changed since. A run is over only
 * with all that were told after it: those are compared with what was before it, or its fault would
 * be the truth to them. `whole`: number of rows of the list, if the run read it to its end.
 */
async function restoredOf(
  { store: { db }, countOf }: JudgeDeps,
  { entity, guarded }: Guarded,
  run: Pick<Run, 'stream' | 'runId'>,
  open: readonly OpenRun[],
  whole: number,
): Promise<readonly number[]> {
  const over: number[] = [];
  const isWithin = async (compared: number, drastic: Drastic) =>
    (await massOf(countOf, entity, { compared, drastic })) === undefined;
  for (const [nth, { compared, ...one }] of [...open.entries()].reverse()) {
    const isPart = one.outcome !== 'complete' && compared < whole;
    if (!isPart || !(await isWithin(whole, await drasticSince(db, one.runId, run)))) {
      const left = await stillDrastic(db, entity, guarded, one, open.slice(0, nth));
      // The rest may be all of one brand.
      const isLeft = left.rows > one.drastic.rows * LEFT_SHARE_MAX;
      if (isLeft || !(await isWithin(compared, left))) break;
    }
    over.push(one.runId);
  }
  return over;
}

/** Judges the run's drastic changes, and whether those of earlier open runs were reverted. */
export async function judgeChanges(
  deps: JudgeDeps,
  entity: EntityDefinition | undefined,
  run: Pick<Run, 'stream' | 'runId'>,
  isWhole: boolean,
): Promise<ChangesEnd | undefined> {
  const { db } = deps.store;
  if (!entity?.guarded) return undefined;
  const { guarded } = entity;
  const row = await countsOfRun(db, run);
  const open: OpenRun[] = [];
  for (const one of await openRuns(db, run)) {
    if (await isFeedKept(db, one)) open.push(one);
  }
  const { compared, drastic } = countedOf(row);
  const over = await restoredOf(deps, { entity, guarded }, run, open, isWhole ? compared : 0);
  if (row.change_guard === 'off' || row.rows_drastic === 0) return { over };
  const feed = { from: row.feed_from, to: await lastChange(db), runId: run.runId };
  // Restoring a row may change it as drastically as losing it did.
  const isToDiscount = open.length > 0 && (await isFeedKept(db, feed));
  const own = isToDiscount ? await stillDrastic(db, entity, guarded, feed, open) : drastic;
  const mass = await massOf(deps.countOf, entity, { compared, drastic: own });
  if (mass === undefined) return { over };
  return { over, warning: describeMass(mass, run) };
}

/** Entity of each stream whose rows are guarded, for runs whose stream is not pulled any more. */
function guardedEntity(stream: string): EntityDefinition | undefined {
  if (stream === 'stock') return STOCK_VARIANT;
  if (stream === 'season') return seasonVariants('');
  return Object.entries(PDM).find(([name]) => name === stream)?.[1];
}

/**
 * Judges a run that ends without having read its whole list. `isLast`: no further run will look
 * whether its changes were reverted since, so that is done now.
 */
export async function judgeUnfinished(
  store: Store,
  run: Pick<Run, 'stream' | 'runId'>,
  isLast: boolean,
): Promise<ChangesEnd | undefined> {
  const { db } = store;
  const countOf: CountGroup = (of, column, value) => countGroup(db, of, column, value);
  const entity = guardedEntity(run.stream);
  const changes = await judgeChanges({ store, countOf }, entity, run, false);
  if (!isLast || changes?.warning === undefined || !entity?.guarded) return changes;
  const row = await countsOfRun(db, run);
  const feed = { from: row.feed_from, to: await lastChange(db), runId: run.runId };
  if (!(await isFeedKept(db, feed))) return changes;
  const left = await stillDrastic(db, entity, entity.guarded, feed, []);
  const mass = await massOf(countOf, entity, { ...countedOf(row), drastic: left });
  return mass === undefined ? { over: changes.over } : changes;
}
