/**
 * A world whose inputs are cut, emptied, halved and given back by chance, in all lists that rules
 * read: stock and seasons in pages, styles of V2 with their relationships, the ERP's customers and
 * the rule list that is made of them. What is true of the whole never changes.
 */
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { onTestFinished } from 'vitest';
import { fillLists, listsOf } from '../../../src/decisions/rule-lists.ts';
import { type ManualClock, manualClock } from '../../../src/lib/clock.ts';
import { type Random, seededRandom } from '../../../src/lib/random.ts';
import { endLossOfCustomers, importCustomers } from '../../../src/outbox/intake/customers.ts';
import { openExchange } from '../../../src/store/exchange/exchange.ts';
import type { SqliteStore } from '../../../src/store/store.ts';
import { createPdmStream } from '../../../src/sync/streams/pdm.ts';
import { answerJson } from '../../client/support.ts';
import { temporaryFolder } from '../../support/store.ts';
import { type Row, startList } from '../../sync/list-server.ts';
import { runsOn } from '../../sync/pull.ts';
import { runnerOf, startClients } from '../../sync/support.ts';
import { createDeciderFixture, loadedRules } from '../support.ts';

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
      - delivery.lines.exists(line, has(line.style_active) && !line.style_active)
      - delivery.lines.exists(line, has(line.stock_free) && line.stock_free < line.quantity)
`;

const BARCODES = 240;
// More than the hundred from which the change guard judges a list.
const STYLES = 240;
const CUSTOMERS = 60;
const GUARD = { absolute: 1_000, share: 0.3 };
const PAGE_ROWS = 16;

const isBlocked = (nth: number): boolean => nth % 4 === 0;
const isOverdue = (nth: number): boolean => nth % 7 === 1;
const isActive = (nth: number): boolean => nth % 9 !== 0;
const piecesOf = (nth: number): number => (nth % 8 === 0 ? 1 : 50);
const barcodeOf = (nth: number): string => `b${String(nth).padStart(4, '0')}`;
const accountOf = (nth: number): string => `C-${nth}`;

const GOODS: readonly Row[] = Array.from({ length: BARCODES }, (_none, nth) => ({
  barcode: barcodeOf(nth),
  quantity: piecesOf(nth),
  seasonName: 'SS27',
  details: { styleNo: `S${nth % STYLES}`, brandName: 'Fjord', styleName: 'Coat', size: 'M' },
}));

interface Style {
  readonly type: 'style';
  readonly id: string;
  readonly attributes: object;
  readonly relationships: object;
}

const STYLE_ROWS: readonly Style[] = Array.from({ length: STYLES }, (_none, nth) => {
  const data = ['x', 'y', 'z', 'w'].map((color) => ({ type: 'styleColor', id: `${nth}${color}` }));
  return {
    type: 'style',
    id: String(nth + 1),
    attributes: { styleNo: `S${nth}`, styleName: 'Coat', active: isActive(nth) },
    relationships: { styleColors: { data } },
  };
});

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

/** Whether the whole input would have accepted it. */
function mayBeAccepted(account: number, lines: readonly (readonly [number, number])[]): boolean {
  const areGood = lines.every(([nth, pieces]) => isActive(nth % STYLES) && piecesOf(nth) >= pieces);
  return areGood && !isBlocked(account) && !isOverdue(account);
}

async function startStyles(store: SqliteStore) {
  const given = { rows: STYLE_ROWS, pageRows: PAGE_ROWS, withLinks: true };
  const { v2 } = await startClients(
    (request, response) => {
      if (request.url?.endsWith('/auth/login')) {
        answerJson(response, 200, { data: { token: 'a' } });
        return;
      }
      const { searchParams } = new URL(request.url ?? '', 'http://x');
      const offset = Number(searchParams.get('page[offset]') ?? 0);
      const asked = Number(searchParams.get('page[limit]') ?? PAGE_ROWS);
      const end = offset + Math.min(asked, given.pageRows);
      const next = end < given.rows.length ? `?page[offset]=${end}` : null;
      answerJson(response, 200, {
        data: given.rows.slice(offset, end),
        ...(given.withLinks ? { links: { next } } : {}),
        meta: { pageToken: 't' },
      });
    },
    { resourceRows: PAGE_ROWS },
  );
  const { run } = runsOn(runnerOf(store));
  const stream = createPdmStream(v2, 'styles', GUARD);
  return { given, run: () => run(stream) };
}

function openBooks(store: SqliteStore, clock: ManualClock) {
  const path = join(temporaryFolder(), 'exchange.db');
  const exchange = openExchange(path, clock);
  const erp = new Database(path);
  onTestFinished(() => {
    exchange[Symbol.dispose]();
    erp.close();
  });
  const put = erp.prepare(
    `insert into erp_customer (account_no, blocked, overdue_days, as_of) values (?, ?, ?, ?)`,
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
    async give(part: Part, isBlank: boolean): Promise<void> {
      const all = Array.from({ length: CUSTOMERS }, (_none, nth) => nth);
      const asOf = new Date(clock.now()).toISOString();
      erp.exec('begin; delete from erp_customer');
      for (const nth of PARTS[part](all)) {
        const blocked = isBlank ? null : Number(isBlocked(nth));
        const overdueDays = isOverdue(nth) ? 60 : 0;
        put.run(accountOf(nth), blocked, isBlank ? null : overdueDays, asOf);
      }
      erp.exec('commit');
      await takeOver();
    },
  };
}

/** Barcodes and styles of the mirror, which a complete run must hold as a whole. */
async function liveRows({ db }: SqliteStore, table: 'stock_variant' | 'style'): Promise<number> {
  const count = db.fn.countAll<number>().as('count');
  const live = db.selectFrom(table).where('deleted_at', 'is', null);
  return (await live.select(count).executeTakeFirstOrThrow()).count;
}

interface Played {
  /** Accepts that the whole would not have given, and runs that were complete with a part. */
  readonly wrong: readonly string[];
  readonly accepted: number;
}

/** Plays one history by chance. */
export async function playAbsence(seed: number, steps: number): Promise<Played> {
  const random: Random = seededRandom(seed);
  const list = await startList(random.pick(['stream', 'pages'] as const), GUARD);
  const { store } = list;
  const clock = manualClock(Date.now() + 60_000);
  const fixture = await createDeciderFixture(clock, store);
  const styles = await startStyles(store);
  const books = openBooks(store, clock);
  const loaded = loadedRules(RULES, SETTINGS);
  let filled = await fillLists(store.db, loaded, {});
  const wrong: string[] = [];
  const told: string[] = [];
  let accepted = 0;
  const good = new Map<number, boolean>();
  const judge = (what: string, rows: number, whole: number, outcome: string): void => {
    if (outcome === 'complete' && rows !== whole) {
      wrong.push(`${told.join(', ')}: ${what} is complete with ${rows} of ${whole}`);
    }
  };
  const give: Record<string, () => Promise<void>> = {
    async stock() {
      const part = random.pick(PART_NAMES);
      const isCounted = random.chance(0.5);
      told.push(`stock ${part}${isCounted ? ' with its count' : ''}`);
      list.list.rows = PARTS[part](GOODS);
      list.list.counts = () => (isCounted ? GOODS.length : true);
      const { outcome } = await list.run();
      judge('stock', await liveRows(store, 'stock_variant'), BARCODES, outcome);
    },
    async styles() {
      const part = random.pick(PART_NAMES);
      const half = random.chance(0.3);
      styles.given.pageRows = random.pick([7, PAGE_ROWS, 100]);
      styles.given.withLinks = random.chance(0.7);
      told.push(
        `styles ${part}, pages of ${styles.given.pageRows}${half ? ', half a relation' : ''}`,
      );
      styles.given.rows = PARTS[part](STYLE_ROWS).map((style) =>
        half ? { ...style, attributes: { styleNo: Object(style.attributes).styleNo } } : style,
      );
      const { outcome } = await styles.run();
      judge('styles', await liveRows(store, 'style'), STYLES, outcome);
    },
    async customers() {
      const part = random.pick(PART_NAMES);
      const isBlank = random.chance(0.3);
      told.push(`customers ${part}${isBlank ? ' and blank' : ''}`);
      await books.give(part, isBlank);
    },
  };
  list.list.rows = GOODS;
  await list.run();
  await list.run();
  await styles.run();
  await styles.run();
  await books.give('whole', false);
  for (let step = 0; step < steps; step += 1) {
    await clock.advance(random.int(1, 30) * 60_000);
    await give[random.pick(['stock', 'styles', 'customers'])]?.();
    for (let left = 4; left > 0; left -= 1) {
      const id = good.size + 1;
      const account = random.int(0, CUSTOMERS - 1);
      const lines = [0, 1].map(() => [random.int(0, BARCODES - 1), random.int(1, 20)] as const);
      good.set(id, mayBeAccepted(account, lines));
      await fixture.order(id, { shippingAddress: { accountNo: accountOf(account) } });
      const named = lines.map(([nth, pieces]) => [barcodeOf(nth), pieces] as const);
      await fixture.delivery({ id, order: id, lines: named });
    }
    filled = await fillLists(store.db, loaded, listsOf(filled));
    const decided = await fixture.decide({ rules: () => filled });
    for (const one of decided) {
      const [id, outcome] = one.split(' ');
      if (outcome !== 'accept') continue;
      accepted += 1;
      if (good.get(Number(id)) !== true) {
        wrong.push(`${told.join(', ')}: delivery ${id} was accepted`);
      }
    }
  }
  return { wrong, accepted };
}
