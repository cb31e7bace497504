/** The facts of a delivery as they are now, read and nothing else: for looking, never to decide. */
import { SelvedgeError } from '../../lib/errors.ts';
import type { Facts } from '../../rules/facts/plain.ts';
import type { RuleSet } from '../../rules/rule.ts';
import type { Store } from '../../store/store.ts';
import { deliveryIdOf } from '../desk.ts';
import { readSubject } from '../facts.ts';

/** What the rules would be asked about this delivery at `now`. */
export async function presentFacts(
  store: Store,
  delivery: string,
  { settings }: RuleSet,
  now: number,
): Promise<Facts> {
  const id = await deliveryIdOf(store.db, delivery);
  const subject = await store.snapshot((tx) => readSubject(tx, id, { now, settings }));
  if (subject !== undefined) return subject.facts;
  const message = `the order of delivery ${delivery} is not mirrored yet`;
  throw new SelvedgeError('deliveries.no_order', message);
}
