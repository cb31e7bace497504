/**
 * The change guard. Pages are committed as they arrive, so a faulty service (every quantity 0,
 * cents for euros, details cut off) reaches the mirror at once. When most comparable rows of a run
 * changed drastically, people are told and the rules' decisions wait (decisions/holds/changes.ts)
 * until a person accepts the run or a later run finds the rows restored. Reads the counts of the
 * pages (`sync_run.drastic`) and, for open runs, the change feed.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
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
  sumOfDrastic,
} from '../../mirror/rows/drastic.ts';
import { countGroup } from '../../mirror/rows/full-diff.ts';
import type { EntityDefinition } from '../../mirror/rows/prepared.ts';
import { lastChange, type SqlRow, type SqlValue, selectByKeys } from '../../store/bulk.ts';
import type { Db, Store } from '../../store/store.ts';
import type { Stream } from '../stream.ts';
import { READING_VERSION } from '../upgrade.ts';
import type { AssessDeps } from './assess-completeness.ts';
import type { ChangesEnd, Run } from './run-repository.ts';

/**
 * Number of rows that may change drastically in any case; the index of `sync_run.rows_drastic` uses
 * the same number.
 */
export const ROWS_MAX = 100;
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

function isTooMuch(rows: number, of: number): boolean {
  return rows > ROWS_MAX && rows / of > SHARE_MAX;
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
  if (isTooMuch(drastic.rows, compared)) return words(drastic.rows, compared, '');
  const large = groupsOf(drastic).filter(({ rows }) => rows > ROWS_MAX);
  for (const { column, value, rows, left } of large) {
    const of = left + (await countOf({ table, key }, column, value));
    if (isTooMuch(rows, of)) return words(rows, of, ` with the ${column} ${value}`);
  }
  return undefined;
}

interface OpenRun extends Counted {
  readonly runId: number;
  readonly from: number;
  readonly to: number;
}

async function openRuns(
  db: Db,
  { stream, runId }: Pick<Run, 'stream' | 'runId'>,
): Promise<readonly OpenRun[]> {
  const rows = await db
    .selectFrom('sync_run')
    .select(['run_id', 'feed_from', 'feed_to', 'drastic'])
    .select(['rows_changed', 'rows_new', 'rows_unchanged', 'rows_drastic'])
    .where('stream', '=', stream)
    .where('rows_drastic', '>', ROWS_MAX)
    .where('change_guard', '=', 'open')
    .where('run_id', '<', runId)
    .orderBy('run_id')
    .execute();
  return rows.map((row) => ({
    ...countedOf(row),
    runId: row.run_id,
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
function olderOf({ diff }: Entry): SqlRow {
  const changes: Record<string, readonly [SqlValue, SqlValue]> = JSON.parse(diff);
  return Object.fromEntries(Object.entries(changes).map(([column, [old]]) => [column, old]));
}

/** Drastic changes of the run that the mirror still has. */
async function stillDrastic(
  db: Db,
  { entity, table, key }: EntityDefinition,
  guarded: GuardedColumns,
  { runId, from, to }: OpenRun,
): Promise<Drastic> {
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
    for (const entry of entries) {
      const row = now.get(entry.key);
      if (row) counter.note({ ...row, ...olderOf(entry) }, (column) => row[column] ?? null);
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

/** Judges the run's drastic changes, and whether those of earlier open runs were reverted. */
export async function judgeChanges(
  { store, countOf }: { readonly store: Store; readonly countOf: CountGroup },
  entity: EntityDefinition | undefined,
  run: Pick<Run, 'stream' | 'runId'>,
): Promise<ChangesEnd | undefined> {
  const { db } = store;
  if (!entity?.guarded) return undefined;
  const row = await db
    .selectFrom('sync_run')
    .select(['rows_changed', 'rows_new', 'rows_unchanged', 'rows_drastic'])
    .select(['drastic', 'change_guard'])
    .where('run_id', '=', run.runId)
    .executeTakeFirstOrThrow();
  const { compared, drastic } = countedOf(row);
  // Restored rows are discounted, because restoring a row changes it as drastically as losing it
  // did.
  let own = drastic;
  const over: number[] = [];
  for (const open of await openRuns(db, run)) {
    if (!(await isFeedKept(db, open))) continue;
    const left = await stillDrastic(db, entity, entity.guarded, open);
    const isRestored = left.rows <= open.drastic.rows * LEFT_SHARE_MAX;
    if (isRestored) over.push(open.runId);
    own = sumOfDrastic(sumOfDrastic(own, open.drastic, -1), left);
  }
  const isJudged = row.change_guard !== 'off' && own.rows > 0;
  const mass = isJudged ? await massOf(countOf, entity, { compared, drastic: own }) : undefined;
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
  const changes = await judgeChanges({ store, countOf }, entity, run);
  if (!isLast || changes?.warning === undefined || !entity?.guarded) return changes;
  const row = await db
    .selectFrom('sync_run')
    .select(['feed_from', 'drastic'])
    .select(['rows_changed', 'rows_new', 'rows_unchanged', 'rows_drastic'])
    .where('run_id', '=', run.runId)
    .executeTakeFirstOrThrow();
  const feed = { from: row.feed_from, to: await lastChange(db) };
  if (!(await isFeedKept(db, feed))) return changes;
  const counted = { ...countedOf(row), runId: run.runId, ...feed };
  const left = await stillDrastic(db, entity, entity.guarded, counted);
  const mass = await massOf(countOf, entity, { ...counted, drastic: left });
  return mass === undefined ? { over: changes.over } : changes;
}
