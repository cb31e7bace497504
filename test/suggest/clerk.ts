/**
 * A house in which ten live rules decide a part, and simulated clerks the rest by a policy: its
 * journal, as the decider and the review write it, so that what is learned can be compared with the
 * policy itself.
 */
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { sql } from 'kysely';
import { appendDecision } from '../../src/decisions/journal.ts';
import { storeTexts } from '../../src/decisions/rule-texts.ts';
import { manualClock } from '../../src/lib/clock.ts';
import { type Random, seededRandom } from '../../src/lib/random.ts';
import { type Evaluation, evaluate } from '../../src/rules/evaluate.ts';
import { completeFacts } from '../../src/rules/facts/build.ts';
import type { Facts, LineFacts } from '../../src/rules/facts/plain.ts';
import { typicalFacts } from '../../src/rules/facts/typical.ts';
import { loadRules } from '../../src/rules/load.ts';
import type { RuleSet } from '../../src/rules/rule.ts';
import type { RuleFile } from '../../src/rules/text/yaml.ts';
import { writeStateAt } from '../../src/store/state.ts';
import { openStore, type Store, type Tx } from '../../src/store/store.ts';
import type { DecisionOutcome } from '../../src/store/tables.ts';
import { placeDatabase } from '../support/store.ts';

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;
/** A Monday. */
const FIRST_DAY = Date.UTC(2026, 5, 1);

const SETTINGS = `version: 1
lists:
  nordic: [DK, SE, "NO", FI]
tables:
  pieces: { DK: 30, SE: 24, DE: 40 }
customer_fields: { tier: text }
`;

const LINE = 'delivery.lines.exists(line, has(line';

/** Ten rules, so that clerks see only what these leave. */
const RULES: readonly (readonly [id: string, when: readonly string[]])[] = [
  ['accept-tiny', ['delivery.quantity <= 4']],
  ['accept-preorder', ['order.preorder', 'delivery.quantity <= 30']],
  ['accept-webshop', ['order.account_no == "C-1"', 'delivery.quantity <= 40']],
  ['hold-short', [`${LINE}.missing) && line.missing > 0)`]],
  ['hold-price', [`${LINE}.price_diff_pct) && line.price_diff_pct > 8)`]],
  [
    'hold-overdue',
    [
      'has(customer.credit) && has(customer.credit.overdue_days) && ' +
        'customer.credit.overdue_days > 30',
    ],
  ],
  ['hold-blocked', ['has(customer.blocked) && customer.blocked']],
  ['hold-address', ['has(order.address_complete) && !order.address_complete']],
  ['hold-huge', ['delivery.quantity > 120']],
  ['hold-again', ['order.rejected_before > 0']],
];

const TEN_RULES = `rules:\n${RULES.map(([id, when]) => {
  const [action] = id.split('-');
  const conditions = when.map((one) => `'${one}'`).join(', ');
  const head = `id: ${id}, title: T, owner: sales, action: ${action}, mode: live`;
  return `  - { ${head}, when: [${conditions}] }\n`;
}).join('')}`;

interface Seen {
  readonly facts: Facts;
  /** Outcome by the rules that were in force. */
  readonly byRules: Evaluation['live'];
}

type Wanted = 'accept' | 'hold' | 'reject' | 'release' | undefined;

/** Decision of a clerk about what the rules left; undefined: the delivery is left alone. */
export type Policy = (seen: Seen, clerk: string) => Wanted;

export interface House {
  readonly store: Store;
  readonly path: string;
  readonly files: readonly RuleFile[];
  readonly ruleSet: RuleSet;
  readonly deliveries: readonly Seen[];
  readonly since: number;
  readonly until: number;
  /** Closes the database and removes its folder. */
  close(): Promise<void>;
}

const COUNTRIES = ['DK', 'DK', 'DK', 'SE', 'SE', 'DE', 'DE', 'NL', 'NO', 'FI'] as const;
const CURRENCY: Readonly<Record<string, string>> = { DK: 'DKK', SE: 'SEK', NO: 'NOK' };
const BRANDS = ['Northern Thread', 'Havn', 'Ask & Elm', 'Fjord'] as const;
const CATEGORIES = ['Tops', 'Trousers', 'Shoes', 'Bags'] as const;
const WEEKDAYS = [
  'sunday',
  'monday',
  'tuesday',
  'wednesday',
  'thursday',
  'friday',
  'saturday',
] as const;
const ACCOUNTS = 60;

interface Customer {
  readonly account: string;
  readonly country: string;
  readonly tier: string;
}

function customersOf(random: Random): readonly Customer[] {
  return Array.from({ length: ACCOUNTS }, (_, at) => ({
    account: `C-${at + 1}`,
    country: random.pick(COUNTRIES),
    tier: random.pick(['gold', 'silver', 'silver', 'bronze']),
  }));
}

function linesOf(random: Random, pieces: number): readonly LineFacts[] {
  const count = Math.min(pieces, random.int(1, 5));
  const { lines } = typicalFacts().delivery;
  const [typical] = lines;
  if (!typical) throw new Error('the typical delivery has lines');
  const brand = random.pick(BRANDS);
  return Array.from({ length: count }, (_, at): LineFacts => {
    const own = Math.floor(pieces / count) + (at < pieces % count ? 1 : 0);
    const price = random.int(5, 90) * 10_0000;
    const isOff = random.chance(0.12);
    return {
      ...typical,
      barcode: `57${random.int(0, 10 ** 10)}`,
      quantity: own,
      size_quantity: own,
      ordered: own,
      price,
      order_price: isOff ? Math.round(price * (1 + random.int(1, 20) / 100)) : price,
      list_price: price,
      stock_free: random.chance(0.03) ? own - 1 : own + random.int(0, 50),
      brand: random.chance(0.8) ? brand : random.pick(BRANDS),
      category: random.pick(CATEGORIES),
      season: random.pick(['AW26', 'SS26', 'NOOS']),
      noos: random.chance(0.2),
    };
  });
}

function factsOf(random: Random, id: number, at: number, customer: Customer): Facts {
  const pieces = Math.max(1, Math.round(Math.exp(1 + 3.6 * random.next())));
  const base = typicalFacts();
  const { account, country, tier } = customer;
  const currency = CURRENCY[country] ?? 'EUR';
  const isPreorder = random.chance(0.15);
  const lines = linesOf(random, pieces);
  const hour = new Date(at).getUTCHours();
  const day = new Date(at).getUTCDay();
  const isWorkday = day > 0 && day < 6;
  return {
    delivery: {
      ...base.delivery,
      id,
      number: `DN-${id}`,
      created_at: at - HOUR_MS,
      weekday: WEEKDAYS[day] ?? 'monday',
      lines,
    },
    order: {
      ...base.order,
      id,
      number: `SO-${id}`,
      reference: `PO-${id}`,
      created_at: at - random.int(1, 60) * DAY_MS,
      country,
      currency,
      account_no: account,
      amount: random.int(50, 9_000) * 10_0000,
      quantity: pieces + random.int(0, 20),
      delivered_quantity: pieces,
      freight_amount: random.int(0, 30) * 10_0000,
      freight_type: random.pick(['Standard', 'Express', 'Pick-up']),
      preorder: isPreorder,
      season: isPreorder ? random.pick(['SS27', 'AW26']) : null,
      address_complete: !random.chance(0.01),
      comment: random.chance(0.2) ? 'please call first' : null,
      other_pending: random.chance(0.2) ? random.int(1, 3) : 0,
      rejected_before: random.chance(0.01) ? 1 : 0,
      base_rate: null,
      base_currency: null,
    },
    customer: {
      account_no: account,
      blocked: random.chance(0.005),
      orders_before: random.int(0, 60),
      refunds_90d: random.chance(0.3) ? random.int(1, 6) : 0,
      credit: {
        ...base.customer?.credit,
        limit: 100_000_0000,
        balance: random.int(0, 99_000) * 1_0000,
        overdue_days: random.chance(0.3) ? random.int(1, 34) : 0,
        currency,
      },
      extra: { tier },
    },
    stock: base.stock,
    clock: {
      now: at,
      business_hours: isWorkday && hour >= 8 && hour < 17,
      weekday: WEEKDAYS[day] ?? 'monday',
    },
    feed: 1,
  };
}

interface Said {
  readonly id: number;
  readonly at: number;
  readonly facts: Facts;
  readonly actor: string;
  readonly outcome: DecisionOutcome;
  readonly reason: string;
  readonly evaluation: Evaluation;
}

async function journal(tx: Tx, ruleSet: RuleSet, said: Said): Promise<void> {
  const { id, at, facts, actor, outcome, reason, evaluation } = said;
  await appendDecision(tx, {
    orderDeliveryId: id,
    orderId: id,
    at,
    trigger: actor === 'daemon' ? 'new' : 'person',
    actor,
    ruleSetHash: ruleSet.hash,
    facts,
    mode: 'live',
    outcome,
    reason,
    rules: actor === 'daemon' ? evaluation.live.rules : [],
    shadow: {},
    // Nothing that learns reads the results of the rules, which are long.
    evaluation: { ...evaluation, rules: [] },
  });
}

/** Opens a database in a folder of its own, as `place` puts it there. */
async function openIn(place: (path: string) => void) {
  const path = join(mkdtempSync(join(tmpdir(), 'selvedge-test-')), 'mirror.db');
  place(path);
  const { store } = await openStore({ path, busyTimeoutMs: 5_000 }, manualClock());
  const close = async (): Promise<void> => {
    await store.close();
    rmSync(dirname(path), { recursive: true, force: true });
  };
  return { path, store, close };
}

/** Files of the house's rules, where no other rules are given. */
export const HOUSE_FILES = [
  { path: 'settings.yaml', text: SETTINGS },
  { path: 'rules.yaml', text: TEN_RULES },
] as const;

export interface HouseParts {
  /** Store of a daemon, which these rules are in force at; left out: one of its own. */
  readonly store?: Store;
  /** Midnight at which the first day begins. */
  readonly firstDay?: number;
  readonly seed?: number;
  readonly days?: number;
  readonly aDay?: number;
  readonly rules?: string;
}

/** A house whose rules have decided everything, and no clerk anything yet. */
export async function buildHouse(parts: HouseParts = {}): Promise<House> {
  const { seed = 1, days = 90, aDay = 48, rules = TEN_RULES, firstDay = FIRST_DAY } = parts;
  const random = seededRandom(seed);
  const files = [
    { path: 'settings.yaml', text: SETTINGS },
    { path: 'rules.yaml', text: rules },
  ];
  const loaded = loadRules(files);
  if ('problems' in loaded) throw new Error(loaded.problems[0]?.message);
  const { ruleSet } = loaded;
  const customers = customersOf(random);
  const deliveries = Array.from({ length: days * aDay }, (_, at): Seen => {
    const day = firstDay + Math.floor(at / aDay) * DAY_MS;
    const time = day + 6 * HOUR_MS + Math.floor(((at % aDay) * 12 * HOUR_MS) / aDay);
    const facts = factsOf(random, at + 1, time, random.pick(customers));
    const evaluation = evaluate(ruleSet, facts, { operands: false });
    return { facts: completeFacts(facts), byRules: evaluation.live };
  });
  const { store: given } = parts;
  const opened = given
    ? { path: given.path, store: given, close: async () => undefined }
    : await openIn(placeDatabase);
  await opened.store.transaction(async (tx) => {
    await storeTexts(tx, { hash: ruleSet.hash, files }, firstDay);
    await writeStateAt(tx, 'rules_in_force', ruleSet.hash, firstDay);
    for (const { facts } of deliveries) {
      const evaluation = evaluate(ruleSet, facts, { operands: false });
      const { kind: outcome, reason } = evaluation.live;
      const { id } = facts.delivery;
      const at = facts.clock.now;
      await journal(tx, ruleSet, { id, at, facts, actor: 'daemon', outcome, reason, evaluation });
    }
  });
  const until = firstDay + days * DAY_MS;
  return { ...opened, files, ruleSet, deliveries, since: firstDay, until };
}

/** A copy of a house that nobody writes to, for clerks of its own. */
export async function copyOf(house: House): Promise<House> {
  await sql`pragma wal_checkpoint(truncate)`.execute(house.store.db);
  return { ...house, ...(await openIn((path) => copyFileSync(house.path, path))) };
}

/** Copies the database of a house to a place where commands find it. */
export async function copyDatabase({ store, path }: House, to: string): Promise<void> {
  await sql`pragma wal_checkpoint(truncate)`.execute(store.db);
  copyFileSync(path, to);
}

export interface Clerks {
  readonly policy: Policy;
  readonly seed?: number;
  /** Share of decisions that are another than the policy's. */
  readonly mistakes?: number;
  readonly names?: readonly string[];
  /** All at once, at the end, as an act on many deliveries. */
  readonly isOneAct?: boolean;
  /** All in one afternoon at the end, one after the other. */
  readonly isOneAfternoon?: boolean;
  /** Decision of the same clerk ten minutes after it came, before the one by the policy. */
  readonly first?: Policy;
  /** Facts as they become before a clerk looks; the rules decide on them again, too. */
  readonly meanwhile?: (seen: Seen) => Facts | undefined;
}

function mistaken(random: Random, wanted: Wanted): Wanted {
  if (wanted === 'accept') return 'hold';
  return random.chance(0.9) ? 'accept' : 'reject';
}

/** Clerks decide what the rules have not accepted, each some hours after it came. */
export async function decideAll(house: House, clerks: Clerks): Promise<void> {
  const { policy, seed = 7, mistakes = 0.03, names = ['ada', 'bo'] } = clerks;
  const { isOneAct = false, isOneAfternoon = false, first, meanwhile } = clerks;
  const { ruleSet } = house;
  const random = seededRandom(seed);
  await house.store.transaction(async (tx) => {
    for (const seen of house.deliveries) {
      const { facts, byRules } = seen;
      const clerk = random.pick(names);
      const isMistake = random.chance(mistakes);
      const waited = random.int(20, 200) * MINUTE_MS + random.int(0, 59_999);
      const afternoon = house.until - 4 * HOUR_MS + facts.delivery.id * 2_000;
      const later = isOneAfternoon ? afternoon : facts.clock.now + waited;
      const at = isOneAct ? house.until - 1_000 : later;
      if (byRules.kind === 'accept') continue;
      const wanted = policy(seen, clerk);
      const outcome = isMistake && wanted !== undefined ? mistaken(random, wanted) : wanted;
      if (outcome === undefined) continue;
      const actor = clerk === 'external' ? clerk : `person:${clerk}`;
      const became = meanwhile?.(seen);
      const say = async (at: number, given: Facts, by: string, said?: DecisionOutcome) => {
        const then = { ...given, clock: { ...given.clock, now: at } };
        const evaluation = evaluate(ruleSet, then, { operands: false });
        const { kind, reason } = evaluation.live;
        const text = said === undefined ? reason : 'looked at';
        const what = { id: facts.delivery.id, at, facts: then, actor: by, evaluation };
        await journal(tx, ruleSet, { ...what, outcome: said ?? kind, reason: text });
      };
      const atOnce = first?.(seen, clerk);
      if (atOnce) await say(facts.clock.now + 10 * MINUTE_MS, facts, actor, atOnce);
      if (became) await say(at - MINUTE_MS, became, 'daemon');
      await say(at, became ?? facts, actor, outcome);
    }
  });
}
