/**
 * Runs one soak: an hour in which orders arrive at an account whose reads are behind its events,
 * many of them late at once, and every fault happens once. Once all is calm again, every order has
 * been read, decided and accepted, and a census finds what it found before.
 */
import { calmClock } from '../decisions/campaign/calm-clock.ts';
import { differences, takeCensus } from './census.ts';
import { HOUR_MS, MINUTE_MS, openSoak, type Soaked, STARTS_AT, USUAL_LAG } from './fixture.ts';

interface SoakSize {
  readonly orders: number;
  /** Orders of these that are late at once. */
  readonly late: number;
}

interface SoakFigures {
  readonly seed: number;
  readonly orders: number;
  readonly accepted: number;
  readonly requests: number;
  readonly problems: readonly string[];
  readonly cpuSeconds: number;
}

/** Longer than the settlement delay, a sweep and the waits of each kind of retry together. */
const CALM_MS = HOUR_MS;
const WARM_ORDERS = 10;
/** Minute of the hour in which many are late at once. */
const LATE_AT = 20;
const LATE_LAG = '30s';

const FAULTS = ['tooMany', 'serverError', 'reset', 'truncated', 'maintenance', 'unauthorized'];

type Trouble = (soaked: Soaked) => unknown;

function faulty(fault: Readonly<Record<string, unknown>>): Trouble {
  return ({ reference }) => reference.knobs.patch({ faults: [fault] });
}

/** What happens in the hour, by the minute in which it does. */
const TROUBLES = new Map<number, Trouble>([
  // Early, so that what is kept in memory by what follows is seen.
  [
    2,
    async (soaked) => {
      await soaked.stop();
      await soaked.start();
    },
  ],
  [4, faulty({ kind: 'tooMany', count: 20, retryAfter: 2 })],
  [8, faulty({ kind: 'serverError', lasts: '2m' })],
  [12, faulty({ kind: 'reset', count: 30 })],
  [16, faulty({ kind: 'reset', moment: 'after', method: 'POST', count: 5 })],
  [25, faulty({ kind: 'truncated', count: 10, contentLength: 'wrong' })],
  [28, faulty({ kind: 'maintenance', lasts: '1m' })],
  [
    32,
    (soaked) => {
      soaked.reference.keys.revokeAll();
      faulty({ kind: 'unauthorized', path: '*/auth/login', lasts: '2m' })(soaked);
    },
  ],
  [36, (soaked) => setAhead(soaked, -20 * MINUTE_MS)],
  [41, (soaked) => setAhead(soaked, 0)],
  [50, ({ reference }) => reference.knobs.patch({ webhooks: { lost: 1 } })],
  [52, ({ reference }) => reference.knobs.patch({ webhooks: { lost: null } })],
]);

function setAhead(soaked: Soaked, ms: number): void {
  soaked.ahead = ms;
}

async function rest({ clock }: Soaked, ms: number): Promise<void> {
  await clock.runUntil(clock.now() + ms);
}

async function troubledHour(soaked: Soaked, { orders, late }: SoakSize): Promise<void> {
  const perMinute = Math.ceil((orders - late) / 60);
  for (let minute = 0; minute < 60; minute += 1) {
    await TROUBLES.get(minute)?.(soaked);
    if (minute === LATE_AT) {
      soaked.reference.knobs.patch({ dialect: { readLag: LATE_LAG } });
      soaked.place(late);
    }
    if (minute === LATE_AT + 2) soaked.reference.knobs.patch({ dialect: { readLag: USUAL_LAG } });
    const placed = soaked.reference.world.book.orders.all.length - WARM_ORDERS;
    soaked.place(Math.max(0, Math.min(perMinute, orders - placed)));
    await rest(soaked, MINUTE_MS);
  }
  soaked.reference.knobs.patch({ faults: [] });
}

/** Orders that the mirror does not have, and deliveries that are not accepted. */
export async function missing({ reference, daemon }: Soaked): Promise<readonly string[]> {
  const { db } = daemon().store;
  const { orders, deliveries } = reference.world.book;
  const rows = await db.selectFrom('sales_order').select('order_id').execute();
  const mirrored = new Set(rows.map(({ order_id }) => order_id));
  const unread = orders.all.filter(({ orderId }) => !mirrored.has(orderId));
  const open = deliveries.all.filter(({ status }) => status !== 'accepted');
  return [
    ...unread.map(({ orderId }) => `order ${orderId} was never read`),
    ...open.map(({ orderDeliveryId: id, status }) => `delivery ${id} is ${status}`),
  ];
}

/** Faults that nobody met, so that they have proved nothing. */
function unmet({ reference }: Soaked): readonly string[] {
  const met = new Set(
    reference.edge.journal
      .list()
      .flatMap(({ faults }) => faults)
      .map((name) => name.split(' ')[0]),
  );
  return FAULTS.filter((kind) => !met.has(kind)).map((kind) => `no request met the fault ${kind}`);
}

export async function runSoak(seed: number, size: SoakSize): Promise<SoakFigures> {
  const began = process.cpuUsage();
  const clock = calmClock(STARTS_AT);
  await using soaked = await openSoak(seed, clock);
  await soaked.start();
  soaked.place(WARM_ORDERS);
  await rest(soaked, CALM_MS);
  const before = await takeCensus(soaked);
  await troubledHour(soaked, size);
  await rest(soaked, CALM_MS);
  const kept = differences(before, await takeCensus(soaked, before));
  const problems = [...(await missing(soaked)), ...unmet(soaked), ...kept];
  const { user, system } = process.cpuUsage(began);
  const { edge, world } = soaked.reference;
  const { all } = world.book.deliveries;
  return {
    ...{ seed, problems, cpuSeconds: (user + system) / 1_000_000 },
    orders: world.book.orders.all.length,
    accepted: all.filter(({ status }) => status === 'accepted').length,
    requests: edge.journal.list().length,
  };
}
