/**
 * Incidents: things that a person must look at. At most one incident of a kind is open per thing;
 * while it is open, the same is not reported again.
 */
import { sql } from 'kysely';
import { thingWords, wordFor } from '../config/words.ts';
import type { Actor } from './audit.ts';
import { inKeys } from './bulk.ts';
import type { Db, Tx } from './store.ts';
import { forgetPeople } from './tables/people.ts';
import { kept, type Value } from './transaction/kept.ts';
import { SLICE_ROWS } from './upkeep.ts';

export interface Incident {
  readonly kind: string;
  /** Kind of the thing that is affected; `key` names the thing itself. */
  readonly entity: string;
  readonly key: string;
  readonly detail: object;
}

/** Opens an incident; leaves one that is open already as it is. */
export async function openIncident(db: Db | Tx, incident: Incident, now: number): Promise<void> {
  await db
    .insertInto('incident')
    .values({ ...incident, at: now, detail: JSON.stringify(incident.detail), resolved_at: null })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

/**
 * Opens an incident, or gives the one that is open already another detail, such as a count that
 * grows.
 */
export async function updateIncident(db: Db | Tx, incident: Incident, now: number): Promise<void> {
  const { kind, entity, key } = incident;
  const updated = await db
    .updateTable('incident')
    .set({ detail: JSON.stringify(incident.detail) })
    .where('kind', '=', kind)
    .where('entity', '=', entity)
    .where('key', '=', key)
    .where('resolved_at', 'is', null)
    .returning('id')
    .execute();
  if (updated.length === 0) await openIncident(db, incident, now);
}

/** Detail of the open incident about a thing, as JSON text; undefined: none is open. */
export async function openDetail(
  db: Db | Tx,
  { kind, entity, key }: Omit<Incident, 'detail'>,
): Promise<string | undefined> {
  const row = await db
    .selectFrom('incident')
    .select('detail')
    .where('kind', '=', kind)
    .where('entity', '=', entity)
    .where('key', '=', key)
    .where('resolved_at', 'is', null)
    .executeTakeFirst();
  return row?.detail;
}

/** Ends the open incidents with these ids, and returns how many there were. */
export async function endIncidentRows(
  db: Db | Tx,
  rows: readonly { readonly id: number }[],
  now: number,
): Promise<number> {
  // There is hardly ever one to end, and an update without rows would still take the write lock.
  if (rows.length === 0) return 0;
  const ids = rows.map(({ id }) => id);
  await db
    .updateTable('incident')
    .set({ resolved_at: now })
    .where(inKeys('id', ids))
    .where('resolved_at', 'is', null)
    .execute();
  return rows.length;
}

const openOf = kept((db: Db, kind: Value<string>, entity: Value<string>, keys: Value<string>) =>
  db
    .selectFrom('incident')
    .select('id')
    .where('kind', '=', kind)
    .where('entity', '=', entity)
    .where(inKeys('key', keys))
    .where('resolved_at', 'is', null),
);

/**
 * Ends the open incidents about these things, because their reason is gone or a person has seen
 * them. Returns how many were open.
 */
export async function endIncidents(
  db: Db | Tx,
  { kind, entity }: Pick<Incident, 'kind' | 'entity'>,
  keys: readonly string[],
  now: number,
): Promise<number> {
  if (keys.length === 0) return 0;
  return endIncidentRows(db, await openOf(db, kind, entity, JSON.stringify(keys)), now);
}

function nameOf({ kind, entity, key }: Omit<Incident, 'detail'>): string {
  return `${kind} ${entity} ${key}`;
}

/**
 * Makes the open incidents of these kinds equal to the given ones: opens new ones, and ends those
 * whose reason is gone. Returns the new ones, and how many were ended.
 */
export async function reconcileIncidents<Wanted extends Incident>(
  db: Db | Tx,
  kinds: readonly string[],
  wanted: readonly Wanted[],
  now: number,
): Promise<{ readonly opened: readonly Wanted[]; readonly ended: number }> {
  const open = await db
    .selectFrom('incident')
    .select(['id', 'kind', 'entity', 'key'])
    .where('kind', 'in', [...kinds])
    .where('resolved_at', 'is', null)
    .execute();
  const wantedNames = new Set(wanted.map(nameOf));
  const openNames = new Set(open.map(nameOf));
  const over = open.filter((incident) => !wantedNames.has(nameOf(incident)));
  const ended = await endIncidentRows(db, over, now);
  const opened = wanted.filter((incident) => !openNames.has(nameOf(incident)));
  for (const incident of opened) await openIncident(db, incident, now);
  return { opened, ended };
}

/** Keys of things that incidents may be about, by the kind of thing. */
export type Things = ReadonlyMap<string, readonly (string | number)[]>;

/** Describes the open incidents about these things in words. */
export async function openAbout(db: Db | Tx, things: Things): Promise<string[]> {
  const found: string[] = [];
  for (const [entity, keys] of things) {
    const rows = await db
      .selectFrom('incident')
      .select(['kind', 'key'])
      .where('entity', '=', entity)
      .where(inKeys('key', keys.map(String)))
      .where('resolved_at', 'is', null)
      .execute();
    found.push(
      ...rows.map(({ kind, key }) => {
        const about = `${wordFor('incident', kind)}, ${thingWords(entity, key)}`;
        return `an incident is open (${about})`;
      }),
    );
  }
  return found;
}

/** Blanks the details of ended incidents about these things, which may contain personal data. */
export async function forgetIncidents(tx: Tx, things: Things): Promise<void> {
  for (const [entity, keys] of things) {
    const theirs = inKeys('key', keys.map(String));
    const ended = sql<boolean>`entity = ${entity} and ${theirs} and resolved_at is not null`;
    await forgetPeople(tx, 'incident', ended);
  }
}

/** Notes who looks after an incident; the last one counts. */
export async function acknowledge(
  tx: Tx,
  id: number,
  { actor, reason }: Pick<Actor, 'actor' | 'reason'>,
  at: number,
): Promise<void> {
  await tx
    .insertInto('incident_ack')
    .values({ incident_id: id, at, actor, reason })
    .onConflict((conflict) => conflict.column('incident_id').doUpdateSet({ at, actor, reason }))
    .execute();
}

/** Deletes some ended incidents that are old enough, and returns how many. */
export async function deleteOldIncidents(tx: Tx, before: number): Promise<number> {
  const { numAffectedRows } = await sql`delete from incident where id in (
    select id from incident where resolved_at < ${before} limit ${SLICE_ROWS})`.execute(tx);
  const deleted = Number(numAffectedRows ?? 0);
  if (deleted === 0) return 0;
  const gone = sql`incident_id not in (select id from incident)`;
  await sql`delete from incident_ack where ${gone}`.execute(tx);
  return deleted;
}
