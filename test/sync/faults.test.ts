/**
 * Runs against a service that misbehaves, seed by seed: however it ends, the mirror is what the
 * service has, and no row was ever marked as deleted that the service always had. A few seeds by
 * default; SELVEDGE_SEEDS=200 for a campaign, SELVEDGE_SEED_FIRST to begin elsewhere.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { type Random, seededRandom } from '../../src/lib/chance.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { BRAND } from '../../src/mirror/catalog/names.ts';
import type { Reference } from '../../src/reference/reference.ts';
import type { SqliteStore } from '../../src/store/store.ts';
import type { Stream } from '../../src/sync/stream.ts';
import { createPdmStream } from '../../src/sync/streams/pdm.ts';
import { createSeasonStream } from '../../src/sync/streams/season.ts';
import { createShortListStream } from '../../src/sync/streams/short-list.ts';
import { createStockStream } from '../../src/sync/streams/stock.ts';
import { type Clients, FUSE, startPull } from './support.ts';

const SEEDS = Number(process.env.SELVEDGE_SEEDS ?? 4);
const FIRST = Number(process.env.SELVEDGE_SEED_FIRST ?? 1);
const KILLS = Number(process.env.SELVEDGE_KILLS ?? 3);
const KILL_STYLES = Number(process.env.SELVEDGE_KILL_STYLES ?? 120);

const KINDS = [
  ...['tooMany', 'serverError', 'unauthorized', 'reset', 'truncated', 'malformed'],
  ...['wrongTypes', 'unknownMember', 'emptyList', 'nullList', 'byteOrderMark', 'latency', 'drip'],
];

function faultsOf(random: Random, seed: number) {
  return KINDS.filter(() => random.chance(0.5)).flatMap((kind, index) =>
    ['*/variants/*', '*/pdm/*', '*/brands'].map((path) => ({
      ...{ kind, path, seed: seed * 100 + index },
      probability: 0.02 + random.next() * 0.2,
      ...(kind === 'tooMany' ? { retryAfter: 0 } : {}),
      ...(kind === 'latency' || kind === 'drip' ? { delay: 1 } : {}),
      bytes: 5_000,
      contentLength: random.chance(0.5) ? 'right' : 'wrong',
    })),
  );
}

function streamsOf({ v1, v2 }: Clients, mode: 'stream' | 'pages'): Stream[] {
  const level = { detailed: true, detailedPricing: false };
  const paging = { mode, pageRows: 50, fuse: FUSE };
  return [
    createStockStream(v1, { ...paging, level: { ...level, includeVariantsOnOrder: false } }),
    createSeasonStream(v1, { ...paging, level }),
    createShortListStream({ name: 'brands', entity: BRAND, read: v1.brands, fuse: FUSE }),
    createPdmStream(v2, 'styles', FUSE),
    createPdmStream(v2, 'styleColors', FUSE),
    createPdmStream(v2, 'colors', FUSE),
  ];
}

/** Sells out and fills up while a run goes on. Remembers what was ever sold out. */
function shake({ world }: Reference, random: Random, soldOut: Set<string>) {
  const { catalog, stock } = world;
  let isOn = true;
  const clock = systemClock();
  const done = (async () => {
    while (isOn) {
      const at = random.int(0, catalog.variantCount - 1);
      const quantity = random.chance(0.5) ? 0 : random.int(1, 50);
      if (quantity === 0) soldOut.add(catalog.barcodeOf(at));
      stock.set(at, quantity);
      await clock.sleep(random.int(1, 12));
    }
  })();
  return async (): Promise<void> => {
    isOn = false;
    await done;
  };
}

/** Quantity and style of what the service has in stock, by barcode. */
function stockOf({ world }: Reference) {
  const { catalog, stock } = world;
  const rows = new Map<string, { readonly quantity: number; readonly style_no: string }>();
  for (let at = 0; at < catalog.variantCount; at += 1) {
    const { styleNo: style_no } = catalog.style(Math.floor(at / catalog.rowsPerStyle));
    const quantity = stock.of(at);
    if (quantity > 0) rows.set(catalog.barcodeOf(at), { quantity, style_no });
  }
  return rows;
}

async function expectEqual(store: SqliteStore, reference: Reference, clients: Clients) {
  const service = stockOf(reference);
  const rows = await store.db
    .selectFrom('stock_variant')
    .select(['barcode', 'quantity', 'style_no', 'extra'])
    .where('deleted_at', 'is', null)
    .execute();
  expect(rows.map(({ barcode }) => barcode).sort()).toEqual([...service.keys()].sort());
  for (const { barcode, quantity, style_no, extra } of rows) {
    expect({ quantity, style_no }).toEqual(service.get(barcode));
    expect(extra).not.toContain('unknownMember');
  }
  const { catalog } = reference.world;
  const count = async (table: 'season_variant' | 'brand' | 'style'): Promise<number> => {
    const query = store.db.selectFrom(table).where('deleted_at', 'is', null);
    const row = await query
      .select((eb) => eb.fn.countAll<number>().as('n'))
      .executeTakeFirstOrThrow();
    return row.n;
  };
  expect(await count('brand')).toBe(catalog.size.brands);
  expect(await count('style')).toBe(catalog.size.styles);
  let ahead = 0;
  for (const { seasonName } of (await clients.v1.seasons()).rows) {
    const list = clients.v1.seasonVariants(seasonName, {});
    for await (const batch of list.batches) ahead += batch.rowCount;
  }
  expect(await count('season_variant')).toBe(ahead);
}

/** A paged list needs two that agree, after the one that goes on from before. */
const COMPLETE_RUNS = 3;

describe('pulls from a service that misbehaves', () => {
  const seeds = Array.from({ length: SEEDS }, (_, index) => FIRST + index);
  it.each(seeds)('ends with what the service has: seed %i', { timeout: 120_000 }, async (seed) => {
    const random = seededRandom(seed);
    const mode = random.chance(0.5) ? 'stream' : 'pages';
    const world = { styles: 10, colors: 2, sizes: 6, seasons: 2, orders: 0, seed };
    const pull = await startPull({ world }, { mode, pageRows: 50, batchRows: 32 });
    const { reference, store, run, ...clients } = pull;
    const streams = streamsOf(clients, mode);
    const soldOut = new Set<string>();
    const stop = shake(reference, random, soldOut);
    reference.knobs.patch({ faults: faultsOf(random, seed) });
    for (let round = 0; round < 3; round += 1) {
      for (const stream of streams) await run(stream);
      const gone = await store.db
        .selectFrom('change')
        .select('key')
        .where('entity', '=', 'stock_variant')
        .where('op', '=', 'delete')
        .execute();
      expect(gone.filter(({ key }) => !soldOut.has(key))).toEqual([]);
      const others = await store.db
        .selectFrom('change')
        .select(['entity', 'key'])
        .where('entity', '!=', 'stock_variant')
        .where('op', '=', 'delete')
        .execute();
      expect(others).toEqual([]);
    }
    await stop();
    reference.knobs.patch({ faults: [] });
    for (const stream of streams) {
      for (let tries = 0, complete = 0; complete < COMPLETE_RUNS; tries += 1) {
        const result = await run(stream);
        if (result.outcome === 'complete') complete += 1;
        expect(tries, `${stream.name}: ${result.outcome}, ${result.reason}`).toBeLessThan(8);
      }
    }
    await expectEqual(store, reference, clients);
  });
});

const CHILD = fileURLToPath(new URL('child.ts', import.meta.url));

async function killAfter(child: ChildProcess, ms: number): Promise<string> {
  let text = '';
  child.stdout?.on('data', (chunk) => {
    text += chunk;
  });
  const ended = once(child, 'exit');
  // The start of the process is not what is tested.
  while (!text.includes('started')) await systemClock().sleep(5);
  const stop = new AbortController();
  const timer = systemClock()
    .sleep(ms, stop.signal)
    .then(() => child.kill('SIGKILL'))
    .catch(() => undefined);
  await ended;
  stop.abort(new Error('ended'));
  await timer;
  return text;
}

describe('a pull that is killed', () => {
  it.each(['stream', 'pages'])(
    'goes on and loses nothing, mode %s',
    { timeout: 600_000 },
    async (mode) => {
      const world = { styles: KILL_STYLES, colors: 4, sizes: 8, orders: 0 };
      const { reference, store, ...clients } = await startPull({ world });
      const { path } = store;
      const { v1Url, v2Url, credentials } = reference;
      const service = JSON.stringify({ v1Url, v2Url, credentials });
      const random = seededRandom(FIRST);
      let text = '';
      for (let kills = 0; !text.includes('complete'); kills += 1) {
        const child = spawn(process.execPath, [CHILD, path, service, mode], {
          stdio: ['ignore', 'pipe', 'inherit'],
        });
        text = await killAfter(child, kills < KILLS ? random.int(1, 600) : 500_000);
        expect(kills).toBeLessThan(KILLS + 3);
      }
      const rows = await store.db
        .selectFrom('stock_variant')
        .select(['barcode', 'quantity'])
        .where('deleted_at', 'is', null)
        .execute();
      const { catalog, stock } = reference.world;
      expect(rows).toHaveLength(stock.stockedIn(0, catalog.variantCount));
      const wrong = rows.filter(
        ({ barcode, quantity }) => stock.of(catalog.variantOf(barcode) ?? -1) !== quantity,
      );
      expect(wrong).toEqual([]);
      const told = await store.db
        .selectFrom('change')
        .select((eb) => [eb.fn.countAll<number>().as('n'), eb.fn.max('op').as('op')])
        .executeTakeFirstOrThrow();
      expect(told).toEqual({ n: rows.length, op: 'insert' });
      await clients.transport[Symbol.asyncDispose]();
    },
  );
});
