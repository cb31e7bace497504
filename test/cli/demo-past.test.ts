/** The four weeks behind the demo: in the journal as in the service. */
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createPast } from '../../src/cli/demo/past.ts';
import { knowledgeOf, readSales } from '../../src/console/read/sales.ts';
import { verifyChain } from '../../src/decisions/journal.ts';
import { loadRuleSet } from '../../src/decisions/rule-files.ts';
import { manualClock } from '../../src/lib/clock.ts';
import { parseKnobs } from '../../src/reference/control/knob-store.ts';
import { writeHistory } from '../../src/reference/life/history.ts';
import { createWorld, type World } from '../../src/reference/world/world.ts';
import { openStore, type Store } from '../../src/store/store.ts';
import { sharedEnd } from '../console/support.ts';
import { repositoryRoot } from '../support/source.ts';
import { temporaryFolder } from '../support/store.ts';

const DAY_MS = 86_400_000;
const ORDERS = 150;
const start = Date.UTC(2026, 10, 18, 9);

const shared = sharedEnd();
let world: World;
let store: Store;

beforeAll(async () => {
  const clock = manualClock(start);
  const past = createPast(loadRuleSet(`${repositoryRoot}/config/rules`), 7, ORDERS);
  const knobs = parseKnobs({ world: { seed: 7, styles: 60, orders: 4 } });
  const deps = { events: { publish: () => undefined }, clock, knobs: () => knobs };
  world = createWorld(deps);
  writeHistory(world, deps, past);
  const options = { path: `${temporaryFolder(shared.atEnd)}/data/mirror.db`, busyTimeoutMs: 5_000 };
  await past.write(options, clock);
  ({ store } = await openStore(options, clock));
});

afterAll(async () => {
  await store?.close();
  await shared.end();
});

describe('the past of the demo', () => {
  it('is a journal without a gap, in the order of time, that ends before the start', async () => {
    expect(await verifyChain(store.db)).toMatchObject({ brokenAt: undefined, forgotten: 0 });
    const rows = await store.db
      .selectFrom('decision')
      .select('at')
      .orderBy('decision_id')
      .execute();
    const times = rows.map(({ at }) => at);
    expect(times).toEqual(times.toSorted((a, b) => a - b));
    expect(times.at(-1)).toBeLessThanOrEqual(start);
    expect(times[0]).toBeLessThan(start - 27 * DAY_MS);
  });

  it('has an audit row for each decision of the two people', async () => {
    const decided = await sql`select replace(actor, 'person:', '') as actor, 'delivery.' || outcome
      as action, 'delivery:' || order_delivery_id as subject, at, reason from decision
      where actor <> 'daemon' order by decision_id`.execute(store.db);
    const audit = await sql<{ readonly actor: string }>`select actor, action, subject, at, reason
      from audit order by id`.execute(store.db);
    expect(audit.rows).toEqual(decided.rows);
    expect([...new Set(audit.rows.map(({ actor }) => actor))].sort()).toEqual(['ada', 'bo']);
  });

  it('tells in the change feed when each parcel was named, as of last week', async () => {
    const { rows } = await sql<{ key: string; at: number; tracking: string }>`select key, at,
      diff ->> '$.tracking_numbers[1]' tracking from change where entity = 'delivery'
      and diff ->> '$.tracking_numbers[0]' = '[]' order by seq`.execute(store.db);
    const shipped = world.book.deliveries.all.filter(
      ({ status, orderDeliveryId: id }) =>
        status === 'accepted' && rows.some((one) => one.key === `${id}`),
    );
    expect(shipped.length).toBeGreaterThan(ORDERS / 2);
    expect(rows.map(({ tracking }) => tracking).sort()).toEqual(
      shipped.map(({ trackingNumber }) => JSON.stringify([trackingNumber])).sort(),
    );
    const times = rows.map(({ at }) => at);
    expect(times).toEqual(times.toSorted((a, b) => a - b));
    const sales = await readSales(store.db, start, 'UTC');
    expect(knowledgeOf(sales, 'shipped', 'weekBefore').is).toBe('whole');
  });

  it('ended so at the service: accepted ones shipped, held ones were canceled', async () => {
    const { rows } = await sql<{ id: number; outcome: string }>`select order_delivery_id as id,
      outcome from decision group by 1 having decision_id = max(decision_id)`.execute(store.db);
    expect(rows.length).toBeGreaterThan(ORDERS * 0.9);
    for (const { id, outcome } of rows) {
      const delivery = world.book.deliveries.get(id);
      const [status, isShipped] = outcome === 'accept' ? ['accepted', true] : ['canceled', false];
      expect([id, delivery?.status, delivery?.trackingNumber !== undefined]).toEqual([
        id,
        status,
        isShipped,
      ]);
    }
  });
});
