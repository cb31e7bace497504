/** `kill -9` of a real daemon, in the middle of its work, and what must be true afterwards. */
import { describe, expect, it } from 'vitest';
import { verifyChain } from '../../src/decisions/journal.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { seededRandom } from '../../src/lib/random.ts';
import type { Reference } from '../../src/reference/reference.ts';
import { until } from '../support/house.ts';
import {
  acknowledgedEvents,
  createDaemonProcess,
  type DaemonProcess,
  deliveriesOverHttp,
  placeOrders,
  startFastReference,
} from './support.ts';

const clock = systemClock();

function stockRun(daemon: DaemonProcess) {
  return daemon.db
    .selectFrom('sync_run')
    .selectAll()
    .where('stream', '=', 'stock')
    .executeTakeFirst();
}

async function pagesDone(daemon: DaemonProcess, pages: number): Promise<true> {
  return until(`${pages} pages of stock`, async () => {
    const run = await stockRun(daemon);
    return run && run.pages >= pages ? true : undefined;
  });
}

describe('kill -9 in the middle of a stock pull', () => {
  it('goes on from its checkpoint', async () => {
    // Slow until the daemon is dead, and more pages than can be under way at a time: the kill must
    // not come too late.
    const faults = [{ kind: 'latency', path: '/api/v1/variants/stock', delay: '500ms' }];
    const reference = await startFastReference({ world: { styles: 240, orders: 0 }, faults });
    const rows = reference.world.stock.stockedIn(0, reference.world.catalog.variantCount);
    const settings = ["streams: { stock: { schedule: '0 0 1 1 *' }, off: [season] }"];
    const daemon = await createDaemonProcess(reference, { settings });
    await daemon.start();
    await pagesDone(daemon, 3);
    await daemon.kill();
    reference.knobs.patch({ faults: [] });
    const [[checkpoint, seen] = []] = daemon.query(
      `select checkpoint->>'next', rows_seen from sync_run where stream = 'stock'`,
    );
    expect(Number(seen)).toBeLessThan(rows);
    const asked = () => reference.edge.journal.list({ path: '/api/v1/variants/stock' });
    const before = asked().length;
    await daemon.start();
    const run = await until('a complete pull', async () => {
      const found = await stockRun(daemon);
      return found?.outcome === 'complete' ? found : undefined;
    });
    expect(run).toMatchObject({ resumes: 1, rows_seen: rows, rows_quarantined: 0 });
    expect(run.rows_changed + run.rows_unchanged).toBe(rows);
    expect(daemon.query('select count(*) from stock_variant')).toEqual([[String(rows)]]);
    const pages = asked()
      .slice(before)
      .map(({ query }) => Number(new URLSearchParams(query).get('page')));
    expect(Math.min(...pages)).toBe(Number(checkpoint));
    expect(new Set(pages).size).toBe(pages.length);
  });
});

/** Checks the end by the database, the reference's journal and its answers. */
async function expectTheTruth(reference: Reference, daemon: DaemonProcess): Promise<void> {
  const { book } = reference.world;
  expect(
    daemon.query(`select order_delivery_id, count(*) from decision where outcome = 'accept'
      group by 1 having count(*) > 1`),
  ).toEqual([]);
  const posts = new Map<string, number>();
  for (const { path, status } of reference.edge.journal.list({
    method: 'POST',
    path: '*/deliveries/*',
  })) {
    expect([200, null]).toContain(status);
    posts.set(path, (posts.get(path) ?? 0) + 1);
  }
  const accepted = book.deliveries.all.filter(({ status }) => status === 'accepted');
  expect(accepted.length).toBeGreaterThan(20);
  expect([...posts.keys()].sort()).toEqual(
    accepted.map((one) => `/api/v1/orders/${one.orderId}/deliveries/${one.orderDeliveryId}`).sort(),
  );
  expect([...posts.values()].filter((count) => count !== 1)).toEqual([]);
  const stored = new Set(daemon.query('select event_id from webhook_event').flat());
  const acknowledged = acknowledgedEvents(reference);
  expect(acknowledged.length).toBeGreaterThan(50);
  expect(acknowledged.filter((id) => !stored.has(id))).toEqual([]);
  const mirrored = daemon.query('select status, count(*) from delivery group by 1 order by 1');
  expect(mirrored).toEqual(await deliveriesOverHttp(reference));
  const { entries, brokenAt } = await verifyChain(daemon.db);
  expect(brokenAt).toBeUndefined();
  expect(entries).toBeGreaterThanOrEqual(book.deliveries.all.length);
}

describe('kill -9 between event and decision', () => {
  it('decides every pending delivery exactly once, and loses no acknowledged event', async () => {
    const reference = await startFastReference({
      world: { styles: 20, orders: 0 },
      life: { packAfter: '100ms', shipAfter: '1h', cancelShare: 0 },
    });
    const settings = [
      'decisions: { settle: 150ms }',
      'streams:',
      "  orders: { schedule: '*/3 * * * * *' }",
      '  off: [stock, season]',
    ];
    const daemon = await createDaemonProcess(reference, { settings });
    const random = seededRandom(17);
    for (let round = 0; round < 3; round += 1) {
      await daemon.start();
      for (let wave = random.int(3, 8); wave > 0; wave -= 1) {
        placeOrders(reference, 4);
        await clock.sleep(50);
      }
      await daemon.kill();
    }
    await daemon.start();
    const { agenda, book } = reference.world;
    await until('the end of packing', () =>
      agenda.entries().some(({ task }) => task.kind === 'pack') ? undefined : true,
    );
    await until('a decision of every delivery', async () => {
      const decided = await daemon.db
        .selectFrom('decision')
        .select('order_delivery_id')
        .distinct()
        .execute();
      const open = await daemon.db
        .selectFrom('outbox')
        .select('outbox_id')
        .where('ended_at', 'is', null)
        .execute();
      return decided.length === book.deliveries.all.length && open.length === 0 ? true : undefined;
    });
    await expectTheTruth(reference, daemon);
  });
});
