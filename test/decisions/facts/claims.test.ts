/** Claims of others: found among what is open, they are those of all that there ever was. */
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { reservedCredit, reservedPieces } from '../../../src/decisions/facts/reserved.ts';
import { manualClock } from '../../../src/lib/clock.ts';
import { type Random, seededRandom } from '../../../src/lib/random.ts';
import { deleteOldClaims } from '../../../src/mirror/upkeep.ts';
import type { SqliteStore, Tx } from '../../../src/store/store.ts';
import { together } from '../../../src/store/transaction/together.ts';
import { temporaryStore } from '../../support/store.ts';

const DAY = 86_400_000;
const NOW = 400 * DAY;
const BARCODES = ['a', 'b', 'c'];
const DELIVERIES = 60;

/** Deliveries of two customers over a year, with lines of few articles. */
async function fill({ db }: SqliteStore, random: Random): Promise<void> {
  for (let id = 1; id <= DELIVERIES; id += 1) {
    const order = random.int(1, 20);
    const at = NOW - random.int(0, random.chance(0.5) ? 20 : 365) * DAY;
    const status = random.pick(['pending', 'accepted', 'accepted', 'rejected', 'canceled']);
    const left = random.chance(0.3) ? '["T"]' : '[]';
    const gone = random.chance(0.1) ? at : null;
    await sql`insert into delivery (order_delivery_id, order_id, status, tracking_numbers,
        tracking_links, extra, content_hash, created_at, first_seen_at, changed_at, deleted_at,
        read_seq, source)
      values (${id}, ${order}, 'pending', ${left}, '[]', '{}', 'h', ${at}, ${at}, ${at}, ${gone},
        1, '')`.execute(db);
    await sql`update delivery set status = ${status} where order_delivery_id = ${id}`.execute(db);
    for (const [line, barcode] of BARCODES.entries()) {
      if (random.chance(0.5)) continue;
      await sql`insert into delivery_line (order_delivery_id, line_no, barcode, fulfilled_quantity,
          price, extra)
        values (${id}, ${line}, ${barcode}, ${random.int(1, 5)}, 10, '{}')`.execute(db);
    }
  }
  for (let order = 1; order <= 20; order += 1) {
    await sql`insert into sales_order (order_id, status, completed, currency, account_no,
        shipping_address, extra, content_hash, first_seen_at, changed_at, read_seq, source)
      values (${order}, 'pending', ${Number(random.chance(0.3))}, 'DKK',
        ${random.pick(['A', 'A', 'B'])}, '{}', '{}', 'h', 0, 0, 1, '')`.execute(db);
  }
}

/** What others claim of each article and customer, by claims of some days and of many. */
async function claims(store: SqliteStore): Promise<unknown> {
  return store.transaction(async (tx) => {
    const all: unknown[] = [];
    for (const days of [0, 10, 20, 100]) {
      const since = NOW - days * DAY;
      const pieces = await reservedPieces(tx, 31, [...BARCODES, 'none'], since);
      all.push([...pieces].toSorted());
      for (const accountNo of ['A', 'B', 'none']) {
        all.push(await reservedCredit(tx, { accountNo, currency: 'DKK' }, 31, since));
      }
    }
    return all;
  });
}

describe('what others claim', () => {
  it('is the same by what is open as by all there ever was, however much was let go', async () => {
    for (const seed of [1, 2, 3]) {
      const store = await temporaryStore(manualClock(NOW));
      await fill(store, seededRandom(seed));
      const found = await claims(store);
      // Whoever asks for more than is left reads everything.
      const gone = await store.transaction((tx) => deleteOldClaims(tx, NOW - 25 * DAY));
      expect(gone).toBeGreaterThan(0);
      expect(await claims(store)).toEqual(found);
      await store.transaction((tx) => deleteOldClaims(tx, NOW + DAY));
      expect(await claims(store)).toEqual(found);
      expect(JSON.stringify(found)).toMatch(/\["a",\d/);
    }
  });

  it('is the same for deliveries that ask together as for each alone', async () => {
    for (const seed of [5, 6, 7]) {
      const store = await temporaryStore(manualClock(NOW));
      await fill(store, seededRandom(seed));
      await sql`
        insert into outbox (kind, ordering_key, reference, order_delivery_id, body, body_hash,
          due_at, created_at, cause)
        select 'delivery_status', 'o', order_delivery_id, order_delivery_id,
          '{"status":"accepted"}', 'h', 0, 0, ''
        from delivery where status = 'pending' and order_delivery_id % 2 = 0`.execute(store.db);
      const random = seededRandom(seed);
      const every = Array.from({ length: DELIVERIES }, (_, at) => at + 1);
      const ids = every.filter(() => random.chance(0.5));
      const asked = new Map(ids.map((id) => [id, BARCODES.filter(() => random.chance(0.7))]));
      const read = (tx: Tx, id: number) =>
        reservedPieces(tx, id, asked.get(id) ?? [], NOW - 10 * DAY);
      const found = await store.snapshot((tx) => together(tx, ids, (id) => read(tx, id)));
      for (const [at, id] of ids.entries()) {
        const alone = await store.snapshot((tx) => read(tx, id));
        const value = new Map([...alone].toSorted());
        expect(found[at], `seed ${seed}, delivery ${id}`).toEqual({ status: 'fulfilled', value });
      }
      for (const id of ids) {
        const before = await store.snapshot((tx) => read(tx, id));
        await sql`delete from delivery_line where order_delivery_id = ${id}`.execute(store.db);
        const about = `seed ${seed}, delivery ${id} counts against itself`;
        expect(await store.snapshot((tx) => read(tx, id)), about).toEqual(before);
      }
    }
  });

  it('names the deliveries that are pending or accepted, whatever becomes of them', async () => {
    const store = await temporaryStore(manualClock(NOW));
    await fill(store, seededRandom(4));
    const differing = async () => {
      const { rows } = await sql`
        select order_delivery_id, order_id, iif(status = 'pending', null, changed_at) from delivery
        where status in ('pending', 'accepted') and deleted_at is null
        except select order_delivery_id, order_id, changed_at from claim union all
        select * from (select order_delivery_id, order_id, changed_at from claim except
          select order_delivery_id, order_id,
          iif(status = 'pending', null, changed_at) from delivery
          where status in ('pending', 'accepted') and deleted_at is null)`.execute(store.db);
      return rows;
    };
    expect(await differing()).toEqual([]);
    await sql`update delivery set deleted_at = iif(order_delivery_id % 3 = 0, 5, null),
      order_id = order_id + 1, changed_at = changed_at + 1`.execute(store.db);
    await sql`update delivery set status = iif(order_delivery_id % 2, 'canceled', 'accepted')
      where order_delivery_id < 30`.execute(store.db);
    expect(await differing()).toEqual([]);
    await sql`delete from delivery where order_delivery_id < 10`.execute(store.db);
    expect(await differing()).toEqual([]);
  });
});
