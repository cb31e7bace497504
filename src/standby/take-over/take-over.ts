/**
 * Takes the lease and goes on from there: restores the newest backup, plays the record behind it,
 * and leaves a database from which the daemon starts. The lease is renewed meanwhile.
 */

import type { Config } from '../../config/schema.ts';
import { RetryLaterError, type SelvedgeError, StoreError, SUPERSEDED } from '../../lib/errors.ts';
import { backupDirectory } from '../../store/backup/manifest.ts';
import { type Restored, restoreBackup } from '../../store/backup/restore.ts';
import { TAKE_OVER } from '../../store/backup/taken-over.ts';
import { exchangeFile } from '../../store/exchange/exchange.ts';
import { writeState } from '../../store/state.ts';
import type { Tx } from '../../store/store.ts';
import type { RestoreSteps } from '../../store/upkeep.ts';
import { clearFeed, PLACE_KEY } from '../feed.ts';
import type { HolderDeps } from '../holder.ts';
import { type Holding, hasAll, type LeaseRow, takeFrom } from '../lease.ts';
import type { Memory, Proof } from '../memory.ts';
import { createServers, literal, type Session } from '../session.ts';
import { chooseBackup, LINE_KEY, readMeasure } from './choose-backup.ts';
import { play } from './play.ts';
import { renewBeside } from './renewing.ts';
import { openSource } from './source.ts';

export interface TakeOverDeps extends HolderDeps {
  readonly config: Config;
  readonly steps: RestoreSteps;
  /** Lets others work on the data folder: a restore takes its lock by itself. */
  readonly unlock: () => void;
}

/** Reading the record may take longer than a lease is long. */
const READ_MS = 60_000;

/** The lease as it was seen before it was taken. */
export type Seen = LeaseRow;

/**
 * Proof by the row, of whose record the server has all, or may lack parts. A taking of our
 * own is a take-over that was cut off: it had found the row as it noted then, and has recorded
 * nothing since but its line.
 */
export function proofOf(
  seen: Pick<Seen, 'taking' | 'handedOver'>,
  isProven: boolean,
  memory: Pick<Memory, 'isOwn' | 'proofOf'>,
): Proof {
  if (!memory.isOwn(seen.taking)) {
    return { isHandedOver: seen.handedOver && isProven, isProven, isAgain: false };
  }
  const before = memory.proofOf(seen.taking);
  if (before === undefined) return { isHandedOver: false, isProven: false, isAgain: true };
  return {
    isHandedOver: before.isHandedOver && isProven,
    isProven: before.isProven && isProven,
    isAgain: true,
  };
}

/** Notes the place at which this machine began to write. */
async function drawLine(session: Session, { account, taking }: Holding): Promise<number> {
  const of = `account = ${literal(account)} and taking = ${literal(taking)}`;
  const [row] = await session.ask(
    `insert into standby_record (account, taking, seq, whole, what, key, row)
     select account, taking, null, false, 'line', ${literal(JSON.stringify([taking]))}, '{}'
     from standby_lease where ${of} returning place`,
  );
  if (row === undefined) throw new StoreError(SUPERSEDED, 'another machine took the lease');
  return Number(row.place);
}

/** Goes on from the newest backup, once the lease is ours. */
async function goOn(deps: TakeOverDeps, me: Holding, proof: Proof): Promise<Restored> {
  const { config, settings, memory, clock, log, steps, unlock } = deps;
  const slow = { ...settings, timeoutMs: Math.max(READ_MS, settings.timeoutMs) };
  const session = await createServers({ settings: slow, clock, timelines: memory }).open();
  try {
    // In statements of their own, after the one that took the lease: what the other machine wrote
    // while that waited for it would not be seen otherwise.
    const before = await drawLine(session, me);
    const measure = await readMeasure(session, me.account);
    const { backup, beginning } = await chooseBackup(config, measure, clock.now());
    const between = { after: beginning.place, before };
    const source = await openSource(session, me.account, between);
    log.info({ backup: backup.path, from: beginning.place, to: before }, 'playing the record');
    const bring = async (tx: Tx) => {
      const played = await play(tx, source);
      await clearFeed(tx);
      await writeState(tx, PLACE_KEY, String(before), clock);
      await writeState(tx, LINE_KEY, me.taking, clock);
      return { ...played, ...proof };
    };
    unlock();
    const plan = {
      backup: backup.path,
      dataDir: config.dataDir,
      exchangeFile: exchangeFile(config),
      busyTimeoutMs: config.store.busyTimeout,
      withExchange: false,
      actor: TAKE_OVER,
      directory: backupDirectory(config),
      steps,
      record: { play: bring },
    };
    return await restoreBackup(plan, clock);
  } finally {
    await session.end();
  }
}

/** Takes over from what was seen; undefined: it has moved since, and somebody holds it. */
export async function takeOver(deps: TakeOverDeps, seen: Seen): Promise<Restored | undefined> {
  const { servers, settings, memory, log, draw } = deps;
  const { account, machine, leaseMs } = settings;
  const me = { account, machine, leaseMs, taking: draw() };
  const session = await servers.openNewest();
  const proof = proofOf(seen, await hasAll(session, seen), memory);
  // The taking is ours before it may come true: an answer that is lost leaves it unknown. As it
  // comes true only of the row as it was seen, what that proves may be noted, too.
  memory.note(me.taking, proof);
  const isTaken = await takeFrom(session, seen, me).finally(() => session.end());
  if (!isTaken) return undefined;
  log.warn({ from: seen.holder, ...proof }, 'this machine has taken the lease');
  const renewing = renewBeside(me, { settings, memory, log });
  try {
    return await Promise.race([goOn(deps, me, proof), renewing.lost]);
  } finally {
    await renewing.end();
  }
}

/** The error of a machine that cannot take over although it could have the lease. */
export function cannotTakeOver(error: SelvedgeError): RetryLaterError {
  return new RetryLaterError(
    'standby.not_ready',
    `this machine cannot take over: ${error.message}`,
    {
      hint: error.hint,
      cause: error,
    },
  );
}
