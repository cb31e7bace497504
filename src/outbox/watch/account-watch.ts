/**
 * Watches the account for two faults: the service was restored to an earlier state, or another
 * daemon works on the account (`another-daemon.ts`). Follows the mirror's change feed and the walks
 * over the orders, each minute and after each pull. Writes `outbox_lost`, its place in the feed and
 * two kinds of incidents; it sends nothing, and reads from the service only orders that a walk has
 * missed.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { sql } from 'kysely';
import { isNotFound } from '../../client/http/answer.ts';
import type { Clock } from '../../lib/clock.ts';
import { isStoreUnusable, SelvedgeError } from '../../lib/errors.ts';
import { isJsonObject, parseJsonObject } from '../../lib/json.ts';
import type { Logger } from '../../lib/log.ts';
import { orderSlices } from '../../mirror/sales-order.ts';
import { type OrdersWalk, readWalks } from '../../mirror/walks.ts';
import { readState, writeStateAt } from '../../store/state.ts';
import type { Db, Store } from '../../store/store.ts';
import { isUnreadable, type ReadOrder } from '../service.ts';
import { doublesBetween, type Evidence, evidenceSince, reportAnother } from './another-daemon.ts';
import { addLost, dropReturned, hasLost, type NewLost, reportLost } from './lost.ts';

export interface AccountWatchDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly readOrder: ReadOrder;
  readonly log: Logger;
  /** Requests a walk over all orders, because more of them may be gone. */
  readonly requestWalk: () => Promise<void>;
}

const ROUND_MS = 60_000;
const FEED_SLICE = 20_000;
const CURSOR_KEY = 'outbox_feed_seq';
const NAMED_IN_LOG = 5;
/** Milliseconds by which a round overlaps the one before: the end of a push may be written late. */
const AGAIN_MS = 60_000;
/** Milliseconds before the daemon's start that the first round covers. */
const BEFORE_START_MS = 600_000;
/** Looks at orders that always fail, one in each round; later ones are rare. */
const OFTEN_MAX = 10;
const RARELY_MS = 1_800_000;
/** Number of walks whose looks are remembered; two kinds of walks exist. */
const WALKS_MAX = 4;

/**
 * Returns the last entry of the feed's next slice, counted by rows: numbers have gaps after a
 * restore.
 */
async function endOfSlice(db: Db, after: number): Promise<number | undefined> {
  const { rows } = await sql<{ readonly seq: number | null }>`select max(seq) seq from (
    select seq from change where seq > ${after} order by seq limit ${FEED_SLICE})`.execute(db);
  return rows[0]?.seq ?? undefined;
}

async function newestChange(db: Db): Promise<number> {
  const { rows } = await sql<{ readonly seq: number | null }>`
    select max(seq) seq from change`.execute(db);
  return rows[0]?.seq ?? 0;
}

interface Seen {
  readonly lost: number;
  readonly evidence: readonly Evidence[];
}

/** Reads the change feed since the last round; the first round skips everything older. */
async function followFeed({ store, clock }: AccountWatchDeps, signal: AbortSignal): Promise<Seen> {
  const { db } = store;
  const known = await readState(db, CURSOR_KEY);
  let at = known === undefined ? await newestChange(db) : Number(known);
  if (known === undefined) await writeStateAt(db, CURSOR_KEY, String(at), clock.now());
  let lost = 0;
  const evidence: Evidence[] = [];
  while (!signal.aborted) {
    const to = await endOfSlice(db, at);
    if (to === undefined) break;
    const gone = await lostBetween(db, at, to);
    evidence.push(...(await doublesBetween(db, at, to, clock.now())));
    await store.transaction(async (tx) => {
      if (gone.length > 0) await addLost(tx, gone, clock.now());
      await writeStateAt(tx, CURSOR_KEY, String(to), clock.now());
    });
    lost += gone.length;
    at = to;
    await nextTurn();
  }
  return { lost, evidence };
}

async function announceLost(
  { store, clock, log, requestWalk }: AccountWatchDeps,
  isNew: boolean,
): Promise<void> {
  if (!isNew && !(await hasLost(store.db))) return;
  const returned = await store.transaction(async (tx) => {
    const back = await dropReturned(tx);
    await reportLost(tx, clock.now());
    return back;
  });
  if (returned > 0) log.warn({ orders: returned }, 'orders are at the service again');
  if (!isNew) return;
  const rows = await store.db
    .selectFrom('outbox_lost as l')
    .innerJoin('outbox as o', 'o.outbox_id', 'l.outbox_id')
    .select('o.reference')
    .where('l.noted_at', 'is', null)
    .execute();
  const references = rows.slice(0, NAMED_IN_LOG).map(({ reference }) => reference);
  const hint = 'was it put back? See "selvedge outbox list"; nothing is sent again by itself';
  const message = 'confirmed orders are no longer at the service';
  log.error({ orders: rows.length, references, hint }, message);
  await requestWalk();
}

export function createAccountWatch(deps: AccountWatchDeps) {
  const { clock, store } = deps;
  let wake = new AbortController();
  /** Looks after each walk, by its number; the next is made at `nextAt` (monotonic). */
  const looks = new Map<number, { readonly failed: number; readonly nextAt: number }>();
  /** Last order that could not be asked for; the next look begins after it. */
  let failedAt = 0;
  let lookedAt = clock.now() - BEFORE_START_MS;

  /**
   * Asks the service for confirmed orders that the last walks have missed; returns how many are
   * gone.
   */
  const followWalks = async (signal: AbortSignal): Promise<number> => {
    let found = 0;
    for (const walk of await readWalks(store.db)) {
      const { failed = 0, nextAt = 0 } = looks.get(walk.readSeq) ?? {};
      if (clock.monotonic() < nextAt) continue;
      const missed = await missedBy(store.db, walk);
      const asked = await askForMissed(deps, startingAfter(missed, failedAt), signal);
      found += asked.gone;
      failedAt = asked.failedAt ?? 0;
      const pauseMs = failed < OFTEN_MAX ? 0 : RARELY_MS;
      const again = { failed: failed + 1, nextAt: clock.monotonic() + pauseMs };
      const over = { failed: 0, nextAt: Number.POSITIVE_INFINITY };
      looks.set(walk.readSeq, asked.failedAt === undefined ? over : again);
      for (const old of [...looks.keys()].slice(0, -WALKS_MAX)) looks.delete(old);
    }
    return found;
  };

  const round = async (signal: AbortSignal): Promise<void> => {
    const before = await followFeed(deps, signal);
    const gone = await followWalks(signal);
    if (signal.aborted) return;
    // An order that the service was asked for may have come as another order, which the feed shows.
    const after = await followFeed(deps, signal);
    await announceLost(deps, before.lost + gone + after.lost > 0);
    // A clock that was set back must leave no hole.
    const since = Math.min(lookedAt, clock.now()) - AGAIN_MS;
    lookedAt = clock.now();
    const seen = await evidenceSince(store.db, since);
    await reportAnother(deps, [...before.evidence, ...after.evidence, ...seen]);
  };
  return {
    name: 'account-watch',
    /** Starts a round; call it when orders were read. */
    wakeUp: () => wake.abort(),
    async run(signal: AbortSignal): Promise<void> {
      while (!signal.aborted) {
        wake = new AbortController();
        await round(signal);
        const either = AbortSignal.any([signal, wake.signal]);
        await clock.sleep(ROUND_MS, either).catch(() => undefined);
      }
    },
  };
}

// Signs that the service was put back to an earlier state (a restore, a migration): a confirmed
// order of ours is gone, or its number has become another order's. The mirror shows it by a row
// that is marked as deleted or becomes another order, or by a walk that misses an order which
// cannot be read by its own address either.

/** Milliseconds by which a list of orders may lag behind a confirmation. */
const LAG_MS = 30_000;

interface Changed {
  readonly outbox_id: number;
  readonly order_id: number;
  readonly op: 'update' | 'delete' | 'restore';
  readonly diff: string;
  readonly reference: string | null;
  readonly read_seq: number;
}

/** Returns the values [before, after] of a member in a diff; undefined: it did not change. */
function pairIn(diff: string, member: string): readonly [unknown, unknown] | undefined {
  const pair = parseJsonObject(diff)[member];
  return Array.isArray(pair) && pair.length === 2 ? [pair[0], pair[1]] : undefined;
}

/** Whether the lines changed into those of another order; an edited order keeps its reference. */
function isOther(pair: readonly [unknown, unknown] | undefined): boolean {
  const key = (value: unknown): string => {
    const lines = Array.isArray(value) ? value.filter(isJsonObject) : [];
    return JSON.stringify(
      lines.map(({ line_no: no, barcode, quantity, price }) => [no, barcode, quantity, price]),
    );
  };
  return pair !== undefined && key(pair[0]) !== key(pair[1]);
}

/** Whether a mirrored row has become another order: its reference changed, and its content, too. */
function becameAnother({ diff }: Changed): boolean {
  const hasOtherLines = isOther(pairIn(diff, 'lines'));
  const created = pairIn(diff, 'created_at') ?? [];
  // A time of creation that was unknown before is no change.
  const hasOtherTime = created.length > 0 && created.every((at) => typeof at === 'number');
  if (pairIn(diff, 'reference') !== undefined) return hasOtherLines || hasOtherTime;
  // Without references, a row became another order only if both time and lines changed.
  return hasOtherLines && hasOtherTime;
}

function lostIn(changed: Changed): NewLost[] {
  const { outbox_id: outboxId, order_id: orderId, op, diff, read_seq: readSeq } = changed;
  const known = { outboxId, orderId, readSeq };
  if (op === 'delete') return [{ ...known, reference: changed.reference }];
  if (!becameAnother(changed)) return [];
  const before = pairIn(diff, 'reference')?.[0] ?? null;
  return [{ ...known, reference: typeof before === 'string' ? before : null }];
}

async function changesBetween(db: Db, after: number, to: number): Promise<readonly Changed[]> {
  const { rows } = await sql<Changed>`
    select o.outbox_id, o.order_id, c.op, c.diff, s.reference, s.read_seq
    from change c
    join outbox o on o.order_id = c.key + 0
      and o.kind = 'order' and o.state = 'confirmed'
    join sales_order s on s.order_id = o.order_id
    where c.seq > ${after} and c.seq <= ${to}
      and +c.entity = 'sales_order' and +c.op <> 'insert'
    order by c.seq`.execute(db);
  return rows;
}

/** Lists orders that entries of the feed after `after`, up to `to`, show as gone. */
async function lostBetween(db: Db, after: number, to: number): Promise<NewLost[]> {
  return (await changesBetween(db, after, to)).flatMap(lostIn);
}

interface Missed {
  readonly outbox_id: number;
  readonly order_id: number;
  readonly reference: string | null;
  readonly read_seq: number;
}

/**
 * Lists confirmed orders that a walk should have met, and that no read since the walk's start has
 * shown.
 */
async function missedBy(db: Db, walk: OrdersWalk): Promise<readonly Missed[]> {
  const missed: Missed[] = [];
  for await (const { from, before } of orderSlices(db, walk.bottom)) {
    const { rows } = await sql<Missed>`
      select o.outbox_id, o.order_id, s.reference, s.read_seq from sales_order s
      cross join outbox o on o.order_id = s.order_id and +o.kind = 'order'
        and +o.state = 'confirmed'
      where s.order_id >= ${from} and s.order_id < ${before}
        and s.deleted_at is null and s.read_seq < ${walk.readSeq}
        and o.ended_at < ${walk.startedAt - LAG_MS}
        and not exists (select 1 from outbox_lost l where l.outbox_id = o.outbox_id)
      order by s.order_id`.execute(db);
    missed.push(...rows);
  }
  return missed;
}

/** Failures in a row after which a look ends, because the service cannot be reached. */
const FAILURES_MAX = 5;

/** The missed orders after this one first, so that some that always fail do not hide the others. */
function startingAfter(missed: readonly Missed[], orderId: number): readonly Missed[] {
  const isAfter = (one: Missed): boolean => one.order_id > orderId;
  return [...missed.filter(isAfter), ...missed.filter((one) => !isAfter(one))];
}

interface Asked {
  /** Number of orders that are gone. */
  readonly gone: number;
  /** Last order whose read failed; undefined: each was answered. */
  readonly failedAt: number | undefined;
}

/** Reads each missed order by its own address; changes then show in the feed. */
async function askForMissed(
  { store, clock, log, readOrder }: AccountWatchDeps,
  missed: readonly Missed[],
  signal: AbortSignal,
): Promise<Asked> {
  let gone = 0;
  let failedAt: number | undefined;
  let failures = 0;
  for (const { outbox_id: outboxId, order_id: orderId, reference, read_seq: readSeq } of missed) {
    if (failures >= FAILURES_MAX) break;
    try {
      await readOrder(orderId, { cause: 'put-back', priority: 'pull', signal });
      failures = 0;
    } catch (error) {
      if (signal.aborted) break;
      // An unreadable answer still means that the order exists.
      if (isUnreadable(error)) continue;
      if (isNotFound(error)) {
        const lost = { outboxId, orderId, reference, readSeq };
        await store.transaction((tx) => addLost(tx, [lost], clock.now()));
        gone += 1;
        failures = 0;
        continue;
      }
      if (isStoreUnusable(error) || !(error instanceof SelvedgeError)) throw error;
      log.debug({ err: error, orderId }, 'a missed order could not be asked for');
      failedAt = orderId;
      failures += 1;
    }
  }
  return { gone, failedAt };
}
