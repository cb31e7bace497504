/**
 * Orders whose answer is lost, at a service that shows references in its own way. A few are
 * answered first, as everywhere; then nearly every answer is lost, behind the effect or, for some,
 * before it. Other systems place orders that are like some of ours. The comment of an order bears
 * the reference to the letter, which the daemon does not go by and the verdict does.
 */
import { vi } from 'vitest';
import { systemClock } from '../../../src/lib/clock.ts';
import { type Random, seededRandom } from '../../../src/lib/random.ts';
import { spelledReference } from '../../../src/reference/dialect/orders.ts';
import { type House, startHouse } from '../house.ts';
import { FIRST, ODD_WAYS, type Planned, planOrders, WAYS } from './plan.ts';

const POST = { path: '*/orders', method: 'POST' } as const;

export interface Spelled {
  /** Name in {@link WAYS} or {@link ODD_WAYS}. */
  readonly way: string;
  readonly orders: number;
  readonly seed: number;
}

export interface Outcome {
  /** Problems that were found: the list must be empty. */
  readonly problems: readonly string[];
  readonly confirmed: number;
  /** Left to people, though no other order is shown with such a reference. */
  readonly needless: number;
  readonly leftToPeople: number;
}

function placeForeign({ reference }: House, random: Random, share: number): void {
  const { book, trade } = reference.world;
  for (const order of book.orders.all.filter(() => random.chance(share))) {
    const { lines, address, freight, currency, account } = order;
    const own = { reference: `Portal ${order.orderId}`, comment: 'foreign' };
    trade.place({ ...own, lines, address, freight, currency, account });
  }
}

async function put(house: House, { reference, lines }: Planned): Promise<void> {
  await house.put('order', reference, { lines, comment: reference });
}

/** References that are shown as no other one is, whatever their letters. */
function apart(references: readonly string[], way: string): ReadonlySet<string> {
  const known = WAYS.find((one) => one === way);
  if (known === undefined || known === 'empty') return new Set();
  const spelled = (reference: string) => spelledReference(reference, known).toLowerCase();
  const shown = Map.groupBy(references, spelled);
  return new Set(references.filter((one) => shown.get(spelled(one))?.length === 1));
}

function verdictOn(
  house: House,
  rows: Awaited<ReturnType<typeof rowsOf>>,
  way: Spelled['way'],
): Outcome {
  const orders = house.reference.world.book.orders.all;
  const made = Map.groupBy(orders, ({ comment }) => comment);
  const alone = apart(
    rows.map(({ reference }) => reference),
    way,
  );
  const problems: string[] = [];
  let [confirmed, needless, leftToPeople] = [0, 0, 0];
  for (const row of rows) {
    const { reference, state } = row;
    const own = made.get(reference) ?? [];
    const told = `${reference} is ${state}, ${own.length} at the service`;
    if (own.length > 1) problems.push(`double: ${told}`);
    if (state === 'confirmed') {
      confirmed += 1;
      if (own.length === 0) problems.push(`lost: ${told}`);
      if (own[0]?.orderId !== row.order_id) problems.push(`another's: ${told}, as ${row.order_id}`);
      continue;
    }
    if (row.blocked_reason === null) problems.push(`unsettled: ${told}: ${row.last_error}`);
    const id = own[0]?.orderId;
    if (id !== undefined && !row.candidates.includes(id)) problems.push(`not shown: ${told}`);
    leftToPeople += 1;
    if (alone.has(reference)) needless += 1;
  }
  return { problems, confirmed, needless, leftToPeople };
}

async function rowsOf({ store: { db } }: House) {
  const rows = await db.selectFrom('outbox').selectAll().where('kind', '=', 'order').execute();
  const candidates = await db.selectFrom('outbox_candidate').selectAll().execute();
  return rows.map((row) => ({
    ...row,
    candidates: candidates.flatMap((one) =>
      one.outbox_id === row.outbox_id ? [one.order_id] : [],
    ),
  }));
}

function spellOddly({ reference: { world } }: House, way: string): void {
  const spell = ODD_WAYS[way];
  if (!spell) return;
  const { trade } = world;
  const place = trade.place.bind(trade);
  let number = 0;
  vi.spyOn(trade, 'place').mockImplementation((input) => {
    number += 1;
    return place(spell(input, number));
  });
}

export async function runSpelled({ way, orders, seed }: Spelled): Promise<Outcome> {
  const random = seededRandom(seed);
  const references = WAYS.find((one) => one === way) ?? 'kept';
  const house = await startHouse({
    seed,
    knobs: { dialect: { references }, world: { styles: 40, orders: 12 } },
    settings: {
      // In real time half a second: a busy machine must not look like a stalled service.
      ...Object.fromEntries(
        ['connect', 'firstByte', 'idle', 'total'].map((name) => [`service.timeouts.${name}`, '5m']),
      ),
      ...{ 'service.limits.concurrency': 16 },
      ...{ 'outbox.quietTime': '90s', 'outbox.lookEvery': '30s' },
    },
  });
  spellOddly(house, way);
  const [...planned] = planOrders(random, house.barcodes, orders + FIRST);
  for (const one of planned.splice(0, FIRST)) await put(house, one);
  await house.settled();
  house.reference.knobs.patch({
    faults: [
      { kind: 'reset', moment: 'before', ...POST, probability: 0.1, seed, lasts: '10m' },
      { kind: 'reset', moment: 'after', ...POST, probability: 0.9, seed: seed + 1, lasts: '10m' },
    ],
  });
  for (const [index, one] of planned.entries()) {
    await put(house, one);
    if (index % 20 === 19) await systemClock().sleep(1);
  }
  await house.clock.sleep(60_000);
  placeForeign(house, random, 0.02);
  await house.settled();
  return verdictOn(house, await rowsOf(house), way);
}
