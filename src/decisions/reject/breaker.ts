/**
 * The breaker of rejects. Once it has tripped, no reject rule acts any more, across restarts and
 * changes of the rules, until a person resets it and says why.
 */
import { z } from 'zod';
import { RefusedError } from '../../lib/errors.ts';
import { tryParseJson } from '../../lib/json.ts';
import { type Actor, writeAudit } from '../../store/audit.ts';
import { endIncidents, openIncident } from '../../store/incidents.ts';
import { deleteState, readState, writeStateAt } from '../../store/state.ts';
import type { Db, Tx } from '../../store/store.ts';

const KEY = 'reject_breaker';
const RESET_KEY = 'reject_breaker_reset';
const INCIDENT = { kind: 'reject_breaker', entity: 'rules', key: 'reject' } as const;

const BREAKER = z.object({ at: z.number(), safeguard: z.string(), detail: z.string() });

/** Cause and time of the breaker's trip. */
export type Breaker = z.output<typeof BREAKER>;

/** Reads cause and time of the breaker's trip; undefined while it has not tripped. */
export async function readBreaker(db: Db | Tx): Promise<Breaker | undefined> {
  const text = await readState(db, KEY);
  return text === undefined ? undefined : BREAKER.parse(tryParseJson(text));
}

export async function tripBreaker(tx: Tx, breaker: Breaker): Promise<void> {
  if (!(await readBreaker(tx))) await writeStateAt(tx, KEY, JSON.stringify(breaker), breaker.at);
  await openIncident(tx, { ...INCIDENT, detail: breaker }, breaker.at);
}

/** Time at which a person last reset the breaker, in epoch milliseconds; 0: never. */
export async function breakerResetAt(tx: Tx): Promise<number> {
  const row = await tx
    .selectFrom('daemon_state')
    .select('updated_at')
    .where('key', '=', RESET_KEY)
    .executeTakeFirst();
  return row?.updated_at ?? 0;
}

/** Reads cause and time of the breaker's trip; throws a RefusedError when it has not tripped. */
export async function trippedBreaker(db: Db | Tx): Promise<Breaker> {
  const breaker = await readBreaker(db);
  if (breaker) return breaker;
  throw new RefusedError('rules.breaker_whole', 'the breaker has not tripped');
}

/** Resets the breaker; throws a RefusedError when it has not tripped. */
export async function resetBreaker(tx: Tx, who: Actor, at: number): Promise<Breaker> {
  const breaker = await trippedBreaker(tx);
  await deleteState(tx, KEY);
  await writeStateAt(tx, RESET_KEY, who.actor, at);
  await endIncidents(tx, INCIDENT, [INCIDENT.key], at);
  const act = { action: 'rules.reset_breaker', subject: 'rules', detail: breaker };
  await writeAudit(tx, { ...who, ...act }, at);
  return breaker;
}
