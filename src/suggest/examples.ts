/**
 * Reads what people decided, as examples to learn from. An example is a delivery with the lines
 * that it had: the facts of the first decision since its lines last changed, as a backtest replays
 * them, and the last decision of a person about these lines. The facts at the time of the act would
 * give the answer away.
 */
import { provenFacts, storedFacts } from '../decisions/journal.ts';
import type { PastDecision, Period } from '../decisions/simulation/history.ts';
import { createPastFacts, type PastFacts } from '../decisions/simulation/past/facts.ts';
import { canonicalJson } from '../lib/json.ts';
import { combine, evaluate, possibleKinds, type RuleResult } from '../rules/evaluate.ts';
import { amountOf, completeFacts, completeLine, currencyOf } from '../rules/facts/build.ts';
import { notGatheredOf } from '../rules/facts/gathered.ts';
import type { Facts } from '../rules/facts/plain.ts';
import type { RuleSet } from '../rules/rule.ts';
import { inKeys } from '../store/bulk.ts';
import type { Db } from '../store/store.ts';
import type { DecisionOutcome } from '../store/tables.ts';
import { type Act, readActs } from './acts.ts';
import { bytes, type Column, createColumns, createNames, floats, integers } from './columns.ts';
import type { Field } from './facts/field.ts';
import { fieldsFor } from './facts/fields.ts';
import { isKnown, neededBy } from './text/known.ts';

/** Votes: what people finally did with an example. `NONE`: it is open, as after a release. */
export const VOTE = { UNDECIDED: 0, ACCEPT: 1, HOLD: 2, REJECT: 3, NONE: 4 } as const;

/** Outcomes by number; `unknown`: it depends on facts that nobody knows any more. */
export const KINDS = ['no_rule', 'accept', 'hold', 'reject', 'unknown'] as const;
export type Kind = (typeof KINDS)[number];

export const KIND_NO_RULE = KINDS.indexOf('no_rule');
export const KIND_ACCEPT = KINDS.indexOf('accept');

/** Decisions of the rules by columns; a row that is an example has a vote. */
export interface Examples {
  readonly rows: number;
  readonly columns: readonly Column[];
  readonly delivery: Int32Array;
  readonly decision: Int32Array;
  readonly at: Float64Array;
  /** When people decided; for what they left alone, when it came. */
  readonly votedAt: Float64Array;
  /** Outcome by the rules in force, an index of {@link KINDS}. */
  readonly kind: Int8Array;
  /** Outcome without the live hold rule that alone held it. */
  readonly without: Int8Array;
  /** Index in `holdRules` of the live hold rule that alone held it; -1: none did. */
  readonly heldBy: Int32Array;
  /** Effect of the safeguards on an accept of the rules: an index of {@link KINDS}; -1: nothing. */
  readonly guarded: Int8Array;
  /** Whether the row is the first decision of its lines. */
  readonly isFirst: Int8Array;
  readonly vote: Int8Array;
  /** Decision of the person, and act; -1: there is none. */
  readonly votedBy: Int32Array;
  readonly act: Int32Array;
  readonly person: Int32Array;
  readonly people: readonly string[];
  readonly customer: Int32Array;
  /** Value in units (lib/money.ts); NaN: not known. */
  readonly amount: Float64Array;
  readonly currency: Int32Array;
  readonly currencies: readonly string[];
  readonly holdRules: readonly string[];
  /** Decisions by each live hold rule: matched, whatever else did. */
  readonly matchedBy: readonly number[];
  /** Rules that only watch, with the rows on which they matched. */
  readonly watching: readonly { readonly id: string; readonly rows: ReadonlySet<number> }[];
  readonly notGathered: readonly string[];
}

const DELIVERIES_PER_PAGE = 200;
const CURRENCIES_MAX = 5;
const SAMPLE_MAX = 400;
/** Smallest share of the deliveries that a currency must have. */
const CURRENCY_SHARE = 0.02;
const UNKNOWN = KINDS.indexOf('unknown');

interface Row {
  readonly order_delivery_id: number;
  readonly decision_id: number;
  readonly at: number;
  readonly actor: string;
  readonly outcome: DecisionOutcome;
  readonly said: DecisionOutcome;
  readonly lapsed: string;
  readonly facts: Uint8Array | null;
  readonly facts_digest: string;
}

async function currenciesOf(db: Db, { since, until }: Period): Promise<readonly string[]> {
  const ids = await db
    .selectFrom('decision')
    .select(({ fn }) => [fn.min('decision_id').as('first'), fn.max('decision_id').as('last')])
    .where('at', '>=', since)
    .where('at', '<', until)
    .executeTakeFirst();
  const [first, last] = [Number(ids?.first ?? 0), Number(ids?.last ?? 0)];
  const step = Math.max(1, Math.floor((last - first) / SAMPLE_MAX));
  const asked = Array.from({ length: SAMPLE_MAX }, (_, at) => first + at * step);
  const rows = await db
    .selectFrom('decision as n')
    .innerJoin('fact_snapshot as f', 'f.digest', 'n.facts_digest')
    .select('f.facts')
    .where(inKeys('n.decision_id', asked))
    .execute();
  const counts = new Map<string, number>();
  for (const { facts } of rows) {
    const currency = facts === null ? null : currencyOf(storedFacts(facts));
    if (currency !== null) counts.set(currency, (counts.get(currency) ?? 0) + 1);
  }
  return [...counts]
    .filter(([, count]) => count >= CURRENCY_SHARE * rows.length)
    .sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1))
    .slice(0, CURRENCIES_MAX)
    .map(([currency]) => currency);
}

async function deliveryIds(db: Db, { since, until }: Period): Promise<readonly number[]> {
  const rows = await db
    .selectFrom('decision')
    .select('order_delivery_id')
    .distinct()
    .where('at', '>=', since)
    .where('at', '<', until)
    .where('actor', '=', 'daemon')
    .orderBy('order_delivery_id')
    .execute();
  return rows.map((row) => row.order_delivery_id);
}

/** All decisions of some deliveries before the end of the period, by delivery. */
async function decisionsOf(db: Db, ids: readonly number[], until: number) {
  const rows: readonly Row[] = await db
    .selectFrom('decision as n')
    .leftJoin('fact_snapshot as f', 'f.digest', 'n.facts_digest')
    .select(['n.order_delivery_id', 'n.decision_id', 'n.at', 'n.actor', 'n.outcome', 'n.said'])
    .select(['n.lapsed', 'f.facts', 'n.facts_digest'])
    .where(inKeys('n.order_delivery_id', ids))
    .where('n.at', '<', until)
    .orderBy('n.decision_id')
    .execute();
  return Map.groupBy(rows, ({ order_delivery_id: id }) => id);
}

function linesOf({ delivery }: Facts): string {
  return canonicalJson(
    delivery.lines.map(({ barcode, quantity, price }) => [barcode, quantity, price]),
  );
}

function voteOf(outcome: DecisionOutcome): number {
  if (outcome === 'accept') return VOTE.ACCEPT;
  if (outcome === 'reject') return VOTE.REJECT;
  return outcome === 'hold' ? VOTE.HOLD : VOTE.NONE;
}

/** A version of a delivery's lines, while its decisions are read. */
interface Version {
  readonly lines: string;
  /** Row of its first decision; undefined: that is not in the period. */
  readonly row: number | undefined;
  /** Facts of its first decision; undefined: people decided before. */
  readonly facts: Facts | undefined;
  /** Whether the hold rule that alone held it at first holds it no more. */
  isFree: boolean;
  vote: number;
  votedBy: number;
  votedAt: number;
  by: Act | undefined;
}

function kindOf(outcome: DecisionOutcome): number {
  return outcome === 'release' ? UNKNOWN : KINDS.indexOf(outcome);
}

function kindIndex(kinds: ReturnType<typeof possibleKinds>): number {
  const [kind] = kinds;
  return kinds.size === 1 && kind !== undefined ? KINDS.indexOf(kind) : UNKNOWN;
}

/** The rules in force, asked about one past decision. */
function createJudge(ruleSet: RuleSet) {
  const armed = new Set(ruleSet.rules.map(({ id }) => id));
  const holdRules = ruleSet.rules
    .filter(({ action, mode }) => action === 'hold' && mode === 'live')
    .map(({ id }) => id);
  const matchedBy = holdRules.map(() => 0);
  const needed = new Map(ruleSet.rules.map((rule) => [rule.id, neededBy(rule)] as const));
  const holdIndex = new Map(holdRules.map((id, at) => [id, at] as const));
  const without = (results: readonly RuleResult[], id: string): number => {
    const others = results.filter((one) => one.mode === 'live' && one.id !== id);
    return KINDS.indexOf(combine(others, undefined).kind);
  };
  return {
    holdRules,
    matchedBy,
    judge(facts: Facts, { lapsed }: PastDecision, open: ReadonlySet<string>) {
      const options = { armed, operands: false, lapsed, notGathered: open };
      const evaluation = evaluate(ruleSet, facts, options);
      const kind = kindIndex(possibleKinds(ruleSet, facts, evaluation, 'live'));
      const { code, rules } = evaluation.live;
      const [holder] = rules;
      const isAlone = code === 'hold_rule' && rules.length === 1 && holder !== undefined;
      for (const id of code === 'hold_rule' ? rules : []) {
        const at = holdIndex.get(id) ?? -1;
        matchedBy[at] = (matchedBy[at] ?? 0) + 1;
      }
      // An exception frees nothing of which a fact is missing, though the rule held it for others.
      const isSure = isAlone && isKnown(needed.get(holder) ?? [], facts);
      const isLive = isSure && kind === KINDS.indexOf('hold');
      const watching = evaluation.rules.filter(
        (one) => one.mode === 'shadow' && one.value === true,
      );
      return {
        kind,
        heldBy: isLive ? (holdIndex.get(holder) ?? -1) : -1,
        without: isLive ? without(evaluation.rules, holder) : kind,
        watching: watching.filter(({ action }) => action !== 'reject').map(({ id }) => id),
      };
    },
  };
}

function createStorage() {
  return {
    delivery: integers(),
    decision: integers(),
    at: floats(),
    kind: bytes(),
    without: bytes(),
    heldBy: integers(),
    guarded: bytes(),
    isFirst: bytes(),
    customer: integers(),
    amount: floats(),
    currency: integers(),
  };
}

/** The votes, which are known only when all decisions about the lines were read. */
function createVotes() {
  const votes = new Map<number, Version>();
  const names = createNames();
  return {
    put(version: Version | undefined): void {
      if (version?.row !== undefined) votes.set(version.row, version);
    },
    done(at: Float64Array) {
      const rows = at.length;
      const votedAt = at.slice();
      const vote = new Int8Array(rows).fill(VOTE.NONE);
      const [votedBy, act, person] = [0, 1, 2].map(() => new Int32Array(rows).fill(-1));
      for (const [row, one] of votes) {
        vote[row] = one.vote;
        if (one.by === undefined || !votedBy || !act || !person) continue;
        votedBy[row] = one.votedBy;
        votedAt[row] = one.votedAt;
        act[row] = one.by.act;
        person[row] = names.indexOf(one.by.actor);
      }
      const none = new Int32Array(rows);
      return {
        vote,
        votedAt,
        votedBy: votedBy ?? none,
        act: act ?? none,
        person: person ?? none,
        people: names.all(),
      };
    },
  };
}

interface Reader {
  readonly period: Period;
  readonly acts: ReadonlyMap<number, Act>;
  readonly past: PastFacts;
  readonly judge: ReturnType<typeof createJudge>['judge'];
  readonly columns: ReturnType<typeof createColumns>;
  readonly notGathered: (facts: Facts) => ReadonlySet<string>;
  readonly open: Set<string>;
  readonly storage: ReturnType<typeof createStorage>;
  readonly votes: ReturnType<typeof createVotes>;
  readonly customers: ReturnType<typeof createNames>;
  readonly currencies: ReturnType<typeof createNames>;
  readonly watching: Map<string, Set<number>>;
}

/** Adds a decision of the rules as a row, and gives its number. */
async function addRow(reader: Reader, row: Row, stored: Facts, isFirst: boolean): Promise<number> {
  const { storage: to } = reader;
  const { decision_id: decisionId, at, outcome, said } = row;
  const lapsed: ReadonlySet<string> = new Set(JSON.parse(row.lapsed));
  const decision = { decisionId, at, said, outcome, lapsed, facts: stored };
  const { facts, open } = await reader.past.of(decision);
  for (const path of reader.notGathered(facts)) reader.open.add(path);
  const complete = completeFacts(facts);
  const judged = reader.judge(complete, decision, open);
  const number = to.at.length;
  to.delivery.push(row.order_delivery_id);
  to.decision.push(decisionId);
  to.at.push(at);
  to.kind.push(judged.kind);
  to.without.push(judged.without);
  to.heldBy.push(judged.heldBy);
  to.guarded.push(said === outcome ? -1 : kindOf(outcome));
  to.isFirst.push(Number(isFirst));
  to.customer.push(reader.customers.indexOf(facts.order.account_no ?? ''));
  to.amount.push(amountOf(facts) ?? Number.NaN);
  to.currency.push(reader.currencies.indexOf(currencyOf(facts) ?? '?'));
  reader.columns.add(complete);
  for (const id of judged.watching) {
    const rows = reader.watching.get(id) ?? new Set();
    reader.watching.set(id, rows.add(number));
  }
  return number;
}

/** Takes a decision of a person as the vote about these lines. */
function takeVote({ acts }: Reader, version: Version, row: Row, facts: Facts): void {
  const vote = voteOf(row.outcome);
  const isHeld = version.vote === VOTE.HOLD;
  // A hold first, or a wait until something was better, is no accept of what came.
  if (vote === VOTE.ACCEPT && isHeld) return;
  const hasWaited = version.isFree || (version.facts && hasImproved(version.facts, facts));
  version.vote = vote === VOTE.ACCEPT && hasWaited ? VOTE.HOLD : vote;
  version.votedBy = row.decision_id;
  version.votedAt = row.at;
  version.by = acts.get(row.decision_id);
  if (version.by === undefined) version.vote = VOTE.NONE;
}

const NOBODY = { votedBy: -1, by: undefined, isFree: false } as const;

/** Takes a decision of the rules, as a row if it is in the period; gives the version it is of. */
async function takeRules(
  reader: Reader,
  known: Version | undefined,
  row: Row,
  { lines, facts }: { readonly lines: string; readonly facts: Facts },
): Promise<Version> {
  const isNew = known?.lines !== lines;
  const isIn = row.at >= reader.period.since;
  const number = isIn ? await addRow(reader, row, facts, isNew) : undefined;
  if (isNew || !known) {
    const vote = row.said === row.outcome ? VOTE.UNDECIDED : VOTE.NONE;
    return { ...NOBODY, lines, row: number, facts: completeFacts(facts), vote, votedAt: row.at };
  }
  const { heldBy } = reader.storage;
  const holder = heldBy.at(known.row ?? -1) ?? -1;
  if (holder >= 0 && heldBy.at(number ?? -1) !== holder) known.isFree = true;
  const isEnded = known.by === undefined && ['accept', 'reject'].includes(row.outcome);
  // People left alone what they left to the hold of a rule until it ended.
  if (isEnded && holder < 0) known.vote = VOTE.NONE;
  return known;
}

async function readDelivery(reader: Reader, rows: readonly Row[]): Promise<void> {
  let version: Version | undefined;
  for (const row of rows) {
    const stored = provenFacts(row.facts, row.facts_digest);
    if (stored === undefined) {
      // Nobody knows the lines that it was about.
      if (version) version.vote = VOTE.NONE;
      continue;
    }
    const lines = linesOf(stored);
    if (version?.lines !== lines) reader.votes.put(version);
    if (row.actor === 'daemon') {
      version = await takeRules(reader, version, row, { lines, facts: stored });
      continue;
    }
    // Before the rules have seen these lines, nothing tells what was known then.
    const unseen = { ...NOBODY, lines, row: undefined, facts: undefined, vote: 0, votedAt: 0 };
    if (version?.lines !== lines) version = { ...unseen };
    takeVote(reader, version, row, completeFacts(stored));
  }
  reader.votes.put(version);
}

/** Paths of facts that are found again where they were not gathered. */
export const FOUND = ['customer.orders_before', 'customer.refunds_90d', 'delivery.weekday'];

async function createReader(db: Db, period: Period, ruleSet: RuleSet, fields: readonly Field[]) {
  const asked = createJudge(ruleSet);
  const reader: Reader = {
    period,
    acts: await readActs(db, period),
    past: await createPastFacts(db, period, ruleSet, FOUND),
    judge: asked.judge,
    columns: createColumns(fields),
    notGathered: notGatheredOf([...new Set(fields.flatMap(({ reads }) => reads))]),
    open: new Set(),
    storage: createStorage(),
    votes: createVotes(),
    customers: createNames(),
    currencies: createNames(),
    watching: new Map(),
  };
  return { reader, asked };
}

/** Reads the examples of a period, under the rules in force. */
export async function readExamples(db: Db, period: Period, ruleSet: RuleSet): Promise<Examples> {
  const currencies = await currenciesOf(db, period);
  const fields = fieldsFor({ settings: ruleSet.settings, currencies });
  const { reader, asked } = await createReader(db, period, ruleSet, fields);
  const ids = await deliveryIds(db, period);
  for (let from = 0; from < ids.length; from += DELIVERIES_PER_PAGE) {
    const page = ids.slice(from, from + DELIVERIES_PER_PAGE);
    const byDelivery = await decisionsOf(db, page, period.until);
    for (const id of page) await readDelivery(reader, byDelivery.get(id) ?? []);
  }
  const { storage, open } = reader;
  const at = storage.at.done();
  const columns = reader.columns
    .done()
    .filter(({ field }) => !field.reads.some((path) => open.has(path)));
  return {
    rows: at.length,
    columns,
    delivery: storage.delivery.done(),
    decision: storage.decision.done(),
    at,
    kind: storage.kind.done(),
    without: storage.without.done(),
    heldBy: storage.heldBy.done(),
    guarded: storage.guarded.done(),
    isFirst: storage.isFirst.done(),
    ...reader.votes.done(at),
    customer: storage.customer.done(),
    amount: storage.amount.done(),
    currency: storage.currency.done(),
    currencies: reader.currencies.all(),
    holdRules: asked.holdRules,
    matchedBy: asked.matchedBy,
    watching: [...reader.watching].map(([id, of]) => ({ id, rows: of })),
    notGathered: [...open].sort(),
  };
}

// Whether an accept had been waited for. The facts of an example are those of the first decision:
// what people accepted only once the customer had paid, the goods were there, or a hold had ended
// is no accept of what came.

/** Pieces that the free stock does not cover, the most of any line. */
function missingIn({ delivery }: Facts): number | null {
  const known = delivery.lines.flatMap((line) => completeLine(line).missing ?? []);
  return known.length === 0 ? null : Math.max(...known);
}

/** Obstacles to an accept: the more of one, the more it is; null: not known. */
const OBSTACLES: readonly ((facts: Facts) => number | null)[] = [
  missingIn,
  ({ order }) => negative(numberOf(order.address_complete)),
  ({ customer }) => numberOf(customer?.blocked),
  ({ customer }) => customer?.credit?.overdue_days ?? null,
  ({ delivery, customer }) => {
    const { headroom } = customer?.credit ?? {};
    if (typeof delivery.amount !== 'number' || typeof headroom !== 'number') return null;
    return Math.max(0, delivery.amount - headroom);
  },
];

function negative(value: number | null): number | null {
  return value === null ? null : -value;
}

function numberOf(value: boolean | null | undefined): number | null {
  return typeof value === 'boolean' ? Number(value) : null;
}

/** Whether something that stood in the way at first does so less; both facts are complete. */
function hasImproved(first: Facts, then: Facts): boolean {
  return OBSTACLES.some((read) => {
    const [before, after] = [read(first), read(then)];
    return before !== null && after !== null && after < before;
  });
}
