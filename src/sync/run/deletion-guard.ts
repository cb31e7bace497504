/**
 * The deletion guard: limits how much a run may delete before a person has looked. The run's
 * deletions count alone and, against the share, together with those of the last 24 hours that have
 * not come back, because a list that loses a little with each run is empty within a day.
 */
import { sql } from 'kysely';
import type { ListDiff } from '../../mirror/rows/full-diff.ts';
import type { SqlValue } from '../../store/bulk.ts';
import type { Timed } from '../../store/clock-guard.ts';
import type { Db } from '../../store/store.ts';
import { isBeyond, isBeyondShare, type Stream } from '../stream.ts';

const WINDOW_MS = 86_400_000;
const WINDOW = '24 h';

type List = NonNullable<Stream['list']>;

/** Time of the last release by a person, epoch ms; deletions before it were intended. */
async function releasedAt(db: Db, stream: string): Promise<number> {
  const row = await db
    .selectFrom('sync_run')
    .select((eb) => eb.fn.max<number | null>('released_at').as('at'))
    .where('stream', '=', stream)
    .executeTakeFirst();
  return row?.at ?? 0;
}

/** Keys of rows that were deleted in the last 24 hours and are still gone. */
async function goneLately(
  { store, clock }: Timed,
  name: string,
  { entity }: List,
): Promise<readonly SqlValue[]> {
  const now = clock.now();
  const since = Math.max(now - WINDOW_MS, await releasedAt(store.db, name));
  const { rows } = await sql<{ readonly key: SqlValue }>`
    select ${sql.ref(entity.key)} key from ${sql.table(entity.table)}
    where deleted_at > ${since} and deleted_at <= ${now}`.execute(store.db);
  return rows.map(({ key }) => key);
}

/** Numbers of rows that a run would delete, that the mirror has, and that were deleted recently. */
interface Deletion {
  readonly missing: number;
  readonly live: number;
  readonly lately: number;
}

function describe(
  { missing, live, lately }: Deletion,
  ofPart: string,
  isByLately: boolean,
): string {
  const rows = `it would delete ${missing} of ${live} rows${ofPart}`;
  if (!isByLately) return `${rows}, more than the deletion guard allows`;
  const before = `${lately} went in the last ${WINDOW}`;
  return `${rows}, and ${before}: together more than the deletion guard allows`;
}

function beyondShare(
  { deletionGuard }: List,
  { missing, live, lately }: Deletion,
  ofPart = '',
): string | undefined {
  const deletion = { missing, live, lately };
  if (isBeyondShare(deletionGuard, missing, live)) return describe(deletion, ofPart, false);
  // If this run misses no rows, the list loses nothing now, whatever was deleted before.
  if (missing === 0 || !isBeyondShare(deletionGuard, missing + lately, live + lately))
    return undefined;
  return describe(deletion, ofPart, true);
}

/** Describes why a person must look before so much is deleted; undefined: the guard allows it. */
export async function deletionGuardReason(
  deps: Timed,
  { name }: Pick<Stream, 'name'>,
  list: List,
  { live, missing }: ListDiff,
  guarded: ReadonlyMap<string, number>,
): Promise<string | undefined> {
  if (missing.length === 0) return undefined;
  // Recent deletions do not count for orders, because the service never removes them and walks
  // verify them otherwise.
  const lately = list.diff ? [] : await goneLately(deps, name, list);
  const all = { missing: missing.length, live, lately: lately.length };
  if (isBeyond(list.deletionGuard, missing.length, live)) return describe(all, '', false);
  const tooMuch = beyondShare(list, all);
  const { rowsByPart, partRowsMin = 0 } = list;
  if (tooMuch !== undefined || !rowsByPart || guarded.size === 0) return tooMuch;
  const { db } = deps.store;
  const gone = await rowsByPart(db, missing);
  const goneBefore = await rowsByPart(db, lately);
  // Only parts that the service names are checked; one that is gone takes its rows along.
  for (const [part, rows] of guarded) {
    const count = gone.get(part) ?? 0;
    if (count + (goneBefore.get(part) ?? 0) < partRowsMin) continue;
    const ofPart = { missing: count, live: rows + count, lately: goneBefore.get(part) ?? 0 };
    const reason = beyondShare(list, ofPart, ` of ${part}`);
    if (reason !== undefined) return reason;
  }
  return undefined;
}
