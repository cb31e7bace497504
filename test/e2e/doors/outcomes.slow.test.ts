/** Outcomes of packed deliveries reach the ERP: as rows, by the command and by HTTP. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { Secret } from '../../../src/lib/secret.ts';
import { startCliHouse } from '../../cli/house.ts';
import { foreignRows, foreignSql } from '../../support/foreign-sql.ts';
import { until } from '../../support/house.ts';
import { repositoryRoot } from '../../support/source.ts';
import { temporaryFolder } from '../../support/store.ts';
import { placeOrders, startFastReference } from '../support.ts';
import { TOKEN } from './house.ts';

const HOLD_ALL = `
rules:
  - id: hold-all
    title: Everything
    owner: sales
    action: hold
    mode: MODE
    when: [ delivery.quantity > 0 ]
`;

const outcomeSchema = z.looseObject({
  outcomeId: z.int(),
  kind: z.literal('decision'),
  orderDeliveryId: z.int(),
  outcome: z.string(),
  state: z.string(),
});

/** A daemon whose deliveries all are held, and a command that is told of what becomes of them. */
async function startOutcomes(mode: 'live' | 'shadow' = 'live') {
  const reference = await startFastReference({
    world: { styles: 4, orders: 0 },
    life: { ordersPerMinute: 0, packAfter: '10ms', shipAfter: '1h', cancelShare: 0 },
  });
  const folder = temporaryFolder();
  const told = join(folder, 'told.ndjson');
  const command = join(folder, 'tell.sh');
  writeFileSync(command, `#!/bin/sh\ncat >> ${told}\n`, { mode: 0o700 });
  const settings = {
    'outbox.delayMin': '0s',
    'streams.off': ['stock', 'season', 'ordersFull'],
    'intake.callback.command': [command],
    'intake.clients': [{ name: 'erp', token: new Secret('token', TOKEN) }],
  };
  const house = await startCliHouse(reference, {
    folder,
    rules: HOLD_ALL.replace('MODE', mode),
    overrides: Object.entries(settings).map(([path, value]) => ({ path, value })),
  });
  const data = join(folder, 'data');
  const exchange = join(data, 'exchange.db');
  const local: unknown = JSON.parse(readFileSync(join(data, 'local.json'), 'utf8'));
  const { url } = z.object({ url: z.string() }).parse(local);
  const rows = () =>
    existsSync(exchange) ? foreignRows(exchange, 'SELECT * FROM outcome ORDER BY outcome_id') : [];
  return {
    ...{ ...house, reference, exchange },
    rows,
    /** Finds the rows that have these values, once there are as many. */
    someRows(count: number, ...is: [column: string, value: unknown][]) {
      // Asks the other program when there is news only: the daemon waits for it meanwhile.
      let seen = 0;
      return until(`${count} rows of ${is.join(' and ')}`, async () => {
        const { db } = house.daemon.store;
        const there = await db
          .selectFrom('outcome')
          .select('outcome_id')
          .where('row_due', '=', 0)
          .execute();
        if (there.length === seen) return undefined;
        seen = there.length;
        const found = rows().filter((row) => is.every(([name, value]) => row[name] === value));
        return found.length >= count ? found : undefined;
      });
    },
    told: () =>
      (existsSync(told) ? readFileSync(told, 'utf8').trim().split('\n') : []).map((line) =>
        outcomeSchema.parse(JSON.parse(line)),
      ),
    async http(query: string) {
      const headers = { authorization: `Bearer ${TOKEN}` };
      const answer = await fetch(`${url}/api/outcomes${query}`, { headers });
      return { status: answer.status, body: z.looseObject({}).parse(await answer.json()) };
    },
  };
}

it('a hold, decisions of people here and in the service, and refusals are told', async () => {
  const house = await startOutcomes();
  const { reference, call, someRows } = house;
  placeOrders(reference, 3);
  const held = await someRows(3, ['outcome', 'hold']);
  expect(held[0]).toMatchObject({
    ...{ state: 'confirmed', rules: '["hold-all"]', decided_by: 'daemon', problem: null },
    reason: expect.stringContaining('Everything'),
    order_no: expect.any(String),
    delivery_no: expect.any(String),
  });
  const [a, b, c] = held.map((row) => Number(row.order_delivery_id));
  const { world } = reference;
  const elsewhere = (id: unknown): void => {
    const delivery = world.book.deliveries.get(Number(id));
    if (delivery) world.trade.moveDelivery(delivery, 'rejected');
  };

  const accepted = await call('deliveries', 'accept', String(a), '--reason', 'paid today');
  expect(accepted.code).toBe(0);
  const [accept] = await someRows(1, ['outcome', 'accept'], ['order_delivery_id', a]);
  expect(accept).toMatchObject({ state: 'confirmed', reason: 'paid today', rules: '[]' });
  expect(accept?.decided_by).not.toBe('daemon');
  expect(world.book.deliveries.get(a ?? 0)?.status).toBe('accepted');

  elsewhere(b);
  const [reject] = await someRows(1, ['outcome', 'reject']);
  expect(reject).toMatchObject({
    ...{ order_delivery_id: b, state: 'confirmed', decided_by: 'external' },
    reason: 'somebody rejected it in the service',
  });

  elsewhere(c);
  await someRows(2, ['outcome', 'reject']);

  // Once it has shipped, the service does not take the accept back.
  const delivery = world.book.deliveries.get(a ?? 0);
  if (delivery) world.trade.ship(delivery);
  const back = await call('deliveries', 'hold', String(a), '--reason', 'unpaid after all');
  expect(back.code).toBe(0);
  const [refused] = await someRows(1, ['state', 'refused']);
  expect(refused).toMatchObject({
    ...{ outcome: 'hold', order_delivery_id: a, reason: 'unpaid after all' },
    problem: expect.stringContaining('shipped'),
  });
  const ofThat = house.rows().filter(({ decision_id }) => decision_id === refused?.decision_id);
  expect(ofThat).toEqual([refused]);

  const example = readFileSync(join(repositoryRoot, 'docs/examples/erp-client.cs'), 'utf8');
  const [, query = ''] = /CommandText = @"\s+([^"]*FROM outcome .*?)";/s.exec(example) ?? [];
  const after = Number(accept?.outcome_id) - 1;
  const [line = ''] = foreignSql(house.exchange, query, { parameters: { after } }).split('\n');
  expect(line).toContain(`|${accept?.delivery_no}|accept|confirmed|paid today|`);
  expect(line.startsWith(`${accept?.outcome_id}|`)).toBe(true);

  const all = house.rows();
  const shown = await until('all rows told', () => {
    const ids = new Set(house.told().map(({ outcomeId }) => outcomeId));
    return all.every(({ outcome_id }) => ids.has(Number(outcome_id))) ? all : undefined;
  });
  // More may be packed and held meanwhile.
  const told = house.told();
  const first = await house.http('');
  expect(first.status).toBe(200);
  const outcomes = z.array(outcomeSchema).parse(first.body.outcomes);
  expect(outcomes.slice(0, shown.length).map(({ outcomeId }) => outcomeId)).toEqual(
    shown.map(({ outcome_id }) => outcome_id),
  );
  for (const one of told) expect(outcomes).toContainEqual(one);
  const [oldest] = outcomes;
  const rest = await house.http(`?after=${oldest?.outcomeId}`);
  const behind = z.array(outcomeSchema).parse(rest.body.outcomes);
  expect(behind.slice(0, outcomes.length - 1)).toEqual(outcomes.slice(1));
  expect((await house.http('?after=x')).status).toBe(400);
});

it('nothing is told of what rules in shadow would do', async () => {
  const house = await startOutcomes('shadow');
  placeOrders(house.reference, 1);
  const { db } = house.daemon.store;
  const entry = await until('a decision', () =>
    db.selectFrom('decision').selectAll().executeTakeFirst(),
  );
  expect(entry.outcome).toBe('no_rule');
  expect(await db.selectFrom('outcome').selectAll().execute()).toEqual([]);
});

it('the ERP may delete what it has read, and is told of what comes after it', async () => {
  const house = await startOutcomes();
  placeOrders(house.reference, 2);
  const both = await house.someRows(2, ['outcome', 'hold']);
  foreignSql(house.exchange, 'DELETE FROM outcome');
  placeOrders(house.reference, 1);
  const [next] = await house.someRows(1, ['outcome', 'hold']);
  const read = both.map(({ outcome_id }) => outcome_id);
  expect(house.rows()).toContainEqual(next);
  for (const { outcome_id } of house.rows()) expect(read).not.toContain(outcome_id);
});
