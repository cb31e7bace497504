/**
 * The daemon as a process, killed with `kill -9` while orders and refunds go through the SQL door
 * to a service that cuts connections before and after the effect. It takes minutes of real time, so
 * it runs when `SELVEDGE_OUTBOX_KILLS` says how often to kill; `SELVEDGE_OUTBOX_ORDERS` how many.
 */
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, it } from 'vitest';
import { seededRandom } from '../../src/lib/chance.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { createDaemonProcess, startFastReference } from '../e2e/support.ts';

const { env } = process;
const KILLS = Number(env.SELVEDGE_OUTBOX_KILLS ?? 0);
const ORDERS = Number(env.SELVEDGE_OUTBOX_ORDERS ?? 200);
const MINUTES = 15;

function faults() {
  return ['*/orders', '*/pending-refunds'].flatMap((path) =>
    ['before', 'after'].map((moment) => ({
      ...{ kind: 'reset', moment, path, method: 'POST', probability: 0.1, seed: path.length },
    })),
  );
}

function handIn(path: string, barcode: string): void {
  const exchange = new Database(path, { timeout: 30_000 });
  const insert = exchange.prepare('insert into intake (kind, reference, payload) values (?, ?, ?)');
  const order = JSON.stringify({ lines: [{ barcode, quantity: 2, price: '12.50' }] });
  for (let index = 0; index < ORDERS; index += 1) {
    insert.run('order', `O-${index}`, order);
    if (index % 4 > 0) continue;
    const refund = { orderReference: `O-${index}`, lines: [{ barcode, quantity: 1 }] };
    insert.run('pending_refund', `R-${index}`, JSON.stringify(refund));
  }
  exchange.close();
}

it.runIf(KILLS > 0)(
  'loses and doubles nothing, however often it is killed',
  async () => {
    const random = seededRandom(KILLS);
    const reference = await startFastReference({
      world: { styles: 20, orders: 1 },
      life: { packAfter: '1d', confirmRefundAfter: 0 },
      faults: faults(),
    });
    const off = ['stock', 'season', 'orders', 'ordersFull', 'brands', 'freight', 'seasons'];
    const daemon = await createDaemonProcess(reference, {
      settings: [
        'outbox: { quietTime: 5s, delayMin: 100ms, attemptsMax: 20 }',
        `streams: { ${off.map((name) => `${name}: { enabled: false }`).join(', ')} }`,
      ],
    });
    await daemon.start();
    const [row] = daemon.query("select file from pragma_database_list where name = 'main'");
    const folder = join(row?.[0] ?? '', '..');
    handIn(
      join(folder, 'exchange.db'),
      reference.world.book.orders.all[0]?.lines[0]?.barcode ?? '',
    );
    for (let left = KILLS; left > 0; left -= 1) {
      await systemClock().sleep(random.int(200, 3_000));
      await daemon.kill();
      await daemon.start();
    }
    const open = async (): Promise<number> =>
      (
        await daemon.db
          .selectFrom('outbox')
          .select('outbox_id')
          .where('ended_at', 'is', null)
          .execute()
      ).length;
    const documents = ORDERS + Math.ceil(ORDERS / 4);
    for (let waits = 0; waits < MINUTES * 60; waits += 1) {
      const rows = await daemon.db.selectFrom('outbox').select('outbox_id').execute();
      if (rows.length === documents && (await open()) === 0) break;
      await systemClock().sleep(1_000);
    }
    const { book } = reference.world;
    const made = [...book.orders.all, ...book.pendingRefunds.all].map((one) => one.reference);
    const ours = made.filter((one) => /^[OR]-\d+$/.test(one));
    expect(ours).toHaveLength(documents);
    expect(new Set(ours).size).toBe(documents);
    expect(daemon.query("select count(*) from outbox where state <> 'confirmed'")).toEqual([['0']]);
  },
  (MINUTES + 2) * 60_000,
);
