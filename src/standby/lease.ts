/**
 * The row of the lease, and how a waiting machine judges it. No time in the row decides anything:
 * the holder raises `beat`, and a machine that saw the same `(taking, beat)` for a lease's length
 * by its own clock, between reads that succeeded, may take it.
 */
import { z } from 'zod';
import type { Clock } from '../lib/clock.ts';
import { literal, type Row, type Session } from './session.ts';

export interface LeaseRow {
  readonly taking: string;
  readonly token: number;
  readonly holder: string;
  readonly beat: number;
  readonly timeline: number;
  /** Whether a synchronous replica confirmed the last renewal; null: not known. */
  readonly synced: boolean | null;
  /** Epoch ms by the server's clock, for people. */
  readonly takenAt: number;
  readonly endsAt: number;
  readonly handedOver: boolean;
  /** Machine that is to have it next; null: whichever comes first. */
  readonly wantedBy: string | null;
  /** Milliseconds within which the holder is to give it to that one; null: nobody asks. */
  readonly wantedMs: number | null;
  /** What the holder says about that, for people. */
  readonly says: string | null;
}

/** The machine that takes or holds the lease, and its taking. */
export interface Holding {
  readonly account: string;
  readonly machine: string;
  readonly taking: string;
  readonly leaseMs: number;
}

const number = z.coerce.number();

const ROW = z.object({
  taking: z.string(),
  token: number,
  holder: z.string(),
  beat: number,
  timeline: z.number(),
  synced: z.boolean().nullable(),
  taken_at: number,
  ends_at: number,
  handed_over: z.boolean(),
  wanted_by: z.string().nullable(),
  wanted_ms: number.nullable(),
  says: z.string().nullable(),
});

const COLUMNS = `taking::text, token, holder, beat, timeline, synced, handed_over,
  wanted_by, wanted_ms, says,
  extract(epoch from taken_at) * 1000 AS taken_at, extract(epoch from ends_at) * 1000 AS ends_at`;

function rowOf(row: Row): LeaseRow {
  const { taken_at, ends_at, handed_over, wanted_by, wanted_ms, ...rest } = ROW.parse(row);
  const times = { takenAt: taken_at, endsAt: ends_at };
  return { ...rest, ...times, handedOver: handed_over, wantedBy: wanted_by, wantedMs: wanted_ms };
}

/** The account's lease; undefined: nobody ever took it. */
export async function readLease(session: Session, account: string): Promise<LeaseRow | undefined> {
  const [row] = await session.ask(
    `select ${COLUMNS} from standby_lease where account = ${literal(account)}`,
  );
  return row && rowOf(row);
}

const endsAt = (leaseMs: number): string =>
  `clock_timestamp() + interval '${Math.round(leaseMs)} milliseconds'`;

/**
 * Whether a replica confirms each commit of this session: null where that is not known, because the
 * user may not see the state of replicas.
 */
const SYNCED = `case when current_setting('synchronous_standby_names') = ''
    or not exists (select from pg_stat_replication) then false
  else (select bool_or(sync_state in ('sync', 'quorum')) from pg_stat_replication) end`;

/** Takes a lease that nobody ever took. False: somebody has. */
export async function takeFirst(session: Session, me: Holding): Promise<boolean> {
  const rows = await session.ask(
    `insert into standby_lease
       (account, taking, token, holder, beat, timeline, synced, taken_at, ends_at)
     values (${literal(me.account)}, ${literal(me.taking)}, 1, ${literal(me.machine)}, 0,
       ${session.timeline}, ${SYNCED}, clock_timestamp(), ${endsAt(me.leaseMs)})
     on conflict do nothing returning 1`,
  );
  return rows.length === 1;
}

/** Takes the lease from the taking that was seen. False: it has been renewed or taken since. */
export async function takeFrom(
  session: Session,
  { taking, beat }: Pick<LeaseRow, 'taking' | 'beat'>,
  me: Holding,
): Promise<boolean> {
  const rows = await session.ask(
    `update standby_lease set taking = ${literal(me.taking)}, token = token + 1, beat = 0,
       holder = ${literal(me.machine)}, timeline = ${session.timeline}, synced = ${SYNCED},
       taken_at = clock_timestamp(), ends_at = ${endsAt(me.leaseMs)}, handed_over = false,
       wanted_by = null, wanted_ms = null, says = null
     where account = ${literal(me.account)} and taking = ${literal(taking)} and beat = ${beat}
     returning 1`,
  );
  return rows.length === 1;
}

/** Raises the beat; undefined: the lease has another taking, or another beat of this one. */
export async function renew(
  session: Session,
  me: Holding,
  beat: number,
): Promise<LeaseRow | undefined> {
  const [row] = await session.ask(
    `update standby_lease set beat = beat + 1, timeline = ${session.timeline}, synced = ${SYNCED},
       ends_at = ${endsAt(me.leaseMs)}
     where account = ${literal(me.account)} and taking = ${literal(me.taking)} and beat = ${beat}
     returning ${COLUMNS}`,
  );
  return row && rowOf(row);
}

/**
 * Gives the lease away: a machine that waits may take it at once, others than the one that is named
 * once nothing of it has moved for long enough. False: it is held no more.
 */
export async function giveAway(session: Session, me: Holding, to?: string): Promise<boolean> {
  const rows = await session.ask(
    `update standby_lease set handed_over = true, beat = beat + 1,
       wanted_by = ${literal(to ?? null)}
     where account = ${literal(me.account)} and taking = ${literal(me.taking)} returning 1`,
  );
  return rows.length === 1;
}

/** Wish that the holder gives the lease to a machine, within so long from when it reads it. */
export interface Wish {
  readonly to: string;
  readonly withinMs: number;
}

/** Asks the holder with this taking for the lease; null: no more. False: another one holds it. */
export async function want(
  session: Session,
  account: string,
  taking: string,
  wish: Wish | null,
): Promise<boolean> {
  const rows = await session.ask(
    `update standby_lease set wanted_by = ${literal(wish?.to ?? null)},
       wanted_ms = ${wish === null ? 'null' : Math.round(wish.withinMs)}
     where account = ${literal(account)} and taking = ${literal(taking)} and not handed_over
     returning 1`,
  );
  return rows.length === 1;
}

/** Tells the machine that asked for the lease how far the holder is. */
export async function say(session: Session, me: Holding, text: string): Promise<void> {
  await session.ask(
    `update standby_lease set says = ${literal(text)}
     where account = ${literal(me.account)} and taking = ${literal(me.taking)}`,
  );
}

export interface Verdict {
  /** Milliseconds for which nothing of the lease has moved. */
  readonly quietMs: number;
  readonly isFree: boolean;
}

export interface Judge {
  /**
   * Notes what a read gave, with the monotonic times of its beginning and end. Time counts from the
   * end of a read to the beginning of the next.
   */
  saw(row: Pick<LeaseRow, 'taking' | 'beat' | 'handedOver'>, begunAt: number, at: number): Verdict;
  /** Notes that a read failed: the time since the one before proves nothing. */
  missed(): void;
}

export function createJudge({
  leaseMs,
  renewMs,
}: {
  readonly leaseMs: number;
  readonly renewMs: number;
}): Judge {
  let last: { readonly name: string; readonly at: number } | undefined;
  let quietMs = 0;
  return {
    saw({ taking, beat, handedOver }, begunAt, at) {
      const name = `${taking} ${beat}`;
      if (last !== undefined && last.name !== name) quietMs = 0;
      else if (last !== undefined) quietMs += Math.max(0, begunAt - last.at);
      last = { name, at };
      return { quietMs, isFree: handedOver || quietMs >= leaseMs + renewMs };
    },
    missed() {
      // A row that is seen again still counts: only the time between does not.
      if (last !== undefined) last = { name: last.name, at: Number.POSITIVE_INFINITY };
    },
  };
}

/** Reads the lease once and judges it. */
export async function look(
  session: Session,
  account: string,
  judge: Judge,
  clock: Pick<Clock, 'monotonic'>,
): Promise<{ readonly row: LeaseRow | undefined; readonly verdict: Verdict | undefined }> {
  const begunAt = clock.monotonic();
  try {
    const row = await readLease(session, account);
    return { row, verdict: row && judge.saw(row, begunAt, clock.monotonic()) };
  } catch (thrown) {
    judge.missed();
    throw thrown;
  }
}
