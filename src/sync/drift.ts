/**
 * What the service sends and the mirror has no column for, by stream: members that the contract
 * does not know, and statuses that it does not list. Read from the rows that are kept, the latest
 * changed first, so that it is there after a restart as well.
 */
import { sql } from 'kysely';
import { createDriftMeter, type KnownValues } from '../client/drift.ts';
import { isJsonObject, tryParseJson } from '../lib/json.ts';
import type { Db } from '../store/store.ts';
import { entitiesOfStream } from './quarantine.ts';

export interface EntityDrift {
  readonly entity: string;
  /** Member path → rows of the sample that have it. */
  readonly unknownMembers: Readonly<Record<string, number>>;
  /** `status=value` → rows. */
  readonly newValues: Readonly<Record<string, number>>;
}

/** Rows that are looked at; more would only cost time. */
const SAMPLE = 20_000;

const DECIDED = ['pending', 'accepted', 'rejected', 'canceled'];
const STATUSES: Readonly<Record<string, readonly string[]>> = {
  sales_order: ['pending', 'fulfilled', 'partially_fulfilled', 'canceled'],
  delivery: DECIDED,
  refund: DECIDED,
  pending_refund: ['pending', 'confirmed', 'canceled'],
};

export async function driftOfStream(db: Db, stream: string): Promise<EntityDrift[]> {
  const found: EntityDrift[] = [];
  for (const { entity, schema } of entitiesOfStream(stream)) {
    const statuses = STATUSES[entity];
    const values: KnownValues = statuses ? { status: statuses } : {};
    const meter = createDriftMeter(schema, values);
    const status = statuses ? sql`status` : sql`null`;
    const { rows } = await sql<{ readonly extra: string; readonly status: string | null }>`
      select extra, ${status} as status from ${sql.table(entity)}
      order by changed_at desc limit ${SAMPLE}`.execute(db);
    for (const row of rows) {
      const extra = tryParseJson(row.extra);
      const known = row.status === null ? {} : { status: row.status };
      meter.note([{ ...(isJsonObject(extra) ? extra : {}), ...known }]);
    }
    found.push({ entity, ...meter.report() });
  }
  return found;
}
