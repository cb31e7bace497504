/** Incidents that the outbox tells: one open at a time for each thing and reason. */
import type { JsonObject } from '../../lib/json.ts';
import type { Tx } from '../../store/store.ts';

interface Incident {
  readonly kind: string;
  readonly entity: string;
  readonly key: string;
  readonly detail: JsonObject;
}

export async function raiseIncident(tx: Tx, incident: Incident, now: number): Promise<void> {
  await tx
    .insertInto('incident')
    .values({ ...incident, at: now, detail: JSON.stringify(incident.detail), resolved_at: null })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

/** Their reason is gone, or a person has seen them. */
export async function resolveIncidents(tx: Tx, ids: readonly number[], now: number): Promise<void> {
  if (ids.length === 0) return;
  await tx
    .updateTable('incident')
    .set({ resolved_at: now })
    .where('id', 'in', [...ids])
    .where('resolved_at', 'is', null)
    .execute();
}

/**
 * Makes the open incidents of these kinds the ones given: new ones are told, those whose reason
 * is gone are resolved. Gives those that are new.
 */
export async function reconcileIncidents(
  tx: Tx,
  kinds: readonly string[],
  wanted: readonly Incident[],
  now: number,
): Promise<readonly Incident[]> {
  const open = await tx
    .selectFrom('incident')
    .select(['id', 'kind', 'entity', 'key'])
    .where('kind', 'in', [...kinds])
    .where('resolved_at', 'is', null)
    .execute();
  const nameOf = (one: Pick<Incident, 'kind' | 'entity' | 'key'>): string =>
    `${one.kind} ${one.entity} ${one.key}`;
  const wantedNames = new Set(wanted.map(nameOf));
  const openNames = new Set(open.map(nameOf));
  const ended = open.filter((incident) => !wantedNames.has(nameOf(incident)));
  await resolveIncidents(
    tx,
    ended.map(({ id }) => id),
    now,
  );
  const fresh = wanted.filter((incident) => !openNames.has(nameOf(incident)));
  for (const incident of fresh) await raiseIncident(tx, incident, now);
  return fresh;
}
