/** Begins a run: resumes the stream's unfinished one, or starts a new one. */
import { sql } from 'kysely';
import { canonicalJson, type JsonObject, parseJsonObject } from '../../lib/json.ts';
import { invalidateDigests } from '../../mirror/list.ts';
import { drasticIn } from '../../mirror/rows/drastic.ts';
import { lastChange } from '../../store/bulk.ts';
import type { Db, Store, Tx } from '../../store/store.ts';
import type { Stream } from '../stream.ts';
import { judgeUnfinished, mayBeTooMany } from './change-guard.ts';
import { endUnfinished, type Run, restartRun } from './run-repository.ts';

export interface RunRequest {
  readonly stream: string;
  /** Options of the stream's requests; a run that was begun with others cannot be resumed. */
  readonly options: JsonObject;
  /** Hash of all that determines how the list is read: program version, settings and options. */
  readonly reading: string;
  readonly readSeq: number;
  readonly now: number;
}

/** Makes a stream without state due now. */
export async function ensureState(db: Db, stream: string, now: number): Promise<void> {
  await db
    .insertInto('stream_state')
    .values({
      stream,
      due_at: now,
      last_run_id: null,
      complete_at: null,
      complete_rows: null,
      last_error: null,
      requested: null,
      reading: null,
      count_off: null,
      unlisted: null,
    })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

/** Copies the stream's setting that facts need into the database. */
export async function noteSettings(db: Db, { name, list }: Stream): Promise<void> {
  const unlisted = list?.unlisted ?? null;
  await db
    .updateTable('stream_state')
    .set({ unlisted })
    .where('stream', '=', name)
    .where('unlisted', 'is distinct from', unlisted)
    .execute();
}

/**
 * Reason for which a run that was begun with other options ends: its rows would count as read with
 * the new ones.
 */
const BEGUN_OTHERWISE =
  'begun with other settings or by another version: a new run has taken its place';

function openRunOf(db: Db | Tx, stream: string) {
  return (
    db
      .selectFrom('sync_run')
      .select(['run_id', 'read_seq', 'started_at', 'checkpoint', 'options'])
      .select(['rows_drastic', 'drastic', 'change_guard'])
      .where('stream', '=', stream)
      // As the text of its index, which a parameter would not be.
      .where('outcome', '=', sql.lit('running'))
      .orderBy(sql`+run_id`, 'desc')
      .executeTakeFirst()
  );
}

async function readingBefore(db: Db | Tx, stream: string): Promise<string | null> {
  const state = await db
    .selectFrom('stream_state')
    .select('reading')
    .where('stream', '=', stream)
    .executeTakeFirst();
  return state?.reading ?? null;
}

/**
 * Ends the stream's open run if it was begun with other options. It also ends if the list is read
 * otherwise than before and the run had drastic changes until then: resumed, all its changes would
 * count as those of the new reading, which the change guard does not judge.
 */
async function endBegunOtherwise(store: Store, request: RunRequest): Promise<void> {
  const { stream, now } = request;
  const open = await openRunOf(store.db, stream);
  if (!open) return;
  const isReadOtherwise = (await readingBefore(store.db, stream)) !== request.reading;
  const isToJudge = open.change_guard === null && mayBeTooMany(drasticIn(open));
  const hasOptions = open.options === canonicalJson(request.options);
  if (hasOptions && !(isReadOtherwise && isToJudge)) return;
  const run = { runId: open.run_id, stream };
  const changes = await judgeUnfinished(store, run, false);
  await endUnfinished(store, run, { reason: BEGUN_OTHERWISE, changes }, now);
}

async function resumable(tx: Tx, request: RunRequest): Promise<Run | undefined> {
  const open = await openRunOf(tx, request.stream);
  if (!open) return undefined;
  await tx
    .updateTable('sync_run')
    .set((eb) => ({ resumes: eb('resumes', '+', 1) }))
    .where('run_id', '=', open.run_id)
    .execute();
  return {
    runId: open.run_id,
    stream: request.stream,
    readSeq: open.read_seq,
    startedAt: open.started_at,
    reading: request.reading,
    checkpoint: parseJsonObject(open.checkpoint),
    resumed: true,
  };
}

/**
 * Switches the change guard off for a run that reads the list otherwise than the last one did,
 * because its changes may stem from that.
 */
async function guardChanges(tx: Tx, { stream, reading }: RunRequest, run: Run): Promise<void> {
  if ((await readingBefore(tx, stream)) === reading) return;
  await tx
    .updateTable('sync_run')
    .set({ change_guard: 'off' })
    .where('run_id', '=', run.runId)
    .execute();
}

/** Takes the operator's request off the stream, so that it is carried out once. */
async function takeWish(tx: Tx, stream: string): Promise<'run' | 'full' | null> {
  const row = await tx
    .selectFrom('stream_state')
    .select('requested')
    .where('stream', '=', stream)
    .executeTakeFirst();
  if (!row?.requested) return null;
  await tx
    .updateTable('stream_state')
    .set({ requested: null })
    .where('stream', '=', stream)
    .execute();
  return row.requested;
}

/**
 * Resumes the stream's unfinished run or starts a new one. The operator's request is removed in the
 * same transaction: it either still waits or has its run.
 */
export async function openRun(store: Store, request: RunRequest): Promise<Run> {
  await endBegunOtherwise(store, request);
  return store.transaction(async (tx) => {
    const run = await openOrGoOn(tx, request);
    await guardChanges(tx, request, run);
    return run;
  });
}

async function openOrGoOn(tx: Tx, request: RunRequest): Promise<Run> {
  const options = canonicalJson(request.options);
  const wish = await takeWish(tx, request.stream);
  // A full run compares every row, whatever the digests say.
  if (wish === 'full') await invalidateDigests(tx, request.stream);
  const open = await resumable(tx, request);
  if (open && wish === 'full') {
    // A resumed run starts over, because its pages so far were compared by digests.
    await restartRun(tx, open.runId);
    return { ...open, checkpoint: {} };
  }
  if (open) return open;
  const row = await tx
    .insertInto('sync_run')
    .values({
      stream: request.stream,
      cause: wish === null ? 'schedule' : 'operator',
      started_at: request.now,
      ended_at: null,
      read_seq: request.readSeq,
      options,
      checkpoint: '{}',
      reason: null,
      released_at: null,
      change_guard: null,
      feed_from: await lastChange(tx),
      feed_to: null,
      count_off: null,
      list_at: null,
    })
    .returning('run_id')
    .executeTakeFirstOrThrow();
  return {
    runId: row.run_id,
    stream: request.stream,
    readSeq: request.readSeq,
    startedAt: request.now,
    reading: request.reading,
    checkpoint: {},
    resumed: false,
  };
}
