/**
 * The limits of accepts, and facts that count accepts, against a reader of docs/rules.md who keeps
 * a list of what was accepted. `SELVEDGE_ACCEPT_SEEDS` (`1-200`) makes it longer; `npm run campaign
 * -- rules` does.
 */
import { expect, it } from 'vitest';
import { type Random, seededRandom } from '../../../src/lib/random.ts';
import { createDeciderFixture, type DeciderFixture, loadedRules } from '../support.ts';

const [FIRST = 1, LAST = FIRST] = (process.env.SELVEDGE_ACCEPT_SEEDS ?? '1-2')
  .split('-')
  .map(Number);
const STEPS = 14;
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const RATES = { DKK: 1, EUR: 7.5 };
const PRICE = 100;
const SEED_MS_MAX = 60_000;

/** Each wants the deliveries whose order says so. */
const WANTS = ['nothing', 'stock', 'credit', 'budget', 'base budget'] as const;

interface Limits {
  readonly stock?: number;
  readonly credit: number;
  readonly perDay?: number;
  readonly perCustomer?: number;
  readonly amounts?: Readonly<Record<string, number>>;
  readonly budget: { readonly count: number; readonly own: number; readonly amount: number };
}

interface Packed {
  readonly id: number;
  readonly account: string;
  readonly currency: 'DKK' | 'EUR';
  readonly wants: (typeof WANTS)[number];
  /** Undefined: its price is not known. */
  readonly amount: number | undefined;
}

interface Accepted extends Packed {
  readonly at: number;
}

function randomLimits(random: Random): Limits {
  const maybe = <T>(value: T): T | undefined => (random.chance(0.5) ? value : undefined);
  const stock = maybe(random.int(1, 4));
  const perDay = maybe(random.int(2, 6));
  const perCustomer = maybe(random.int(1, 3));
  const amounts = maybe(random.pick([{ DKK: 1_500 }, { DKK: 900.5, EUR: 700 }]));
  return {
    ...(stock === undefined ? {} : { stock }),
    ...(perDay === undefined ? {} : { perDay }),
    ...(perCustomer === undefined ? {} : { perCustomer }),
    ...(amounts === undefined ? {} : { amounts }),
    credit: random.int(2, 30),
    budget: { count: random.int(2, 5), own: random.int(1, 3), amount: random.int(5, 20) * 100 },
  };
}

function settingsOf({ stock, credit, perDay, perCustomer, amounts }: Limits): string {
  const freshness = {
    ...(stock === undefined ? {} : { stock: `${stock}h` }),
    credit: `${credit}h`,
  };
  const accept = {
    freshness,
    ...(perDay === undefined ? {} : { max_per_day: perDay }),
    ...(perCustomer === undefined ? {} : { max_per_customer_per_day: perCustomer }),
    ...(amounts === undefined ? {} : { max_amount_per_day: amounts }),
  };
  const base = { base_currency: 'DKK', rates: { EUR: RATES.EUR } };
  return JSON.stringify({ version: 1, ...base, safeguards: { accept } });
}

function rulesOf({ budget }: Limits): string {
  const conditions: Readonly<Record<Packed['wants'], readonly string[]>> = {
    nothing: ['delivery.quantity > 0'],
    stock: ['delivery.lines.all(line, line.missing == 0)'],
    credit: ['customer.credit.overdue_days == 0'],
    budget: [
      'order.currency == "DKK"',
      `today.accepted < ${budget.count}`,
      `customer.accepted_today < ${budget.own}`,
      `today.amount + delivery.amount <= ${budget.amount}`,
      `customer.amount_today + delivery.amount <= ${budget.amount - 200}`,
    ],
    'base budget': [`today.amount_base + delivery.amount_base <= ${budget.amount}`],
  };
  const rules = Object.entries(conditions).map(([wants, when]) => {
    const all = [`order.comment == "${wants}"`, ...when];
    const list = all.map((text) => `      - '${text}'\n`).join('');
    const id = `accept-${wants.replace(' ', '-')}`;
    return `  - id: ${id}\n    title: A\n    action: accept\n    mode: live\n    when:\n${list}`;
  });
  return `rules:\n${rules.join('')}`;
}

/** Knowledge of a person who wrote everything down. */
class Ledger {
  readonly packed = new Map<number, Packed>();
  readonly #accepted = new Map<number, Accepted>();
  readonly #limits: Limits;
  stockAt = 0;
  readonly creditAt = new Map<string, number>();

  constructor(limits: Limits) {
    this.#limits = limits;
  }

  accept(id: number, at: number): void {
    const packed = this.packed.get(id);
    if (packed) this.#accepted.set(id, { ...packed, at });
  }

  isAccepted(id: number): boolean {
    return this.#accepted.has(id);
  }

  /** Outcome that the rules and their safeguards should have. */
  wanted(id: number, now: number): 'accept' | 'hold' | 'no_rule' {
    const one = this.packed.get(id);
    if (!one) return 'no_rule';
    const others = [...this.#accepted.values()].filter(
      (other) => other.id !== id && other.at > now - DAY_MS,
    );
    if (!this.#rulesAccept(one, others)) return 'no_rule';
    return this.#isOld(one, now) || this.#isOver(one, others) ? 'hold' : 'accept';
  }

  #rulesAccept({ wants, currency, amount, account }: Packed, others: readonly Accepted[]): boolean {
    const { count, own, amount: most } = this.#limits.budget;
    const mine = others.filter((other) => other.account === account);
    const within = (sum: number | undefined, limit: number) =>
      sum !== undefined && amount !== undefined && sum + amount <= limit;
    if (wants === 'base budget') {
      const total = sumOf(others, (other) => RATES[other.currency]);
      return (
        total !== undefined && amount !== undefined && total + amount * RATES[currency] <= most
      );
    }
    if (wants !== 'budget') return true;
    const inDkk = (some: readonly Accepted[]) => some.filter((other) => other.currency === 'DKK');
    return (
      currency === 'DKK' &&
      others.length < count &&
      mine.length < own &&
      within(sumOf(inDkk(others)), most) &&
      within(sumOf(inDkk(mine)), most - 200)
    );
  }

  #isOld({ wants, account }: Packed, now: number): boolean {
    const { stock = 1, credit } = this.#limits;
    if (wants === 'stock') return now - this.stockAt > stock * HOUR_MS;
    if (wants !== 'credit') return false;
    return now - (this.creditAt.get(account) ?? 0) > credit * HOUR_MS;
  }

  #isOver({ account, currency, amount }: Packed, others: readonly Accepted[]): boolean {
    const { perDay = Infinity, perCustomer = Infinity, amounts } = this.#limits;
    if (others.length + 1 > perDay) return true;
    if (others.filter((one) => one.account === account).length + 1 > perCustomer) return true;
    const most = amounts?.[currency];
    if (most === undefined) return false;
    const sum = sumOf(others.filter((one) => one.currency === currency));
    return sum === undefined || amount === undefined || sum + amount > most;
  }
}

/** Undefined where an amount is not known. */
function sumOf(some: readonly Accepted[], rate: (one: Accepted) => number = () => 1) {
  return some.reduce<number | undefined>(
    (sum, one) =>
      sum === undefined || one.amount === undefined ? undefined : sum + one.amount * rate(one),
    0,
  );
}

async function pack(fixture: DeciderFixture, random: Random, id: number): Promise<Packed> {
  const account = random.pick(['C-1', 'C-2']);
  const currency = random.pick(['DKK', 'DKK', 'EUR'] as const);
  const wants = random.pick(WANTS);
  const pieces = random.int(1, 5);
  const isPriced = random.chance(0.9);
  await fixture.order(id, {
    ...{ currency, comment: wants, shippingAddress: { accountNo: account } },
    // Nothing but the safeguards of accepts is to hold it.
    orderLineItems: [{ barcode: 'a', quantity: 10, price: PRICE }],
  });
  const line = { barcode: 'a', fulfilledQuantity: pieces, ...(isPriced ? { price: PRICE } : {}) };
  await fixture.delivery({ id, order: id, more: { fulfilledLineItems: [line] } });
  return { id, account, currency, wants, amount: isPriced ? pieces * PRICE : undefined };
}

async function pullStock(fixture: DeciderFixture, ledger: Ledger): Promise<void> {
  await fixture.stock({ a: 100_000 });
  ledger.stockAt = fixture.clock.now();
}

async function sendCredit(fixture: DeciderFixture, ledger: Ledger, account: string) {
  await fixture.customer({ accountNo: account, asOf: fixture.clock.now() });
  ledger.creditAt.set(account, fixture.clock.now());
}

async function runSeed(seed: number): Promise<number> {
  const random = seededRandom(seed);
  const limits = randomLimits(random);
  const ledger = new Ledger(limits);
  const fixture = await createDeciderFixture();
  const rules = loadedRules(rulesOf(limits), settingsOf(limits));
  await pullStock(fixture, ledger);
  for (const account of ['C-1', 'C-2']) await sendCredit(fixture, ledger, account);
  let accepts = 0;
  for (let id = 1; id <= STEPS; id += 1) {
    await fixture.clock.advance(random.int(1, random.pick([20, 200, 700])) * MINUTE_MS + 1);
    if (random.chance(0.3)) await pullStock(fixture, ledger);
    if (random.chance(0.3)) await sendCredit(fixture, ledger, random.pick(['C-1', 'C-2']));
    ledger.packed.set(id, await pack(fixture, random, id));
    const now = fixture.clock.now();
    const parts = { rules: () => rules, freshness: { stock: HOUR_MS } };
    for (const decided of await fixture.decide(parts)) {
      const [which, outcome] = decided.split(' ');
      const about = `seed ${seed}, delivery ${which} after ${id} of ${JSON.stringify(limits)}`;
      expect(outcome, about).toBe(ledger.wanted(Number(which), now));
      if (outcome !== 'accept') continue;
      ledger.accept(Number(which), now);
      accepts += 1;
    }
    const left = [...ledger.packed.keys()].filter((one) => !ledger.isAccepted(one));
    const forgotten = left.filter((one) => ledger.wanted(one, now) === 'accept');
    expect(forgotten, `seed ${seed}, after delivery ${id}`).toEqual([]);
  }
  return accepts;
}

it.each(Array.from({ length: LAST - FIRST + 1 }, (_, at) => FIRST + at))(
  'accepts go on and wait as a reader of the manual says (seed %i)',
  async (seed) => {
    expect(await runSeed(seed)).toBeGreaterThan(0);
  },
  SEED_MS_MAX,
);
