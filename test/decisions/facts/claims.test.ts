/** Claims of others: found among what is open, they are those of all that there ever was. */
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { reservedCredit, reservedPieces } from '../../../src/decisions/facts/reserved.ts';
import { manualClock } from '../../../src/lib/clock.ts';
import { type Random, seededRandom } from '../../../src/lib/random.ts';
import { isLookedFor } from '../../../src/mirror/catalog/spelt.ts';
import { deleteOldClaims } from '../../../src/mirror/upkeep.ts';
import type { SqliteStore, Tx } from '../../../src/store/store.ts';
import { together } from '../../../src/store/transaction/together.ts';
import { temporaryStore } from '../../support/store.ts';
import { readsOf, visitsOf } from '../../support/visits.ts';

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

/** Has the accepts of some that are pending wait in the outbox. */
async function acceptEverySecond({ db }: SqliteStore): Promise<void> {
  await sql`
    insert into outbox (kind, ordering_key, reference, order_delivery_id, body, body_hash,
      due_at, created_at, cause)
    select 'delivery_status', 'o', order_delivery_id, order_delivery_id,
      '{"status":"accepted"}', 'h', 0, 0, ''
    from delivery where status = 'pending' and order_delivery_id % 2 = 0`.execute(db);
}

/** Writes some barcodes as other programs do, and forgets how many pieces some lines have. */
async function spellOddly({ db }: SqliteStore, random: Random): Promise<void> {
  const odd = (text: string) => random.pick([text, text, ` ${text}`, `${text}\u00a0`, `0${text}`]);
  for (let id = 1; id <= DELIVERIES; id += 1) {
    for (const [line, barcode] of ['a', '12', '012'].entries()) {
      await sql`update delivery_line set barcode = ${odd(barcode)},
          fulfilled_quantity = iif(${Number(random.chance(0.15))}, null, fulfilled_quantity)
        where order_delivery_id = ${id} and line_no = ${line}`.execute(db);
    }
  }
}

interface Line {
  readonly id: number;
  readonly status: string;
  readonly isAccepting: number;
  readonly hasLeft: number;
  readonly at: number;
  readonly barcode: string;
  readonly pieces: number | null;
}

/** What each delivery claims, line by line and without any index. */
async function claimedOf({ db }: SqliteStore, readAt: number) {
  const { rows } = await sql<Line>`select d.order_delivery_id id, d.status, d.created_at at,
      exists (select 1 from outbox o where o.order_delivery_id = d.order_delivery_id) isAccepting,
      d.tracking_numbers <> '[]' or o.completed hasLeft, l.barcode, l.fulfilled_quantity pieces
    from delivery_line l join delivery d using (order_delivery_id)
    join sales_order o using (order_id)
    where d.deleted_at is null`.execute(db);
  const claims = ({ id, status, isAccepting, hasLeft, at }: Line, asking: number): boolean => {
    if (id === asking) return false;
    if (status === 'pending') return id < asking || isAccepting === 1;
    const isLate = hasLeft === 0 && at >= readAt - 14 * DAY;
    return status === 'accepted' && (at >= readAt || isLate);
  };
  return (asking: number, barcodes: readonly string[]) => {
    const sums = new Map<string, number | null>();
    for (const line of rows.filter((one) => claims(one, asking))) {
      const { barcode, pieces } = line;
      if (!barcodes.some((own) => isLookedFor(barcode, own))) continue;
      const sum = sums.has(barcode) ? (sums.get(barcode) ?? null) : 0;
      sums.set(barcode, sum === null || pieces === null ? null : sum + pieces);
    }
    return new Map([...sums].toSorted());
  };
}

/** Pending deliveries that all have the same articles. */
async function filledAlike(lines: number, deliveries: number) {
  const store = await temporaryStore(manualClock(NOW));
  const barcodes = Array.from({ length: lines }, (_, at) => `b${at}`);
  for (let id = 1; id <= deliveries; id += 1) {
    await sql`insert into delivery (order_delivery_id, order_id, status, tracking_numbers,
        tracking_links, extra, content_hash, created_at, first_seen_at, changed_at, read_seq,
        source)
      values (${id}, ${id}, 'pending', '[]', '[]', '{}', 'h', 1, 1, 1, 1, '')`.execute(store.db);
    await sql`insert into delivery_line (order_delivery_id, line_no, barcode, fulfilled_quantity,
        price, extra)
      select ${id}, key, value, 2, 10, '{}'
      from json_each(${JSON.stringify(barcodes)})`.execute(store.db);
  }
  return { store, barcodes };
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
      await acceptEverySecond(store);
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

  it('is what the lines of others sum up to, however they are spelt, whoever asks', async () => {
    const asked = ['a', '12', '012', 'none'];
    for (const seed of [8, 9, 10, 11]) {
      const store = await temporaryStore(manualClock(NOW));
      const random = seededRandom(seed);
      await fill(store, random);
      await acceptEverySecond(store);
      await spellOddly(store, random);
      const readAt = NOW - random.int(0, 20) * DAY;
      const claimed = await claimedOf(store, readAt);
      const asks = Array.from({ length: DELIVERIES }, (_, at) => ({
        id: at + 1,
        barcodes: asked.filter(() => random.chance(0.6)),
      }));
      const found = await store.snapshot((tx) =>
        together(tx, asks, ({ id, barcodes }) => reservedPieces(tx, id, barcodes, readAt)),
      );
      const sums = found.map((one) =>
        one.status === 'fulfilled' ? [...one.value].toSorted() : one,
      );
      expect(sums, `seed ${seed}`).toEqual(
        asks.map(({ id, barcodes }) => [...claimed(id, barcodes)]),
      );
      expect(JSON.stringify(sums)).toContain('null');
    }
  });

  it('costs what is claimed: twice the lines or the claims twice', async () => {
    const visits = async (lines: number, claiming: number) => {
      const { store, barcodes } = await filledAlike(lines, claiming + 1);
      return visitsOf(store, 'delivery_line', 'order_delivery_id', (tx) =>
        reservedPieces(tx, claiming + 1, barcodes, NOW),
      );
    };
    const few = await visits(40, 5);
    expect(few).toBeGreaterThanOrEqual(40 * 5);
    expect(await visits(80, 5)).toBeLessThanOrEqual(2 * few);
    expect(await visits(40, 10)).toBeLessThanOrEqual(2 * few);
  });

  it('costs the same for each of those that ask together, however many they are', async () => {
    const reads = async (deliveries: number) => {
      const { store, barcodes } = await filledAlike(20, deliveries);
      const ids = Array.from({ length: deliveries }, (_, at) => at + 1);
      return readsOf(store, 'pieces', (tx) =>
        together(tx, ids, (id) => reservedPieces(tx, id, barcodes, NOW)),
      );
    };
    const few = await reads(10);
    expect(few).toBeGreaterThanOrEqual(20 * 9);
    // Nobody waits behind the last of them, so that its claims are not read.
    expect(await reads(20)).toBeLessThanOrEqual((19 / 9) * few);
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
