/** A service whose stock and seasons are what a test says, also between two pages of one run. */
import { onTestFinished } from 'vitest';
import { systemClock } from '../../src/lib/clock.ts';
import type { SqliteStore } from '../../src/store/store.ts';
import { createSeasonStream } from '../../src/sync/streams/season.ts';
import { createStockStream } from '../../src/sync/streams/stock.ts';
import { answerJson, envelope, startFaulty } from '../client/support.ts';
import { temporaryStore } from '../support/store.ts';
import { clientsOf, runsOn } from './pull.ts';
import { runnerOf } from './support.ts';

export interface Row {
  readonly barcode: string;
  readonly quantity: number;
  /** Any other member of a variant. */
  readonly [member: string]: unknown;
}

const PAGE_ROWS = 32;
/** Nothing is held for its number. */
const DELETION_GUARD = { absolute: 1_000, share: 1 };
const LEVEL = { detailed: false, detailedPricing: false, includeVariantsOnOrder: false };

/** `count` rows, in order. */
export const manyRows = (count: number): Row[] =>
  Array.from({ length: count }, (_, at) => ({
    barcode: `b${String(at).padStart(4, '0')}`,
    quantity: 1,
  }));

/** The live rows of the mirror, by barcode. */
export async function stockIn(store: SqliteStore): Promise<Record<string, number | null>> {
  const live = store.db.selectFrom('stock_variant').where('deleted_at', 'is', null);
  const rows = await live.select(['barcode', 'quantity']).orderBy('barcode').execute();
  return Object.fromEntries(rows.map(({ barcode, quantity }) => [barcode, quantity]));
}

export const byBarcode = (rows: readonly Row[]): Record<string, number> =>
  Object.fromEntries(rows.map(({ barcode, quantity }) => [barcode, quantity]));

export async function startList(mode: 'stream' | 'pages', deletionGuard = DELETION_GUARD) {
  const list = {
    rows: [] as readonly Row[],
    /** By their names. */
    seasons: {} as Readonly<Record<string, readonly Row[]>>,
    /** Number of seasons of which the service says nothing else. */
    seasonsCutOff: 0,
    /** Beside those, as they come. */
    oddSeasons: [] as readonly object[],
    /** Listed, and unknown when they are asked for. */
    lostSeasons: [] as readonly string[],
    /** Whether the rows are counted, or how many there are said to be. */
    counts: (_page: number, _season?: string): boolean | number => true,
    beforePage: (_page: number, _season?: string): boolean => true,
    /** Rows in which single barcodes are found; undefined: in the list. */
    alone: undefined as readonly Row[] | undefined,
    /** Barcodes that were asked for alone. */
    asked: [] as string[],
  };
  const server = await startFaulty((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://x');
    if (pathname.endsWith('/auth/login')) {
      answerJson(response, 200, envelope(200, { token: 'a' }));
      return;
    }
    if (pathname.endsWith('/seasons')) {
      const seasons = Object.keys(list.seasons).map((seasonName) => ({ seasonName }));
      const all = [...seasons, ...list.oddSeasons];
      const count = all.length + list.seasonsCutOff;
      answerJson(response, 200, envelope(200, { count, seasons: all }));
      return;
    }
    const page = Number(searchParams.get('page') ?? 1);
    const season = searchParams.get('seasonName') ?? undefined;
    const [, asked] = /\/variants\/(?:stock|season)\/(.+)$/.exec(pathname) ?? [];
    if (asked !== undefined) {
      const barcode = decodeURIComponent(asked);
      list.asked.push(barcode);
      const all = list.alone ?? list.seasons[season ?? ''] ?? list.rows;
      const variant = all.find((row) => row.barcode === barcode);
      if (variant) answerJson(response, 200, envelope(200, { variant }));
      else answerJson(response, 404, envelope(404, {}, 'no such barcode'));
      return;
    }
    if (!list.beforePage(page, season)) {
      answerJson(response, 503, {});
      return;
    }
    if (list.lostSeasons.includes(season ?? '')) {
      answerJson(response, 404, envelope(404, {}, 'no such season'));
      return;
    }
    const rows = list.seasons[season ?? ''] ?? list.rows;
    const limit = Number(searchParams.get('limit') ?? rows.length);
    const variants = rows.slice((page - 1) * limit, page * limit);
    const told = list.counts(page, season);
    const count = told === false ? {} : { count: told === true ? rows.length : told };
    answerJson(response, 200, envelope(200, { ...count, variants }));
  });
  onTestFinished(() => server[Symbol.asyncDispose]());
  const credentials = { key: { clientId: 'a', clientSecret: 'b' } };
  const address = { v1Url: server.url, v2Url: server.url, credentials };
  const options = { mode, pageRows: PAGE_ROWS, batchRows: PAGE_ROWS };
  const clients = clientsOf(address, options);
  onTestFinished(() => clients.transport[Symbol.asyncDispose]());
  const store = await temporaryStore(systemClock());
  const deps = runnerOf(store);
  const stock = createStockStream(clients.v1, { level: LEVEL, ...options, deletionGuard });
  const season = createSeasonStream(clients.v1, { level: LEVEL, ...options, deletionGuard });
  const { run, ...runs } = runsOn(deps);
  return { list, store, deps, stock, season, ...runs, runOf: run, run: () => run(stock) };
}
