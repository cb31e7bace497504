/**
 * Runs one storm: minutes in which the daemon is killed, events flood in, the service refuses
 * requests or log-ins, the clock is stepped, and orders arrive all the while. The last minutes
 * leave a backlog behind. From a minute after that on, what is due is worked off at the rate that
 * the service takes, a new delivery does not wait for it, and within an hour all is done, and
 * nothing twice. What failed meanwhile is due by its own back-off, up to ten minutes later, and is
 * measured only by that it is done in the end.
 */
import { calmClock } from '../decisions/campaign/calm-clock.ts';
import { MINUTE_MS, openSoak, type Soaked, STARTS_AT } from './fixture.ts';
import { missing } from './soak.ts';

interface StormSize {
  readonly minutes: number;
  /** Orders of which the backlog at the end consists. */
  readonly backlog: number;
}

interface StormFigures {
  readonly seed: number;
  readonly orders: number;
  readonly kills: number;
  readonly requests: number;
  /** Requests that were refused as too fast, per minute of the storm. */
  readonly refusedPerMinute: number;
  /** Share of the service's limit that was used in the second minute after the storm. */
  readonly share: number;
  /** Milliseconds from the packing of a new delivery to its accept, with the backlog waiting. */
  readonly newestMs: number;
  readonly problems: readonly string[];
  readonly cpuSeconds: number;
}

const PER_SECOND = 20;
const SHARE_MIN = 0.9;
const NEWEST_MS_MAX = 5_000;
const LOOK_MS = 100;
/** Last minutes, in which every request is refused while the backlog arrives. */
const LAST_MINUTES = 3;
const CALM_MS = 60 * MINUTE_MS;
const STEPS_MS = [-20, 0, 25].map((minutes) => minutes * MINUTE_MS);

type Trouble = (soaked: Soaked) => unknown;

function faulty(fault: (soaked: Soaked) => Readonly<Record<string, unknown>>): Trouble {
  return (soaked) => soaked.reference.knobs.patch({ faults: [fault(soaked)] });
}

/** Events that say what is known of a delivery already. */
function flood({ reference, random }: Soaked): void {
  const { all } = reference.world.book.deliveries;
  for (let left = all.length === 0 ? 0 : 500; left > 0; left -= 1) {
    const { orderDeliveryId, orderId, status } = random.pick(all);
    const salesOrderDelivery = { orderDeliveryId, orderId, status, fulfilledLineItems: [] };
    reference.relay.publish('sales_order.delivery_updated', { salesOrderDelivery });
  }
}

async function kill(soaked: Soaked): Promise<void> {
  await soaked.kill();
  await soaked.start();
}

const tooMany = faulty(({ random }) => ({
  kind: 'tooMany',
  lasts: `${random.int(2, 40)}s`,
  probability: random.pick([0.3, 1]),
  retryAfter: random.pick([null, 1, 5]),
}));
const refuseLogIn: Trouble = (soaked) => {
  soaked.reference.keys.revokeAll();
  faulty(() => ({ kind: 'unauthorized', path: '*/auth/login', lasts: '40s' }))(soaked);
};
const TROUBLES: readonly Trouble[] = [
  ...[kill, kill, flood, flood, tooMany, tooMany, tooMany, refuseLogIn],
  faulty(() => ({ kind: 'serverError', lasts: '30s' })),
  faulty(() => ({ kind: 'reset', count: 30 })),
  (soaked) => {
    soaked.ahead = soaked.random.pick(STEPS_MS);
  },
];

function rest({ clock }: Soaked, ms: number): Promise<void> {
  return clock.runUntil(clock.now() + ms);
}

/** Passes the storm; gives the number of kills. */
async function storm(soaked: Soaked, { minutes, backlog }: StormSize): Promise<number> {
  let kills = 0;
  for (let left = minutes - LAST_MINUTES; left > 0; left -= 1) {
    soaked.place(soaked.random.int(5, 30));
    for (let part = 0; part < 3; part += 1) {
      const trouble = soaked.random.pick(TROUBLES);
      if (trouble === kill) kills += 1;
      await trouble(soaked);
      await rest(soaked, MINUTE_MS / 3);
    }
  }
  soaked.ahead = 0;
  soaked.reference.knobs.patch({ faults: [{ kind: 'tooMany', retryAfter: 1 }] });
  soaked.place(backlog);
  await rest(soaked, LAST_MINUTES * MINUTE_MS);
  flood(soaked);
  soaked.reference.knobs.patch({ faults: [] });
  return kills;
}

/** Requests from this time on that the service took, and that it refused as too fast. */
function requestsSince({ reference }: Soaked, from: number) {
  const all = reference.edge.journal.list().filter(({ at }) => Date.parse(at) >= from);
  const refused = all.filter(({ status }) => status === 429).length;
  return { taken: all.length - refused, refused };
}

/** Packs a new delivery while others wait; gives the milliseconds until it is accepted. */
async function newestMs(soaked: Soaked): Promise<number> {
  const { book } = soaked.reference.world;
  const known = new Set(book.deliveries.all.map(({ orderDeliveryId }) => orderDeliveryId));
  const isNew = ({ orderDeliveryId }: { readonly orderDeliveryId: number }): boolean =>
    !known.has(orderDeliveryId);
  soaked.place(1);
  for (let left = 2 * MINUTE_MS; left > 0; left -= LOOK_MS) {
    await rest(soaked, LOOK_MS);
    const found = book.deliveries.all.filter(isNew);
    if (found.length > 0 && found.every(({ status }) => status === 'accepted')) {
      return soaked.clock.now() - Math.min(...found.map(({ createdAt }) => createdAt));
    }
  }
  return Number.POSITIVE_INFINITY;
}

async function waiting({ daemon }: Soaked): Promise<number> {
  const { db } = daemon().store;
  const count = db.fn.countAll<number>().as('count');
  return (await db.selectFrom('refresh').select(count).executeTakeFirstOrThrow()).count;
}

/** Deliveries that were told more than once what was decided. */
function doubled({ reference }: Soaked): readonly string[] {
  const posts = reference.edge.journal.list({ method: 'POST', path: '*/deliveries/*' });
  const paths = posts.filter(({ status }) => status === 200).map(({ path }) => path);
  return paths.filter((path, at) => paths.indexOf(path) < at).map((path) => `twice: ${path}`);
}

export async function runStorm(seed: number, size: StormSize): Promise<StormFigures> {
  const began = process.cpuUsage();
  const clock = calmClock(STARTS_AT);
  const account = { taken: PER_SECOND, asked: PER_SECOND, readLag: '0s' };
  await using soaked = await openSoak(seed, clock, account);
  await soaked.start();
  soaked.place(10);
  await rest(soaked, 5 * MINUTE_MS);
  const from = clock.now();
  const kills = await storm(soaked, size);
  const { refused } = requestsSince(soaked, from);
  await rest(soaked, MINUTE_MS);
  const calmAt = clock.now();
  const newest = await newestMs(soaked);
  const problems: string[] = [];
  if ((await waiting(soaked)) === 0) problems.push('the backlog was too small to prove anything');
  const { taken } = requestsSince(soaked, calmAt);
  const share = taken / (((clock.now() - calmAt) / 1_000) * PER_SECOND);
  if (share < SHARE_MIN) problems.push(`only ${share.toFixed(2)} of the limit were used`);
  if (newest > NEWEST_MS_MAX) problems.push(`a new delivery waited for ${newest} ms`);
  await rest(soaked, CALM_MS);
  problems.push(...(await missing(soaked)), ...doubled(soaked));
  const { user, system } = process.cpuUsage(began);
  return {
    ...{ seed, kills, share, problems, newestMs: newest },
    orders: soaked.reference.world.book.orders.all.length,
    requests: requestsSince(soaked, 0).taken,
    refusedPerMinute: refused / size.minutes,
    cpuSeconds: (user + system) / 1_000_000,
  };
}
