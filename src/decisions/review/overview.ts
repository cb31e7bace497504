/**
 * The overview of rejects for people: armed rules, the breaker, and the deliveries about to be
 * rejected.
 */
import { ConfigError } from '../../lib/errors.ts';
import type { RuleSet } from '../../rules/rule.ts';
import { readState } from '../../store/state.ts';
import type { Db } from '../../store/store.ts';
import { type Breaker, readBreaker } from '../reject/breaker.ts';
import { RULES_IN_FORCE } from '../rule-keeper.ts';
import { storedRuleSet } from '../simulation/rule-sets.ts';

const DAY_MS = 86_400_000;

/**
 * Hashes of the reject rules in force, by id; undefined if this version of Selvedge cannot read
 * them.
 */
async function textsInForce(
  db: Db,
  known: RuleSet | undefined,
): Promise<ReadonlyMap<string, string> | undefined> {
  const hash = await readState(db, RULES_IN_FORCE);
  if (hash === undefined) return new Map();
  try {
    const { rules } = known?.hash === hash ? known : await storedRuleSet(db, hash);
    const rejects = rules.filter(({ action }) => action === 'reject');
    return new Map(rejects.map(({ id, hash }) => [id, hash]));
  } catch (thrown) {
    if (thrown instanceof ConfigError) return undefined;
    throw thrown;
  }
}

/** The latest arming of each rule, whether it has ended or not. */
async function latestArmings(db: Db) {
  const rows = await db.selectFrom('arming').selectAll().orderBy('arming_id').execute();
  const latest = new Map(rows.map((row) => [row.rule_id, row]));
  return [...latest.values()].toSorted((a, b) => a.rule_id.localeCompare(b.rule_id));
}

async function armings(db: Db, now: number, known: RuleSet | undefined) {
  const rows = await latestArmings(db);
  const texts = rows.length > 0 ? await textsInForce(db, known) : new Map<string, string>();
  const armed = rows.filter((row) => row.ended_at === null && row.expires_at > now);
  const disarmed = rows.filter((row) => row.ended_by === 'daemon' && texts?.has(row.rule_id));
  return {
    armed: armed.map((row) => ({
      ruleId: row.rule_id,
      ruleHash: row.rule_hash,
      /**
       * Whether the rules in force have exactly the armed text; null: this version cannot read
       * them.
       */
      inForce: texts ? texts.get(row.rule_id) === row.rule_hash : null,
      at: row.at,
      actor: row.actor,
      reason: row.reason,
      expiresAt: row.expires_at,
    })),
    /**
     * Rules that were disarmed by a changed text or by time, and not armed since: they do not act.
     */
    disarmed: disarmed.map((row) => ({
      ruleId: row.rule_id,
      at: row.ended_at,
      reason: row.end_reason,
    })),
  };
}

/**
 * Rejects that wait for `dueAt`, unless a safeguard postpones them (`detail` says why) or a person
 * prevents them; `reason` is the message of the rule.
 */
function waitingRejects(db: Db) {
  return db
    .selectFrom('reject_entry as r')
    .innerJoin('decision as n', 'n.decision_id', 'r.decision_id')
    .leftJoin('delivery as d', 'd.order_delivery_id', 'r.order_delivery_id')
    .select(['r.order_delivery_id as orderDeliveryId', 'd.delivery_no as deliveryNo'])
    .select(['r.rule_id as ruleId', 'r.queued_at as queuedAt', 'r.due_at as dueAt'])
    .select(['r.safeguard', 'r.detail', 'n.reason'])
    .where('r.ended_at', 'is', null)
    .where('r.state', '=', 'waiting')
    .orderBy('r.due_at')
    .execute();
}

async function rejectedSince(db: Db, since: number): Promise<number> {
  const row = await db
    .selectFrom('reject_entry')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('intent_at', '>', since)
    .executeTakeFirstOrThrow();
  return Number(row.count);
}

export interface RejectOverview extends Awaited<ReturnType<typeof armings>> {
  readonly breaker: Breaker | null;
  readonly waiting: Awaited<ReturnType<typeof waitingRejects>>;
  /** Number of rejects that were enqueued in the last 24 hours. */
  readonly today: number;
}

/**
 * Reads the overview of rejects.
 * @param known the rules in force, if the caller has them
 */
export async function rejectOverview(
  db: Db,
  now: number,
  known?: RuleSet,
): Promise<RejectOverview> {
  return {
    breaker: (await readBreaker(db)) ?? null,
    ...(await armings(db, now, known)),
    waiting: await waitingRejects(db),
    today: await rejectedSince(db, now - DAY_MS),
  };
}
