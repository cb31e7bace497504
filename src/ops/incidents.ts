/** Incidents one by one: their list, one with those before it, and what people do about them. */
import { sql } from 'kysely';
import { z } from 'zod';
import { WORDS } from '../config/words.ts';
import type { Clock } from '../lib/clock.ts';
import { RefusedError } from '../lib/errors.ts';
import { isJsonObject, tryParseJson } from '../lib/json.ts';
import { type Actor, writeAudit } from '../store/audit.ts';
import { acknowledge, endIncidentRows } from '../store/incidents.ts';
import { type IdPage, newestFirst } from '../store/pages.ts';
import type { Db, Store, Tx } from '../store/store.ts';
import { as, text, time, whole } from '../surface/members.ts';
import { INCIDENTS } from './incident-kinds.ts';

/** Members of an incident; `says` is the event in a sentence. */
export const INCIDENT = {
  incidentId: whole('Number', { link: 'incident', csv: 'incident' }, 1),
  kind: text('Incident', { words: WORDS.incident }),
  entity: as(z.string(), 'Of', 'text'),
  key: as(z.string(), 'Key', 'text', { about: 'What it is about, by the entity' }),
  at: time('Since'),
  resolvedAt: time('Ended').nullable(),
  acknowledgedBy: text('Looks after it').nullable(),
  acknowledgedAt: time('Taken up').nullable(),
  note: text('Note').nullable(),
  says: as(z.string(), 'What happened', 'text'),
  advice: as(z.string(), 'Advice', 'text', { about: 'For who has a terminal on the host' }),
};
const incidentSchema = z.strictObject(INCIDENT);

export interface IncidentRow extends z.output<typeof incidentSchema> {
  readonly detail: unknown;
}

export interface IncidentFilter {
  readonly kind?: string | undefined;
  /** Whether ended ones are listed, too. */
  readonly all?: boolean | undefined;
}

function queryOf(db: Db | Tx) {
  return db
    .selectFrom('incident as i')
    .leftJoin('incident_ack as a', 'a.incident_id', 'i.id')
    .select(['i.id', 'i.kind', 'i.entity', 'i.key', 'i.at', 'i.detail', 'i.resolved_at'])
    .select(['a.actor', 'a.at as acknowledged_at', 'a.reason']);
}

type Found = Awaited<ReturnType<ReturnType<typeof queryOf>['executeTakeFirstOrThrow']>>;

/** First of these members that is a text. */
function textIn(detail: unknown, ...names: readonly string[]): string | undefined {
  const texts = names.map((name) => (isJsonObject(detail) ? detail[name] : undefined));
  return texts.find((one) => typeof one === 'string' && one !== '')?.toString();
}

function rowOf(found: Found): IncidentRow {
  const { id, kind, entity, key, at, resolved_at: resolvedAt, reason } = found;
  const detail = tryParseJson(found.detail);
  const { when = kind, todo = '' } = INCIDENTS[kind] ?? {};
  const error = textIn(detail, 'error', 'message', 'reason');
  return {
    incidentId: id,
    kind,
    entity,
    key,
    at,
    resolvedAt,
    acknowledgedBy: found.actor,
    acknowledgedAt: found.acknowledged_at,
    note: reason === '' ? null : reason,
    says: textIn(detail, 'says') ?? (error === undefined ? when : `${when}: ${error}`),
    advice: textIn(detail, 'advice', 'hint') ?? todo.replaceAll('`', ''),
    detail,
  };
}

/** Incidents that fit, the latest first; those that are open unless all are asked for. */
export async function listIncidents(
  db: Db,
  { kind, all = false }: IncidentFilter,
  page: IdPage,
): Promise<readonly IncidentRow[]> {
  let query = queryOf(db);
  if (kind !== undefined) query = query.where('i.kind', '=', kind);
  if (!all) query = query.where('i.resolved_at', 'is', null);
  return (await newestFirst(query, 'i.id', page)).map(rowOf);
}

/** Incidents that were open at any moment of a time, each by an index of those open or ended. */
export async function incidentsSince(
  db: Db,
  since: number,
  until: number,
): Promise<readonly IncidentRow[]> {
  const began = queryOf(db).where('i.at', '<=', until);
  const open = await began.where('i.resolved_at', 'is', null).execute();
  const ended = await began.where('i.resolved_at', '>=', since).execute();
  return [...open, ...ended].map(rowOf);
}

/** @throws RefusedError `incidents.unknown` */
export async function incidentOf(db: Db | Tx, id: number): Promise<IncidentRow> {
  const found = await queryOf(db).where('i.id', '=', id).executeTakeFirst();
  if (found) return rowOf(found);
  const hint = 'ended ones are forgotten after a while; see: selvedge incidents list --all';
  throw new RefusedError('incidents.unknown', `there is no incident ${id}`, { hint });
}

const BEFORE_MAX = 20;

/** Earlier incidents of the same kind about the same thing, the latest first. */
export async function incidentsBefore(
  db: Db,
  { incidentId, kind, entity, key }: IncidentRow,
): Promise<readonly IncidentRow[]> {
  const found = await queryOf(db)
    .where(sql<boolean>`i.kind = ${kind} and i.entity = ${entity} and i.key = ${key}`)
    .where('i.id', '<', incidentId)
    .orderBy('i.id', 'desc')
    .limit(BEFORE_MAX)
    .execute();
  return found.map(rowOf);
}

/** Whether a person may end incidents of the kind; all others end with their reason. */
export function isEndedByPerson(kind: string): boolean {
  return INCIDENTS[kind]?.isEndedByPerson === true;
}

function requireOpen({ incidentId, resolvedAt }: IncidentRow): void {
  if (resolvedAt === null) return;
  const hint = 'nothing is to be done about it any more';
  throw new RefusedError('incidents.ended', `incident ${incidentId} has ended`, { hint });
}

function requireEndable({ incidentId, kind }: IncidentRow): void {
  if (isEndedByPerson(kind)) return;
  const { ends = 'its reason is gone', act = '' } = INCIDENTS[kind] ?? {};
  const hint = `it ends: ${ends}. ${act}`.trim();
  throw new RefusedError('incidents.ends_by_itself', `incident ${incidentId} ends by itself`, {
    hint,
  });
}

/** Creates the acts of people on incidents. */
export function createIncidentOperations({
  store,
  clock,
}: {
  readonly store: Store;
  readonly clock: Clock;
}) {
  const open = async (db: Db | Tx, id: number): Promise<IncidentRow> => {
    const found = await incidentOf(db, id);
    requireOpen(found);
    return found;
  };
  const audit = (tx: Tx, action: string, { incidentId, kind }: IncidentRow, who: Actor) => {
    const act = { action: `incident.${action}`, subject: `incident:${incidentId}` };
    return writeAudit(tx, { ...who, ...act, detail: { kind } }, clock.now());
  };
  return {
    /** @throws RefusedError `incidents.unknown`, `incidents.ended` */
    requireOpen: (id: number) => open(store.db, id),
    /** @throws RefusedError as above, and `incidents.ends_by_itself` */
    async requireEndable(id: number): Promise<IncidentRow> {
      const found = await open(store.db, id);
      requireEndable(found);
      return found;
    },
    acknowledge: (id: number, who: Actor) =>
      store.transaction(async (tx) => {
        const found = await open(tx, id);
        await acknowledge(tx, id, who, clock.now());
        await audit(tx, 'acknowledge', found, who);
        return incidentOf(tx, id);
      }),
    resolve: (id: number, who: Actor) =>
      store.transaction(async (tx) => {
        const found = await open(tx, id);
        requireEndable(found);
        await endIncidentRows(tx, [{ id }], clock.now());
        await audit(tx, 'resolve', found, who);
        return incidentOf(tx, id);
      }),
  };
}

export type IncidentOperations = ReturnType<typeof createIncidentOperations>;
