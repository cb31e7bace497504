/**
 * Values that the form of a report offers for its parameters, from the mirror: bounded, and read
 * along indexes, however large the mirror is. Any other value may be typed.
 */
import { sql } from 'kysely';
import type { Db } from '../../store/store.ts';
import { MIRRORED_TABLES } from '../../store/tables/people.ts';
import type { Report } from '../report-file.ts';
import type { Offer, Parameter } from '../report-head.ts';
import { valueInWords } from './columns.ts';

export interface Offered {
  readonly value: string;
  /** Words beside it, such as the name of a number. */
  readonly says?: string | undefined;
}

const OFFERED_MAX = 300;

/** Spans of time that people ask for. */
const SPANS: readonly Offered[] = [
  { value: '1d', says: 'a day' },
  { value: '7d', says: 'a week' },
  { value: '28d', says: 'four weeks' },
  { value: '90d', says: 'three months' },
  { value: '365d', says: 'a year' },
];

/** Finds each value of an indexed column by the next greater one, and reads no row between them. */
const NEXT = {
  customers: sql<Offered>`with recursive known (value) AS (
      select min(account_no) from sales_order where account_no > ''
      union all
      select (select min(account_no) from sales_order where account_no > known.value)
      from known where known.value is not null limit ${OFFERED_MAX}
    ) select value, (select o.company from sales_order o where o.account_no = known.value
      order by o.order_id desc limit 1) AS says from known where value is not null`,
  styles: sql<Offered>`with recursive known (value) AS (
      select min(style_no) from stock_variant_row where style_no > ''
      union all
      select (select min(style_no) from stock_variant_row where style_no > known.value)
      from known where known.value is not null limit ${OFFERED_MAX}
    ) select value, (select v.style_name from stock_variant_row v where v.style_no = known.value
      limit 1) AS says from known where value is not null`,
  brands: sql<Offered>`select brand_name AS value from brand where deleted_at is null
    union select brand_name from stock_age where brand_name <> '' order by 1 limit ${OFFERED_MAX}`,
  seasons: sql<Offered>`select season_name AS value from season where deleted_at is null
    order by 1 limit ${OFFERED_MAX}`,
  windows: sql<Offered>`select distinct delivery_name AS value from season_delivery
    order by 1 limit ${OFFERED_MAX}`,
} as const;

const ENTITIES: readonly Offered[] = MIRRORED_TABLES.map((value) => {
  return { value, says: String(valueInWords('entity', value)) };
});

async function read(db: Db, offer: Offer, seesNames: boolean): Promise<readonly Offered[]> {
  if (offer === 'entities') return ENTITIES;
  const { rows } = await NEXT[offer].execute(db);
  if (offer !== 'customers' || seesNames) return rows;
  return rows.map(({ value }) => ({ value }));
}

function offeredFor(db: Db, { type, offers }: Parameter, seesNames: boolean) {
  if (offers !== undefined) return read(db, offers, seesNames);
  return Promise.resolve(type === 'time' ? SPANS : []);
}

/** Values for each parameter of the report; `seesNames`: whether customers' names stand beside. */
export async function readOffers(
  db: Db,
  { params }: Pick<Report, 'params'>,
  seesNames: boolean,
): Promise<Readonly<Record<string, readonly Offered[]>>> {
  const read = Object.entries(params).map(
    async ([name, parameter]) => [name, await offeredFor(db, parameter, seesNames)] as const,
  );
  return Object.fromEntries(await Promise.all(read));
}
