/** The views of trade: a world of which every number is known, and made-up ones with an oracle. */
import { describe, expect, it } from 'vitest';
import { ats, customers, orders, oversold, toPack } from './trade/expected.ts';
import { makeWorld, mirrorOf, type Order, type World } from './trade/world.ts';

const SEEDS = Array.from({ length: 20 }, (_, seed) => seed + 1);

const ATS = `select barcode, season_name, delivery_name, quantity, packed, to_pack, ats
  from v_ats`;
const ORDERS = `select order_id, lines, pieces, fulfilled, open_pieces, amount, open_amount,
  currency, deliveries from v_order order by order_id`;
const CUSTOMERS = `select account_no, orders, amount, lines_without_amount, open_orders,
  open_amount, deliveries, held, held_percent, refunds, refunded_amount, credit_left
  from v_customer order by account_no`;

/** Rows of a question that leaves their order open. */
function sorted(rows: readonly unknown[]): string[] {
  return rows.map((row) => JSON.stringify(row)).sort();
}

const ORDER: Order = {
  ...{ id: 1, account: 'A', status: 'pending', isCompleted: false, isGone: false },
  ...{ currency: 'DKK', season: null, lines: [], deliveries: [], refunds: [] },
};
const LINE = { fulfilled: 0, price: 100_0000, season: null, window: null };

/** 10 coats; 4 ordered of which 3 are packed; 30 of the season, of which 12 and 20 are ordered. */
const KNOWN: World = {
  stock: [{ barcode: 'coat', style: 'S-1', quantity: 10, isGone: false }],
  seasons: [{ barcode: 'coat', style: 'S-1', quantity: 30, isGone: false, season: 'AW' }],
  orders: [
    {
      ...ORDER,
      lines: [{ ...LINE, barcode: 'coat', quantity: 4 }],
      deliveries: [
        {
          ...{ id: 11, status: 'pending', isGone: false, isTracked: false, isRecent: false },
          outcomes: ['hold'],
          lines: [{ barcode: 'coat', pieces: 3 }],
        },
      ],
    },
    {
      ...ORDER,
      ...{ id: 2, season: 'AW' },
      lines: [
        { ...LINE, barcode: 'coat', quantity: 12, window: 'Aug' },
        { ...LINE, barcode: 'coat', quantity: 20, window: 'Sep' },
      ],
    },
  ],
  customers: [{ account: 'A', limit: 500_0000, balance: 600_0000 }],
};

describe('the views of trade', () => {
  it('say of a known world what people work out by hand', async () => {
    using mirror = await mirrorOf(KNOWN, { stock: 'onHand', season: 'onHand' });
    expect(mirror.ask(ATS)).toEqual([
      ['coat', null, null, 10, 3, 1, 6],
      ['coat', 'AW', 'Aug', 30, 0, 12, 18],
      ['coat', 'AW', 'Sep', 30, 0, 32, -2],
    ]);
    expect(mirror.ask('select season_name, missing from v_oversold')).toEqual([['AW', 2]]);
    expect(mirror.ask(ORDERS)).toEqual([
      [1, 1, 4, 0, 4, 400, 400, 'DKK', 1],
      [2, 2, 32, 0, 32, 3200, 3200, 'DKK', 0],
    ]);
    expect(mirror.ask(CUSTOMERS)).toEqual([['A', 2, 3600, 0, 2, 3600, 1, 1, 100, 0, 0, -100]]);
  });

  it('take nothing off twice where the service has taken it off already', async () => {
    using mirror = await mirrorOf(KNOWN, { stock: 'free', season: 'free' });
    expect(mirror.ask('select ats from v_ats').flat()).toEqual([10, 30, 30]);
    expect(mirror.ask('select * from v_oversold')).toEqual([]);
  });

  it.each(SEEDS)('say what loops over the rows of made-up world %i say', async (seed) => {
    const world = makeWorld(seed);
    const says = { stock: seed % 4 === 0 ? 'free' : 'onHand', season: 'onHand' };
    using mirror = await mirrorOf(world, says);
    const packing = `select order_id, line_no, barcode, season_name, delivery_name, pieces, to_pack
      from v_to_pack`;
    expect(sorted(mirror.ask(packing))).toEqual(sorted(toPack(world)));
    expect(sorted(mirror.ask(ATS))).toEqual(sorted(ats(world, says)));
    const missing = 'select barcode, season_name, missing from v_oversold';
    expect(sorted(mirror.ask(missing))).toEqual(sorted(oversold(world, says)));
    expect(mirror.ask(ORDERS)).toEqual(orders(world));
    expect(mirror.ask(CUSTOMERS)).toEqual(customers(world));
  });

  it.each(SEEDS.slice(0, 4))(
    'have each line of made-up world %i once, of its style',
    async (seed) => {
      const { orders: all, stock, seasons } = makeWorld(seed);
      using mirror = await mirrorOf(makeWorld(seed), { stock: 'onHand', season: 'onHand' });
      const styleOf = (barcode: string) =>
        [...stock, ...seasons].find((one) => one.barcode === barcode)?.style ?? null;
      const ordered = all.flatMap(({ id, lines }) =>
        lines.map(({ barcode }, at) => [id, at + 1, barcode, styleOf(barcode)]),
      );
      const sql = 'select order_id, line_no, barcode, style_no from v_order_line';
      expect(sorted(mirror.ask(sql))).toEqual(sorted(ordered));
      const ofStyle = ordered.filter(([, , , style]) => style === 'S-1');
      expect(sorted(mirror.ask(`${sql} where style_no = 'S-1'`))).toEqual(sorted(ofStyle));
      const packed = all.flatMap(({ deliveries }) =>
        deliveries.flatMap(({ id, lines }) =>
          lines.map(({ barcode, pieces }, at) => [id, at + 1, barcode, styleOf(barcode), pieces]),
        ),
      );
      const lines = `select order_delivery_id, line_no, barcode, style_no, pieces
      from v_delivery_line`;
      expect(sorted(mirror.ask(lines))).toEqual(sorted(packed));
      const refunded = all.flatMap(({ refunds }) =>
        refunds.flatMap((refund) =>
          refund.lines.map(({ pieces, price }, at) => {
            const amount = price === null ? null : (pieces * price) / 10_000;
            return [refund.id, at + 1, refund.status, pieces, amount];
          }),
        ),
      );
      const back = `select order_refund_id, line_no, status, pieces, amount from v_refund_line`;
      expect(sorted(mirror.ask(back))).toEqual(sorted(refunded));
    },
  );
});
