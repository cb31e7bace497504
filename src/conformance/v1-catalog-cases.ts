/** Cases for sections 3 and 4 of the wire contract: brands, freight, seasons and variants of V1. */

import type { Answer, Api, Row } from './api.ts';
import { type Case, define } from './case.ts';
import { demand, given } from './findings.ts';

const STOCK = '/variants/stock';
const page = (more: string): string => `${STOCK}?page=1&limit=20${more}`;

async function stock(api: Api, more = ''): Promise<Row[]> {
  return (await api.read(page(more), 'GET /variants/stock')).variants;
}

async function oneDetailed(api: Api): Promise<Row> {
  return given((await stock(api, '&detailed=true'))[0], 'no variant in stock');
}

async function newestSeason(api: Api): Promise<string> {
  const { seasons } = await api.read('/seasons', 'GET /seasons');
  return given(seasons.at(-1)?.seasonName, 'no season');
}

function requireLink(answer: Answer): void {
  const link = answer.headers.get('link') ?? '';
  const seen = `headers ${answer.headers.get('deprecation')} and ${link}`;
  const knobs = { 'deviations.deprecationHidden': true };
  demand(answer.headers.get('deprecation') === 'true', seen, { knobs });
  demand(/rel="successor-version"/.test(link), seen, { knobs });
}

const listCases: readonly Case[] = [
  define('v1-brands', 'P', 'GET /brands: count and brands', async (api) => {
    const { count, brands } = await api.read('/brands', 'GET /brands');
    demand(count === brands.length, `count ${count} of ${brands.length}`);
  }),
  define('v1-freight', 'P', 'GET /freight: count and freightOptions', async (api) => {
    const { count, freightOptions } = await api.read('/freight', 'GET /freight');
    demand(count === freightOptions.length, `count ${count} of ${freightOptions.length}`);
  }),
  define('v1-seasons', 'S', 'GET /seasons: seasonName and deliveryNames', async (api) => {
    const { count, seasons } = await api.read('/seasons', 'GET /seasons');
    demand(count === seasons.length, `count ${count} of ${seasons.length}`);
  }),
  define('v1-seasons-brand', 'W', 'GET /seasons takes brandName', async (api) => {
    const all = (await api.read('/seasons', 'GET /seasons')).seasons;
    const none = (await api.read('/seasons?brandName=no%20such%20brand', 'GET /seasons')).seasons;
    demand(none.length < all.length, 'a brand that is none has as many seasons');
  }),
];

const stockCases: readonly Case[] = [
  define(
    'v1-stock-bare',
    'S',
    'without detailed a variant is barcode and quantity',
    async (api) => {
      const row = given((await stock(api))[0], 'no variant in stock');
      const members = Object.keys(row).sort().join(', ');
      demand(members === 'barcode, quantity', `members ${members}`);
    },
  ),
  define('v1-stock-detailed', 'S', 'detailed=true gives the whole shape', async (api) => {
    const row = await oneDetailed(api);
    for (const name of ['variantType', 'seasonName', 'colorCode', 'wspPrice', 'details']) {
      demand(name in row, `${name} is missing`);
    }
    demand(!('pricing' in row), 'pricing is there without detailedPricing');
  }),
  define('v1-stock-flags', 'S', 'booleans are true or false, false when left out', async (api) => {
    const [off, none] = [await stock(api, '&detailed=false'), await stock(api)];
    demand(JSON.stringify(off) === JSON.stringify(none), 'detailed=false is not the default');
  }),
  define('v1-stock-brand', 'W', 'brandName filters', async (api) => {
    const { brandName } = (await oneDetailed(api)).details;
    const more = `&detailed=true&brandName=${encodeURIComponent(brandName)}`;
    for (const { details } of await stock(api, more)) {
      demand(details.brandName === brandName, `${details.brandName} for ${brandName}`);
    }
    const none = await stock(api, '&brandName=no%20such%20brand');
    demand(none.length === 0, 'a brand that is none has variants');
  }),
  define('v1-stock-style', 'W', 'styleNo filters', async (api) => {
    const { styleNo } = (await oneDetailed(api)).details;
    const rows = await stock(api, `&detailed=true&styleNo=${encodeURIComponent(styleNo)}`);
    demand(rows.length > 0, `no variant of ${styleNo}`);
    for (const { details } of rows) demand(details.styleNo === styleNo, `also ${details.styleNo}`);
  }),
  define('v1-stock-search', 'W', 'search finds a barcode', async (api) => {
    const { barcode } = await oneDetailed(api);
    const rows = await stock(api, `&search=${barcode}`);
    demand(rows.length === 1 && rows[0].barcode === barcode, `${rows.length} variants`);
  }),
  define('v1-stock-pages', 'W', 'page counts from 1, pages do not overlap', async (api) => {
    const { count } = await api.read(`${STOCK}?page=1&limit=1`, 'GET /variants/stock');
    const limit = Math.min(5, Math.floor(count / 2));
    given(limit > 0 || undefined, 'fewer than two variants in stock');
    const at = async (number: number): Promise<string[]> => {
      const path = `${STOCK}?page=${number}&limit=${limit}`;
      const { variants } = await api.read(path, 'GET /variants/stock');
      return variants.map((row: Row) => row.barcode);
    };
    const [first, second] = [await at(1), await at(2)];
    demand(first.length === limit, `${first.length} rows with limit=${limit}`);
    demand(!first.some((barcode) => second.includes(barcode)), 'a barcode on both pages');
    const { status } = await api.v1(`${STOCK}?page=0&limit=5`);
    demand(status === 422, `page=0: status ${status}`);
  }),
  define('v1-stock-count', 'C', 'count is the total of all pages', async (api) => {
    const path = `${STOCK}?page=1&limit=1`;
    const { count } = await api.read(path, 'GET /variants/stock');
    const more = (await stock(api)).length;
    const remedy = { knobs: { 'deviations.countOfPage': true } };
    demand(count >= more, `count ${count} with limit=1, ${more} rows with limit=20`, remedy);
  }),
  define('v1-stock-limit', 'W', 'limit goes from 1 to 250', async (api) => {
    for (const [limit, wanted] of [
      [1, 200],
      [250, 200],
      [0, 422],
      [251, 422],
    ]) {
      const { status } = await api.v1(`${STOCK}?page=1&limit=${limit}`);
      demand(status === wanted, `limit=${limit}: status ${status}`);
    }
  }),
  define('v1-stock-whole', 'C', 'without limit the whole list comes in one body', async (api) => {
    const { count, variants } = await api.read(STOCK, 'GET /variants/stock');
    demand(count === variants.length, `${variants.length} of ${count}`, {
      config: { 'service.dialect.v1.paging': 'pages' },
      knobs: { 'paging.variantsDefault': variants.length },
    });
  }),
  define('v1-stock-one', 'P', 'GET /variants/stock/{barcode}: one variant', async (api) => {
    const { barcode } = await oneDetailed(api);
    const { variant } = await api.read(`${STOCK}/${barcode}`, 'GET /variants/stock/:barcode');
    demand(variant.barcode === barcode, `barcode ${variant.barcode}`);
    const more = await api.read(
      `${STOCK}/${barcode}?detailed=true`,
      'GET /variants/stock/:barcode',
    );
    demand('details' in more.variant, 'no details with detailed=true');
    const flags = 'detailedPricing=true&includeVariantsOnOrder=true';
    const flagged = await api.read(`${STOCK}/${barcode}?${flags}`, 'GET /variants/stock/:barcode');
    const priced = api.account.priced === true;
    demand('pricing' in flagged.variant === priced, `pricing of one variant with ${flags}`);
  }),
  define(
    'v1-on-order',
    'S',
    'includeVariantsOnOrder adds variants with quantity 0',
    async (api) => {
      const count = async (more: string): Promise<number> =>
        (await api.read(`${STOCK}?page=1&limit=1${more}`, 'GET /variants/stock')).count;
      const [without, withThem] = [await count(''), await count('&includeVariantsOnOrder=true')];
      demand(withThem >= without, `${withThem} variants with them, ${without} without`);
      const rows = await stock(api);
      demand(!rows.some((row) => row.quantity === 0), 'quantity 0 without it');
    },
  ),
  define('v1-pricing', 'S', 'pricing only for b2b keys with detailed pricing', async (api) => {
    const [bare, priced] = [await stock(api), await stock(api, '&detailedPricing=true')];
    demand(!bare.some((row) => 'pricing' in row), 'pricing without detailedPricing');
    const some = priced.filter((row) => 'pricing' in row).length;
    const wanted = api.account.priced === true ? priced.length : 0;
    const knobs = { 'deviations.pricingForEveryone': some > 0 };
    demand(some === wanted, `${some} of ${priced.length} rows have pricing`, { knobs });
    for (const { pricing } of priced.slice(0, wanted)) {
      for (const amount of [pricing.wspPriceOriginal, pricing.wspPriceWithDiscount]) {
        demand(/^\d+(\.\d\d?)?$/.test(String(amount)), `amount ${amount}`);
      }
    }
  }),
  define(
    'v1-wsp-price',
    'S',
    'details.wspPrice does not change with detailedPricing',
    async (api) => {
      const prices = async (more: string): Promise<number[]> =>
        (await stock(api, `&detailed=true${more}`)).map(({ details }) => details.wspPrice);
      const [bare, priced] = [await prices(''), await prices('&detailedPricing=true')];
      demand(JSON.stringify(bare) === JSON.stringify(priced), 'it changes');
    },
  ),
];

const seasonCases: readonly Case[] = [
  define('v1-season', 'W', 'GET /variants/season lists one season', async (api) => {
    const season = encodeURIComponent(await newestSeason(api));
    const path = `/variants/season?seasonName=${season}&page=1&limit=20&detailed=true`;
    const { variants } = await api.read(path, 'GET /variants/season');
    for (const row of variants) {
      demand(encodeURIComponent(row.seasonName) === season, `season ${row.seasonName}`);
    }
  }),
  define('v1-season-filters', 'W', 'it takes brandName, styleNo and flags', async (api) => {
    const season = encodeURIComponent(await newestSeason(api));
    const list = async (more: string): Promise<Row[]> => {
      const path = `/variants/season?seasonName=${season}&page=1&limit=20&detailed=true${more}`;
      return (await api.read(path, 'GET /variants/season')).variants;
    };
    const { details } = given((await list(''))[0], 'no variant in its newest season');
    for (const name of ['brandName', 'styleNo']) {
      const rows = await list(`&${name}=${encodeURIComponent(details[name])}`);
      demand(rows.length > 0, `no variant of ${name} ${details[name]}`);
      for (const row of rows)
        demand(row.details[name] === details[name], `also ${row.details[name]}`);
    }
    const priced = (await list('&detailedPricing=true')).every((row) => 'pricing' in row);
    demand(priced === (api.account.priced === true), `pricing of a season: ${priced}`);
  }),
  define('v1-season-needed', 'C', 'seasonName is required', async (api) => {
    const { status } = await api.v1('/variants/season?page=1&limit=1');
    demand(status === 422, `status ${status}`);
  }),
  define('v1-season-unknown', 'P', 'a season that does not exist is answered 404', async (api) => {
    const { status } = await api.v1('/variants/season?seasonName=nothing&page=1&limit=1');
    demand(status === 404, `status ${status}`);
  }),
  define('v1-season-one', 'S', 'GET /variants/season/{barcode}: one variant', async (api) => {
    const season = encodeURIComponent(await newestSeason(api));
    const list = `/variants/season?seasonName=${season}&page=1&limit=1`;
    const { variants } = await api.read(list, 'GET /variants/season');
    const { barcode } = given(variants[0], 'no variant in its newest season');
    const path = `/variants/season/${barcode}?seasonName=${season}`;
    const { variant } = await api.read(path, 'GET /variants/season/:barcode');
    const flags = '&detailed=true&detailedPricing=true';
    const shown = await api.read(path + flags, 'GET /variants/season/:barcode');
    demand('details' in shown.variant, `no details with ${flags}`);
    demand(variant.barcode === barcode, `barcode ${variant.barcode}`);
  }),
  define('v1-deprecated-same', 'S', 'GET /variants answers as GET /variants/stock', async (api) => {
    const { barcode, details } = await oneDetailed(api);
    const flags = 'detailed=true&detailedPricing=true&includeVariantsOnOrder=true';
    const queries = [
      `?page=2&limit=3&${flags}`,
      `?limit=3&brandName=${encodeURIComponent(details.brandName)}`,
      `?limit=3&styleNo=${encodeURIComponent(details.styleNo)}`,
      `?limit=3&search=${barcode}`,
      `/${barcode}?${flags}`,
    ];
    for (const query of queries) {
      const old = await api.v1(`/variants${query}`);
      demand(old.text === (await api.v1(STOCK + query)).text, `another answer to ${query}`);
    }
  }),
  define('v1-deprecated', 'C', 'GET /variants says that it is deprecated', async (api) => {
    const list = await api.v1('/variants?page=1&limit=1');
    api.data(list, 'GET /variants');
    requireLink(list);
    const { barcode } = list.body.data.variants[0];
    const one = await api.v1(`/variants/${barcode}`);
    api.data(one, 'GET /variants/:barcode');
    requireLink(one);
  }),
];

export const v1CatalogCases: readonly Case[] = [...listCases, ...stockCases, ...seasonCases];
