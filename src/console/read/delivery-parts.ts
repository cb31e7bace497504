/** Reads the details of a delivery: its mirrored rows, and what the rules say of it now. */
import { type DecisionRecord, decisionsOf } from '../../decisions/review/deliveries.ts';
import type { DeliveryIds } from '../../decisions/review/parts.ts';
import { type ExplainedNow, explainNow } from '../../decisions/simulation/explain-now.ts';
import { type Replay, replayDecision } from '../../decisions/simulation/replay.ts';
import { storedRuleSet } from '../../decisions/simulation/rule-sets.ts';
import { RefusedError } from '../../lib/errors.ts';
import { tryParseJson } from '../../lib/json.ts';
import type { RuleSet } from '../../rules/rule.ts';
import type { Db } from '../../store/store.ts';
import type { ConsoleDeps } from '../context.ts';

type RawRow = Readonly<Record<string, unknown>>;

/** Mirrored rows of a delivery and its order; columns that hold JSON are parsed. */
export interface RawDelivery {
  readonly delivery: RawRow;
  readonly delivery_lines: readonly RawRow[];
  /** Row of the order; null: the order is not mirrored. */
  readonly order: RawRow | null;
  readonly order_lines: readonly RawRow[];
}

/** Columns of the mirror that hold JSON. */
const JSON_COLUMNS = ['extra', 'shipping_address', 'tracking_numbers', 'tracking_links', 'unread'];

function rawRow(row: object): RawRow {
  return Object.fromEntries(
    Object.entries(row).map(([name, value]) => {
      const isJson = JSON_COLUMNS.includes(name) && typeof value === 'string';
      return [name, isJson ? (tryParseJson(value) ?? value) : value];
    }),
  );
}

export async function readRaw(
  db: Db,
  { orderDeliveryId, orderId }: DeliveryIds,
): Promise<RawDelivery> {
  const delivery = await db
    .selectFrom('delivery')
    .selectAll()
    .where('order_delivery_id', '=', orderDeliveryId)
    .executeTakeFirstOrThrow();
  const deliveryLines = await db
    .selectFrom('delivery_line')
    .selectAll()
    .where('order_delivery_id', '=', orderDeliveryId)
    .orderBy('line_no')
    .execute();
  const order = await db
    .selectFrom('sales_order')
    .selectAll()
    .where('order_id', '=', orderId)
    .executeTakeFirst();
  const orderLines = await db
    .selectFrom('sales_order_line')
    .selectAll()
    .where('order_id', '=', orderId)
    .orderBy('line_no')
    .execute();
  return {
    delivery: rawRow(delivery),
    delivery_lines: deliveryLines.map(rawRow),
    order: order ? rawRow(order) : null,
    order_lines: orderLines.map(rawRow),
  };
}

/** Rule set in force, by which the daemon decides. */
async function rulesInForce(db: Db, hash: string | undefined): Promise<RuleSet> {
  if (hash !== undefined) return storedRuleSet(db, hash);
  throw new RefusedError('rules.none', 'no rules are in force yet', {
    hint: 'selvedge rules check tells whether those of the folder can be',
  });
}

export interface NowView extends Omit<ExplainedNow, 'facts' | 'delivery'> {
  readonly status: string | null;
  /** Replay of the latest decision, by its stored facts and rule set; null: none. */
  readonly replay: Pick<Replay, 'decisionId' | 'at' | 'outcome' | 'differences'> | null;
}

async function replayOf(db: Db, [latest]: readonly DecisionRecord[]): Promise<NowView['replay']> {
  if (!latest) return null;
  const { decisionId, at, outcome, differences } = await replayDecision(db, latest.decisionId);
  return { decisionId, at, outcome, differences };
}

export async function readNow(
  deps: Pick<ConsoleDeps, 'db' | 'snapshot' | 'rulesMode' | 'settings'>,
  named: string,
  { hash, now }: { readonly hash: string | undefined; readonly now: number },
): Promise<NowView> {
  const ruleSet = await rulesInForce(deps.db, hash);
  const most = deps.rulesMode() === 'shadow' ? 'shadow' : 'live';
  const asked = { ruleSet, most, freshness: deps.settings.freshnessMs } as const;
  const found = await explainNow(deps, named, asked, now);
  const { facts: _facts, delivery, ...rest } = found;
  const replay = await replayOf(deps.db, await decisionsOf(deps.db, delivery.id));
  return { ...rest, status: delivery.status ?? null, replay };
}
