/** Forgetting the people in an order, from the command line to the bytes of the files. */
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { inflateSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { EXIT } from '../../../src/lib/errors.ts';
import { until } from '../../support/house.ts';
import { type DoorHouse, openDoors, STREAMS } from './house.ts';

/** Stands in every text that tells of the person, and nowhere else. */
const MARK = 'Zqvendela';

const ADDRESS = {
  firstName: MARK,
  lastName: `${MARK}sen`,
  address: `${MARK}vej 7`,
  city: `${MARK}by`,
  zip: `${MARK}77`,
  countryCode: 'DK',
  phone: `+45 ${MARK}`,
  email: `${MARK}@example.com`,
  company: `${MARK} ApS`,
};

const RULES = `
rules:
  - id: accept-all
    title: All
    action: accept
    mode: live
    when:
      - order.company != "nobody"
      - order.city != "nowhere"
      - order.comment != "nothing"
    message: 'for {{order.company}} in {{order.city}}'
`;

/** In a process of its own: closing a file here would drop the locks of the daemon. */
const SEARCH = `
const { readdirSync, readFileSync, statSync } = require('node:fs');
const [, mark, ...folders] = process.argv;
for (const folder of folders) {
  for (const name of readdirSync(folder, { recursive: true })) {
    const path = folder + '/' + name;
    if (!statSync(path).isFile()) continue;
    const bytes = readFileSync(path);
    if (bytes.includes(mark) || bytes.includes(Buffer.from(mark, 'utf16le'))) console.log(name);
  }
}`;

/** Names of files in which the mark stands. */
function filesWithMark({ folder, inbox }: DoorHouse, mark = MARK): string[] {
  const args = ['-e', SEARCH, mark, join(folder, 'data'), inbox];
  return execFileSync(process.execPath, args, { encoding: 'utf8' }).split('\n').filter(Boolean);
}

const OVERRIDES = { 'streams.off': STREAMS.filter((name) => !name.startsWith('orders')) };

async function houseWithOrder(reference: string) {
  const house = await openDoors(OVERRIDES, { life: { packAfter: '1h', shipAfter: '1h' } });
  writeFileSync(join(house.rulesFolder, 'rules.yaml'), RULES);
  expect((await house.call('rules', 'reload', '--reason', 'a test')).code).toBe(0);
  const payload = { ...house.order(), comment: `for ${MARK}`, shippingAddress: ADDRESS };
  const end = await house.sqlEnd(house.insert(reference, payload));
  expect(end.state).toBe('confirmed');
  const order = house.reference.world.book.orders.get(Number(end.orderId));
  if (!order) throw new Error('the service has no such order');
  return { house, order, payload, orderId: order.orderId };
}

/** Packs and ships it, and waits until the mirror shows that it is over. */
async function bringToEnd({ house, order }: Awaited<ReturnType<typeof houseWithOrder>>) {
  const { trade } = house.reference.world;
  const delivery = trade.packAll(order);
  if (!delivery) throw new Error('nothing was packed');
  await until('the accept at the service', () => delivery.status === 'accepted' || undefined);
  expect(trade.ship(delivery)).toBe(true);
  const { db } = house.daemon.store;
  await until('the end of the order', async () => {
    const { code } = await house.call('sync', 'run', 'orders');
    const row = await db
      .selectFrom('sales_order')
      .select('completed')
      .where('order_id', '=', order.orderId)
      .executeTakeFirst();
    const open = await db.selectFrom('refresh').select('order_id').execute();
    const pushes = await db
      .selectFrom('outbox')
      .select('state')
      .where('ended_at', 'is', null)
      .execute();
    const isOver = row?.completed === 1 && open.length + pushes.length === 0;
    return code === 0 && isOver ? true : undefined;
  });
  return delivery;
}

async function factsOf({ daemon }: DoorHouse): Promise<string> {
  const rows = await daemon.store.db.selectFrom('fact_snapshot').select('facts').execute();
  return rows.map(({ facts }) => inflateSync(facts).toString()).join('\n');
}

it('leaves nothing of the person in any file, and everything else as it was', async () => {
  const made = await houseWithOrder('SO-1');
  const { house, order, payload, orderId } = made;
  const { db } = house.daemon.store;
  // Refused at two doors, because the reference is taken: what was refused is kept there, too.
  const other = { ...payload, comment: `again for ${MARK}` };
  await house.sqlEnd(house.insert('SO-1', other));
  house.drop('one.json', JSON.stringify({ kind: 'order', reference: 'SO-1', payload: other }));
  await house.fileEnd('refused/one.json');
  const forget = ['orders', 'forget', 'SO-1', '--reason', 'asked to'];
  const tooEarly = await house.call(...forget, '--dry-run');
  expect(tooEarly.stderr).toMatch(/SO-1 is still under way: /);
  const early = await house.call('orders', 'forget', 'SO-1', '--yes', '--reason', 'asked to');
  expect(early.code).not.toBe(0);
  expect(early.stderr).toMatch(/SO-1 is still under way: .*\nhint: let it end/s);
  const delivery = await bringToEnd(made);
  expect(await factsOf(house)).toContain(MARK);
  expect(filesWithMark(house)).toEqual(expect.arrayContaining(['exchange.db', 'refused/one.json']));

  const wouldBe = await house.call(...forget, '--dry-run');
  expect(wouldBe.stdout).toMatch(/^the people in SO-1 \(order \d+\) would be forgotten for good/);
  expect(filesWithMark(house)).not.toEqual([]);
  const done = await house.typing('SO-1', ...forget);
  expect(done.code).toBe(0);
  expect(done.stdout).toMatch(/SO-1: forgotten \(\d+ decisions?, \d+ events/);
  expect(filesWithMark(house)).toEqual([]);
  expect(await factsOf(house)).not.toContain(MARK);

  const verified = await house.call('decisions', 'verify');
  expect(verified.stdout).toMatch(/chain +whole, \d+ entries in order, [1-9]\d* of them forgotten/);
  expect(verified.code).toBe(0);
  const explained = await house.call('deliveries', 'explain', `id:${delivery.orderDeliveryId}`);
  expect(explained.stdout).toContain('accept-all');
  const audit = await house.call('audit', 'list');
  expect(audit.stdout).toMatch(new RegExp(`forgot the people in an order +order ${orderId}`));
  const feed = await db
    .selectFrom('change')
    .select('diff')
    .where('cause', '=', 'forget')
    .executeTakeFirstOrThrow();
  expect(JSON.parse(feed.diff)).toEqual({ forgotten_at: [null, expect.any(Number)] });

  // Whatever the service shows of it later, and however often.
  Object.assign(order, { comment: `later for ${MARK}` });
  for (const stream of ['orders', 'ordersFull']) {
    expect((await house.call('sync', 'run', stream, '--full')).code).toBe(0);
  }
  const row = await db
    .selectFrom('sales_order')
    .selectAll()
    .where('order_id', '=', orderId)
    .executeTakeFirstOrThrow();
  expect(row).toMatchObject({ comment: null, company: null, shipping_address: '{}' });
  expect(row).toMatchObject({ reference: 'SO-1', country_code: 'DK', completed: 1 });
  const again = await house.call('orders', 'forget', 'SO-1', '--yes', '--reason', 'once more');
  expect(again.code).toBe(0);
  expect(filesWithMark(house)).toEqual([]);
  await house.daemon.stop();
  expect(filesWithMark(house)).toEqual([]);
});

it('asks before it acts, and says what it does not know', async () => {
  const house = await openDoors();
  const unsaid = await house.call('orders', 'forget', 'SO-9', '--yes');
  expect(unsaid.code).toBe(EXIT.usage.code);
  const unconfirmed = await house.call('orders', 'forget', 'SO-9', '--reason', 'asked to');
  expect(unconfirmed.stderr).toMatch(/must be confirmed\nhint: .*--yes/);
  const wrong = await house.typing('SO-8', 'orders', 'forget', 'SO-9', '--reason', 'asked to');
  expect(wrong.stderr).toContain('must be confirmed');
  const unknown = await house.call('orders', 'forget', 'SO-9', '--yes', '--reason', 'asked to');
  expect(unknown.stderr).toMatch(/nothing is stored of an order SO-9\nhint: .*id:/);
  expect(unknown.code).not.toBe(0);
});

it('works without a daemon, on an order that came to nothing', async () => {
  const house = await openDoors();
  const wrong = { lines: [{ barcode: '1', quantity: 1, price: 1 }], shippingAddress: ADDRESS };
  const end = await house.sqlEnd(house.insert('SO-2', wrong));
  expect(end.state).toBe('refused');
  await house.daemon.stop();
  expect(filesWithMark(house)).toContain('exchange.db');
  const done = await house.call('orders', 'forget', 'so-2', '--yes', '--reason', 'asked to');
  expect(done.stderr).toBe('');
  expect(done.code).toBe(0);
  expect(filesWithMark(house)).toEqual([]);
});
