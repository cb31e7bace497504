/** A price that cannot be meant, through all doors: refused, confirmed, and sent once. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { foreignSql } from '../../support/foreign-sql.ts';
import { until } from '../../support/house.ts';
import { openDoors, receiptSchema, STREAMS } from './house.ts';

const PULLED = new Set<string>(['stock', 'orders']);

it('is refused at each door before it is sent, and sent once when it is confirmed', async () => {
  const house = await openDoors({ 'streams.off': STREAMS.filter((one) => !PULLED.has(one)) });
  const mirror = join(house.folder, 'data', 'mirror.db');
  const select = 'SELECT barcode, wsp_price FROM v_stock WHERE wsp_price > 0 LIMIT 1';
  const [barcode = '', listed = ''] = await until('the stock', () => {
    const row = foreignSql(mirror, select).trim();
    return row === '' ? undefined : row.split('|');
  });
  const price = String(Number(listed) * 100);
  const document = (more = {}) => ({ lines: [{ barcode, quantity: 1, price, ...more }] });
  const file = join(house.folder, 'order.json');
  const doors = {
    sql: async (more: object) => house.sqlEnd(house.insert('by-sql', document(more))),
    file: async (more: object, name: string) => {
      const payload = document(more);
      house.drop(`${name}.json`, JSON.stringify({ kind: 'order', reference: 'by-file', payload }));
      return (await house.fileEnd(`done/${name}.json`))[0];
    },
    http: async (more: object) => {
      const sent = { reference: 'by-http', ...document(more) };
      return house.httpEnd(Number((await house.post('/api/orders', sent)).body.documentId));
    },
    cli: async (more: object) => {
      writeFileSync(file, JSON.stringify({ reference: 'by-cli', ...document(more) }));
      const { stdout } = await house.call('orders', 'push', file, '--wait', '1m', '--json');
      return z.array(receiptSchema).parse(JSON.parse(stdout))[0];
    },
  };
  const throughAll = async (more: object, file: string) =>
    Promise.all(
      Object.entries(doors).map(async ([name, submit]) => ({
        name,
        told: await submit(more, file),
      })),
    );
  const refused = await throughAll({}, 'first');
  for (const { name, told } of refused) {
    const [problem] = told?.problems.filter(({ severity }) => severity === 'error') ?? [];
    expect([name, told?.state, problem?.path]).toEqual([name, 'refused', 'lines[0].price']);
    for (const said of ['line 1', barcode, '(intake.priceFactor: 10)', '"priceConfirmed": true']) {
      expect(problem?.message).toContain(said);
    }
    expect(house.ordersWith(`by-${name}`)).toBe(0);
  }
  for (const { name, told } of await throughAll({ priceConfirmed: true }, 'second')) {
    const { documentId, orderId } = told ?? {};
    expect(told?.state).toBe('confirmed');
    expect(refused.map((one) => one.told?.documentId)).toContain(documentId);
    // The first text once more is the same document, and so is the confirmed one.
    for (const more of [{}, { priceConfirmed: true }]) {
      const again = { kind: 'order', reference: `by-${name}`, ...document(more) };
      const { status, body } = await house.post('/api/documents', again);
      expect([status, body]).toMatchObject([200, { documentId, orderId, state: 'confirmed' }]);
    }
    expect([name, house.ordersWith(`by-${name}`)]).toEqual([name, 1]);
  }
  writeFileSync(file, JSON.stringify({ reference: 'dry', ...document() }));
  const dry = await house.call('orders', 'push', file, '--dry-run');
  expect([dry.code, dry.stdout]).toEqual([3, expect.stringContaining('intake.priceFactor')]);
});
