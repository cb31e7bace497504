/** Lists of what is long decided: a page looks through the newest, and the next goes on. */
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import type { ReviewFilter } from '../../../src/decisions/review/filter.ts';
import { listForReview, type Page, reviewFacets } from '../../../src/decisions/review/listing.ts';
import { temporaryStore } from '../../support/store.ts';

const DELIVERIES = 10_300;

/** Deliveries of which one in a hundred is pending, as many are refused, and the rest accepted. */
async function createPast(count = DELIVERIES) {
  const { db } = await temporaryStore();
  const numbers = sql`with recursive n(i) as (
    select 1 union all select i + 1 from n where i < ${count})`;
  await sql`${numbers} insert into sales_order (order_id, status, completed, account_no, company,
      shipping_address, extra, content_hash, first_seen_at, changed_at, read_seq, source)
    select i, 'pending', 0, 'A-' || (i % 1000), 'Shop ' || (i % 1000), '{}', '{}', 'h', 1, 1, 1, ''
    from n`.execute(db);
  await sql`${numbers} insert into delivery (order_delivery_id, order_id, status, created_at,
      tracking_numbers, tracking_links, extra, content_hash, first_seen_at, changed_at, read_seq,
      source)
    select i, i, iif(i % 100, 'accepted', 'pending'), i, '[]', '[]', '{}', 'h', i, i, 1, ''
    from n`.execute(db);
  await sql`insert into decision (decision_id, order_delivery_id, order_id, at, trigger, actor,
      rule_set_hash, facts_digest, mode, outcome, reason, rules, shadow, said, matched, lapsed,
      evaluation, previous_hash, hash)
    select order_delivery_id, order_delivery_id, order_id, 1, 'new', 'daemon', 'r', 'f', 'live',
      'accept', 'why', '[]', '{}', 'accept', '[]', '[]', x'', '', 'h' || order_delivery_id
    from delivery where order_delivery_id % 100 = 1`.execute(db);
  await sql`insert into evaluation (order_delivery_id, decision_id, delivery_hash, order_hash,
      rules_key, evaluated_at)
    select order_delivery_id, decision_id, 'h', 'h', 'r', 1 from decision`.execute(db);
  await sql`insert into outbox (kind, ordering_key, reference, body, body_hash, state, due_at,
      created_at, ended_at, cause, order_delivery_id, decision_id)
    select 'delivery_status', decision_id, decision_id, '{}', 'h', 'refused', 1, 1, 1, '',
      order_delivery_id, decision_id from decision`.execute(db);
  const pages = async (filter: ReviewFilter, page: Omit<Page, 'after'>) => {
    const all: number[][] = [];
    let after: string | undefined;
    do {
      const found = await listForReview(db, filter, { ...page, after });
      all.push(found.rows.map(({ orderDeliveryId }) => orderDeliveryId));
      after = found.next ?? undefined;
    } while (after !== undefined);
    return all;
  };
  /** Pages from the last one back to the first, in the order in which they stand. */
  const pagesBack = async (filter: ReviewFilter, page: Omit<Page, 'after'>) => {
    const first = await listForReview(db, filter, page);
    let found = first;
    while (found.next) found = await listForReview(db, filter, { ...page, after: found.next });
    const all: number[][] = [];
    while (found.back) {
      found = await listForReview(db, filter, { ...page, back: found.back });
      all.unshift(found.rows.map(({ orderDeliveryId }) => orderDeliveryId));
    }
    const again = await listForReview(db, filter, { ...page, after: found.next ?? undefined });
    return { all, after: again.rows.map(({ orderDeliveryId }) => orderDeliveryId) };
  };
  return { db, pages, pagesBack };
}

const OLDEST_FIRST = { sort: 'waiting', descending: false, limit: 6_000 } as const;

describe('a list of the past', () => {
  it('shows each delivery once, the newest ten thousand first and the others behind', async () => {
    const { pages } = await createPast();
    for (const shown of ['all', 'accepted'] as const) {
      const found = await pages({ shown }, OLDEST_FIRST);
      const kinds = shown === 'all' ? DELIVERIES : DELIVERIES * 0.99;
      expect(found.map(({ length }) => length)).toEqual([6_000, 4_000, kinds - 10_000]);
      expect(new Set(found.flat()).size).toBe(kinds);
      expect(Math.min(...(found[0] ?? []))).toBeGreaterThan(Math.max(...(found[2] ?? [])));
    }
    const dear = { ...OLDEST_FIRST, sort: 'value', descending: true } as const;
    expect(new Set((await pages({ shown: 'all' }, dear)).flat()).size).toBe(DELIVERIES);
  });

  it('goes on to what a page did not look through, also where it has found nothing', async () => {
    const { db, pages } = await createPast();
    const found = await pages({ shown: 'all', q: 'A-17' }, { ...OLDEST_FIRST, limit: 50 });
    expect(found.flat()).toContain(17);
    expect(await pages({ shown: 'all', max: -1 }, OLDEST_FIRST)).toEqual([[], []]);
    const own = await pages({ shown: 'all', customer: 'A-17' }, OLDEST_FIRST);
    expect(own).toEqual([[17, 1017, 2017, 3017, 4017, 5017, 6017, 7017, 8017, 9017, 10_017]]);
    // Nobody has a part of a number for a number, so that it is looked for in the names.
    const named = { shown: 'all', customer: 'a-1' } as const;
    expect(await pages(named, OLDEST_FIRST)).toEqual([[], []]);
    await sql`update sales_order set company = 'Tea-1 Shop' where account_no = 'A-17'`.execute(db);
    expect((await pages(named, OLDEST_FIRST)).flat().toSorted((a, b) => a - b)).toEqual(own[0]);
    expect(await pages({ ...named, isMasked: true }, OLDEST_FIRST)).toEqual([[], []]);
    const refused = await pages({ shown: 'refused' }, OLDEST_FIRST);
    expect(refused).toEqual([Array.from({ length: DELIVERIES / 100 }, (_, at) => at * 100 + 1)]);
  });

  it('leads back by the pages that led on, over the ends of windows and in any order', async () => {
    const { pages, pagesBack } = await createPast();
    for (const place of [
      OLDEST_FIRST,
      { sort: 'customer', descending: true, limit: 6_000 },
    ] as const) {
      const on = await pages({ shown: 'all' }, place);
      const { all, after } = await pagesBack({ shown: 'all' }, place);
      // A page before is as long as it can be: the ends of pages are others, the rows the same.
      expect(all.flat()).toEqual(on.slice(0, 2).flat());
      expect(all.map(({ length }) => length)).toEqual([4_000, 6_000]);
      expect(after.slice(0, 10)).toEqual(all[1]?.slice(0, 10));
    }
  });

  it('is counted as far as a page looks, and says so', async () => {
    const { db } = await createPast();
    expect(await reviewFacets(db, { shown: 'all' })).toMatchObject({
      count: 10_000,
      among: 10_000,
    });
    expect(await reviewFacets(db, { shown: 'pending' })).toMatchObject({ count: 103, among: null });
    expect(await reviewFacets(db, { shown: 'refused' })).toMatchObject({ count: 103, among: null });
  });
});

describe('a list that is sorted by value', () => {
  const rates = [
    { currency: 'EUR', rate: 1 },
    { currency: 'DKK', rate: 0.134 },
  ];
  it('compares currencies at the rates alone, and keeps each other one by itself', async () => {
    const { db, pages } = await createPast(7);
    await sql`update sales_order set currency =
      json_extract('["EUR","DKK","SEK","EUR","DKK","SEK",""]', '$[' || (order_id - 1) || ']')
      `.execute(db);
    // 100 EUR, 700 DKK (93.80 EUR), 90 SEK, 50 EUR, 800 DKK (107.20 EUR), 2,000 SEK; one unknown.
    await sql`insert into delivery_line (order_delivery_id, line_no, barcode, season_name,
        delivery_name, fulfilled_quantity, price, extra)
      select key + 1, 1, 'b' || key, '', '', 1, value * 10000, '{}'
      from json_each('[100,700,90,50,800,2000]')`.execute(db);
    const ids = async (descending: boolean, more: Partial<Page>) => {
      const found = await pages({ shown: 'all' }, { sort: 'value', descending, limit: 2, ...more });
      return found.flat();
    };
    expect(await ids(true, { rates })).toEqual([5, 1, 2, 4, 6, 3, 7]);
    expect(await ids(false, { rates })).toEqual([4, 2, 1, 5, 3, 6, 7]);
    expect(await ids(true, {})).toEqual([5, 2, 1, 4, 6, 3, 7]);
  });
});
