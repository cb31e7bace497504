/** What reject rules are about to do, for people: armed rules, the breaker, the queue. */
import { ConfigError } from '../../lib/errors.ts';
import { readState } from '../../store/state.ts';
import type { Db } from '../../store/store.ts';
import { type Breaker, readBreaker } from '../reject/breaker.ts';
import { RULES_IN_FORCE } from '../rule-keeper.ts';
import { storedRuleSet } from '../trial/rule-sets.ts';

const DAY_MS = 86_400_000;

/** Hashes of the rules in force, by their ids; undefined where this version cannot read them. */
async function textsInForce(db: Db): Promise<ReadonlyMap<string, string> | undefined> {
  const hash = await readState(db, RULES_IN_FORCE);
  if (hash === undefined) return new Map();
  try {
    const { rules } = await storedRuleSet(db, hash);
    return new Map(rules.map((rule) => [rule.id, rule.hash]));
  } catch (thrown) {
    if (thrown instanceof ConfigError) return undefined;
    throw thrown;
  }
}

async function armedRules(db: Db, now: number) {
  const rows = await db
    .selectFrom('arming')
    .select(['rule_id', 'rule_hash', 'at', 'actor', 'reason', 'expires_at'])
    .where('ended_at', 'is', null)
    .where('expires_at', '>', now)
    .orderBy('rule_id')
    .execute();
  const texts = rows.length > 0 ? await textsInForce(db) : new Map<string, string>();
  return rows.map((row) => ({
    ruleId: row.rule_id,
    /** Armed is this text; the rule only watches while it has another one. */
    ruleHash: row.rule_hash,
    /** Whether the rules in force have exactly this text: only then it may act. Null: unknown. */
    inForce: texts ? texts.get(row.rule_id) === row.rule_hash : null,
    at: row.at,
    actor: row.actor,
    reason: row.reason,
    expiresAt: row.expires_at,
  }));
}

async function waitingRejects(db: Db) {
  const rows = await db
    .selectFrom('reject_entry as r')
    .innerJoin('decision as n', 'n.decision_id', 'r.decision_id')
    .leftJoin('delivery as d', 'd.order_delivery_id', 'r.order_delivery_id')
    .select(['r.order_delivery_id', 'd.delivery_no', 'r.rule_id', 'r.queued_at', 'r.due_at'])
    .select(['r.rail', 'r.detail', 'n.reason'])
    .where('r.ended_at', 'is', null)
    .where('r.state', '=', 'waiting')
    .orderBy('r.due_at')
    .execute();
  return rows.map((row) => ({
    orderDeliveryId: row.order_delivery_id,
    deliveryNo: row.delivery_no,
    ruleId: row.rule_id,
    queuedAt: row.queued_at,
    /** When it will be rejected, unless a rail or a person prevents it. */
    dueAt: row.due_at,
    /** The rail that puts it off, if one does, and what it says. */
    rail: row.rail,
    detail: row.detail,
    /** Of the rule. */
    reason: row.reason,
  }));
}

async function rejectedSince(db: Db, since: number): Promise<number> {
  const row = await db
    .selectFrom('reject_entry')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('intent_at', '>', since)
    .executeTakeFirstOrThrow();
  return Number(row.count);
}

export interface RejectOverview {
  readonly breaker: Breaker | null;
  readonly armed: Awaited<ReturnType<typeof armedRules>>;
  readonly waiting: Awaited<ReturnType<typeof waitingRejects>>;
  /** Rejects that were meant in the last 24 hours. */
  readonly today: number;
}

export async function rejectOverview(db: Db, now: number): Promise<RejectOverview> {
  return {
    breaker: (await readBreaker(db)) ?? null,
    armed: await armedRules(db, now),
    waiting: await waitingRejects(db),
    today: await rejectedSince(db, now - DAY_MS),
  };
}
