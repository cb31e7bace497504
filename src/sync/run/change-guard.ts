/**
 * The change guard. Pages are committed as they come, so a service at fault (every quantity 0,
 * cents for euros, details cut off) has the mirror at once. When most rows that a run could compare
 * have changed drastically, people are told, and decisions of the rules wait
 * (decisions/holds/changes.ts) until a person accepts the run or a later one finds the rows as they
 * were.
 *
 * Reads what pages have counted (`sync_run.drastic`) and, for runs that are open, the change feed.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { canonicalJson, sha256 } from '../../lib/json.ts';
import {
  createDrasticCounter,
  type Drastic,
  drasticIn,
  type GuardedColumns,
  groupsOf,
  sumOfDrastic,
  toldOfDrastic,
} from '../../mirror/rows/drastic.ts';
import type { EntityDefinition } from '../../mirror/rows/prepared.ts';
import { type SqlRow, type SqlValue, selectByKeys } from '../../store/bulk.ts';
import type { Db } from '../../store/store.ts';
import type { Stream } from '../stream.ts';
import { READING_VERSION } from '../upgrade.ts';
import type { ChangesEnd, Run } from './ledger.ts';
import type { SettleDeps } from './settle.ts';

/** So few rows may change in any way; the index of `sync_run.rows_drastic` says it, too. */
const ROWS_MAX = 100;
/** So much of what was compared may. */
const SHARE_MAX = 0.5;

/** Entries of the change feed that are looked at before others have their turn. */
const SLICE = 1_000;

const READING_CHARS = 16;

/** By which program, settings and options the stream's list is read. */
export function readingOf({ reading = '', options }: Stream): string {
  return sha256(canonicalJson([READING_VERSION, reading, options])).slice(0, READING_CHARS);
}

interface Counted {
  readonly drastic: Drastic;
  /** Rows that the run could compare with what was there. */
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

/** What of the list changed at once, in words; undefined: no more than may. */
async function massOf(
  { variants }: SettleDeps,
  { table, key }: EntityDefinition,
  { drastic, compared }: Counted,
): Promise<string | undefined> {
  const words = (rows: number, of: number, what: string): string =>
    `${rows} of ${of} rows${what} changed at once (${toldOfDrastic(drastic)})`;
  if (isTooMuch(drastic.rows, compared)) return words(drastic.rows, compared, '');
  const large = groupsOf(drastic).filter(({ rows }) => rows > ROWS_MAX);
  for (const { column, value, rows, left } of large) {
    const of = left + (await variants.countGroup({ table, key }, column, value));
    if (isTooMuch(rows, of)) return words(rows, of, ` with the ${column} ${value}`);
  }
  return undefined;
}

interface OpenRun extends Counted {
  readonly runId: number;
  readonly from: number;
  readonly to: number;
}

async function openRuns(db: Db, { stream, runId }: Run): Promise<readonly OpenRun[]> {
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
    ...{ runId: row.run_id, from: row.feed_from, to: row.feed_to ?? row.feed_from },
  }));
}

interface Entry {
  readonly seq: number;
  readonly key: string;
  readonly diff: string;
}

/** The values of before, of the columns that the entry of the feed names. */
function olderOf({ diff }: Entry): SqlRow {
  const changes: Record<string, readonly [SqlValue, SqlValue]> = JSON.parse(diff);
  return Object.fromEntries(Object.entries(changes).map(([column, [old]]) => [column, old]));
}

/** What of the run's drastic changes the mirror still has. */
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
    // The driver is synchronous: without this the listener would wait until all is seen.
    await nextTurn();
  }
}

/** Judges what the run changed, and whether what earlier ones did is as it was again. */
export async function judgeChanges(
  deps: SettleDeps,
  { list }: Stream,
  run: Run,
): Promise<ChangesEnd | undefined> {
  const { db } = deps.store;
  const entity = list?.entity;
  if (!entity?.guarded) return undefined;
  const row = await db
    .selectFrom('sync_run')
    .select(['rows_changed', 'rows_new', 'rows_unchanged', 'rows_drastic'])
    .select(['drastic', 'change_guard'])
    .where('run_id', '=', run.runId)
    .executeTakeFirstOrThrow();
  const { compared, drastic } = countedOf(row);
  // To bring a row back is as drastic as to take it away, and is no news.
  let own = drastic;
  const over: number[] = [];
  for (const open of await openRuns(db, run)) {
    const left = await stillDrastic(db, entity, entity.guarded, open);
    if ((await massOf(deps, entity, { ...open, drastic: left })) === undefined) {
      over.push(open.runId);
    }
    own = sumOfDrastic(sumOfDrastic(own, open.drastic, -1), left);
  }
  const isJudged = row.change_guard !== 'off' && own.rows > 0;
  const mass = isJudged ? await massOf(deps, entity, { compared, drastic: own }) : undefined;
  if (mass === undefined) return { over };
  const told = `${mass}: rules that read ${run.stream} wait; look at the service, then:`;
  return { over, told: `${told} selvedge sync release ${run.runId}` };
}
