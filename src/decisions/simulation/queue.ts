/**
 * Tries other rules on the live queue: what would happen to every pending delivery if the daemon
 * decided now. The deliveries compete as they do for the daemon: the facts of each leave out what
 * older ones claim, and each simulated accept uses up the customer's credit and counts among the
 * accepts of the day, so two of them never both have the last piece or the last of a budget.
 */
import { decimalOf, sumOfUnits } from '../../lib/money.ts';
import { evaluate } from '../../rules/evaluate.ts';
import { amountOf, currencyOf } from '../../rules/facts/build.ts';
import type { CreditFacts, Facts } from '../../rules/facts/plain.ts';
import type { RuleSet } from '../../rules/rule.ts';
import type { Store, Tx } from '../../store/store.ts';
import type { DecisionOutcome } from '../../store/tables.ts';
import type { AcceptedBefore } from '../accept/accepted.ts';
import { changedRuns } from '../accept/freshness.ts';
import { pauseOfAccepts } from '../accept/pace.ts';
import { sumsOf } from '../facts/customer.ts';
import { readSubject } from '../facts.ts';
import { lapsedRules, readHolds } from '../holds.ts';
import type { FreshnessMs } from '../judgement.ts';
import { withPrecautions } from '../plan/precautions.ts';
import { whyLeftToPeople } from './current.ts';

export interface QueueOptions {
  readonly rules: RuleSet;
  readonly freshness: FreshnessMs;
  /** Shadow rules count as if they were live. */
  readonly shadowAsLive?: boolean | undefined;
  /** Maximum of deliveries to look at. */
  readonly most?: number;
}

export interface Prospect {
  readonly orderDeliveryId: number;
  readonly deliveryNo: string;
  /** Outcome of the latest decision; null when there is none yet. */
  readonly before: DecisionOutcome | null;
  /** Outcome under the rules on trial; null when the delivery cannot be decided. */
  readonly after: DecisionOutcome | null;
  readonly rules: readonly string[];
  readonly reason: string;
  /** Value of the delivery; null: not known. */
  readonly amount: number | null;
  readonly currency: string | null;
}

export interface Queue {
  readonly prospects: readonly Prospect[];
  readonly remarks: readonly string[];
}

/** Maximum of pending deliveries that are looked at, the oldest ones. */
const QUEUE_MAX = 10_000;

interface Pending {
  readonly order_delivery_id: number;
  readonly delivery_no: string | null;
  readonly outcome: DecisionOutcome | null;
}

export function isPending(tx: Tx) {
  return tx
    .selectFrom('delivery as d')
    .where('d.status', '=', 'pending')
    .where('d.deleted_at', 'is', null);
}

function pendingDeliveries(tx: Tx, most: number): Promise<Pending[]> {
  return isPending(tx)
    .leftJoin('evaluation as e', 'e.order_delivery_id', 'd.order_delivery_id')
    .leftJoin('decision as n', 'n.decision_id', 'e.decision_id')
    .select(['d.order_delivery_id', 'd.delivery_no', 'n.outcome'])
    .orderBy('d.order_delivery_id')
    .limit(most)
    .execute();
}

type Answer = Omit<Prospect, 'orderDeliveryId' | 'deliveryNo' | 'before'>;

function worthOf(facts: Facts): Pick<Prospect, 'amount' | 'currency'> {
  const amount = amountOf(facts);
  return { amount: amount === null ? null : decimalOf(amount), currency: currencyOf(facts) };
}

/** Accepts of this simulation, the oldest first. */
type Taken = AcceptedBefore[];

/** A sum that was gathered, with that of the simulated accepts; null: not known. */
function plus(before: number | null | undefined, more: number | null | undefined) {
  return before === undefined ? undefined : sumOfUnits([before, more ?? null]);
}

/** Credit after these accepts of the account; unknown where one has another currency. */
function creditAfter(credit: CreditFacts, own: Taken): CreditFacts {
  const amounts = own.map(({ currency, amount }) => (currency === credit.currency ? amount : null));
  return { ...credit, reserved: sumOfUnits([credit.reserved ?? null, ...amounts]) };
}

/** Facts of a delivery as they would be after the simulated accepts before it. */
function afterAccepts(facts: Facts, taken: Taken, { settings }: RuleSet): Facts {
  const { customer, order, today } = facts;
  const { account_no: accountNo = null, currency = null } = order;
  const own = taken.filter((one) => accountNo !== null && one.accountNo === accountNo);
  if (own.length === 0 && (!today || taken.length === 0)) return facts;
  const more = sumsOf(today ? taken : own, { accountNo, currency }, settings);
  return {
    ...facts,
    ...(customer && {
      customer: {
        ...customer,
        ...(customer.credit && { credit: creditAfter(customer.credit, own) }),
        accepted_today: plus(customer.accepted_today, more.customer.accepted_today),
        amount_today: plus(customer.amount_today, more.customer.amount_today),
      },
    }),
    ...(today && {
      today: {
        accepted: plus(today.accepted, more.today.accepted),
        amount: plus(today.amount, more.today.amount),
        amount_base: plus(today.amount_base, more.today.amount_base),
      },
    }),
  };
}

function take(facts: Facts, taken: Taken, at: number): void {
  const [amount, currency] = [amountOf(facts), currencyOf(facts)];
  taken.push({ at, accountNo: facts.order.account_no ?? null, currency, amount });
}

async function answerFor(
  tx: Tx,
  { order_delivery_id: orderDeliveryId, outcome: before }: Pending,
  now: number,
  options: QueueOptions,
  taken: Taken,
): Promise<Answer> {
  const { rules: ruleSet, freshness, shadowAsLive = false } = options;
  const armed = new Set(ruleSet.rules.map(({ id }) => id));
  const { settings, rules: read } = ruleSet;
  const subject = await readSubject(tx, orderDeliveryId, { now, settings, rules: read });
  if (!subject) {
    const reason = 'its order is not mirrored yet';
    return { after: null, rules: [], reason, amount: null, currency: null };
  }
  const value = worthOf(subject.facts);
  // A delivery with a push on its way is not evaluated: other deliveries' facts count its claim
  // already.
  const left = await whyLeftToPeople(tx, subject);
  if (left !== undefined) return { after: before, rules: [], reason: left, ...value };
  const facts = afterAccepts(subject.facts, taken, ruleSet);
  const lapsed = lapsedRules(await readHolds(tx, orderDeliveryId), now);
  const evaluation = evaluate(ruleSet, facts, { armed, lapsed, operands: false });
  const outcome = shadowAsLive ? evaluation.shadow : evaluation.live;
  const asked = { subject: { ...subject, facts }, ruleSet, evaluation, outcome, freshness, now };
  const held = await withPrecautions(tx, { ...asked, supposed: taken }, 'one');
  const { kind, rules, reason } = held.outcome;
  if (kind === 'accept') take(facts, taken, now);
  return { after: kind, rules, reason, ...value };
}

/**
 * Remarks for people: deliveries that were not looked at, a pause of accepts, changes that wait for
 * a person.
 */
async function remarksOn(tx: Tx, now: number, seen: number, { rules }: QueueOptions) {
  const { pending } = await isPending(tx)
    .select((eb) => eb.fn.countAll<number>().as('pending'))
    .executeTakeFirstOrThrow();
  const pause = await pauseOfAccepts(tx, rules.settings, now);
  const changed = (await changedRuns(tx)).map(({ run_id, stream }) => `run ${run_id} of ${stream}`);
  return [
    ...(pending > seen ? [`only the ${seen} oldest of ${pending} pending were looked at`] : []),
    ...(pause === undefined ? [] : [pause]),
    ...changed.map((run) => `rules that read it wait for people to accept what ${run} changed`),
  ];
}

/** Tries the rules on the pending deliveries, the oldest first, in one snapshot of the database. */
export function tryQueue(store: Store, now: number, options: QueueOptions): Promise<Queue> {
  return store.snapshot(async (tx) => {
    const prospects: Prospect[] = [];
    const taken: Taken = [];
    for (const row of await pendingDeliveries(tx, options.most ?? QUEUE_MAX)) {
      const orderDeliveryId = row.order_delivery_id;
      const answer = await answerFor(tx, row, now, options, taken);
      const deliveryNo = row.delivery_no ?? '';
      prospects.push({ orderDeliveryId, deliveryNo, before: row.outcome, ...answer });
    }
    return { prospects, remarks: await remarksOn(tx, now, prospects.length, options) };
  });
}
