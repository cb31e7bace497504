/** A delivery with its facts as they are now, only read: for looking, never to decide. */
import { SelvedgeError } from '../../lib/errors.ts';
import type { RuleSet } from '../../rules/rule.ts';
import type { Store, Tx } from '../../store/store.ts';
import { readSubject, type Subject } from '../facts.ts';
import { openPush } from '../push.ts';
import { deliveryIdOf } from '../review/deliveries.ts';
import { hasManualDecision } from '../review/manual-decision.ts';

/** Reads the facts of a delivery at `now`, for commands that only show. */
export async function currentSubject(
  store: Pick<Store, 'db' | 'snapshot'>,
  delivery: string,
  { settings }: RuleSet,
  now: number,
): Promise<Subject> {
  const id = await deliveryIdOf(store.db, delivery);
  const subject = await store.snapshot((tx) => readSubject(tx, id, { now, settings }));
  if (subject !== undefined) return subject;
  const message = `the order of delivery ${delivery} is not mirrored yet`;
  throw new SelvedgeError('deliveries.no_order', message);
}

/** Why the rules do not decide about what is pending, for people; undefined where they do. */
export async function whyLeftToPeople(tx: Tx, subject: Subject): Promise<string | undefined> {
  if (await openPush(tx, subject.delivery.order_delivery_id)) {
    return 'what was decided is on its way';
  }
  if (!(await hasManualDecision(tx, subject))) return undefined;
  return 'a person has decided, it is left to people';
}
