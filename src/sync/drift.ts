/**
 * Drift per stream: members that the contract does not know, counted in the latest rows, and values
 * that the contract does not list, in all rows. Drift is read from stored rows, so that a restart
 * loses nothing.
 */
import { sql } from 'kysely';
import { createDriftMeter, type Unreadable } from '../client/drift.ts';
import { isJsonObject, tryParseJson } from '../lib/json.ts';
import type { EntityDefinition } from '../mirror/rows/prepared.ts';
import type { Db } from '../store/store.ts';
import { type Source, sourcesOfStream } from './entities.ts';
import { describeOtherName, type OtherName, otherNames } from './other-names.ts';
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

/** A JSON column with members of a record, with the shape of the record that it came in. */
interface Kept {
  readonly table: string;
  readonly column: string;
  readonly record: (json: unknown) => unknown;
}

/**
 * Maximum number of rows, and of distinct values, that are looked at; more would only cost time.
 */
const SAMPLE = 20_000;

const ADDRESS: Kept = {
  table: 'sales_order',
  column: 'shipping_address',
  record: (shippingAddress) => ({ shippingAddress }),
};

/** Columns that keep what has no column of its own: in rows, in their lines, in addresses. */
function keptOf({ entity, lines }: EntityDefinition): readonly Kept[] {
  const member = lines?.member;
  return [
    { table: entity, column: 'extra', record: (extra) => extra },
    ...(lines && member !== undefined
      ? [{ table: lines.table, column: 'extra', record: (line: unknown) => ({ [member]: [line] }) }]
      : []),
    ...(entity === ADDRESS.table ? [ADDRESS] : []),
  ];
}

/** The column of a member, and the record around one of its values. */
function listedIn({ entity, lines }: EntityDefinition, path: string) {
  const [name = '', ...above] = path.split('.').reverse();
  const isLine = above.at(-1) === lines?.member && lines !== undefined;
  const wrapped = (value: string) =>
    above.reduce<unknown>((of, one) => ({ [one]: isLine ? [of] : of }), { [name]: value });
  const column = name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return { table: isLine ? lines.table : entity, column, wrapped };
}

/** Column that orders the rows by age: what grows with the past is found by its number. */
function orderOf({ columns, key }: EntityDefinition): string {
  return columns.includes('order_id') ? key : 'changed_at';
}

/** SQL: the newest rows of a table, which show how it is now. */
function newest(table: string, order: string) {
  return sql`(select * from ${sql.table(table)} order by ${sql.ref(order)} desc limit ${SAMPLE})`;
}

async function driftOf(db: Db, { definition, schema, values = {} }: Source): Promise<EntityDrift> {
  const { entity, ownColumns } = definition;
  const meter = createDriftMeter(schema, values);
  const order = orderOf(definition);
  for (const { table, column, record } of keptOf(definition)) {
    const kept = await sql<{ readonly json: string }>`
      select ${sql.ref(column)} json from ${newest(table, order)}
      where ${sql.ref(column)} <> '{}'`.execute(db);
    meter.note(kept.rows.map(({ json }) => record(tryParseJson(json))));
  }
  for (const path of Object.keys(values)) {
    const { table, column, wrapped } = listedIn(definition, path);
    const found = await sql<{ readonly value: string; readonly rows: number }>`
      select ${sql.ref(column)} value, count(*) rows from ${newest(table, order)}
      where ${sql.ref(column)} is not null group by 1`.execute(db);
    for (const { value, rows } of found.rows) meter.note([wrapped(value)], rows);
  }
  const report = meter.report();
  // Accounts may have names of their own for the members of variants.
  const names = ownColumns ? await otherNames(db, entity, report.unknownMembers, SAMPLE) : [];
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
  for (const source of sourcesOfStream(stream)) found.push(await driftOf(db, source));
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
