/**
 * Accepts by the rules in the 24 hours before a past decision, with what was known of them then: as
 * `decisions/accept/accepted.ts` reads them for a decision now.
 */
import { sql } from 'kysely';
import { currencyOf } from '../../../lib/strings.ts';
import type { Db } from '../../../store/store.ts';
import { type AcceptedBefore, acceptedAmount, DAY_MS } from '../../accept/accepted.ts';
import { storedFacts } from '../../journal.ts';
import type { Period } from '../history.ts';
import { type AccountRows, accountThen } from './accounts.ts';
import { changesOf, type Moment, orderOf, type PastChange } from './rows.ts';

interface AcceptRow extends AcceptedBefore {
  readonly decisionId: number;
  readonly orderDeliveryId: number;
  readonly orderId: number;
  readonly outboxId: number;
  readonly state: string;
  readonly endedAt: number | null;
  /** Currency that the order itself names; empty or null: that of its variants counts. */
  readonly named: string | null;
  readonly facts: Uint8Array | null;
}

interface Accept extends AcceptRow {
  /** Changes after which its value, or its currency, was another one. */
  readonly changes: readonly PastChange[];
  /** Whether it is not known since when its push, or its currency, is as it is now. */
  readonly isUnclear: boolean;
}

/** A decision with the delivery and the account that it is about. */
interface AskedDecision {
  readonly decisionId: number;
  readonly orderDeliveryId: number;
}

export interface PastAccepts {
  /** Accepts of the 24 hours before the decision; undefined: that is unclear. */
  before(asked: AskedDecision, moment: Moment): Promise<readonly AcceptedBefore[] | undefined>;
}

const FAILED = ['canceled', 'refused', 'dead'];

async function readAccepts(db: Db, { since, until }: Period): Promise<readonly AcceptRow[]> {
  const { rows } = await sql<AcceptRow>`
    select n.decision_id decisionId, n.at, n.order_delivery_id orderDeliveryId,
      n.order_id orderId, p.outbox_id outboxId, p.state, p.ended_at endedAt,
      o.account_no accountNo, nullif(trim(o.currency), '') named, c.currency,
      iif(trim(o.currency) <> '', null, f.facts) facts,
      ${acceptedAmount} amount
    from decision n indexed by decision_day
    cross join outbox p on p.decision_id = n.decision_id
    left join sales_order o on o.order_id = n.order_id
    left join order_currency c on c.order_id = n.order_id
    left join fact_snapshot f on f.digest = n.facts_digest
    where n.at > ${since - DAY_MS} and n.at < ${until} and n.outcome = 'accept'
      and n.actor = 'daemon'
    order by n.decision_id`.execute(db);
  return rows;
}

/** Numbers of the pushes that a person tried again; when they had failed before is not kept. */
async function retried(db: Db, since: number): Promise<ReadonlySet<string>> {
  const rows = await db
    .selectFrom('audit')
    .select('subject')
    .where('action', '=', 'outbox.retry')
    .where('at', '>', since - DAY_MS)
    .execute();
  return new Set(rows.map(({ subject }) => subject));
}

/**
 * Whether the currency of the variants may have changed since the accept, by the accept's own
 * facts.
 */
function isOtherCurrency({ named, facts, currency }: AcceptRow): boolean {
  if (named !== null) return false;
  if (facts === null) return true;
  return (storedFacts(facts).order.currency ?? null) !== currencyOf(currency);
}

async function readAll(db: Db, period: Period, after: number): Promise<readonly Accept[]> {
  const rows = await readAccepts(db, period);
  const again = await retried(db, period.since);
  const textsOf = (ids: readonly number[]) =>
    sql`select distinct value || '' key from json_each(${JSON.stringify(ids)})`;
  const lines = await changesOf(db, {
    entity: 'delivery',
    columns: ['lines'],
    after,
    keys: textsOf(rows.map(({ orderDeliveryId }) => orderDeliveryId)),
  });
  const currencies = await changesOf(db, {
    entity: 'sales_order',
    columns: ['currency'],
    after,
    keys: textsOf(rows.map(({ orderId }) => orderId)),
  });
  const updates = (changes: readonly PastChange[] = []) =>
    changes.filter(({ op }) => op === 'update' || op === 'restore');
  return rows.map((row) => ({
    ...row,
    facts: null,
    changes: [
      ...updates(lines.get(String(row.orderDeliveryId))),
      ...updates(currencies.get(String(row.orderId))),
    ],
    isUnclear: again.has(`outbox:${row.outboxId}`) || isOtherCurrency(row),
  }));
}

/** Whether the accept counted at the moment; undefined: that is unclear. */
function countedAt({ state, endedAt }: Accept, { at }: Moment): boolean | undefined {
  if (!FAILED.includes(state) || endedAt === null) return true;
  return endedAt === at ? undefined : endedAt > at;
}

/** Index of the first accept that is no older than the decision with this id. */
function indexOf(accepts: readonly Accept[], decisionId: number): number {
  let [low, high] = [0, accepts.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((accepts[middle]?.decisionId ?? 0) < decisionId) low = middle + 1;
    else high = middle;
  }
  return low;
}

export function createPastAccepts(
  db: Db,
  period: Period,
  after: number,
  accounts: AccountRows,
): PastAccepts {
  let read: Promise<readonly Accept[]> | undefined;
  return {
    async before({ decisionId, orderDeliveryId }, moment) {
      read ??= readAll(db, period, after);
      const [accepts, moved] = [await read, await accounts.moved()];
      const counted: AcceptedBefore[] = [];
      for (let at = indexOf(accepts, decisionId) - 1; at >= 0; at -= 1) {
        const accept = accepts[at];
        // Accepts are in the order of their ids; the clock may have been set back between them.
        if (!accept || accept.at <= moment.at - 2 * DAY_MS) break;
        if (accept.at <= moment.at - DAY_MS) continue;
        if (accept.orderDeliveryId === orderDeliveryId) continue;
        const isCounted = countedAt(accept, moment);
        if (isCounted === undefined || accept.isUnclear) return undefined;
        if (!isCounted) continue;
        const { changes } = accept;
        if (changes.length > 0 && changes.some((one) => orderOf(one, moment) !== 'before')) {
          return undefined;
        }
        const accountNo = accountThen(moved, accept, moment);
        if (accountNo === undefined) return undefined;
        counted.push(accountNo === accept.accountNo ? accept : { ...accept, accountNo });
      }
      return counted;
    },
  };
}
