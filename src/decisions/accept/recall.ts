/**
 * Takes back what the rules decided and what was not sent yet, once they would not decide so any
 * more: in another mode, without the rules that decided, or because the rules in force say
 * something else. A push that is being sent may have arrived: it is not sent a second time. All
 * that is taken back is decided again.
 *
 * A push of the rules leaves only while the rules by which its delivery was judged are in force
 * (`isInForce` of the outbox), so what stays is noted as judged by the new ones.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { sql } from 'kysely';
import type { Logger } from '../../lib/log.ts';
import type { RuleSet } from '../../rules/rule.ts';
import type { Store, Tx } from '../../store/store.ts';
import { readSubject } from '../facts.ts';
import { askRules, type RulesContext, rulesKey } from '../judgement.ts';
import { cancelDisallowedRejects } from '../reject/finish-reject.ts';
import { cancelUnsent, hasOpen, pushesOfRules } from '../unsent.ts';

export interface RecallDeps {
  readonly store: Store;
  readonly log: Logger;
  /** Called when pushes may leave that were judged by the rules in force. */
  readonly onPush: () => void;
}

const NOT_ACTING = 'its rules do not act any more';

/** Number of accepts that are judged in one transaction. */
const SLICE = 20;

/**
 * Cancels unsent accepts whose rules are no longer live: once a person has switched a rule off or
 * removed it, nothing it decided may be sent. An accept that several rules decided stays while one
 * of them is live. Gives how many were canceled.
 */
async function recallNotActing(tx: Tx, { rules, settings }: RuleSet, at: number): Promise<number> {
  const acting = settings.mode === 'live' ? rules.filter(({ mode }) => mode === 'live') : [];
  const ids = JSON.stringify(acting.map(({ id }) => id));
  const which = sql<boolean>`n.outcome = 'accept' and not exists (
    select 1 from json_each(n.rules) r where r.value in (select value from json_each(${ids})))`;
  return cancelUnsent(tx, NOT_ACTING, at, pushesOfRules(which));
}

/** Notes that the deliveries whose pushes are these were judged by the rules in force. */
async function noteJudged(tx: Tx, { mode, rules }: RulesContext, which: ReturnType<typeof sql>) {
  await tx
    .updateTable('evaluation')
    .set({ rules_key: rulesKey(mode, rules) })
    .where('rules_key', '<>', '')
    .where(sql<boolean>`order_delivery_id in (select outbox.order_delivery_id from outbox
      where ${which})`)
    .execute();
}

/** Why the rules do not accept this delivery now; undefined: they do, or it is no question. */
async function objection(
  tx: Tx,
  context: RulesContext,
  { delivery: id, outcome }: { readonly delivery: number; readonly outcome: string },
): Promise<string | undefined> {
  const { settings, rules: read } = context.rules.ruleSet;
  const subject = await readSubject(tx, id, { now: context.now, settings, rules: read });
  // A delivery that is not pending any more is found by the lookup before it is sent.
  if (subject !== undefined && subject.delivery.status !== 'pending') return undefined;
  if (subject === undefined) return 'its order is not in the mirror any more';
  const { live } = (await askRules(tx, context, subject, false)).evaluation;
  return live.kind === outcome ? undefined : `the rules now say ${live.kind}: ${live.reason}`;
}

/** When the time of a rule came or was over last, in epoch milliseconds. */
function lastTurn({ rules, now }: RulesContext): number {
  const { rules: all } = rules.ruleSet;
  const times = all.flatMap((rule) => [rule.effectiveFrom ?? 0, rule.effectiveUntil ?? 0]);
  return Math.max(0, ...times.filter((at) => at <= now));
}

/**
 * Judges the next open accepts that were not judged by the rules in force; gives how many were
 * canceled, and the last one if there are more.
 */
async function judgeSlice(tx: Tx, context: RulesContext, after: number) {
  const key = rulesKey(context.mode, context.rules);
  const rows = await tx
    .selectFrom('outbox')
    .innerJoin('evaluation as e', 'e.order_delivery_id', 'outbox.order_delivery_id')
    .innerJoin('decision as d', 'd.decision_id', 'outbox.decision_id')
    .select(['outbox.outbox_id as id', 'e.order_delivery_id as delivery', 'd.outcome'])
    .where(pushesOfRules(sql<boolean>`n.outcome in ('accept', 'reject')`))
    .where('e.rules_key', '<>', '')
    .where((eb) =>
      eb.or([eb('e.rules_key', '<>', key), eb('e.evaluated_at', '<', lastTurn(context))]),
    )
    .where('outbox.outbox_id', '>', after)
    .orderBy(sql`+outbox.outbox_id`)
    .limit(SLICE)
    .execute();
  let canceled = 0;
  for (const { id, delivery, outcome } of rows) {
    const why = await objection(tx, context, { delivery, outcome });
    const own = sql<boolean>`outbox.outbox_id = ${id}`;
    if (why === undefined) await noteJudged(tx, context, own);
    else canceled += await cancelUnsent(tx, why, context.now, own);
  }
  const next = rows.length < SLICE ? undefined : rows.at(-1)?.id;
  return { canceled, next };
}

/** Cancels what is no longer live at all, and lets go what is no accept and still allowed. */
async function recallAtOnce(tx: Tx, context: RulesContext): Promise<number> {
  const { rules, mode, now } = context;
  if (mode !== 'live') return cancelUnsent(tx, `the rules are in the mode ${mode} by now`, now);
  const canceled =
    (await recallNotActing(tx, rules.ruleSet, now)) +
    (await cancelDisallowedRejects(tx, rules.ruleSet, now));
  await noteJudged(tx, context, pushesOfRules(sql<boolean>`n.outcome not in ('accept', 'reject')`));
  return canceled;
}

/** Cancels what was decided by the rules and would not be by those in force; see the head. */
export async function recallUnsent(
  { store, log, onPush }: RecallDeps,
  contextNow: () => RulesContext,
): Promise<void> {
  if (contextNow().mode === 'paused' || !(await hasOpen(store.db))) return;
  let canceled = await store.transaction((tx) => recallAtOnce(tx, contextNow()));
  for (let after: number | undefined = 0; after !== undefined; await nextTurn()) {
    const from: number = after;
    const slice = await store.transaction((tx) => judgeSlice(tx, contextNow(), from));
    canceled += slice.canceled;
    after = slice.next;
  }
  if (canceled > 0) log.warn({ canceled }, 'canceled what the rules decided and was not sent yet');
  onPush();
}
