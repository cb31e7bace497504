/**
 * How long a delivery is held. A hold begins when a hold rule first matches and lasts while the
 * rule matches. `until` says when the rules are asked again although nothing changed, `at_most` how
 * long the hold lasts at most, and `then` what follows after that:
 *
 * - escalate: the delivery stays held, and an incident is opened;
 * - re-evaluate: the rules are asked again, and a rule that still matches begins a new hold;
 * - accept: the rule now accepts; every other rule still counts;
 * - release: the rule says nothing more, and the others decide.
 *
 * The time of a hold goes on when a list, a table or another rule is edited; an edit of the rule
 * itself begins it again.
 *
 * Every hold is a row of the database: after a kill it ends when it would have ended.
 */
import { canonicalJson } from '../lib/json.ts';
import type { Evaluation } from '../rules/evaluate.ts';
import type { HoldTiming, RuleSet } from '../rules/rule.ts';
import { inKeys } from '../store/bulk.ts';
import { endIncidents, updateIncident } from '../store/incidents.ts';
import type { Db, Tx } from '../store/store.ts';
import { kept, type Value } from '../store/transaction/kept.ts';
import { keptAmong } from '../store/transaction/together.ts';
import { endOfSpan, nextOpening } from './calendar.ts';

type Settings = RuleSet['settings'];

export interface HoldRow {
  readonly rule_id: string;
  readonly rule_hash: string;
  readonly since: number;
  readonly until_at: number | null;
  readonly expires_at: number;
  readonly afterwards: HoldTiming['afterwards'];
  readonly lapsed_at: number | null;
}

/** Cause of a hold: a rule, or the code of the outcome if no single rule holds. */
interface Holder {
  readonly id: string;
  readonly hash: string;
  readonly timing: HoldTiming;
}

/** Timing of a hold that no hold rule asked for, and of deliveries that no rule covers. */
const DEFAULT_TIMING: HoldTiming = {
  atMost: { kind: 'business-days', days: 3 },
  afterwards: 'escalate',
};

const holdsOf = keptAmong(
  (db, among) =>
    db
      .selectFrom('hold')
      .select([
        'order_delivery_id',
        'rule_id',
        'rule_hash',
        'since',
        'until_at',
        'expires_at',
        'afterwards',
        'lapsed_at',
      ])
      .where(among('order_delivery_id'))
      .orderBy('rule_id'),
  'order_delivery_id',
);

export async function readHolds(tx: Tx, orderDeliveryId: number): Promise<readonly HoldRow[]> {
  const rows = await holdsOf(tx, orderDeliveryId);
  return rows.map(({ order_delivery_id: _, ...row }) => row);
}

/** Text hashes of the rules whose hold has lasted its time and that therefore hold no more. */
export function lapsedRules(holds: readonly HoldRow[], now: number): ReadonlySet<string> {
  const lapsed = holds.filter(({ afterwards, expires_at }) => {
    return (afterwards === 'accept' || afterwards === 'release') && expires_at <= now;
  });
  return new Set(lapsed.map((row) => row.rule_hash));
}

/**
 * Names the causes of a hold: every live rule that matches and holds, every unclear rule, or the
 * outcome. A delivery that no rule covers has its time, too: after that it is overdue.
 */
function holdersOf(ruleSet: RuleSet, { rules, live }: Evaluation): Holder[] {
  const known = new Map(ruleSet.rules.map((rule) => [rule.id, rule]));
  const unclear = live.code === 'could_not_evaluate' ? live.rules : [];
  const holders: Holder[] = [];
  for (const { id, action, mode, value, armed } of rules) {
    const rule = known.get(id);
    if (mode !== 'live' || rule === undefined) continue;
    const { textHash: hash, hold: timing = DEFAULT_TIMING } = rule;
    const isHeld = action === 'hold' || (action === 'reject' && armed === false);
    if (isHeld && value === true) holders.push({ id, hash, timing });
    // An unknown fact never leads to an accept merely because time passes.
    else if (unclear.includes(id)) {
      const ends = timing.afterwards === 'accept' || timing.afterwards === 'release';
      const afterwards = ends ? 'escalate' : timing.afterwards;
      holders.push({ id, hash, timing: { ...timing, afterwards } });
    }
  }
  if ((live.kind === 'hold' || live.kind === 'no_rule') && holders.length === 0) {
    holders.push({ id: live.code, hash: live.code, timing: DEFAULT_TIMING });
  }
  return holders;
}

/** Time within the hold at which the rules are asked again although nothing changed; null: none. */
function untilAt(
  { until }: HoldTiming,
  since: number,
  now: number,
  settings: Settings,
): number | null {
  if (until === undefined || until.kind === 'changes') return null;
  if (until.kind === 'business-open') return nextOpening(now, settings) ?? null;
  const at = endOfSpan(since, until, settings);
  return at > now ? at : null;
}

function begin(holder: Holder, since: number, now: number, settings: Settings): HoldRow {
  const { id, hash, timing } = holder;
  return {
    rule_id: id,
    rule_hash: hash,
    since,
    until_at: untilAt(timing, since, now, settings),
    expires_at: endOfSpan(since, timing.atMost, settings),
    afterwards: timing.afterwards,
    lapsed_at: null,
  };
}

/** Continues a hold, or applies what follows after its time was up. */
function goOn(row: HoldRow, holder: Holder, now: number, settings: Settings): HoldRow {
  const isUp = row.expires_at <= now && row.lapsed_at === null;
  if (isUp && row.afterwards === 're-evaluate') return begin(holder, now, now, settings);
  return {
    ...row,
    until_at: untilAt(holder.timing, row.since, now, settings),
    lapsed_at: isUp ? now : row.lapsed_at,
  };
}

/** Incident for all holds of one rule that have lasted their time and now need a person. */
const HOLD_EXPIRED = { kind: 'hold_expired', entity: 'rule' } as const;

async function openRules(tx: Tx, rules: readonly string[]): Promise<readonly string[]> {
  const { kind, entity } = HOLD_EXPIRED;
  const rows = await tx
    .selectFrom('incident')
    .select('key')
    .where('kind', '=', kind)
    .where('entity', '=', entity)
    .where(inKeys('key', rules))
    .where('resolved_at', 'is', null)
    .execute();
  return rows.map(({ key }) => key);
}

function isExpired(row: Pick<HoldRow, 'afterwards' | 'lapsed_at'>): boolean {
  return row.afterwards === 'escalate' && row.lapsed_at !== null;
}

/**
 * Opens, updates or ends the incident of each of these rules, by its expired holds in the database.
 */
async function tellExpired(tx: Tx, rules: Iterable<string>, now: number): Promise<void> {
  for (const key of rules) {
    const { deliveries, example, since } = await tx
      .selectFrom('hold')
      .select((eb) => [
        eb.fn.countAll<number>().as('deliveries'),
        eb.fn.min('order_delivery_id').as('example'),
        eb.fn.min('since').as('since'),
      ])
      .where('rule_id', '=', key)
      .where('afterwards', '=', 'escalate')
      .where('lapsed_at', 'is not', null)
      .executeTakeFirstOrThrow();
    const detail = { deliveries, example, since };
    if (deliveries === 0) await endIncidents(tx, HOLD_EXPIRED, [key], now);
    else await updateIncident(tx, { ...HOLD_EXPIRED, key, detail }, now);
  }
}

/** The holds of a delivery before and after an evaluation. */
export interface HoldPlan {
  readonly before: readonly HoldRow[];
  readonly rows: readonly HoldRow[];
  /** Reason of the hold, for people. */
  readonly reason: string;
}

const endedHolds = kept((db: Db, ids: Value<string>) =>
  db
    .deleteFrom('hold')
    .where(inKeys('order_delivery_id', ids))
    .returning(['rule_id', 'afterwards', 'lapsed_at']),
);

/** Ends all holds of these deliveries: they were decided, or are left to people. */
export async function endHolds(tx: Tx, ids: readonly number[], now: number): Promise<void> {
  const ended = await endedHolds(tx, JSON.stringify(ids));
  await tellExpired(tx, new Set(ended.filter(isExpired).map((row) => row.rule_id)), now);
}

/** Computes the holds of the delivery after this evaluation; writes nothing. */
export function planHolds(
  ruleSet: RuleSet,
  before: readonly HoldRow[],
  evaluation: Evaluation,
  now: number,
): HoldPlan {
  const known = new Map(before.map((row) => [row.rule_id, row] as const));
  const { settings } = ruleSet;
  const rows = holdersOf(ruleSet, evaluation).map((holder) => {
    const row = known.get(holder.id);
    const same = row?.rule_hash === holder.hash && row.afterwards === holder.timing.afterwards;
    return same ? goOn(row, holder, now, settings) : begin(holder, now, now, settings);
  });
  return { before, rows, reason: evaluation.live.reason };
}

/** Whether {@link storeHolds} would change anything. */
export function holdsChange({ before, rows }: HoldPlan): boolean {
  const sorted = rows.toSorted((a, b) => (a.rule_id < b.rule_id ? -1 : 1));
  return canonicalJson(before) !== canonicalJson(sorted);
}

/**
 * Time at which the delivery must be evaluated because of its holds; null when nothing holds it, or
 * all of its holds have lasted their time.
 */
export function holdsEndAt({ rows }: HoldPlan): number | null {
  const looks = rows.flatMap((row) => [
    ...(row.until_at === null ? [] : [row.until_at]),
    ...(row.lapsed_at === null ? [row.expires_at] : []),
  ]);
  return looks.length === 0 ? null : Math.min(...looks);
}

export async function storeHolds(tx: Tx, id: number, plan: HoldPlan, now: number): Promise<void> {
  if (holdsChange(plan)) {
    await tx.deleteFrom('hold').where('order_delivery_id', '=', id).execute();
    const values = plan.rows.map((row) => ({ ...row, order_delivery_id: id }));
    if (values.length > 0) await tx.insertInto('hold').values(values).execute();
  }
  const expired = (rows: readonly HoldRow[]) =>
    new Set(rows.filter(isExpired).map((row) => row.rule_id));
  const changed = expired(plan.before).symmetricDifference(expired(plan.rows));
  // When the clock is set back, expired holds become unexpired without a change here, so the open
  // incidents of all rules that hold the delivery are checked, too.
  const others = plan.rows.map((row) => row.rule_id);
  const told = others.length === 0 ? [] : await openRules(tx, others);
  await tellExpired(tx, changed.union(new Set(told)), now);
}
