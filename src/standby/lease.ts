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
  /** Timeline on which the record has all that was acknowledged. */
  readonly timeline: number;
  /** Replicas each of which confirmed the last renewal: one that is promoted has all. */
  readonly confirmedBy: readonly string[];
  /** Epoch ms by the server's clock, for people. */
  readonly takenAt: number;
  readonly endsAt: number;
  readonly handedOver: boolean;
  /** Machine that is to have it next; null: whichever comes first. */
  readonly wantedBy: string | null;
  /** Milliseconds within which the holder is to give it to that one; null: nobody asks. */
  readonly wantedMs: number | null;
  /** Answer of the holder to that, for people. */
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
  confirmed_by: z.array(z.string()),
  taken_at: number,
  ends_at: number,
  handed_over: z.boolean(),
  wanted_by: z.string().nullable(),
  wanted_ms: number.nullable(),
  says: z.string().nullable(),
});

const COLUMNS = `taking::text, token, holder, beat, timeline, confirmed_by, handed_over,
  wanted_by, wanted_ms, says,
  extract(epoch from taken_at) * 1000 AS taken_at, extract(epoch from ends_at) * 1000 AS ends_at`;

function rowOf(row: Row): LeaseRow {
  const { taken_at, ends_at, confirmed_by, handed_over, ...told } = ROW.parse(row);
  const { wanted_by, wanted_ms, ...rest } = told;
  const times = { takenAt: taken_at, endsAt: ends_at };
  const wish = { wantedBy: wanted_by, wantedMs: wanted_ms };
  return { ...rest, ...times, ...wish, confirmedBy: confirmed_by, handedOver: handed_over };
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

/** With a quorum any one confirms, so that a single one of them may lack what was confirmed. */
const CONFIRMED_BY = `coalesce((select array_agg(name) from (
    select application_name AS name from pg_stat_replication
    group by application_name having bool_and(coalesce(sync_state, '') = 'sync')) AS each),
  '{}')`;

/** Name by which a promoted server was a replica; no row: it was none, or may not be asked. */
const OWN_NAME = `select coalesce(named[1], named[2], nullif(current_setting('cluster_name'), ''),
    'walreceiver') AS name
  from (select regexp_match(setting, $r$application_name *= *(?:'([^']*)'|([^' ]+))$r$) AS named
    from pg_settings where name = 'primary_conninfo' and setting <> '') AS replica`;

/** Whether the session's server has all that was acknowledged when the row was renewed at last. */
export async function hasAll(
  session: Session,
  { timeline, confirmedBy }: Pick<LeaseRow, 'timeline' | 'confirmedBy'>,
): Promise<boolean> {
  if (timeline === session.timeline) return true;
  const [own] = await session.ask(OWN_NAME);
  return typeof own?.name === 'string' && confirmedBy.includes(own.name);
}

/** Takes a lease that nobody ever took. False: somebody has. */
export async function takeFirst(session: Session, me: Holding): Promise<boolean> {
  const rows = await session.ask(
    `insert into standby_lease
       (account, taking, token, holder, beat, timeline, confirmed_by, taken_at, ends_at)
     values (${literal(me.account)}, ${literal(me.taking)}, 1, ${literal(me.machine)}, 0,
       ${session.timeline}, ${CONFIRMED_BY}, clock_timestamp(), ${endsAt(me.leaseMs)})
     on conflict do nothing returning 1`,
  );
  return rows.length === 1;
}

/**
 * Takes the lease from the taking that was seen. False: it has been renewed or taken since. What is
 * proven of the record stays as it was: it may lack on another timeline what was acknowledged.
 */
export async function takeFrom(
  session: Session,
  { taking, beat }: Pick<LeaseRow, 'taking' | 'beat'>,
  me: Holding,
): Promise<boolean> {
  const rows = await session.ask(
    `update standby_lease set taking = ${literal(me.taking)}, token = token + 1, beat = 0,
       holder = ${literal(me.machine)}, taken_at = clock_timestamp(),
       ends_at = ${endsAt(me.leaseMs)}, handed_over = false,
       wanted_by = null, wanted_ms = null, says = null
     where account = ${literal(me.account)} and taking = ${literal(taking)} and beat = ${beat}
     returning 1`,
  );
  return rows.length === 1;
}

/**
 * Raises the beat; undefined: the lease has another taking, or another beat of this one.
 * `isSettled`: the record has all that was acknowledged on the session's timeline.
 */
export async function renew(
  session: Session,
  me: Holding,
  beat: number,
  isSettled: boolean,
): Promise<LeaseRow | undefined> {
  const proof = `, timeline = ${session.timeline}, confirmed_by = ${CONFIRMED_BY}`;
  const [row] = await session.ask(
    `update standby_lease set beat = beat + 1${isSettled ? proof : ''},
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
