/**
 * Drift per stream: members that the contract does not know, counted in the latest rows, and values
 * that the contract does not list, in all rows. Drift is read from stored rows, so that a restart
 * loses nothing.
 */
import { sql } from 'kysely';
import { type DriftMeter, type Unreadable, v1DriftMeter, v2DriftMeter } from '../client/drift.ts';
import { isJsonObject, tryParseJson } from '../lib/json.ts';
import type { Db } from '../store/store.ts';
import { describeOtherName, type OtherName, otherNames } from './other-names.ts';
import { entitiesOfStream } from './quarantine.ts';
import { countsIn } from './stream.ts';

export interface EntityDrift {
  readonly entity: string;
  /**
   * Number of the sample's rows that have an unknown member, by its path; for `document`: how often
   * it occurred.
   */
  readonly unknownMembers: Readonly<Record<string, number>>;
  /**
   * Number of rows with a value that the contract does not list, by `status=value`; for `document`:
   * how often it occurred.
   */
  readonly newValues: Readonly<Record<string, number>>;
  /** Number of the sample's rows in which a member cannot be read, by its path, with an example. */
  readonly unreadable: Readonly<Record<string, Unreadable>>;
  /** Contract members that this account may call otherwise; absent: none. */
  readonly otherNames?: readonly OtherName[];
}

/** A column whose values the contract lists, with the shape of the record that it came in. */
interface Listed {
  readonly table: string;
  readonly column: string;
  readonly record: (value: string) => object;
}

/** A JSON column with members of a record, with the shape of the record that it came in. */
interface Kept {
  readonly table: string;
  readonly column: string;
  /** Column that orders the rows by age; a larger value is later. */
  readonly order: string;
  readonly record: (json: unknown) => unknown;
}

interface Watched {
  readonly meter: () => DriftMeter;
  readonly listed?: readonly Listed[];
  /** JSON columns of the entity besides `extra` of its own rows. */
  readonly kept?: readonly Kept[];
  /** Whether the account may use its own member names (service.dialect.v1.members). */
  readonly hasNames?: boolean;
}

/**
 * Maximum number of rows, and of distinct values, that are looked at; more would only cost time.
 */
const SAMPLE = 20_000;

function listed(table: string, column: string, record: Listed['record']): Listed {
  return { table, column, record };
}

function withStatus(table: string): Listed {
  return listed(table, 'status', (status) => ({ status }));
}

/** The unmodelled members of the lines of an order, delivery or refund. */
function linesIn(table: string, order: string, member: string): Kept {
  return { table, column: 'extra', order, record: (line) => ({ [member]: [line] }) };
}

const ADDRESS: Kept = {
  table: 'sales_order',
  column: 'shipping_address',
  order: 'order_id',
  record: (shippingAddress) => ({ shippingAddress }),
};

function variants(table: string): Watched {
  const types = listed(table, 'variant_type', (variantType) => ({ variantType }));
  return { meter: () => v1DriftMeter('variant'), listed: [types], hasNames: true };
}

const WATCHED: Readonly<Record<string, Watched>> = {
  brand: { meter: () => v1DriftMeter('brand') },
  freight_option: { meter: () => v1DriftMeter('freightOption') },
  season: { meter: () => v1DriftMeter('season') },
  stock_variant: variants('stock_variant'),
  season_variant: variants('season_variant'),
  sales_order: {
    meter: () => v1DriftMeter('salesOrder'),
    listed: [withStatus('sales_order')],
    kept: [linesIn('sales_order_line', 'order_id', 'orderLineItems'), ADDRESS],
  },
  delivery: {
    meter: () => v1DriftMeter('delivery'),
    listed: [withStatus('delivery')],
    kept: [linesIn('delivery_line', 'order_delivery_id', 'fulfilledLineItems')],
  },
  refund: {
    meter: () => v1DriftMeter('refund'),
    listed: [
      withStatus('refund'),
      listed('refund_line', 'refund_type', (refundType) => ({
        refundedLineItems: [{ refundType }],
      })),
    ],
    kept: [linesIn('refund_line', 'order_refund_id', 'refundedLineItems')],
  },
  pending_refund: {
    meter: () => v1DriftMeter('pendingRefund'),
    listed: [
      withStatus('pending_refund'),
      listed('pending_refund_line', 'refund_type', (refundType) => ({
        refundLineItems: [{ refundType }],
      })),
    ],
    kept: [linesIn('pending_refund_line', 'pending_refund_id', 'refundLineItems')],
  },
  style: { meter: () => v2DriftMeter('style') },
  style_color: {
    meter: () => v2DriftMeter('styleColor'),
    listed: [listed('style_color', 'noos_type', (noosType) => ({ attributes: { noosType } }))],
  },
  color: { meter: () => v2DriftMeter('color') },
  pdm_brand: { meter: () => v2DriftMeter('brand') },
  style_type: { meter: () => v2DriftMeter('type') },
  gender: { meter: () => v2DriftMeter('gender') },
  country: { meter: () => v2DriftMeter('country') },
};

/** Numbers by which rows of what grows with the past are found, the newest first. */
const KEYS: Readonly<Record<string, string>> = {
  sales_order: 'order_id',
  delivery: 'order_delivery_id',
  refund: 'order_refund_id',
  refund_line: 'order_refund_id',
  pending_refund: 'pending_refund_id',
  pending_refund_line: 'pending_refund_id',
};

function keyOf(table: string): string {
  return KEYS[table] ?? 'changed_at';
}

/** SQL: the newest rows of a table, which show how it is now. */
function newest(table: string, order: string) {
  return sql`(select * from ${sql.table(table)} order by ${sql.ref(order)} desc limit ${SAMPLE})`;
}

async function driftOf(db: Db, entity: string, watched: Watched): Promise<EntityDrift> {
  const meter = watched.meter();
  const own: Kept = {
    table: entity,
    column: 'extra',
    order: keyOf(entity),
    record: (extra) => extra,
  };
  for (const { table, column, order, record } of [own, ...(watched.kept ?? [])]) {
    const kept = await sql<{ readonly json: string }>`
      select ${sql.ref(column)} json from ${newest(table, order)}
      where ${sql.ref(column)} <> '{}'`.execute(db);
    meter.note(kept.rows.map(({ json }) => record(tryParseJson(json))));
  }
  for (const { table, column, record } of watched.listed ?? []) {
    const values = await sql<{ readonly value: string; readonly rows: number }>`
      select ${sql.ref(column)} value, count(*) rows from ${newest(table, keyOf(table))}
      where ${sql.ref(column)} is not null group by 1`.execute(db);
    for (const { value, rows } of values.rows) meter.note([record(value)], rows);
  }
  const report = meter.report();
  const names = watched.hasNames ? await otherNames(db, entity, report.unknownMembers, SAMPLE) : [];
  return { entity, ...report, ...(names.length > 0 ? { otherNames: names } : {}) };
}

/**
 * Drift around the rows of the documents of the latest run. A run notes it in its checkpoint,
 * because no row has it.
 */
async function driftOfDocuments(db: Db, stream: string): Promise<EntityDrift | undefined> {
  const run = await db
    .selectFrom('sync_run')
    .select('checkpoint')
    .where('stream', '=', stream)
    .orderBy('run_id', 'desc')
    .limit(1)
    .executeTakeFirst();
  const parsed = tryParseJson(run?.checkpoint ?? '');
  const { drift, noted } = isJsonObject(parsed) ? parsed : {};
  const counts = Object.entries({ ...countsIn(drift), ...countsIn(noted) });
  if (counts.length === 0) return undefined;
  const of = (isValue: boolean) =>
    Object.fromEntries(counts.filter(([what]) => what.includes('=') === isValue));
  return { entity: 'document', unknownMembers: of(false), newValues: of(true), unreadable: {} };
}

export async function driftOfStream(db: Db, stream: string): Promise<EntityDrift[]> {
  const documents = await driftOfDocuments(db, stream);
  const found: EntityDrift[] = documents ? [documents] : [];
  for (const entity of entitiesOfStream(stream)) {
    const watched = WATCHED[entity];
    if (watched) found.push(await driftOf(db, entity, watched));
  }
  return found;
}

/** Describes an entity's drift in sentences, one per member or value. */
export function describeDrift(drift: EntityDrift): string[] {
  const { entity, unknownMembers, newValues, unreadable, otherNames: others = [] } = drift;
  const counted = Object.entries({ ...unknownMembers, ...newValues });
  const unit = entity === 'document' ? 'times' : 'rows';
  const told = counted.map(([what, count]) => `${entity}.${what} (${count} ${unit})`);
  const unread = Object.entries(unreadable).map(
    ([what, { rows, example }]) => `${entity}.${what} cannot be read: ${example} (${rows} rows)`,
  );
  const names = others.map((one) => `${entity}.${describeOtherName(one)} (${one.setting})`);
  return [...told, ...unread, ...names];
}
