/**
 * A backup from which this machine goes on in place of another one, whose record says what was done
 * since. What it may have sent is in doubt, never absent. It goes on by itself once the mirror was
 * read in full, unless something is missing: then a person resumes.
 */
import type { Clock } from '../../lib/clock.ts';
import { writeAudit } from '../audit.ts';
import { FILE_ACTOR, readPauses, writePause } from '../pauses.ts';
import type { Tx } from '../store.ts';
import type { Disarmed, Permitted, RestoreSteps } from '../upkeep.ts';

/** The record of another machine, from which this one goes on. */
export interface RecordSince {
  /** Brings what is recorded into the copy of the backup. */
  play(tx: Tx): Promise<Played>;
}

export interface Played {
  readonly events: readonly string[];
  readonly permits: readonly Permitted[];
  /** Whether the other machine had stopped sending, and everything is recorded. */
  readonly isHandedOver: boolean;
  /** Whether the record is proven to have all that was acknowledged. */
  readonly isProven: boolean;
}

/** Actor of the pauses that end by themselves once the mirror was read in full. */
export const TAKE_OVER = 'standby';
/** Actor of the pause that only a person ends. */
const FOR_A_PERSON = 'takeover';

const LACKS_MAX = 500;

const CATCHING_UP = 'taken over: until everything was read once';

export interface TakeOverPlan {
  readonly backup: string;
  readonly actor: string;
  readonly steps: RestoreSteps;
}

/** Leaves out the numbers that may have been given out and are not recorded. */
interface Numbers {
  /** All that was sent is known: only numbers of what was told to nobody are left out. */
  afterDeath(): Promise<unknown>;
  /** Also notes the restore, as of this time: an order may be that of a document unknown here. */
  afterLoss(createdAt: string): Promise<unknown>;
  afterHandOver(): Promise<unknown>;
}

/** Puts in doubt what may have been sent, as far as it is not known. */
async function doubt(tx: Tx, steps: RestoreSteps, played: Played, now: number) {
  const { permits, isHandedOver, isProven } = played;
  const { inDoubt, missing } = isHandedOver
    ? { inDoubt: 0, missing: [] }
    : await steps.doubtPermitted(tx, permits, now);
  const all = isHandedOver || isProven ? 0 : await steps.markPushesUnknown(tx, now);
  const brokenAt = await steps.chainBrokenAt(tx);
  return {
    inDoubt: Math.max(inDoubt, all),
    missing: [
      ...missing.map(
        ({ outboxId, kind, reference, attempt }) =>
          `push ${outboxId} (${kind} ${reference}), which attempt ${attempt} may have sent`,
      ),
      ...(brokenAt === undefined ? [] : [`the decisions before ${brokenAt}: their chain breaks`]),
    ],
  };
}

/** Pauses what must not go on yet. */
async function holdBack(tx: Tx, missing: readonly string[], at: number): Promise<void> {
  const theirs = (await readPauses(tx)).filter(({ actor }) => actor !== TAKE_OVER);
  // A file on the other machine was a person's, too, and nobody can remove it here.
  for (const pause of theirs.filter(({ actor }) => actor === FILE_ACTOR)) {
    const reason = `a file on the other machine: ${pause.reason}`;
    await writePause(tx, { ...pause, actor: FOR_A_PERSON, reason });
  }
  const whole = new Map(theirs.filter(({ name }) => name === '').map((one) => [one.target, one]));
  for (const target of ['decisions', 'pushes'] as const) {
    const wait = { target, name: '', reason: CATCHING_UP, actor: TAKE_OVER, at };
    // A pause of a person stays what it is, and ends by a person.
    if (!whole.has(target)) await writePause(tx, wait);
  }
  if (missing.length === 0) return;
  const lacks = `taken over, and the record lacks ${missing.join('; ')}`.slice(0, LACKS_MAX);
  const before = whole.get('pushes');
  const reason = before ? `${lacks}; before that ${before.actor}: ${before.reason}` : lacks;
  await writePause(tx, { target: 'pushes', name: '', reason, actor: FOR_A_PERSON, at });
}

/** Brings the record into the copy, and has it go on from there. */
export async function goOnFrom(
  tx: Tx,
  plan: TakeOverPlan,
  record: RecordSince,
  numbers: Numbers,
  clock: Clock,
) {
  const { steps, actor, backup } = plan;
  const now = clock.now();
  const played = await record.play(tx);
  const { inDoubt, missing } = await doubt(tx, steps, played, now);
  await steps.readEventsAgain(tx, played.events, now);
  // Nobody was told what the record lacks; it may lack that a person has disarmed a rule.
  const isCertain = played.isHandedOver || (played.isProven && missing.length === 0);
  const why = { actor, reason: 'taken over without proof that the record has all' };
  const disarmed: Disarmed = isCertain
    ? { disarmed: [], withdrawn: 0 }
    : await steps.disarmAll(tx, why, now);
  await steps.requestFullPulls(tx, now);
  // The record reaches up to now: acts of before are in it.
  if (played.isHandedOver) await numbers.afterHandOver();
  else if (isCertain) await numbers.afterDeath();
  else await numbers.afterLoss(new Date(now).toISOString());
  await holdBack(tx, missing, now);
  const act = { action: 'takeover', subject: 'mirror.db', reason: 'another machine was gone' };
  const { isHandedOver, isProven } = played;
  const detail = { backup, inDoubt, missing, isHandedOver, isProven, ...disarmed };
  await writeAudit(tx, { actor, ...act, detail }, now);
  return { inDoubt, since: null, isRecordEnded: false, missing, ...disarmed };
}
