/**
 * Watches whether the account goes on as we left it: that the service was not put back to an
 * earlier state (`put-back.ts`), and that no other daemon works on it (`another-daemon.ts`). It
 * follows the change feed of the mirror and the walks over the orders, each minute and after each
 * pull.
 *
 * Writes `outbox_lost`, its place in the feed and two kinds of incidents. It sends nothing, and
 * asks the service only for orders that a walk has missed.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { sql } from 'kysely';
import { isStoreUnusable, SelvedgeError } from '../../lib/errors.ts';
import type { Logger } from '../../lib/log.ts';
import { readWalks } from '../../mirror/walks.ts';
import { readState, writeStateAt } from '../../store/state.ts';
import type { Db } from '../../store/store.ts';
import { doublesBetween, type Evidence, evidenceSince, tellAnother } from './another-daemon.ts';
import { addLost, dropReturned, hasLost, tellLost } from './lost.ts';
import { askForMissed, lostBetween, missedBy, type PutBackDeps } from './put-back.ts';

export interface AccountWatchDeps extends PutBackDeps {
  readonly log: Logger;
  /** Has the orders walked to the first one soon: more of them may be gone. */
  readonly requestWalk: () => Promise<void>;
}

export interface AccountWatch {
  readonly name: string;
  run(signal: AbortSignal): Promise<void>;
  /** Orders were read. */
  nudge(): void;
}

const ROUND_MS = 60_000;
/** Entries of the feed that are looked through at once. */
const FEED_SLICE = 20_000;
const CURSOR_KEY = 'outbox_feed_seq';
const NAMED_IN_LOG = 5;
/** What ended so long before a round is looked at by it once more: it may have been seen late. */
const AGAIN_MS = 60_000;
/** What ended so long before the start is looked at by the first round. */
const BEFORE_START_MS = 600_000;
/** Walks that are remembered as gone through; there are two kinds. */
const WALKS_MAX = 4;

/** The last entry of the slice behind this one, by rows: after a restore numbers leave a gap. */
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

/** What the feed tells since the last look; nothing of what was there before the first one. */
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

async function tellOfLost(
  { store, clock, log, requestWalk }: AccountWatchDeps,
  isNew: boolean,
): Promise<void> {
  if (!isNew && !(await hasLost(store.db))) return;
  const returned = await store.transaction(async (tx) => {
    const back = await dropReturned(tx);
    await tellLost(tx, clock.now());
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

export function createAccountWatch(deps: AccountWatchDeps): AccountWatch {
  const { clock, log, store } = deps;
  let wake = new AbortController();
  /** The starts of walks that were gone through. */
  const walked = new Set<number>();
  let lookedAt = clock.now() - BEFORE_START_MS;

  /** Confirmed orders that the last walks should have met; whether some are gone. */
  const followWalks = async (signal: AbortSignal): Promise<number> => {
    let found = 0;
    for (const walk of await readWalks(store.db)) {
      if (walked.has(walk.readSeq)) continue;
      found += await askForMissed(deps, await missedBy(store.db, walk), signal);
      walked.add(walk.readSeq);
      for (const old of [...walked].slice(0, -WALKS_MAX)) walked.delete(old);
    }
    return found;
  };

  const round = async (signal: AbortSignal): Promise<void> => {
    const before = await followFeed(deps, signal);
    let gone = 0;
    try {
      gone = await followWalks(signal);
    } catch (error) {
      if (signal.aborted) return;
      if (isStoreUnusable(error) || !(error instanceof SelvedgeError)) throw error;
      log.debug({ err: error }, 'missed orders could not be asked for; the next round does');
    }
    // What was asked for may have come as another order.
    const after = await followFeed(deps, signal);
    await tellOfLost(deps, before.lost + gone + after.lost > 0);
    const since = lookedAt - AGAIN_MS;
    lookedAt = clock.now();
    const seen = await evidenceSince(store.db, since);
    await tellAnother(deps, [...before.evidence, ...after.evidence, ...seen]);
  };
  return {
    name: 'account-watch',
    nudge: () => wake.abort(),
    async run(signal) {
      while (!signal.aborted) {
        wake = new AbortController();
        await round(signal);
        const either = AbortSignal.any([signal, wake.signal]);
        await clock.sleep(ROUND_MS, either).catch(() => undefined);
      }
    },
  };
}
