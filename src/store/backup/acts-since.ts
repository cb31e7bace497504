/**
 * Takes over what people did since a backup, which the lost database alone knew: at the restore,
 * and once more when pushes are resumed, because the list may come to light later than the backup.
 */
import { sql } from 'kysely';
import { RefusedError } from '../../lib/errors.ts';
import { plural } from '../../lib/strings.ts';
import { type Pause, pausableOf, writePause } from '../pauses.ts';
import { readRestored } from '../state.ts';
import type { Tx } from '../store.ts';
import type { RestoreSteps } from '../upkeep.ts';
import { type ListedActs, readActs } from './acts-log.ts';

/** Acts of people after a backup, as far as they were restored. */
export interface ActsSince {
  /** Number of acts that are listed. */
  readonly acts: number;
  /** Number of lines of the list that cannot be read. */
  readonly unreadable: number;
  /** Number of deliveries that people stopped: the rules leave them alone. */
  readonly stopped: number;
  /** Pauses that people made: they are made again. */
  readonly paused: readonly string[];
}

type Steps = Pick<RestoreSteps, 'leaveCanceled' | 'stopForPeople'>;
type Acts = ListedActs['acts'];

/**
 * Milliseconds by which an act may be older than the backup and yet not in it: a copy takes a
 * while. Acts that are in it are taken over twice, which changes nothing.
 */
const OVERLAP_MS = 300_000;

function pausesIn(acts: Acts): ReadonlyMap<string, Pause> {
  const pauses = new Map<string, Pause>();
  for (const { action, subject, actor, at } of acts) {
    if (action === 'resume') pauses.delete(subject);
    const what = action === 'pause' ? pausableOf(subject) : undefined;
    const reason = 'paused after the backup that was restored';
    if (what) pauses.set(subject, { ...what, actor, reason, at });
  }
  return pauses;
}

/** Takes over these acts, which no backup knows. */
async function takeOver(tx: Tx, steps: Steps, acts: Acts, now: number) {
  const pauses = pausesIn(acts);
  for (const pause of pauses.values()) await writePause(tx, pause);
  const canceled = acts.flatMap(({ action, subject }) =>
    action === 'outbox.cancel' ? Number(subject.replace('outbox:', '')) : [],
  );
  await steps.leaveCanceled(tx, canceled);
  const stopped = await steps.stopForPeople(tx, acts, now);
  return { stopped, paused: [...pauses.keys()] };
}

function actsAfter({ acts }: ListedActs, createdAt: string): Acts {
  const from = Date.parse(createdAt) - OVERLAP_MS;
  return acts.filter(({ at }) => at >= from).toSorted((a, b) => a.at - b.at);
}

interface Listed {
  readonly steps: Steps;
  /** Folders in which the list may lie. */
  readonly directories: readonly string[];
  /** Time at which the database was made. */
  readonly madeAt: string | undefined;
}

/** Takes over what is listed since this backup; null: no list lies beside it. */
export async function takeOverActs(
  tx: Tx,
  { steps, directories, madeAt }: Listed,
  createdAt: string,
  now: number,
): Promise<ActsSince | null> {
  const listed = readActs(directories, madeAt);
  if (listed === undefined) return null;
  const acts = actsAfter(listed, createdAt);
  const taken = await takeOver(tx, steps, acts, now);
  return { acts: acts.length, unreadable: listed.unreadable, ...taken };
}

/** Takes over what a restore did not find; undefined: there is nothing of that kind. */
async function takeOverLate(tx: Tx, { steps, directories, madeAt }: Listed, now: number) {
  const restored = await readRestored(tx);
  const listed = restored && readActs(directories, madeAt);
  if (!listed) return undefined;
  // Words of people since the restore are their last, and so is a stop that they ended. A note or
  // the like is no such word: what a person decided about a delivery is in the journal.
  const known = await sql<{ subject: string }>`
    select subject from audit where at >= ${restored.at}
      and (action in ('pause', 'resume') or action like 'outbox.%')
    union select 'delivery:' || order_delivery_id from decision
      where at >= ${restored.at} and actor like 'person:%'
    union select 'delivery:' || order_delivery_id from restored_stop
    union select case name when '' then target else target || ':' || name end from pause
  `.execute(tx);
  const subjects = new Set(known.rows.map(({ subject }) => subject));
  const acts = actsAfter(listed, restored.createdAt).filter(
    ({ at, subject }) => at <= restored.at && !subjects.has(subject),
  );
  const { stopped, paused } = await takeOver(tx, steps, acts, now);
  return stopped > 0 || paused.length > 0 ? { stopped, paused } : undefined;
}

/**
 * Gives the refusal to resume pushes, once, where the list of acts names something that the restore
 * did not find there: it is taken over, and a person looks at it first.
 */
export async function compareActs(
  tx: Tx,
  listed: Listed,
  now: number,
): Promise<RefusedError | undefined> {
  const late = await takeOverLate(tx, listed, now);
  if (!late) return undefined;
  const found = [
    ...(late.stopped > 0 ? [`${plural(late.stopped, 'delivery', 'deliveries')} held`] : []),
    ...(late.paused.length > 0 ? [`${late.paused.join(', ')} paused`] : []),
  ];
  const message = `the list of acts has more than at the restore: ${found.join(' and ')}`;
  return new RefusedError('pause.acts_since', message, {
    hint: 'look at what is held now, then resume again',
  });
}
