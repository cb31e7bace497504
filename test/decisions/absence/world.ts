/**
 * A world whose inputs are cut, emptied, halved and given back by chance, in all lists that rules
 * read: stock and a season in pages, V2's styles, colors and brands with their relationships, the
 * ERP's customers with their credit, and the rule list that is made of them. What is true of the
 * whole (goods.ts) never changes.
 */
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { sql } from 'kysely';
import { onTestFinished } from 'vitest';
import { fillLists, listsOf } from '../../../src/decisions/rule-lists.ts';
import { type ManualClock, manualClock } from '../../../src/lib/clock.ts';
import { type Random, seededRandom } from '../../../src/lib/random.ts';
import { PDM, type PdmStream } from '../../../src/mirror/catalog/pdm.ts';
import { endLossOfCustomers, importCustomers } from '../../../src/outbox/intake/customers.ts';
import { openExchange } from '../../../src/store/exchange/exchange.ts';
import type { SqliteStore } from '../../../src/store/store.ts';
import { temporaryFolder } from '../../support/store.ts';
import { type Row, startList } from '../../sync/list-server.ts';
import { createDeciderFixture, loadedRules } from '../support.ts';
import { CUT_NAMES, GUARD, startCatalog } from './catalog.ts';
import {
  accountOf,
  BARCODES,
  barcodeOf,
  CATALOG,
  CUSTOMERS,
  customerOf,
  GOODS,
  GOODS_AHEAD,
  type Sale,
  SEASON,
  saidAgainst,
} from './goods.ts';

const SETTINGS = `
version: 1
lists: { blocked: { from: erp_customer.account_no, where: blocked, sample: [C-0] } }
safeguards: { accept: { max_per_hour: 100000 } }
`;
/** Each has a hole through which a delivery falls when its input is not whole. */
const RULES = `
rules:
  - id: known-good
    title: No list has anything against it
    action: accept
    mode: live
    when: [ has(order.account_no) ]
    unless:
      - order.account_no in lists.blocked
      - has(customer.blocked) && customer.blocked
      - has(customer.credit) && customer.credit.overdue_days > 30
      - has(customer.credit) && has(customer.credit.headroom) && customer.credit.headroom < 0
      - delivery.lines.exists(line, has(line.style_active) && !line.style_active)
      - delivery.lines.exists(line, has(line.color_active) && !line.color_active)
      - delivery.lines.exists(line, has(line.list_price) && line.list_price > line.price)
      - delivery.lines.exists(line, has(line.stock_free) && line.stock_free < line.quantity)
`;

/** Parts of a list that a faulty answer shows. */
const PARTS = {
  emptied: () => [],
  halved: <T>(rows: readonly T[]) => rows.slice(0, rows.length / 2),
  thinned: <T>(rows: readonly T[]) => rows.filter((_row, at) => at % 2 === 0),
  cut: <T>(rows: readonly T[]) => rows.slice(0, Math.ceil(rows.length / 4)),
  whole: <T>(rows: readonly T[]) => rows,
} as const;
type Part = keyof typeof PARTS;
const PART_NAMES: readonly Part[] = [
  'emptied',
  'halved',
  'thinned',
  'cut',
  'whole',
  'whole',
  'whole',
];

/** Members of a customer that the ERP leaves out for a moment. */
const BLANKS = {
  nothing: {},
  blocks: { blocked: null },
  'overdue days': { overdueDays: null },
  credit: { limit: null, balance: null },
  all: { blocked: null, overdueDays: null, limit: null, balance: null },
} as const;
type Blank = keyof typeof BLANKS;
const BLANK_NAMES: readonly Blank[] = [
  ...(['nothing', 'nothing', 'nothing', 'nothing', 'nothing'] as const),
  ...(['blocks', 'overdue days', 'credit', 'all'] as const),
];

/** Ways in which a variant comes without a part of itself. */
const VARIANT_CUTS = {
  whole: (row: Row) => row,
  'without details': ({ details: _details, ...row }: Row): Row => row,
  'without prices': (row: Row): Row => {
    return { ...row, details: { ...Object(row.details), wspPrice: null } };
  },
  'without colors': ({ colorCode: _code, ...row }: Row): Row => row,
} as const;
type VariantCut = keyof typeof VARIANT_CUTS;
const VARIANT_CUT_NAMES: readonly VariantCut[] = [
  ...(['whole', 'whole', 'whole', 'whole'] as const),
  ...(['without details', 'without prices', 'without colors'] as const),
];

function openBooks(store: SqliteStore, clock: ManualClock) {
  const path = join(temporaryFolder(), 'exchange.db');
  const exchange = openExchange(path, clock);
  const erp = new Database(path);
  onTestFinished(() => {
    exchange[Symbol.dispose]();
    erp.close();
  });
  const put = erp.prepare(
    `insert into erp_customer (account_no, blocked, overdue_days, credit_limit, balance, currency,
      as_of) values (?, ?, ?, ?, ?, 'DKK', ?)`,
  );
  const takeOver = async (): Promise<void> => {
    let [after, waiting, more] = [0, 0, true];
    while (more) {
      const read = await importCustomers(store, exchange, { rows: 200, after, now: clock.now() });
      exchange.customersDone(read.done, new Date(clock.now()).toISOString());
      waiting += read.waiting;
      more = read.last !== undefined;
      after = read.last ?? after;
    }
    if (waiting === 0) await endLossOfCustomers(store, clock.now());
  };
  return {
    /** Empties the table and fills it with a part, or with rows that leave something out. */
    async give(part: Part, blank: Blank): Promise<void> {
      const all = Array.from({ length: CUSTOMERS }, (_none, nth) => nth);
      const asOf = new Date(clock.now()).toISOString();
      erp.exec('begin; delete from erp_customer');
      for (const nth of PARTS[part](all)) {
        const { blocked, overdueDays, limit, balance } = { ...customerOf(nth), ...BLANKS[blank] };
        put.run(accountOf(nth), blocked, overdueDays, limit, balance, asOf);
      }
      erp.exec('commit');
      await takeOver();
    },
  };
}

/** Number of rows of the mirror, which a complete run must hold as a whole. */
async function liveRows({ db }: SqliteStore, table: string): Promise<number> {
  const counted = await sql<{ readonly count: number }>`
    select count(*) as count from ${sql.table(table)} where deleted_at is null`.execute(db);
  return counted.rows[0]?.count ?? 0;
}

interface Played {
  /** Accepts that the whole would not have given, and runs that were complete with a part. */
  readonly wrong: readonly string[];
  readonly accepted: number;
}

async function openWorld(random: Random, clock: ManualClock) {
  const list = await startList(random.pick(['stream', 'pages'] as const), GUARD);
  const { store } = list;
  const [fixture, catalog] = [await createDeciderFixture(clock, store), await startCatalog(store)];
  const books = openBooks(store, clock);
  list.list.rows = GOODS;
  list.list.seasons = { [SEASON]: GOODS_AHEAD };
  for (const stream of [list.stock, list.season]) {
    await list.runOf(stream);
    await list.runOf(stream);
  }
  await catalog.pullAll();
  await books.give('whole', 'nothing');
  return { list, store, fixture, catalog, books };
}

type World = Awaited<ReturnType<typeof openWorld>>;

/** Turns by chance: each gives a part of one input, tells it, and says what its run did wrong. */
function createTurns({ list, store, catalog, books }: World, random: Random) {
  const told: string[] = [];
  const judge = async (what: string, table: string, whole: number, outcome: string) => {
    if (outcome !== 'complete') return [];
    const rows = await liveRows(store, table);
    if (rows === whole) return [];
    return [`${told.join(', ')}: ${what} is complete with ${rows} of ${whole}`];
  };
  const variants = async (what: 'stock' | 'season', whole: readonly Row[]) => {
    const part = random.pick(PART_NAMES);
    const rows = PARTS[part](whole);
    const blank = random.pick(VARIANT_CUT_NAMES);
    const isCounted = random.chance(0.5);
    told.push(`${what} ${part}, ${blank}${isCounted ? ', with its count' : ''}`);
    const shown = rows.map(VARIANT_CUTS[blank]);
    if (what === 'stock') list.list.rows = shown;
    // An emptied list of seasons, or a season without goods.
    else list.list.seasons = shown.length > 0 || random.chance(0.5) ? { [SEASON]: shown } : {};
    list.list.counts = () => (isCounted ? BARCODES : true);
    const { outcome } = await list.runOf(list[what]);
    const table = what === 'stock' ? 'stock_variant' : 'season_variant';
    return judge(what, table, BARCODES, outcome);
  };
  const resources = (stream: PdmStream) => async () => {
    const [whole, part, pages] = [
      CATALOG[stream] ?? [],
      random.pick(PART_NAMES),
      catalog.drawPages(random),
    ];
    const rows = PARTS[part](whole);
    const cut = random.pick(CUT_NAMES);
    told.push(`${stream} ${part}, ${cut}, ${pages}`);
    const outcome = await catalog.pull(stream, rows, cut);
    return judge(stream, PDM[stream].table, whole.length, outcome);
  };
  const turns: readonly (() => Promise<readonly string[]>)[] = [
    () => variants('stock', GOODS),
    () => variants('season', GOODS_AHEAD),
    ...(['styles', 'styles', 'styleColors', 'colors', 'pdmBrands'] as const).map(resources),
    ...[0, 1].map(() => async () => {
      const [part, blank] = [random.pick(PART_NAMES), random.pick(BLANK_NAMES)];
      told.push(`customers ${part} without ${blank}`);
      await books.give(part, blank);
      return [];
    }),
  ];
  return { told, next: () => random.pick(turns)() };
}

function drawSale(random: Random): Sale {
  return {
    account: random.int(0, CUSTOMERS - 1),
    isAhead: random.chance(0.4),
    lines: [0, 1].map(() => [random.int(0, BARCODES - 1), random.int(1, 20)] as const),
  };
}

async function pack({ fixture }: World, id: number, { account, isAhead, lines }: Sale) {
  await fixture.order(id, {
    shippingAddress: { accountNo: accountOf(account) },
    ...(isAhead ? { SeasonName: SEASON } : {}),
  });
  const named = lines.map(([nth, pieces]) => [barcodeOf(nth), pieces] as const);
  await fixture.delivery({ id, order: id, lines: named });
}

/** Deliveries packed after each turn: most turns leave something in doubt, which holds them. */
const SALES = 6;

/** Plays one history by chance. */
export async function playAbsence(seed: number, steps: number): Promise<Played> {
  const random: Random = seededRandom(seed);
  const clock = manualClock(Date.now() + 60_000);
  const world = await openWorld(random, clock);
  const { db } = world.store;
  const { told, next } = createTurns(world, random);
  const loaded = loadedRules(RULES, SETTINGS);
  let filled = await fillLists(db, loaded, {});
  const wrong: string[] = [];
  let accepted = 0;
  const sales = new Map<number, Sale>();
  for (let step = 0; step < steps; step += 1) {
    await clock.advance(random.int(1, 30) * 60_000);
    wrong.push(...(await next()));
    for (let left = SALES; left > 0; left -= 1) {
      const id = sales.size + 1;
      const sale = drawSale(random);
      sales.set(id, sale);
      await pack(world, id, sale);
    }
    filled = await fillLists(db, loaded, listsOf(filled));
    const decided = await world.fixture.decide({ rules: () => filled });
    for (const one of decided) {
      const [id, outcome] = one.split(' ');
      if (outcome !== 'accept') continue;
      accepted += 1;
      const sale = sales.get(Number(id));
      const against = sale ? saidAgainst(sale) : ['nobody knows it'];
      if (against.length === 0) continue;
      wrong.push(`${told.join(', ')}: delivery ${id} was accepted: ${against.join(', ')}`);
    }
  }
  return { wrong, accepted };
}
