/** Calls that the client makes to an account of a level, and its reading of the answers. */
import { expect, it, onTestFinished } from 'vitest';
import { type Brands, createBrandNeeds } from '../../src/client/v1/brands.ts';
import type { V1Options } from '../../src/client/v1/calls.ts';
import { createV1Client } from '../../src/client/v1/client.ts';
import { createVariantReader, variantsOf } from '../../src/client/v1/variant-rows.ts';
import { VARIANT_LIST_DEFAULTS } from '../../src/client/v1/variants.ts';
import { STOCK_VARIANT } from '../../src/mirror/catalog/variant.ts';
import {
  answerJson,
  envelope,
  type Handler,
  impatient,
  rejection,
  startFaulty,
} from './support.ts';

const ALL = { variants: [], count: 0, seasons: [] };
const EVERYTHING = { detailed: true, detailedPricing: true, includeVariantsOnOrder: true };
const NOTHING = { detailed: false, detailedPricing: false, includeVariantsOnOrder: false };

async function start(more: Partial<V1Options>, handler?: Handler) {
  const server = await startFaulty((request, response, nth) =>
    handler ? handler(request, response, nth) : answerJson(response, 200, envelope(200, ALL)),
  );
  onTestFinished(() => server[Symbol.asyncDispose]());
  const transport = impatient();
  onTestFinished(() => transport[Symbol.asyncDispose]());
  const options = {
    ...{ baseUrl: server.url, seasonParameter: 'seasonName', idempotencyHeader: undefined },
    variants: { ...VARIANT_LIST_DEFAULTS, mode: 'stream' as const },
    ...more,
  };
  const v1 = createV1Client(options, { sender: transport });
  const read = async (pull: ReturnType<typeof v1.stock>): Promise<void> => {
    for await (const _ of pull.batches);
  };
  return { v1, read, asked: () => server.seen.splice(0).map((one) => one.slice('GET '.length)) };
}

it.each([
  ['1.4.14', '/variants/stock?detailed=true&detailedPricing=true&includeVariantsOnOrder=true'],
  ['1.4.13', '/variants/stock?detailed=true&includeVariantsOnOrder=true'],
  ['1.4.8', '/variants/stock?detailed=true'],
  ['1.3.9', '/variants'],
])('asks an account of level %s for no more than it knows', async (level, stock) => {
  const { v1, read, asked } = await start({ level });
  await read(v1.stock(EVERYTHING));
  expect(asked()).toEqual([stock]);
});

it('never sends what is the default anyway', async () => {
  const { v1, read, asked } = await start({ level: '1.4.14' });
  await read(v1.stock(NOTHING));
  await read(v1.seasonVariants('SS27', NOTHING));
  await rejection(v1.stockVariant('1', NOTHING));
  await v1.shortList('seasons');
  expect(asked()).toEqual([
    ...['/variants/stock', '/variants/season?seasonName=SS27', '/variants/stock/1', '/seasons'],
  ]);
});

const FLAT = {
  ...{ barcode: '1', quantity: 3, size: 'M', styleNo: 'S1', brandName: 'North', price: 99.5 },
  ...{ wspPrice: 40, currency: 'EUR', colorName: 'Black', weight: 300, fabric: 'wool' },
};
const DEEP = {
  ...{ barcode: '1', quantity: 3, wspPrice: 40, fabric: 'wool' },
  details: {
    ...{ styleNo: 'S1', brandName: 'North', colorName: 'Black', size: 'M', price: 99.5 },
    ...{ wspPrice: 40, currency: 'EUR', weight: 300 },
  },
};

it('reads a flat variant as one whose details stand in their place', () => {
  const rowOf = (variant: object) => {
    const [row] = variantsOf(Buffer.from(JSON.stringify(variant))).rows;
    return STOCK_VARIANT.toRow(structuredClone(row));
  };
  const { values, extra } = rowOf(FLAT);
  expect(values).toEqual(rowOf(DEEP).values);
  expect(values).toMatchObject({ style_no: 'S1', size: 'M', price: 99_5000, wsp_price: 40_0000 });
  expect(JSON.parse(JSON.stringify(extra))).toMatchObject({
    ...{ fabric: 'wool', details: { weight: 300 } },
  });
  expect(rowOf({ barcode: '2', quantity: 1 }).values).toMatchObject({ barcode: '2', size: null });
});

it('sees that the sizes of a flat color repeat each other', () => {
  const rows = ['M', 'L', 'XL'].map((size, at) => ({ ...FLAT, barcode: `${at}`, size }));
  const text = rows.map((row) => JSON.stringify(row)).join(',');
  const read = createVariantReader()(Buffer.from(text));
  expect(read.rows).toMatchObject([
    { variant: { details: { size: 'M' } } },
    { repeat: { barcode: '1', size: 'L' } },
    { repeat: { barcode: '2', size: 'XL' } },
  ]);
});

/** A service that has one variant, of one brand. */
function ofBrand(own: string): Handler {
  return (request, response) => {
    const { searchParams } = new URL(request.url ?? '', 'http://x');
    const brand = searchParams.get('brandName');
    const said = { status: 422, message: 'Invalid data' };
    const lines = ['The brand name field is required.'];
    if (brand === null) answerJson(response, 422, { ...said, invalid_data: lines });
    else if (brand !== own) answerJson(response, 404, envelope(404, {}, 'not found'));
    else {
      const variant = { barcode: '1', quantity: 2 };
      answerJson(response, 200, envelope(200, { variant }));
    }
  };
}

function brandsOf(mode: 'auto' | 'always' | 'never', candidates: readonly string[]): Brands {
  const needs = createBrandNeeds(mode, { known: [], keep: async () => undefined });
  return { ...needs, candidates: async () => candidates };
}

it('names the brand of one variant once it was refused for want of one', async () => {
  const brands = brandsOf('auto', ['North', 'South & Søn']);
  const { v1, asked } = await start({ brands }, ofBrand('South & Søn'));
  const { value } = await v1.stockVariant('1', NOTHING);
  expect(value).toMatchObject({ barcode: '1', quantity: 2 });
  expect(asked()).toHaveLength(3);
  await v1.stockVariant('1', NOTHING);
  const again = asked();
  expect(again).toHaveLength(2);
  expect(new URL(again[1] ?? '', 'http://x').searchParams.get('brandName')).toBe('South & Søn');
});

it.each([
  ['it is unknown under each brand', ['North', 'West'], 'service.not_found'],
  ['no brand is known', [], 'service.brand_unknown'],
  ['there are more brands than it may be asked for', Array(51).fill('N'), 'service.brand_unknown'],
])('says of one variant that %s', async (_name, candidates, code) => {
  const brands = brandsOf('always', candidates);
  const { v1 } = await start({ brands }, ofBrand('South'));
  expect(await rejection(v1.stockVariant('1', NOTHING))).toMatchObject({ code });
});

it('names no brand where that is ruled out', async () => {
  const { v1, asked } = await start({ brands: brandsOf('never', ['South']) }, ofBrand('South'));
  expect(await rejection(v1.stockVariant('1', NOTHING))).toMatchObject({ code: 'service.invalid' });
  expect(asked()).toHaveLength(1);
});
