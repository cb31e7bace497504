/** Amounts as text, of which some may have decimals or thousands: the account itself shows it. */
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/lib/clock.ts';
import { seededRandom } from '../../src/lib/random.ts';
import { createVariantPages } from '../../src/sync/bulk/variant-pages.ts';
import { createPlanner } from '../../src/sync/planner.ts';
import { readDecimals } from '../../src/sync/upgrade.ts';
import { type Row, startList } from './list-server.ts';

const priced = (barcode: string, price: string): Row => ({
  ...{ barcode, quantity: 1 },
  details: { price, currency: 'KWD' },
});

/** Prices of an account with three decimals, of which the first may be thousands. */
const KWD = ['12.500', '7.000', '0.750', '1250.000'].map((price, at) => priced(`b${at}`, price));

function unreadOrder(id: number) {
  return {
    ...{ order_id: id, status: 'confirmed', completed: 0, extra: '{}', content_hash: '' },
    ...{ first_seen_at: 1, changed_at: 1, read_seq: 1, source: 'a', unread: '["orderLineItems"]' },
    shipping_address: '{}',
  };
}

async function startAccount() {
  const { list, store, deps, stock } = await startList('stream');
  const prices = async () => {
    const rows = store.db.selectFrom('stock_variant').select('price').orderBy('barcode').execute();
    return (await rows).map(({ price }) => (price === null ? null : price / 10_000));
  };
  return {
    ...{ list, store, prices },
    /** Starts a daemon's planner for one run. */
    async pull(setting: 'learned' | 'point' | 'comma' = 'learned', account = 'a') {
      const decimals = await readDecimals(store.db, account, setting);
      const stop = new AbortController();
      const planner = createPlanner({
        ...{ ...deps, decimals, random: seededRandom(1) },
        variants: createVariantPages({ store, clock: systemClock(), decimals }),
        streams: [{ stream: stock, schedule: '0 3 1 1 *', atStart: true }],
        form: { decimals, account },
        onRunEnded: () => stop.abort(),
        mayPull: () => true,
      });
      await planner.run(stop.signal);
      return prices();
    },
  };
}

describe('prices with three decimals as text', () => {
  it('are read once another one shows what the point is, and so after a restart', async () => {
    const { list, store, pull } = await startAccount();
    list.rows = KWD;
    await store.db.insertInto('sales_order').values(unreadOrder(7)).execute();
    expect(await pull()).toEqual([null, null, 0.75, 1250]);
    // What was read before the proof is asked for at once, and no later than the next pull is due.
    const { due_at } = await store.db
      .selectFrom('stream_state')
      .select('due_at')
      .where('stream', '=', 'stock')
      .executeTakeFirstOrThrow();
    expect(due_at).toBeLessThanOrEqual(Date.now());
    const asked = await store.db.selectFrom('refresh').select(['order_id', 'cause']).execute();
    expect(asked).toEqual([{ order_id: 7, cause: 'sweep:decimals' }]);
    expect(await pull()).toEqual([12.5, 7, 0.75, 1250]);
    // Nothing shows it any more.
    list.rows = [priced('b0', '13.500'), priced('b1', '7.000')];
    expect((await pull()).slice(0, 2)).toEqual([13.5, 7]);
  });

  it('are unknown while nothing shows it, or another account has', async () => {
    const { list, pull } = await startAccount();
    list.rows = KWD;
    await pull();
    list.rows = KWD.slice(0, 2);
    expect((await pull('learned', 'b')).slice(0, 2)).toEqual([null, null]);
  });

  it('are what the setting says, and unknown again without it', async () => {
    const { list, pull } = await startAccount();
    list.rows = KWD.slice(0, 2);
    expect(await pull()).toEqual([null, null]);
    expect(await pull('point')).toEqual([12.5, 7]);
    expect(await pull('comma')).toEqual([12_500, 7_000]);
    expect(await pull()).toEqual([null, null]);
  });
});

it('prices with points and with commas for decimals leave others to a setting', async () => {
  const { list, pull } = await startAccount();
  list.rows = ['12.500', '12,5', '12.75'].map((price, at) => priced(`b${at}`, price));
  expect(await pull()).toEqual([null, 12.5, 12.75]);
  expect(await pull()).toEqual([null, 12.5, 12.75]);
  expect(await pull('comma')).toEqual([12_500, 12.5, 12.75]);
});

it('prices of one odd row prove nothing about others, however often they are read', async () => {
  const { list, pull } = await startAccount();
  const odd = { barcode: 'b9', quantity: 1, details: { price: '0,5', wspPrice: '0,25' } };
  list.rows = [...['12.500', '7.000'].map((price, at) => priced(`b${at}`, price)), odd];
  expect(await pull()).toEqual([null, null, 0.5]);
  list.rows = [...list.rows.slice(0, 2), { ...odd, color: 'red' }];
  expect(await pull()).toEqual([null, null, 0.5]);
  // Another row agrees: what it shows is true from the next pull on.
  list.rows = [priced('a', '1,75'), ...list.rows];
  expect(await pull()).toEqual([1.75, null, null, 0.5]);
  expect(await pull()).toEqual([1.75, 12_500, 7_000, 0.5]);
});
