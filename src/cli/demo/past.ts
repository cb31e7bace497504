/**
 * The past of the demo: four weeks in which the rules decided, and two made-up people what these
 * left, so that pages which look back show something at once. The service is told how each delivery
 * ended; the journal, the audit and the change feed get the decisions and the parcels through their
 * own writers, before the daemon starts.
 */
import { dirname } from 'node:path';
import { clockFacts } from '../../decisions/calendar.ts';
import { appendDecision } from '../../decisions/journal.ts';
import type { LoadedRuleSet } from '../../decisions/rule-files.ts';
import { storeTexts } from '../../decisions/rule-texts.ts';
import type { Clock } from '../../lib/clock.ts';
import { type Random, seededRandom } from '../../lib/random.ts';
import { appendChanges } from '../../mirror/entity.ts';
import type { Past } from '../../reference/life/history.ts';
import type { Delivery, Order } from '../../reference/world/trade/orders.ts';
import type { World } from '../../reference/world/world.ts';
import { type Evaluation, evaluate } from '../../rules/evaluate.ts';
import { completeFacts } from '../../rules/facts/build.ts';
import type { Facts, LineFacts } from '../../rules/facts/plain.ts';
import { writeAudit } from '../../store/audit.ts';
import { makeDataFolder } from '../../store/lock.ts';
import { openStore, type StoreOptions, type Tx } from '../../store/store.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const WEEKS_MS = 28 * 24 * HOUR_MS;
const ORDERS = 1_344;
const PEOPLE = ['ada', 'bo'] as const;
/** Pieces up to which people let pass what is worth too much for the rules. */
const PIECES_MAX = 44;
/** Share of the people's decisions that are not what they usually do. */
const MISTAKES = 0.01;
/** Milliseconds after which the buyer cancels what somebody holds. */
const CANCELED_MS = 30 * HOUR_MS;
/** Share of the lines that the free stock does not cover. */
const SHORT = 0.005;
/** Units of money in facts of a unit of the service's amounts, which are hundredths. */
const UNITS = 100;

interface Decided {
  readonly at: number;
  readonly actor: string;
  readonly outcome: 'accept' | 'hold' | 'no_rule';
  readonly reason: string;
  readonly facts: Facts;
  readonly evaluation: Evaluation;
}

function linesOf({ catalog }: World, order: Order, delivery: Delivery, random: Random) {
  return delivery.lines.flatMap(({ line: index, quantity }): readonly LineFacts[] => {
    const line = order.lines[index];
    if (!line) return [];
    const style = catalog.style(catalog.place(line.variant).style);
    const price = Math.round(line.price * UNITS);
    const free = random.chance(SHORT) ? quantity - 1 : quantity + random.int(0, 60);
    return [
      {
        barcode: line.barcode,
        quantity,
        size_quantity: quantity * line.pieces,
        price,
        order_price: price,
        list_price: price,
        ordered: line.quantity,
        remaining_quantity: line.quantity - line.packed,
        stock_free: free,
        stock_age: random.int(1, 15) * MINUTE_MS,
        style_no: style.styleNo,
        style_name: style.styleName,
        brand: catalog.brandName(style.brand),
        country_of_origin: style.origin,
        weight: style.grams,
        noos: style.noos,
        season: line.season ?? null,
        delivery_name: line.delivery ?? null,
        category: null,
        type: null,
        gender: null,
        style_active: true,
        color_active: true,
      },
    ];
  });
}

/** Facts as they would have been gathered when the delivery had been packed. */
function factsOf(
  world: World,
  order: Order,
  delivery: Delivery,
  { lines, ordersBefore, rules, now }: PackedFacts,
): Facts {
  const pieces = order.lines.reduce((sum, { quantity }) => sum + quantity, 0);
  const packed = lines.reduce((sum, { quantity }) => sum + (quantity ?? 0), 0);
  const amount = order.lines.reduce((sum, { quantity, price }) => sum + quantity * price, 0);
  const { accountNo } = world.accounts.at(order.account);
  const { countryCode, zip, city, company } = order.address;
  return completeFacts({
    delivery: {
      id: delivery.orderDeliveryId,
      number: delivery.deliveryNo,
      status: 'pending',
      created_at: delivery.createdAt,
      lines,
    },
    order: {
      id: order.orderId,
      number: order.orderNo,
      reference: order.reference,
      status: 'pending',
      created_at: order.createdAt,
      country: countryCode,
      zip,
      city,
      company,
      comment: order.comment,
      address_complete: true,
      currency: order.currency,
      amount: Math.round(amount * UNITS),
      quantity: pieces,
      delivered_quantity: packed,
      freight_amount: Math.round(order.freight.amount * UNITS),
      freight_type: order.freight.type ?? null,
      preorder: order.season !== undefined,
      season: order.season ?? null,
      delivery_names: [],
      similar_within: null,
      repeated_within: null,
      other_pending: 0,
      rejected_before: 0,
      accepted_before: 0,
      account_no: accountNo,
    },
    // No ERP tells of customers here, so what it would say was asked and is not known.
    customer: {
      account_no: accountNo,
      orders_before: ordersBefore,
      refunds_90d: 0,
      blocked: null,
      credit: null,
    },
    stock: { age: 5 * MINUTE_MS },
    clock: clockFacts(now, rules.ruleSet.settings),
  });
}

interface PackedFacts {
  readonly lines: readonly LineFacts[];
  readonly ordersBefore: number;
  readonly rules: LoadedRuleSet;
  readonly now: number;
}

/** Usual decision of people about what the rules left. */
function usual({ delivery }: Facts, { live }: Evaluation): 'accept' | 'hold' {
  if (live.kind === 'hold') {
    // A parcel shop is no pick-up at the border: small ones are sent all the same.
    return live.rules.length === 1 && live.rules[0] === 'hold-pick-up-abroad' ? 'accept' : 'hold';
  }
  return (delivery.quantity ?? 0) > PIECES_MAX ? 'hold' : 'accept';
}

/** Next moment at which somebody is at work, with the time that it takes to look. */
function lookedAt(from: number, random: Random, rules: LoadedRuleSet): number {
  let at = from + random.int(20, 180) * MINUTE_MS;
  while (!clockFacts(at, rules.ruleSet.settings).business_hours) at += HOUR_MS;
  return at + random.int(0, 59_999);
}

interface Shipped {
  readonly at: number;
  readonly id: number;
  readonly tracking: string;
}

export interface DemoPast extends Past {
  /** Writes what was decided into a new database, before a daemon opens it. */
  write(options: StoreOptions, clock: Clock): Promise<void>;
}

async function writeDecided(
  tx: Tx,
  { at, actor, outcome, reason, facts, evaluation }: Decided,
  ruleSetHash: string,
): Promise<void> {
  const isPerson = actor !== 'daemon';
  const { id } = facts.delivery;
  await appendDecision(tx, {
    orderDeliveryId: id,
    orderId: facts.order.id,
    at,
    trigger: isPerson ? 'person' : 'new',
    actor: isPerson ? `person:${actor}` : actor,
    ruleSetHash,
    facts,
    mode: 'live',
    outcome,
    reason,
    rules: isPerson ? [] : evaluation.live.rules,
    shadow: evaluation.shadow,
    evaluation,
  });
  if (!isPerson) return;
  const act = { action: `delivery.${outcome}`, subject: `delivery:${id}` };
  await writeAudit(tx, { actor, reason, ...act }, at);
}

/** Appends to the change feed what a daemon would have seen as a delivery got its parcel. */
async function writeShipped(tx: Tx, { at, id, tracking }: Shipped): Promise<void> {
  const diff = JSON.stringify({ tracking_numbers: ['[]', JSON.stringify([tracking])] });
  const entry = { key: String(id), op: 'update', diff } as const;
  await appendChanges(tx, [entry], { at, entity: 'delivery', cause: 'event:demo' });
}

/** Words of people about it. */
const REASONS = { accept: 'checked', hold: 'asked the customer' } as const;

/** The past under these rules, which is the same for the same seed and start. */
export function createPast(rules: LoadedRuleSet, seed: number, count = ORDERS): DemoPast {
  const random = seededRandom(seed);
  const decided: Decided[] = [];
  const shipped: Shipped[] = [];
  const orders = new Map<number, number>();
  const { ruleSet, files } = rules;
  const fateOf = (world: World, order: Order, delivery: Delivery, until: number) => {
    const ordersBefore = orders.get(order.account) ?? 0;
    orders.set(order.account, ordersBefore + 1);
    const lines = linesOf(world, order, delivery, random);
    const now = delivery.createdAt + random.int(2, 9) * 1_000;
    const facts = factsOf(world, order, delivery, { lines, ordersBefore, rules, now });
    const evaluation = evaluate(ruleSet, facts);
    const { kind, reason } = evaluation.live;
    const byRules = kind === 'reject' ? 'hold' : kind;
    const said = { at: now, actor: 'daemon', outcome: byRules, reason, facts, evaluation };
    if (byRules === 'accept') {
      decided.push(said);
      return { status: 'accepted', at: now } as const;
    }
    const wanted = usual(facts, evaluation);
    const outcome = random.chance(MISTAKES) === (wanted === 'hold') ? 'accept' : 'hold';
    const at = lookedAt(now, random, rules);
    // Nobody has come to it yet: it waits, and the daemon decides as if it was packed just now.
    if (at > until) return undefined;
    const then = { ...facts, clock: clockFacts(at, ruleSet.settings) };
    const by = { actor: random.pick(PEOPLE), outcome, reason: REASONS[outcome] } as const;
    decided.push(said, { ...by, at, facts: then, evaluation: evaluate(ruleSet, then) });
    if (outcome === 'accept') return { status: 'accepted', at } as const;
    return { status: 'canceled', at: Math.min(until, at + CANCELED_MS) } as const;
  };
  return {
    orders: count,
    spacingMs: Math.round(WEEKS_MS / count),
    fateOf,
    shipped({ orderDeliveryId: id, trackingNumber: tracking }, at) {
      if (tracking !== undefined) shipped.push({ at, id, tracking });
    },
    async write(options, clock) {
      makeDataFolder(dirname(options.path));
      const { store } = await openStore(options, clock);
      const inOrder = decided.toSorted((a, b) => a.at - b.at);
      const [first] = inOrder;
      await store.transaction(async (tx) => {
        await storeTexts(tx, { hash: ruleSet.hash, files }, first?.at ?? 0);
        for (const one of inOrder) await writeDecided(tx, one, ruleSet.hash);
        const parcels = shipped.toSorted((a, b) => a.at - b.at);
        for (const one of parcels) await writeShipped(tx, one);
      });
      await store.close();
    },
  };
}
