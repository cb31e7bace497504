/** Accounts that give variants and seasons brand by brand only (`service.dialect.v1.perBrand`). */
import { expect, it, onTestFinished } from 'vitest';
import { type BrandNeeds, createBrandNeeds } from '../../src/client/v1/brands.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { SEASON } from '../../src/mirror/catalog/names.ts';
import { createTraits } from '../../src/sync/account-traits.ts';
import { createSeasonStream } from '../../src/sync/streams/season.ts';
import { readSeasons } from '../../src/sync/streams/seasons.ts';
import { createShortListStream } from '../../src/sync/streams/short-list.ts';
import { createStockStream } from '../../src/sync/streams/stock.ts';
import { answerJson, envelope, startFaulty } from '../client/support.ts';
import { testLogger } from '../support/house.ts';
import { NEWEST } from '../support/levels.ts';
import { temporaryStore } from '../support/store.ts';
import { clientsOf, runsOn } from './pull.ts';
import { runnerOf } from './support.ts';

interface Row {
  readonly barcode: string;
  readonly quantity: number;
  readonly details?: { readonly brandName: string };
}

/** `many('a', 3)`: a0, a1, a2. */
function many(prefix: string, count: number, quantity = 1): Row[] {
  return Array.from({ length: count }, (_, at) => ({ barcode: `${prefix}${at}`, quantity }));
}

const LEVEL = { detailed: false, detailedPricing: false, includeVariantsOnOrder: false };
const PAGING = { mode: 'pages', pageRows: 10 } as const;

type Answer = readonly [status: number, body: unknown];

const refused = (line: string): Answer => [
  422,
  { status: 422, message: 'Unprocessable Entity', invalid_data: [line] },
];
const WANTED = refused('brandName: is required');

interface World {
  brands: string[];
  /** How many brands there are said to be beyond those. */
  brandsCutOff: number;
  stock: Record<string, Row[]>;
  /** By season, then by brand. */
  seasons: Record<string, Record<string, Row[]>>;
  /** In place of the usual answer. */
  instead: (path: string, query: URLSearchParams) => Answer | undefined;
}

async function open(
  mode: BrandNeeds['mode'] = 'auto',
  options: {
    readonly known?: readonly string[];
    readonly needsBrand?: boolean;
    /** Share of the deletion guard. */
    readonly share?: number;
  } = {},
) {
  const { known = [], needsBrand = true, share = 0.3 } = options;
  const deletionGuard = { absolute: 1_000, share };
  const world: World = {
    ...{ brands: ['North', 'South'], brandsCutOff: 0, stock: {}, seasons: {} },
    instead: () => undefined,
  };
  const page = (rows: readonly Row[], query: URLSearchParams): Answer => {
    const limit = Number(query.get('limit'));
    const from = (Number(query.get('page')) - 1) * limit;
    return [200, { count: rows.length, variants: rows.slice(from, from + limit) }];
  };
  const answer = (path: string, query: URLSearchParams): Answer => {
    const brand = query.get('brandName');
    if (path === '/brands') {
      const brands = world.brands.map((brandName) => ({ brandName }));
      return [200, { count: brands.length + world.brandsCutOff, brands }];
    }
    if (needsBrand && brand === null) return WANTED;
    const all = <T>(byBrand: Record<string, T[]>): T[] | undefined =>
      brand === null ? Object.values(byBrand).flat() : byBrand[brand];
    if (path === '/seasons') {
      const seasons = Object.entries(world.seasons)
        .filter(([, byBrand]) => brand === null || byBrand[brand])
        .map(([seasonName, byBrand]) => ({
          seasonName,
          deliveryNames: brand === null ? Object.keys(byBrand) : ['Both', `Drop of ${brand}`],
        }));
      return [200, { count: seasons.length, seasons }];
    }
    const rows =
      path === '/variants/stock'
        ? all(world.stock)
        : all(world.seasons[query.get('seasonName') ?? ''] ?? {});
    return rows ? page(rows, query) : [404, {}];
  };
  const server = await startFaulty((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://x');
    if (pathname.endsWith('/auth/login')) {
      answerJson(response, 200, envelope(200, { token: 'a' }));
      return;
    }
    const [status, body] = world.instead(pathname, searchParams) ?? answer(pathname, searchParams);
    answerJson(response, status, status === 200 || status === 404 ? envelope(status, body) : body);
  });
  onTestFinished(() => server[Symbol.asyncDispose]());
  const credentials = { key: { clientId: 'a', clientSecret: 'b' } };
  const address = { v1Url: server.url, v2Url: server.url, credentials };
  const { v1, transport } = clientsOf(address, { ...PAGING, batchRows: 10 });
  onTestFinished(() => transport[Symbol.asyncDispose]());
  const clock = systemClock();
  const store = await temporaryStore(clock);
  const kept: (readonly string[])[] = [];
  const keep = async (now: readonly string[]) => void kept.push(now);
  const needs = createBrandNeeds(mode, { known, keep });
  const traits = await createTraits({ store, clock, log: testLogger(), level: NEWEST }, needs);
  const deps = runnerOf(store);
  const common = { ...PAGING, level: LEVEL, deletionGuard, traits };
  const { run, ...runs } = runsOn(deps);
  const stock = createStockStream(v1, common);
  const season = createSeasonStream(v1, common);
  const seasons = createShortListStream({
    ...{ name: 'seasons', entity: SEASON, deletionGuard },
    read: (call) => readSeasons({ v1, traits }, call),
  });
  const asked = (path: string): string[] =>
    server.seen
      .filter((one) => one.startsWith(`GET ${path}?`) || one === `GET ${path}`)
      .map(
        (one) => new URL(one.slice('GET '.length), 'http://x').searchParams.get('brandName') ?? '',
      )
      .splice(0);
  const live = async (): Promise<Record<string, number | null>> => {
    const rows = await store.db
      .selectFrom('stock_variant')
      .select(['barcode', 'quantity'])
      .where('deleted_at', 'is', null)
      .orderBy('barcode')
      .execute();
    return Object.fromEntries(rows.map(({ barcode, quantity }) => [barcode, quantity]));
  };
  const incidents = () =>
    store.db.selectFrom('incident').select(['kind', 'key', 'detail', 'resolved_at']).execute();
  return {
    ...{ world, store, kept, needs, stock, season, seasons, run, ...runs, live, incidents, deps },
    asked(path: string): string[] {
      const names = asked(path);
      server.seen.length = 0;
      return names;
    },
  };
}

it('learns from a refusal that a brand is wanted, and begins with none after that', async () => {
  const { world, run, stock, asked, kept, live, incidents } = await open();
  world.stock = { North: many('n', 23), South: many('s', 12) };
  expect(await run(stock)).toMatchObject({ outcome: 'complete', rows: 35 });
  expect(asked('/variants/stock')).toEqual(['', 'North', 'North', 'North', 'South', 'South']);
  expect(kept).toEqual([['stock']]);
  expect(Object.keys(await live())).toHaveLength(35);
  expect(await run(stock)).toMatchObject({ outcome: 'complete', rows: 35, changed: 0 });
  expect(asked('/variants/stock')).not.toContain('');
  expect(await incidents()).toEqual([]);
});

it.each([
  ['a refusal that names no brand', refused('something is missing')],
  ['HTTP 400', [400, { status: 400, message: 'bad request' }] as const],
  ['a list without rows', [200, { count: 0, variants: [] }] as const],
])('tries a brand after %s, too', async (_name, first) => {
  const { world, run, stock, live } = await open();
  world.stock = { North: many('n', 2), South: many('s', 2) };
  world.instead = (path, query) =>
    path === '/variants/stock' && !query.has('brandName') ? first : undefined;
  expect(await run(stock)).toMatchObject({ outcome: 'complete', rows: 4 });
  expect(Object.keys(await live())).toEqual(['n0', 'n1', 's0', 's1']);
});

it('goes back to the whole list where an account wants no brand any more', async () => {
  const house = await open('auto', { known: ['stock'], needsBrand: false });
  const { world, run, stock, kept } = house;
  world.stock = { North: many('n', 3), South: [] };
  world.instead = (_path, query) =>
    query.has('brandName') ? refused('brandName: is not known') : undefined;
  expect(await run(stock)).toMatchObject({ outcome: 'complete', rows: 3 });
  expect(kept).toEqual([[]]);
});

it('never names a brand where that is ruled out, and says which setting does it', async () => {
  const { run, stock, asked, lastRun } = await open('never');
  expect(await run(stock)).toMatchObject({ outcome: 'failed' });
  expect((await lastRun('stock')).reason).toContain('service.dialect.v1.perBrand: auto');
  expect(asked('/variants/stock')).toEqual(['']);
});

it('tells a person where the list is refused in both ways, until one is answered', async () => {
  const { world, run, stock, incidents, lastRun } = await open();
  world.stock = { North: many('n', 1), South: [] };
  world.instead = (path) =>
    path === '/variants/stock' ? refused('brandName: no such brand for this key') : undefined;
  for (let runs = 0; runs < 2; runs += 1) expect((await run(stock)).outcome).toBe('failed');
  expect((await lastRun('stock')).reason).toContain('neither as a whole nor brand by brand');
  expect(await incidents()).toMatchObject([
    {
      ...{ kind: 'brands_refused', key: 'stock', resolved_at: null },
      detail: expect.stringMatching(/asAWhole.*no such brand.*service\.dialect\.v1\.perBrand/),
    },
  ]);
  world.instead = () => undefined;
  expect((await run(stock)).outcome).toBe('complete');
  expect((await incidents()).map(({ resolved_at }) => resolved_at === null)).toEqual([false]);
});

it('takes a brand that the list does not know for one without variants', async () => {
  const { world, run, stock, live } = await open('always');
  world.brands = ['Empty', 'North', 'Unknown'];
  world.stock = { North: many('n', 2), Empty: [] };
  expect(await run(stock)).toMatchObject({ outcome: 'complete', rows: 2 });
  expect(Object.keys(await live())).toEqual(['n0', 'n1']);
});

it('says that the stock cannot be found where no brand is known to it', async () => {
  const { world, run, stock } = await open('always');
  world.stock = { North: many('n', 2), South: many('s', 2) };
  await run(stock);
  world.stock = {};
  expect(await run(stock)).toMatchObject({ outcome: 'failed' });
});

it('keeps what one brand had, of which it is refused, and reads the others', async () => {
  const { world, run, stock, live, lastRun } = await open('always');
  world.stock = { North: many('n', 40), South: many('s', 2) };
  await run(stock);
  world.instead = (_path, query) =>
    query.get('brandName') === 'North' ? refused('North: not for this key') : undefined;
  world.stock.South = many('s', 3);
  expect((await run(stock)).outcome).toBe('partial');
  expect((await lastRun('stock')).reason).toContain(
    'the stock of North is refused: ‹North: not for',
  );
  expect(Object.keys(await live())).toHaveLength(43);
});

it.each([
  ['a brand that has come', ['North', 'South', 'West'], 7],
  ['a brand that has gone', ['North'], 2],
])('follows %s from one run to the next', async (_name, brands, rows) => {
  const { world, run, stock, live } = await open('always', { share: 1 });
  world.stock = { North: many('n', 2), South: many('s', 2), West: many('w', 3) };
  await run(stock);
  world.brands = [...brands];
  // Two runs in a row have to agree when they read pages.
  expect((await run(stock)).outcome).toBe('complete');
  expect((await run(stock)).outcome).toBe('complete');
  expect(Object.keys(await live())).toHaveLength(rows);
});

it('takes no brand for gone while the list of brands is not whole', async () => {
  const { world, run, stock, live } = await open('always');
  world.stock = { North: many('n', 2), South: many('s', 2) };
  await run(stock);
  Object.assign(world, { brands: ['North'], brandsCutOff: 1 });
  for (let runs = 0; runs < 3; runs += 1) expect((await run(stock)).outcome).not.toBe('complete');
  expect(Object.keys(await live())).toHaveLength(4);
});

it('holds a run that would delete most of one brand, and lets a few sold out go', async () => {
  const { world, run, stock, live, lastRun } = await open('always');
  const of = (brandName: string, rows: Row[]) =>
    rows.map((row) => ({ ...row, details: { brandName } }));
  const south = of('South', many('s', 30));
  world.stock = { North: many('n', 200), South: south, West: of('West', many('w', 5)) };
  world.brands.push('West');
  await run(stock);
  world.stock.South = south.slice(0, 5);
  expect((await run(stock)).outcome).toBe('suspicious');
  expect((await lastRun('stock')).reason).toContain('it would delete 25 of 30 rows of South');
  world.stock.South = south;
  world.stock.West = of('West', many('w', 1));
  await run(stock);
  expect((await run(stock)).outcome).toBe('complete');
  expect(Object.keys(await live())).toHaveLength(231);
});

it('takes a barcode that two brands list for one variant', async () => {
  const { world, run, stock, live } = await open('always');
  const both = { barcode: 'both', quantity: 4 };
  world.stock = { North: [...many('n', 2), both], South: [both, ...many('s', 2)] };
  for (let runs = 0; runs < 2; runs += 1) {
    expect(await run(stock)).toMatchObject({ outcome: 'complete', rows: 6 });
  }
  expect(await live()).toEqual({ both: 4, n0: 1, n1: 1, s0: 1, s1: 1 });
  world.stock = { North: many('n', 2), South: [{ ...both, quantity: 3 }, ...many('s', 2)] };
  expect(await run(stock)).toMatchObject({ outcome: 'complete', rows: 5 });
  expect(await live()).toEqual({ both: 3, n0: 1, n1: 1, s0: 1, s1: 1 });
});

it('sums what two brands have of a barcode, where each says that it is its own', async () => {
  const { world, run, stock, live } = await open('always');
  const piece = (brandName: string, quantity: number) => [
    { barcode: 'both', quantity, details: { brandName } },
  ];
  world.stock = { North: piece('North', 4), South: piece('South', 3) };
  for (let runs = 0; runs < 2; runs += 1) expect((await run(stock)).outcome).toBe('complete');
  expect(await live()).toEqual({ both: 7 });
  world.stock.South = piece('South', 1);
  expect((await run(stock)).outcome).toBe('complete');
  expect(await live()).toEqual({ both: 5 });
});

it('still says that a brand lists a barcode twice', async () => {
  const { world, run, stock, lastRun } = await open('always');
  world.stock = { North: [...many('n', 9), ...many('n', 1), ...many('n', 9)], South: [] };
  expect((await run(stock)).outcome).toBe('partial');
  expect((await lastRun('stock')).reason).toContain('rows came twice, such as n');
});

it('sends names to the letter: spaces around them, accents in pieces, signs', async () => {
  const { world, run, stock, asked, live } = await open('always');
  world.brands = [' North & Søn ', 'Cafe\u0301 +1', 'Mötley/Crüe?'];
  world.stock = Object.fromEntries(world.brands.map((name, at) => [name, many(`b${at}`, 1)]));
  expect((await run(stock)).outcome).toBe('complete');
  expect(new Set(asked('/variants/stock'))).toEqual(new Set(world.brands));
  expect(Object.keys(await live())).toEqual(['b00', 'b10', 'b20']);
});

it('goes on in the middle of a brand after a stop', async () => {
  const { world, run, stock, asked, live } = await open('always');
  world.stock = { North: many('n', 15), South: many('s', 60) };
  world.instead = (_path, query) =>
    query.get('brandName') === 'South' && query.get('page') === '4' ? [503, {}] : undefined;
  expect((await run(stock)).outcome).toBe('interrupted');
  expect(asked('/variants/stock')).toContain('North');
  world.instead = () => undefined;
  expect(await run(stock)).toMatchObject({ outcome: 'complete', rows: 75 });
  expect(asked('/variants/stock')).not.toContain('North');
  expect(Object.keys(await live())).toHaveLength(75);
});

it('makes one season of what several brands list, with the delivery names of all', async () => {
  const { world, run, seasons, store, asked, kept } = await open();
  world.seasons = { SS27: { North: [], South: [] }, AW27: { South: [] } };
  expect((await run(seasons)).outcome).toBe('complete');
  const rows = await store.db
    .selectFrom('season_delivery')
    .selectAll()
    .orderBy('line_no')
    .execute();
  const names = (season: string) =>
    rows.filter((row) => row.season_name === season).map((row) => row.delivery_name);
  expect(names('SS27')).toEqual(['Both', 'Drop of North', 'Drop of South']);
  expect(names('AW27')).toEqual(['Both', 'Drop of South']);
  expect(asked('/seasons')).toEqual(['', 'North', 'South']);
  expect(kept).toEqual([['seasons']]);
});

it('asks for each season of the brands that list it, and guards each season', async () => {
  const { world, run, season, asked, store, lastRun } = await open();
  world.seasons = {
    SS27: { North: many('n', 20), South: many('s', 20) },
    AW27: { South: many('s', 20) },
  };
  expect(await run(season)).toMatchObject({ outcome: 'complete', rows: 60 });
  expect(asked('/variants/season').filter((name) => name === 'North')).toHaveLength(2);
  const keys = await store.db.selectFrom('season_variant').select('season_name').execute();
  expect(keys.filter((row) => row.season_name === 'AW27')).toHaveLength(20);
  world.seasons.AW27 = { South: many('s', 4) };
  expect((await run(season)).outcome).toBe('suspicious');
  expect((await lastRun('season')).reason).toContain('16 of 20 rows of AW27');
});
