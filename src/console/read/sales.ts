/**
 * Reads what was accepted, shipped, held and rejected: today and this week, and in the last week up
 * to the same weekday and time. A delivery counts once for each of these in a span; it has shipped
 * when its first tracking number came. What rules only observed, and what was undone or refused
 * before it became true, does not count.
 */
import { type RawBuilder, sql } from 'kysely';
import type { Clock } from '../../lib/clock.ts';
import { atLocal, beginOf, isoDay, localClockOf } from '../../lib/local-time.ts';
import { decimalOf } from '../../lib/money.ts';
import type { Db } from '../../store/store.ts';

export const SALES = ['accepted', 'shipped', 'held', 'rejected'] as const;
export const SPANS = ['today', 'dayBefore', 'week', 'weekBefore'] as const;
type Span = (typeof SPANS)[number];

interface SalesRow {
  readonly what: (typeof SALES)[number];
  readonly span: Span;
  readonly currency: string | null;
  readonly deliveries: number;
  readonly pieces: number;
  /** Value in the currency; null: a price or a quantity is not known. */
  readonly value: number | null;
}

export interface Sales {
  readonly spans: Readonly<Record<Span, { readonly fromAt: number; readonly untilAt: number }>>;
  readonly rows: readonly SalesRow[];
  /**
   * Time since which it is known what shipped, and what was decided: those of the first entries of
   * the change feed and the journal; null: there is none.
   */
  readonly known: Readonly<Record<'shippedAt' | 'decidedAt', number | null>>;
}

const DAY_MS = 86_400_000;

/** The same weekday and time of day a week ago, whatever the clocks did meanwhile. */
function weekBefore(now: number, timeZone: string): number {
  const { date, time } = localClockOf(timeZone)(now);
  return atLocal(timeZone, isoDay(Date.parse(date) - 7 * DAY_MS), time) + (now % 60_000);
}

function spansOf(now: number, timeZone: string): Sales['spans'] {
  const then = weekBefore(now, timeZone);
  const begin = (unit: 'day' | 'week', untilAt: number) => {
    return { fromAt: beginOf(unit, untilAt, timeZone), untilAt };
  };
  return {
    today: begin('day', now),
    dayBefore: begin('day', then),
    week: begin('week', now),
    weekBefore: begin('week', then),
  };
}

/** SQL: currency of an order `o`; the slower view is read only where the order names none. */
export const CURRENCY = sql<string | null>`upper(trim(case
  when trim(o.currency) <> '' then o.currency
  else (select c.currency from order_currency c where c.order_id = o.order_id) end))`;

/** SQL: values of a delivery in ten-thousandths; null when a line has no price or no quantity. */
const VALUE = sql`iif(count(*) = count(l.price * l.fulfilled_quantity),
  sum(l.price * l.fulfilled_quantity), null)`;

interface Found {
  readonly what: SalesRow['what'];
  readonly currency: string | null;
  readonly spans: number;
  readonly deliveries: number;
  readonly pieces: number;
  readonly value: number | null;
  readonly unknown: number;
}

/** SQL: bits of the spans that a time is in, by their order. */
function spansAt(at: RawBuilder<unknown>, spans: Sales['spans']): RawBuilder<number> {
  const bits = SPANS.map((name, index) => {
    const { fromAt, untilAt } = spans[name];
    return sql`iif(${at} between ${fromAt} and ${untilAt}, ${sql.lit(1 << index)}, 0)`;
  });
  return sql`(${sql.join(bits, sql` | `)})`;
}

/** SQL: whether any time of a group is in each span, as bits. */
const EVER = sql.join(
  SPANS.map((_, index) => sql`max(bits & ${sql.lit(1 << index)})`),
  sql` | `,
);

/** Reads index entries of these days alone, and then the lines of the deliveries that they name. */
async function found(db: Db, spans: Sales['spans']): Promise<readonly Found[]> {
  const { fromAt: since } = spans.weekBefore;
  const until = spans.today.untilAt;
  const { rows } = await sql<Found>`
    with happened
      as materialized (
      select what, id, ${EVER} spans from (
        select case outcome when 'accept' then 'accepted' when 'hold' then 'held'
            else 'rejected' end what,
          order_delivery_id id, ${spansAt(sql`at`, spans)} bits
        from decision indexed by decision_day
        where at between ${since} and ${until} and outcome in ('accept', 'hold', 'reject')
          and (actor <> 'daemon' or mode = 'live')
          and not exists (select 1 from outbox p where p.decision_id = decision.decision_id
            and p.state in ('canceled', 'refused', 'dead'))
        union all
        select 'shipped', key + 0, ${spansAt(sql`at`, spans)}
        from change indexed by change_shipped
        where entity = 'delivery' and diff ->> '$.tracking_numbers[0]' = '[]'
          and at between ${since} and ${until})
      where bits > 0 group by 1, 2),
    worth
      as materialized (
      select h.id, ${CURRENCY} currency, ${VALUE} value,
        sum(l.fulfilled_quantity) pieces
      from (select distinct id from happened) h
      cross join delivery d on d.order_delivery_id = h.id
      left join sales_order o on o.order_id = d.order_id
      left join delivery_line l on l.order_delivery_id = h.id
      group by h.id)
    select what, currency, spans, count(*) deliveries, ifnull(sum(pieces), 0) pieces,
      sum(value) value, sum(value is null) unknown
    from happened join worth using (id) group by 1, 2, 3`.execute(db);
  return rows;
}

/** Adds up the deliveries of each span, which may be in several. */
function rowsOf(all: readonly Found[]): SalesRow[] {
  const inSpans = all.flatMap((one) =>
    SPANS.flatMap((span, index) => ((one.spans & (1 << index)) === 0 ? [] : [{ ...one, span }])),
  );
  const groups = Map.groupBy(inSpans, ({ what, span, currency }) => `${what} ${span} ${currency}`);
  return [...groups.values()].flatMap((of) => {
    const [first] = of;
    if (!first) return [];
    const { what, span, currency } = first;
    const sum = (name: 'deliveries' | 'pieces' | 'unknown') =>
      of.reduce((total, one) => total + Number(one[name]), 0);
    const units = of.reduce((total, { value }) => total + Number(value ?? 0), 0);
    const value = sum('unknown') > 0 ? null : decimalOf(units);
    return [{ what, span, currency, deliveries: sum('deliveries'), pieces: sum('pieces'), value }];
  });
}

async function knownSince(db: Db): Promise<Sales['known']> {
  const { rows } = await sql<Sales['known']>`select
    (select at from change order by seq limit 1) "shippedAt",
    (select at from decision order by decision_id limit 1) "decidedAt"`.execute(db);
  return rows[0] ?? { shippedAt: null, decidedAt: null };
}

/** Whether anything can be known of a span, or only of its end, or of all of it. */
export function knowledgeOf(
  { spans, known }: Sales,
  what: (typeof SALES)[number],
  span: Span,
): { readonly is: 'none' | 'part' | 'whole'; readonly since: number | null } {
  const since = known[what === 'shipped' ? 'shippedAt' : 'decidedAt'];
  const { fromAt, untilAt } = spans[span];
  if (since === null || since > untilAt) return { is: 'none', since };
  return { is: since > fromAt ? 'part' : 'whole', since };
}

const BEFORE = { today: 'dayBefore', week: 'weekBefore' } as const;

/**
 * Difference to the same time a week before, in percent of its deliveries; null: the span is itself
 * of the last week, or that is not wholly known, or had none.
 */
export function percentSince(
  sales: Sales,
  what: (typeof SALES)[number],
  name: Span,
): number | null {
  if (name !== 'today' && name !== 'week') return null;
  const before = BEFORE[name];
  if (knowledgeOf(sales, what, before).is !== 'whole') return null;
  const countOf = (of: Span) =>
    sales.rows.reduce(
      (sum, row) => (row.what === what && row.span === of ? sum + row.deliveries : sum),
      0,
    );
  const then = countOf(before);
  return then === 0 ? null : Math.round((100 * (countOf(name) - then)) / then);
}

export async function readSales(db: Db, now: number, timeZone: string): Promise<Sales> {
  const spans = spansOf(now, timeZone);
  return { spans, rows: rowsOf(await found(db, spans)), known: await knownSince(db) };
}

/** Milliseconds for which the sums are kept: each open page asks, and a week may be long. */
const FRESH_MS = 60_000;

/** Creates the reader of sales, which reads once a minute at most, however many pages ask. */
export function createSales(
  db: Db,
  clock: Clock,
  zoneOf: () => Promise<string>,
): () => Promise<Sales> {
  let known: { readonly at: number; readonly sales: Promise<Sales> } | undefined;
  return () => {
    const at = clock.monotonic();
    if (!known || at - known.at >= FRESH_MS) {
      const sales = zoneOf().then((timeZone) => readSales(db, clock.now(), timeZone));
      sales.catch(() => {
        known = undefined;
      });
      known = { at, sales };
    }
    return known.sales;
  };
}
