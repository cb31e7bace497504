/** Reads a delivery with its present facts for commands that only show, never to decide. */
import { SelvedgeError } from '../../lib/errors.ts';
import type { RuleSet } from '../../rules/rule.ts';
import type { Store, Tx } from '../../store/store.ts';
import { readSubject, type Subject } from '../facts.ts';
import { hasManualDecision } from '../journal.ts';
import { openPush } from '../push.ts';
import { deliveryIdOf } from '../review/deliveries.ts';

/** Reads a delivery with its facts at `now`; throws when there is none. */
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

/** Says why the rules do not decide about a pending delivery; undefined when they do. */
export async function whyLeftToPeople(tx: Tx, subject: Subject): Promise<string | undefined> {
  if (await openPush(tx, subject.delivery.order_delivery_id)) {
    return 'what was decided is on its way';
  }
  if (!hasManualDecision(subject)) return undefined;
  return 'a person has decided, it is left to people';
}
