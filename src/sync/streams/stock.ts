/**
 * The stream `stock`: every variant that can be sold now. The list may have a million rows; it
 * arrives in batches, each a page with a checkpoint. For an account that lists by brand, each brand
 * is a part.
 */

import { sql } from 'kysely';
import type { StockLevel } from '../../client/v1/catalog.ts';
import type { V1Client } from '../../client/v1/client.ts';
import { pullPlaceIn } from '../../client/v1/variants.ts';
import { writeStockVariants } from '../../mirror/catalog/out-of-band.ts';
import { STOCK_VARIANT } from '../../mirror/catalog/variant.ts';
import type { SqlValue } from '../../store/bulk.ts';
import type { Db } from '../../store/store.ts';
import { isNoAddress, type Traits } from '../account-traits.ts';
import {
  type DeletionGuard,
  doubtsIn,
  type Stream,
  type StreamEnd,
  type StreamRun,
} from '../stream.ts';
import { readBrands, wholeOrByBrand } from './by-brand.ts';
import { countOfPull, endOfParts, firstRows, pullParts } from './parts.ts';

/** Counts barcodes of stock variants per brand; those without a brand are left out. */
async function rowsByBrand(
  db: Db,
  barcodes: readonly SqlValue[],
): Promise<ReadonlyMap<string, number>> {
  const { rows } = await sql<{ readonly brand: string; readonly n: number }>`
    select brand_name brand, count(*) n from stock_variant_row
    where brand_name is not null
      and barcode in (select value from json_each(${JSON.stringify(barcodes)}))
    group by brand_name`.execute(db);
  return new Map(rows.map(({ brand, n }) => [brand, n]));
}

export interface ListPaging {
  readonly mode: 'stream' | 'pages';
  readonly pageRows: number;
}

export interface StockOptions extends ListPaging {
  readonly level: Required<StockLevel>;
  readonly deletionGuard: DeletionGuard;
  /** Stock that facts assume for a variant which a complete list does not name. */
  readonly unlisted?: 'unknown' | 'zero';
  /** Traits of the account that were learned; undefined: the account is as in the contract. */
  readonly traits?: Traits | undefined;
}

type StockClient = Pick<V1Client, 'stock' | 'stockVariant' | 'shortList'>;

/** Number of a brand's rows below which they may sell out at once without a person looking. */
const PART_ROWS_MIN = 20;

const GROUP = 'the stock';

interface StockPull extends Pick<StockOptions, 'level'> {
  readonly v1: StockClient;
  readonly context: StreamRun;
  /** Whether to use the address of levels below 1.4.0. */
  readonly isOld: boolean;
}

async function pullWhole({ v1, level, context, isOld }: StockPull): Promise<StreamEnd> {
  const { run, known, variantPage, call, progress } = context;
  const { at, next } = run.checkpoint;
  // A checkpoint with a part belongs to a run that read by brand.
  const from = at === undefined ? pullPlaceIn(next) : undefined;
  const about = { from, known: known({ kind: 'stock' }), onPage: progress, isOld };
  const list = v1.stock(level, { ...call, ...about });
  for await (const batch of list.batches) {
    await variantPage({ next: batch.next }, { kind: 'stock' }, batch);
  }
  const end = list.end();
  const counts = [countOfPull(end, '', GROUP)];
  return { expectedRows: end.rows, counts, doubts: end.doubts, parts: new Map([['', end.rows]]) };
}

async function pullByBrand({ v1, level, context, isOld }: StockPull): Promise<StreamEnd> {
  const brands = await readBrands(v1, context.call);
  const parts = brands.names.map((brandName) => ({
    list: { kind: 'stock', brandName } as const,
    what: `${GROUP} of ${brandName}`,
    group: GROUP,
  }));
  const before = [...doubtsIn(context.run.checkpoint), ...brands.doubts];
  const open = (_part: object, call: Parameters<V1Client['stock']>[1]) =>
    v1.stock(level, { ...call, isOld });
  const pulled = await pullParts(context, open, parts, before);
  return endOfParts(parts, pulled, ({ list }) => list.brandName);
}

async function pullStock(pull: StockPull, traits: Traits | undefined): Promise<StreamEnd> {
  const { v1, level, context, isOld } = pull;
  return wholeOrByBrand(traits, 'stock', {
    whole: () => pullWhole(pull),
    byBrand: () => pullByBrand(pull),
    isEmpty: ({ expectedRows }) => expectedRows === 0,
    async tryOne() {
      const [brandName] = (await readBrands(v1, context.call)).names;
      if (brandName === undefined) return 0;
      return firstRows(v1.stock(level, { ...context.call, brandName, isOld }));
    },
  });
}

/** Falls back to the older address when the level is set too high, and opens an incident. */
async function atItsAddress(
  traits: Traits,
  context: StreamRun,
  pull: (context: StreamRun, isOld: boolean) => Promise<StreamEnd>,
): Promise<StreamEnd> {
  const { levels } = traits;
  if (!levels.isThere('stockList')) return pull(context, true);
  let hasRows = false;
  const variantPage: StreamRun['variantPage'] = (...page) => {
    hasRows = true;
    return context.variantPage(...page);
  };
  try {
    const end = await pull({ ...context, variantPage }, false);
    await levels.answered('stockList');
    return end;
  } catch (error) {
    if (!isNoAddress(error) || hasRows) throw error;
    const end = await pull(context, true).catch((other: unknown) => {
      throw isNoAddress(other) ? error : other;
    });
    await levels.missing('stockList', error);
    return end;
  }
}

export function createStockStream(v1: StockClient, options: StockOptions): Stream {
  const { mode, pageRows, level, deletionGuard, unlisted, traits } = options;
  const perBrand = traits && traits.needs.mode !== 'auto' ? { perBrand: traits.needs.mode } : {};
  const pull = (context: StreamRun, isOld: boolean): Promise<StreamEnd> =>
    pullStock({ v1, level, context, isOld }, traits);
  return {
    name: 'stock',
    options: { ...level, mode, pageRows, ...perBrand },
    list: {
      entity: STOCK_VARIANT,
      deletionGuard,
      isPaged: mode === 'pages',
      isLong: true,
      rowsByPart: rowsByBrand,
      partRowsMin: PART_ROWS_MIN,
      unlisted: unlisted === 'zero' ? unlisted : undefined,
      async lookUp(barcode, call) {
        const isOld = traits?.levels.isThere('stockList') === false;
        const { value } = await v1.stockVariant(barcode, level, { ...call, isOld });
        return {
          write: (tx, provenance) => writeStockVariants(tx, [value], provenance),
          isSoldOut: value.quantity !== null && value.quantity <= 0,
        };
      },
    },
    pull: (context) => (traits ? atItsAddress(traits, context, pull) : pull(context, false)),
  };
}
