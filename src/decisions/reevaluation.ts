/**
 * Re-evaluation finds whatever can change a decision by evaluating every open delivery again, the
 * oldest first, in passes. No code works out which change concerns which delivery.
 *
 * A pass begins at once when the rule set, the mode or the armings change; after a pause when the
 * mirror has changed or a push failed; after every `reconsider` interval; and when the calendar or
 * the time of a rule says so. The pause is three times as long as the last pass took: passes never
 * take more than a quarter of a core, however many deliveries are held.
 *
 * A delivery is evaluated in a snapshot, which keeps nobody from writing. Only if its decision or
 * its holds would change is it decided, in a transaction of its own. New deliveries and others that
 * are due by their own rows (due.ts) come first: a pass stops for them between two deliveries.
 *
 * Accepted deliveries have their turn behind the held ones, a slice of them in each pass; while the
 * facts stay as they are, passes of the others follow until all were looked at.
 *
 * The state of a pass is in memory only. After a start the first pass begins at once, so a kill
 * loses nothing.
 */
import { sql } from 'kysely';
import type { Clock } from '../lib/clock.ts';
import type { Db, Store } from '../store/store.ts';
import { asksAboutAccepted, REVOKED_WITHIN_MS } from './accept/revocation.ts';
import { nextCalendarChange } from './calendar.ts';
import type { DueDelivery } from './due.ts';
import { changedRuns } from './holds/changes.ts';
import { type PendingContext, type RulesContext, rulesKey, type Trigger } from './judgement.ts';
import { planDecision } from './plan/plan.ts';
import { armedRuleIds } from './reject/arming.ts';

const PAUSE = 3;
/**
 * Minimum milliseconds between passes: one accept changes other deliveries' facts, so a hundred
 * accepts in a row make one pass.
 */
const PAUSE_MS_MIN = 2_000;
/** Most accepted deliveries of one pass: those of two weeks must not keep what is held waiting. */
export const ACCEPTED_MAX = 1_000;

export interface ReevaluationDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly contextNow: () => PendingContext;
  /** Milliseconds after which a pass begins at the latest, because ages in the facts have grown. */
  readonly reconsiderMs: number;
}

export interface Reevaluation {
  /**
   * Begins a pass if it is time for one. Gives the milliseconds until the next one; 0: one is under
   * way.
   */
  prepare(context?: RulesContext): Promise<number>;
  /** Puts these deliveries before the others of the pass: what they waited for has come. */
  putFirst(orderDeliveryIds: readonly number[]): void;
  /** Whether deliveries of the pass are left. */
  isUnderWay(): boolean;
  /** Takes the next delivery of the pass; undefined at its end. */
  next(): number | undefined;
  /** Evaluates the delivery, and gives it back when it must be decided. */
  evaluate(orderDeliveryId: number): Promise<DueDelivery | undefined>;
}

/** A text that changes when the rule set, the mode or the armings change. */
async function rulesVersion(db: Db, { rules, mode, now }: RulesContext): Promise<string> {
  const armed = await armedRuleIds(db, rules.ruleSet, now);
  return [rulesKey(mode, rules), ...armed].join(' ');
}

/** Facts that change with each complete pull of the stock, whatever it found. */
const OF_STOCK_AGE = ['delivery.lines.stock_age', 'stock.age'];

/**
 * A text that changes when anything that facts rest on was written. That a stream was read once
 * more counts only where rules read its age: what waits for fresh data is evaluated by itself.
 */
async function factsVersion(db: Db, { rules: { ruleSet } }: RulesContext): Promise<string> {
  const isAgeRead = ruleSet.rules.some(
    ({ mode, reads }) => mode !== 'off' && OF_STOCK_AGE.some((fact) => reads.includes(fact)),
  );
  const whenRead = isAgeRead ? sql`complete_at` : sql`complete_at is not null`;
  const runs = (await changedRuns(db)).map((run) => run.run_id);
  const ended = (state: string) => sql`(select max(ended_at) from outbox
    where kind = 'delivery_status' and state = ${state})`;
  const { rows } = await sql<{ readonly version: string }>`
    select json_array((select max(seq) from change),
      (select json_group_array(${whenRead} || coalesce(unlisted, '')) from stream_state
        where stream in ('stock', 'season', 'seasons', 'styles')),
      ${ended('refused')}, ${ended('canceled')}, ${ended('dead')}) as version`.execute(db);
  return `${rows[0]?.version} ${runs.join()}`;
}

interface Open {
  readonly pending: readonly number[];
  readonly accepted: readonly number[];
}

/**
 * Ids of deliveries that wait for something: their evaluation has a time at which it is due. An
 * accepted one is looked at while rules ask about such; else only once, when its accept can no
 * longer be revoked, to plan no further evaluation of it.
 */
async function openDeliveries(db: Db, { rules, now }: RulesContext): Promise<Open> {
  const isOver = sql<boolean>`(d.tracking_numbers <> '[]' or n.at <= ${now - REVOKED_WITHIN_MS})`;
  const { rows } = await sql<{ readonly id: number; readonly accepted: number }>`
    select e.order_delivery_id id, d.status is 'accepted' accepted from evaluation e
    left join delivery d on d.order_delivery_id = e.order_delivery_id
    left join decision n on n.decision_id = e.decision_id
    where e.due_at is not null and (d.status is not 'accepted' or ${
      asksAboutAccepted(rules.ruleSet) ? sql`true` : isOver
    })
    -- By the number itself SQLite would read the evaluation of every delivery there ever was.
    order by +e.order_delivery_id`.execute(db);
  const idsWith = (of: number) => rows.flatMap(({ id, accepted }) => (accepted === of ? [id] : []));
  return { pending: idsWith(0), accepted: idsWith(1) };
}

/** Time, in epoch milliseconds, at which the next pass begins even if nothing changes. */
function nextByTime({ rules: { ruleSet }, now }: RulesContext, reconsiderMs: number): number {
  const { rules, settings } = ruleSet;
  const times = rules.flatMap((rule) => [rule.effectiveFrom ?? 0, rule.effectiveUntil ?? 0]);
  const next = Math.min(now + reconsiderMs, nextCalendarChange(now, settings));
  return Math.min(next, ...times.filter((at) => at > now));
}

interface Pass {
  readonly trigger: Trigger;
  readonly rules: string;
  readonly facts: string;
  readonly deliveries: readonly number[];
  /** Beginning of the pass by wall time, and below by the monotonic clock. */
  readonly begunAt: number;
  readonly begun: number;
  /** Time at which the next pass begins even if nothing changes, in epoch milliseconds. */
  readonly nextAt: number;
}

/** The pass with these deliveries before those that are left of it. */
function withFirst(pass: Pass, ids: readonly number[], looked: number, now: number): Pass {
  const left = pass.deliveries.slice(looked);
  const others = new Set(left).difference(new Set(ids));
  const own = left.length > 0 ? pass : { begun: now, trigger: 'facts' as const };
  return { ...pass, begun: own.begun, trigger: own.trigger, deliveries: [...ids, ...others] };
}

function look({ store, contextNow }: ReevaluationDeps, id: number) {
  const context = { ...contextNow(), trigger: 'facts' } as const;
  return store.snapshot((tx) => planDecision(tx, context, id, 'look'));
}

export function createReevaluation(deps: ReevaluationDeps): Reevaluation {
  const { store, clock, contextNow, reconsiderMs } = deps;
  let pass: Pass | undefined;
  let looked = 0;
  let pausedUntil = 0;
  let lastAccepted = Number.MIN_SAFE_INTEGER;
  /** Accepted deliveries that nobody has looked at yet by these facts. */
  let owed = 0;

  const turnOf = (accepted: readonly number[]): readonly number[] => {
    const behind = accepted.filter((id) => id > lastAccepted);
    const all = [...behind, ...accepted.filter((id) => id <= lastAccepted)];
    const turn = all.slice(0, Math.min(owed, ACCEPTED_MAX));
    owed -= turn.length;
    lastAccepted = turn.at(-1) ?? lastAccepted;
    return turn;
  };

  const start = (next: Omit<Pass, 'begun'>): void => {
    const begun = clock.monotonic();
    pass = { ...next, begun };
    looked = 0;
    pausedUntil = begun + PAUSE_MS_MIN;
  };

  const begin = async (
    context: RulesContext,
    { rules, facts, trigger }: Pick<Pass, 'rules' | 'facts' | 'trigger'>,
  ): Promise<void> => {
    const { pending, accepted } = await openDeliveries(store.db, context);
    owed = accepted.length;
    const deliveries = [...pending, ...turnOf(accepted)];
    const nextAt = nextByTime(context, reconsiderMs);
    start({ trigger, rules, facts, deliveries, begunAt: context.now, nextAt });
  };

  /** Goes on with the accepted deliveries that the pass before left out. */
  const goOn = async (before: Pass, context: RulesContext): Promise<void> => {
    const { accepted } = await openDeliveries(store.db, context);
    owed = Math.min(owed, accepted.length);
    start({ ...before, deliveries: turnOf(accepted) });
  };

  return {
    async prepare(context = contextNow()) {
      const rules = await rulesVersion(store.db, context);
      const facts = await factsVersion(store.db, context);
      if (pass?.rules !== rules) {
        await begin(context, { rules, facts, trigger: pass ? 'rules' : 'facts' });
        return 0;
      }
      if (looked < pass.deliveries.length) return 0;
      const { now } = context;
      const isDue = facts !== pass.facts || now >= pass.nextAt || now < pass.begunAt;
      if (!isDue && owed === 0) return pass.nextAt - now;
      const pauseMs = pausedUntil - clock.monotonic();
      if (pauseMs > 0) return pauseMs;
      await (isDue ? begin(context, { rules, facts, trigger: 'facts' }) : goOn(pass, context));
      return 0;
    },
    putFirst(ids) {
      if (!pass || ids.length === 0) return;
      pass = withFirst(pass, ids, looked, clock.monotonic());
      looked = 0;
    },
    isUnderWay: () => pass !== undefined && looked < pass.deliveries.length,
    next() {
      const id = pass?.deliveries[looked];
      if (id !== undefined) looked += 1;
      return id;
    },
    async evaluate(id) {
      if (!pass) return undefined;
      const { isChange } = await look(deps, id);
      const tookMs = clock.monotonic() - pass.begun;
      pausedUntil = clock.monotonic() + Math.max(PAUSE_MS_MIN, PAUSE * tookMs);
      return isChange ? { orderDeliveryId: id, trigger: pass.trigger } : undefined;
    },
  };
}
