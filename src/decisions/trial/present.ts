/** The facts of a delivery as they are now, read and nothing else: for looking, never to decide. */
import { SelvedgeError } from '../../lib/errors.ts';
import type { Facts } from '../../rules/facts/plain.ts';
import type { RuleSet } from '../../rules/rule.ts';
import type { Db, Store } from '../../store/store.ts';
import { readSubject } from '../facts.ts';

function unknown(delivery: string): SelvedgeError {
  return new SelvedgeError('deliveries.unknown', `there is no delivery ${delivery}`, {
    hint: 'selvedge deliveries list shows the ids and numbers',
  });
}

/** The id of a delivery that a person named by its id or its number. */
async function deliveryIdOf(db: Db, delivery: string): Promise<number> {
  const id = /^\d{1,15}$/.test(delivery) ? Number(delivery) : -1;
  const rows = await db
    .selectFrom('delivery')
    .select('order_delivery_id')
    .where((eb) => eb.or([eb('order_delivery_id', '=', id), eb('delivery_no', '=', delivery)]))
    .where('deleted_at', 'is', null)
    .limit(2)
    .execute();
  const found = rows.find((row) => row.order_delivery_id === id) ?? rows[0];
  if (found === undefined) throw unknown(delivery);
  return found.order_delivery_id;
}

/** What the rules would be asked about this delivery at `now`. */
export async function presentFacts(
  store: Store,
  delivery: string,
  { settings }: RuleSet,
  now: number,
): Promise<Facts> {
  const id = await deliveryIdOf(store.db, delivery);
  const subject = await store.snapshot((tx) => readSubject(tx, id, { now, settings }));
  if (subject === undefined) throw unknown(`${delivery} with its order`);
  return subject.facts;
}
