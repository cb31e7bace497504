/**
 * Finds pending deliveries that are due by their own rows: they were never evaluated; their content
 * or their order changed; their push failed; a planned time has come; their evaluation failed.
 * Everything else that can change a decision is found by the passes below.
 *
 * Triggers keep the time at which each is due (`claim.due_at`), in the transaction of what makes it
 * so: the search looks at what is due alone, however many are held. It reads the database alone,
 * so it may be repeated at any moment. A sweep compares the rows themselves, a slice at a time, so
 * that no fault of a trigger leaves a delivery forgotten.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type RawBuilder, sql } from 'kysely';
import type { Clock } from '../lib/clock.ts';
import { makeDue } from '../mirror/upkeep.ts';
import { inKeys } from '../store/bulk.ts';
import type { Db, Store, Tx } from '../store/store.ts';
import { kept, type Value } from '../store/transaction/kept.ts';
import { together } from '../store/transaction/together.ts';
import { changedRuns } from './accept/freshness.ts';
import { asksAboutAccepted, REVOKED_WITHIN_MS } from './accept/revocation.ts';
import { nextCalendarChange } from './calendar.ts';
import { orderHash } from './facts.ts';
import { evaluationErrorIds } from './incidents.ts';
import { type PendingContext, type RulesContext, rulesKey, type Trigger } from './judgement.ts';
import { planDecision } from './plan/plan.ts';
import { hasFailedPush, hasOpenPush } from './push.ts';
import { armedRuleIds } from './reject/arming.ts';

export interface DueQuery {
  readonly now: number;
  /**
   * Milliseconds without a change after which a delivery counts as settled: before, it may still
   * grow.
   */
  readonly settleMs: number;
}

export interface DueDelivery {
  readonly orderDeliveryId: number;
  readonly trigger: Trigger;
}

export interface Due {
  /** Deliveries that are new, changed, or whose push failed; the oldest first. */
  readonly first: readonly DueDelivery[];
  /** Deliveries whose planned time of evaluation has come; the oldest first. */
  readonly later: readonly DueDelivery[];
  /** Deliveries that may still grow, and the time at which the first of them is settled. */
  readonly unsettled: readonly number[];
  readonly settledAt: number;
}

/** Number of deliveries that one query searches, before other work gets its turn. */
const LOOK_ROWS = 200;
/** Where the sweep begins: below every id. */
export const FIRST = Number.MIN_SAFE_INTEGER;
/** Number of pending deliveries that one step of the sweep looks at. */
const SWEEP_ROWS = 2_000;
/**
 * Number of planned evaluations in one round with new deliveries, so that neither kind waits long.
 */
const AGAIN_BESIDE_NEW = 10;

/**
 * SQL: the delivery or its order changed since it was evaluated. Future timestamps are ignored:
 * they were written before the clock was set back.
 */
function hasChanged(now: number | Value<number>): RawBuilder<boolean> {
  return sql<boolean>`(e.delivery_hash <> d.content_hash or e.order_hash <> ${orderHash('o')}
    or (d.changed_at > e.evaluated_at and d.changed_at <= ${now}))`;
}

/** SQL: pending deliveries whose push is not on its way, with why they may be due. */
const pendingWith = kept((db: Db, now: Value<number>, ids: Value<string>) =>
  db
    .selectFrom('claim as c')
    .innerJoin('delivery as d', 'd.order_delivery_id', 'c.order_delivery_id')
    .innerJoin('sales_order as o', 'o.order_id', 'd.order_id')
    .leftJoin('evaluation as e', 'e.order_delivery_id', 'd.order_delivery_id')
    .select(['d.order_delivery_id as id', 'd.changed_at', 'c.due_at'])
    .select(['e.evaluated_at', 'e.due_why'])
    .select(sql<number>`coalesce(${hasChanged(now)}, 0)`.as('has_changed'))
    .select(sql<number>`e.rules_key = '' or ${hasFailedPush(now)}`.as('has_failed'))
    .where('d.status', '=', 'pending')
    .where('d.deleted_at', 'is', null)
    .where((eb) => eb.not(hasOpenPush('d.order_delivery_id')))
    .where(inKeys('c.order_delivery_id', ids)),
);

/** The pending ones of these; mostly there are none, as a round has named none. */
async function pendingAmong(db: Db, now: number, ids: readonly number[]) {
  return ids.length === 0 ? [] : pendingWith(db, now, JSON.stringify(ids));
}

type DueRow = Awaited<ReturnType<typeof pendingAmong>>[number];

/**
 * Yields what is due from `from` to `upTo`, in the order of time. The join stays on `claim`: from
 * the few that are due to their rows.
 */
async function* dueBetween(
  db: Db,
  now: number,
  from: number,
  upTo: number,
): AsyncGenerator<DueRow> {
  for (let after = { at: from, id: FIRST }; ; ) {
    const slice = await db
      .selectFrom('claim')
      .select(['order_delivery_id as id', 'due_at as at'])
      .where('due_at', 'is not', null)
      .where('due_at', '<=', upTo)
      .where(sql<boolean>`(due_at, order_delivery_id) > (${after.at}, ${after.id})`)
      .orderBy('due_at')
      .orderBy('order_delivery_id')
      .limit(LOOK_ROWS)
      .execute();
    const ids = slice.map(({ id }) => id);
    const rows = ids.length === 0 ? [] : await pendingAmong(db, now, ids);
    const found = new Map(rows.map((row) => [row.id, row]));
    for (const id of ids) {
      const row = found.get(id);
      if (row) yield row;
    }
    const last = slice.at(-1);
    if (!last || slice.length < LOOK_ROWS) return;
    after = { at: last.at ?? upTo, id: last.id };
    await nextTurn();
  }
}

function triggerOf({ evaluated_at, has_changed, has_failed, due_why }: DueRow): Trigger {
  if (evaluated_at === null) return 'new';
  if (has_changed === 1) return 'changed';
  return has_failed === 1 ? 'push' : (due_why ?? 'hold');
}

const dueAfter = kept((db: Db, now: Value<number>) =>
  db
    .selectFrom('claim')
    .select((eb) => eb.fn.min('due_at').as('due_at'))
    .where('due_at', '>', now),
);

/** Time of the next planned evaluation of a pending delivery; Infinity when none is planned. */
export async function nextDueAt(db: Db, now: number): Promise<number> {
  const [row] = await dueAfter(db, now);
  return row?.due_at ?? Infinity;
}

/** Sorts rows into what is due first, what is due later, and what may still grow. */
function createSorter({ now, settleMs }: DueQuery, aside: ReadonlySet<number>) {
  const first: DueDelivery[] = [];
  const later: DueDelivery[] = [];
  const unsettled: number[] = [];
  let settledAt = Infinity;
  return {
    first,
    later,
    take(row: DueRow): void {
      if (aside.has(row.id)) return;
      const at = row.changed_at + settleMs;
      // After the clock was set back no delivery waits longer than its own settling time.
      const isSettled = at <= now || at > now + 2 * settleMs;
      const due = { orderDeliveryId: row.id, trigger: triggerOf(row) };
      if (!isSettled) {
        unsettled.push(row.id);
        settledAt = Math.min(settledAt, at);
      } else if (['new', 'changed', 'push'].includes(due.trigger)) first.push(due);
      else later.push(due);
    },
    sorted: (limit: number, places: number): Due => {
      return { first: first.slice(0, limit), later: later.slice(0, places), unsettled, settledAt };
    },
  };
}

/** Those of these deliveries that are due. */
export async function dueAmong(
  db: Db,
  query: DueQuery,
  aside: ReadonlySet<number>,
  ids: readonly number[],
): Promise<Due> {
  const sorter = createSorter(query, aside);
  for (const row of await pendingAmong(db, query.now, ids)) {
    if (row.due_at !== null && row.due_at <= query.now) sorter.take(row);
  }
  return sorter.sorted(ids.length, ids.length);
}

/** All deliveries that are due, up to `limit` of each kind. */
export async function dueDeliveries(
  db: Db,
  query: DueQuery,
  aside: ReadonlySet<number>,
  limit: number,
): Promise<Due> {
  const { now } = query;
  const sorter = createSorter(query, aside);
  const { first, later, take } = sorter;
  // What is due at once, before all that was planned: new ones, then changed ones.
  for await (const row of dueBetween(db, now, -1, 0)) {
    take(row);
    if (first.length >= limit || later.length >= limit) break;
  }
  const places = first.length > 0 ? AGAIN_BESIDE_NEW : limit;
  for await (const row of dueBetween(db, now, 1, now)) {
    if (later.length >= places) break;
    take(row);
  }
  const failed = (await evaluationErrorIds(db)).filter((id) => !aside.has(id));
  if (failed.length > 0 && later.length < places) {
    const known = new Set([...first, ...later].map((due) => due.orderDeliveryId));
    for (const row of await pendingAmong(db, now, failed)) if (!known.has(row.id)) take(row);
  }
  return sorter.sorted(limit, places);
}

/**
 * Looks whether some of the pending deliveries above `after` are due by their own rows and nobody
 * was told: all have their turn, a slice each time. Gives where the next one begins, and the ids of
 * what was found, which is due at once.
 */
export async function sweepPending(
  store: Store,
  now: number,
  after: number,
): Promise<{ readonly next: number; readonly found: readonly number[] }> {
  const slice = await store.db
    .selectFrom('delivery')
    .select('order_delivery_id as id')
    .where('status', '=', 'pending')
    .where('order_delivery_id', '>', after)
    .orderBy('order_delivery_id')
    .limit(SWEEP_ROWS)
    .execute();
  const upTo = slice.at(-1)?.id;
  if (upTo === undefined) return { next: FIRST, found: [] };
  const rows = await store.db
    .selectFrom('delivery as d')
    .innerJoin('sales_order as o', 'o.order_id', 'd.order_id')
    .leftJoin('evaluation as e', 'e.order_delivery_id', 'd.order_delivery_id')
    .leftJoin('claim as c', 'c.order_delivery_id', 'd.order_delivery_id')
    .select('d.order_delivery_id as id')
    .where('d.status', '=', 'pending')
    .where('d.order_delivery_id', '>', after)
    .where('d.order_delivery_id', '<=', upTo)
    .where('d.deleted_at', 'is', null)
    // An evaluation with a future timestamp was made before the clock was set back.
    .where(
      sql<boolean>`(e.order_delivery_id is null or e.due_at <= ${now} or e.evaluated_at > ${now}
        or ${hasChanged(now)} or e.rules_key = '' or ${hasFailedPush(now)})`,
    )
    .where(sql<boolean>`coalesce(c.due_at > ${now}, 1)`)
    .where((eb) => eb.not(hasOpenPush('d.order_delivery_id')))
    .execute();
  const found = rows.map(({ id }) => id);
  if (found.length > 0) await store.transaction((tx) => makeDue(tx, found));
  return { next: slice.length < SWEEP_ROWS ? FIRST : upTo, found };
}

// Re-evaluation finds whatever can change a decision by evaluating every open delivery again, the
// oldest first, in passes. No code works out which change concerns which delivery.
//
// A pass begins at once when the rule set, the mode or the armings change; after a pause when the
// mirror has changed or a push failed; after every `reconsider` interval; and when the calendar or
// the time of a rule says so. The pause is three times as long as the last pass took: passes never
// take more than a quarter of a core, however many deliveries are held.
//
// Some deliveries are evaluated together in a snapshot, which keeps nobody from writing: what each
// of them asks the database is asked for all at once. Only one whose decision or holds would change
// is decided, in a transaction of its own. New deliveries and others that are due by their own rows
// come first: a pass stops for them between two of these.
//
// Accepted deliveries have their turn behind the held ones, a slice of them in each pass; while the
// facts stay as they are, passes of the others follow until all were looked at.
//
// The state of a pass is in memory only. After a start the first pass begins at once, so a kill
// loses nothing.

const PAUSE = 3;
/**
 * Most deliveries that a pass evaluates together, and milliseconds that this may take: nothing else
 * has a turn meanwhile. Where it took longer, fewer are next.
 */
const TOGETHER_MAX = 20;
const TOGETHER_MS = 50;
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
  /** Takes the next deliveries of the pass; none at its end. */
  next(): readonly number[];
  /** Puts those back that were taken last, from this one on. */
  goBackTo(orderDeliveryId: number): void;
  /**
   * Evaluates these deliveries together, and gives those that must be decided. One whose evaluation
   * fails is among them: its decision fails alike, and tells why.
   */
  evaluate(orderDeliveryIds: readonly number[]): Promise<ReadonlyMap<number, DueDelivery>>;
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

/** Whether the time is one for which the pass holds, by the wall clock. */
function isWithin({ begunAt, nextAt }: Pass, now: number): boolean {
  return now >= begunAt && now < nextAt;
}

/** The pass with these deliveries before those that are left of it. */
function withFirst(pass: Pass, ids: readonly number[], looked: number, now: number): Pass {
  const left = pass.deliveries.slice(looked);
  const others = new Set(left).difference(new Set(ids));
  const own = left.length > 0 ? pass : { begun: now, trigger: 'facts' as const };
  return { ...pass, begun: own.begun, trigger: own.trigger, deliveries: [...ids, ...others] };
}

/** Makes the function that evaluates deliveries together, which tells how many fit its time. */
function createLook({ store, clock, contextNow }: ReevaluationDeps) {
  let size = TOGETHER_MAX;
  const one = (tx: Tx, id: number) =>
    planDecision(tx, { ...contextNow(), trigger: 'facts' }, id, 'look');
  return {
    size: () => size,
    /** Gives those whose decision or holds would change. */
    async look(
      trigger: Trigger,
      ids: readonly number[],
    ): Promise<ReadonlyMap<number, DueDelivery>> {
      const begun = clock.monotonic();
      const plans = await store.snapshot((tx) => together(tx, ids, (id) => one(tx, id)));
      const tookMs = Math.max(1, clock.monotonic() - begun);
      size = Math.min(TOGETHER_MAX, Math.max(1, Math.floor((ids.length * TOGETHER_MS) / tookMs)));
      const due = ids.filter((_, at) => {
        const plan = plans[at];
        return plan?.status !== 'fulfilled' || plan.value.isChange;
      });
      return new Map(due.map((id) => [id, { orderDeliveryId: id, trigger }]));
    },
  };
}

export function createReevaluation(deps: ReevaluationDeps): Reevaluation {
  const { store, clock, contextNow, reconsiderMs } = deps;
  let pass: Pass | undefined;
  let [looked, pausedUntil] = [0, 0];
  const { size, look } = createLook(deps);
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
    pass = { ...next, begun: clock.monotonic() };
    looked = 0;
    pausedUntil = pass.begun + PAUSE_MS_MIN;
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
      const isDue = facts !== pass.facts || !isWithin(pass, context.now);
      if (!isDue && owed === 0) return pass.nextAt - context.now;
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
      const ids = pass?.deliveries.slice(looked, looked + size()) ?? [];
      looked += ids.length;
      return ids;
    },
    goBackTo(id) {
      looked = pass?.deliveries.lastIndexOf(id, looked) ?? 0;
    },
    async evaluate(ids) {
      const due = await look(pass?.trigger ?? 'facts', ids);
      const now = clock.monotonic();
      pausedUntil = now + Math.max(PAUSE_MS_MIN, PAUSE * (now - (pass?.begun ?? now)));
      return due;
    },
  };
}
