/** Accounts that page otherwise: a list is proved to be whole, or a doubt names why not. */
import { describe, expect, it } from 'vitest';
import { createPagingMemory, signsIn } from '../../src/client/paging.ts';
import { pullVariants } from '../../src/client/v1/variant-pages.ts';
import {
  type PullPlace,
  VARIANT_LIST_DEFAULTS,
  type VariantListOptions,
} from '../../src/client/v1/variants.ts';
import { createV2Client } from '../../src/client/v2/client.ts';
import { answerJson, envelope, impatient, startFaulty } from './support.ts';
import { readAll } from './v1-support.ts';

interface Asked {
  readonly query: URLSearchParams;
  readonly page: number;
  readonly limit: number;
}

interface Answer {
  readonly status?: number;
  readonly data: object;
  readonly headers?: Readonly<Record<string, string>>;
}

type AccountOf = (rows: readonly object[]) => (asked: Asked) => Answer | undefined;

const variantsOf = (count: number) =>
  Array.from({ length: count }, (_, at) => ({ barcode: `57${1_000 + at}`, quantity: at }));

/** Pages of an account: the size that it gives, and the rows that it skips for a page. */
function slice(rows: readonly object[], page: number, size: number): readonly object[] {
  return rows.slice((page - 1) * size, page * size);
}

const capped: AccountOf =
  (rows) =>
  ({ page, limit }) => ({
    data: { variants: slice(rows, page, Math.min(limit, 4)) },
  });
const ownCount: AccountOf =
  (rows) =>
  ({ page, limit }) => {
    const variants = slice(rows, page, Math.min(limit, 4));
    return { data: { count: variants.length, variants } };
  };
const linked =
  (
    more: (page: number, size: number) => Omit<Answer, 'data'> & { readonly body?: object },
  ): AccountOf =>
  (rows) =>
  ({ page, limit }) => {
    const size = Math.min(limit, 4);
    const variants = slice(rows, page, size);
    const { body, headers = {} } = page * size < rows.length ? more(page, size) : more(0, size);
    return { data: { variants, ...body }, headers };
  };

/** Accounts by what they do; all rows come, and nothing is in doubt. */
const READ: Readonly<Record<string, AccountOf>> = {
  'sizes cut to 4, and no count': capped,
  'sizes cut to 4, and a count of the page': ownCount,
  'sizes cut to 4 of what was asked':
    (rows) =>
    ({ page, limit }) => ({
      data: { variants: rows.slice((page - 1) * limit, page * limit).slice(0, 4) },
    }),
  'sizes cut to 4, and the count of the list':
    (rows) =>
    ({ page, limit }) => ({
      data: { count: rows.length, variants: slice(rows, page, Math.min(limit, 4)) },
    }),
  'a total under another name, as text':
    (rows) =>
    ({ page, limit }) => ({
      data: {
        variants: slice(rows, page, Math.min(limit, 4)),
        meta: { total_count: `${rows.length}` },
      },
    }),
  'pages of 12 whatever was asked for':
    (rows) =>
    ({ page }) => ({
      data: { variants: slice(rows, page, 12) },
    }),
  'pages that begin with 0':
    (rows) =>
    ({ page, limit }) => ({
      data: { variants: slice(rows, page + 1, limit) },
    }),
  'pages that begin with 0, of a smaller size':
    (rows) =>
    ({ page, limit }) => ({
      data: { variants: slice(rows, page + 1, Math.min(limit, 4)) },
    }),
  'page 0 that is page 1':
    (rows) =>
    ({ page, limit }) => ({
      data: { variants: slice(rows, Math.max(page, 1), limit) },
    }),
  'a fault at page 0':
    (rows) =>
    ({ page, limit }) => ({
      status: page === 0 ? 500 : 200,
      data: { variants: slice(rows, page, limit) },
    }),
  'a last page that comes again for all behind it':
    (rows) =>
    ({ page, limit }) => ({
      data: { variants: slice(rows, Math.min(page, Math.ceil(rows.length / limit)), limit) },
    }),
  'all in one answer, whatever was asked for': (rows) => () => ({ data: { variants: rows } }),
  'a flag that more follows': linked((page) => ({ body: { has_more: page > 0 ? '1' : 0 } })),
  'links in the body': linked((page, size) => ({
    body: { links: { next: page > 0 ? `/variants/stock?page=${page + 1}&limit=${size}` : null } },
  })),
  'the number of the next page': linked((page) => ({
    body: { nextPage: page > 0 ? page + 1 : '' },
  })),
  'a cursor in the body':
    (rows) =>
    ({ query }) => {
      const from = Number(query.get('cursor') ?? 0);
      const cursor = from + 4 < rows.length ? `${from + 4}` : null;
      return { data: { variants: rows.slice(from, from + 4), next_cursor: cursor } };
    },
  'a header Link with several relations': linked((page) => ({
    headers: {
      link:
        page > 0
          ? `<?page=1>; rel="first prev", <?page=${page + 1}>; title="a, b"; rel="next last"`
          : '<?page=1>; rel=first',
    },
  })),
  'a header Link with an offset':
    (rows) =>
    ({ query }) => {
      const from = Number(query.get('offset') ?? 0);
      const next = `<https://elsewhere/x?offset=${from + 4}>; rel="next"`;
      const isMore = from + 4 < rows.length;
      const link = isMore ? next : '<?offset=0>; rel="first"';
      return { data: { variants: rows.slice(from, from + 4) }, headers: { link } };
    },
};

/** Accounts whose lists cannot be read to their end: a doubt says why. */
const NAMED: Readonly<Record<string, readonly [AccountOf, RegExp]>> = {
  'the first page again for all numbers': [
    (rows) =>
      ({ limit }) => ({ data: { variants: rows.slice(0, Math.min(limit, 4)) } }),
    /page=2 has the rows of page=1 again.*service\.dialect\.v1\.paging/,
  ],
  'a link that leads to itself': [
    (rows) => () => ({ data: { variants: rows.slice(0, 4), next: '?cursor=a' } }),
    /next: "\?cursor=a" leads in a circle/,
  ],
  'a flag behind an empty page': [
    (rows) =>
      ({ page, limit }) => ({ data: { hasMore: true, variants: slice(rows, page, limit) } }),
    /hasMore: true says that more follows/,
  ],
};

async function pulledOf(
  account: AccountOf,
  count: number,
  options: Partial<VariantListOptions> = {},
  from?: PullPlace,
) {
  const answer = account(variantsOf(count));
  await using server = await startFaulty(({ url }, response) => {
    const query = new URL(url ?? '', 'http://x').searchParams;
    const page = Number(query.get('page') ?? 1);
    const asked = { query, page, limit: Number(query.get('limit') ?? Number.MAX_SAFE_INTEGER) };
    const { data = {}, headers = {}, status = 200 } = answer(asked) ?? {};
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
    answerJson(response, status, envelope(status, data));
  });
  await using transport = impatient({ retryWaitsMs: [] });
  const pull = pullVariants({
    sender: transport,
    request: { method: 'GET', url: `${server.url}/variants/stock`, priority: 'pull' },
    options: { ...VARIANT_LIST_DEFAULTS, mode: 'pages', pageRows: 10, batchRows: 10, ...options },
    memory: createPagingMemory(),
    from,
  });
  const { variants, end, batches } = await readAll(pull);
  return { barcodes: variants.map(({ barcode }) => barcode), end, batches, asked: server.seen };
}

const barcodesOf = (count: number) => variantsOf(count).map(({ barcode }) => barcode);

describe('a list in pages', () => {
  it.each(Object.entries(READ))('of an account with %s is read whole', async (_name, account) => {
    for (const count of [0, 1, 3, 4, 8, 10, 11, 23]) {
      const { barcodes, end } = await pulledOf(account, count);
      expect(barcodes).toEqual(barcodesOf(count));
      expect(end).toMatchObject({ rows: count, doubts: [] });
      // A count that stays is that of the list.
      expect(end.count ?? count).toBe(count);
    }
  });

  it.each(Object.entries(NAMED))('of an account with %s is in doubt', async (_name, named) => {
    const [account, doubt] = named;
    const { end } = await pulledOf(account, 23);
    expect(end.doubts.join()).toMatch(doubt);
  });

  it.each(['sizes cut to 4, and no count', 'a cursor in the body', 'pages that begin with 0'])(
    'of an account with %s goes on behind any kept batch',
    async (name) => {
      const account = READ[name];
      if (!account) throw new Error(name);
      const { batches } = await pulledOf(account, 23, { batchRows: 4 });
      for (const { next, firstRow, rowCount } of batches.slice(0, -1)) {
        const rest = await pulledOf(account, 23, {}, next);
        expect(rest.barcodes).toEqual(barcodesOf(23).slice(firstRow + rowCount));
        expect(rest.end).toMatchObject({ rows: 23, doubts: [] });
      }
    },
  );

  it('of an account that counts as in the contract costs no further request', async () => {
    const account: AccountOf =
      (rows) =>
      ({ page, limit }) => ({
        data: { count: rows.length, variants: slice(rows, page, limit) },
      });
    expect((await pulledOf(account, 23)).asked).toHaveLength(3);
  });
});

describe('a list as one stream', () => {
  const stream = { mode: 'stream' } as const;

  it('is whole where the account fails at the number of a page', async () => {
    const account: AccountOf =
      (rows) =>
      ({ query }) => ({ status: query.has('page') ? 500 : 200, data: { variants: rows } });
    const { barcodes, end } = await pulledOf(account, 23, stream);
    expect(barcodes).toEqual(barcodesOf(23));
    expect(end).toMatchObject({ rows: 23, doubts: [] });
  });

  it('is whole when no page is behind it', async () => {
    const account: AccountOf =
      (rows) =>
      ({ page, limit }) => ({
        data: { count: slice(rows, page, limit).length, variants: slice(rows, page, limit) },
      });
    const { end, asked } = await pulledOf(account, 23, stream);
    expect(end).toMatchObject({ rows: 23, doubts: [] });
    expect(asked).toHaveLength(2);
  });

  it.each([
    [
      'a page behind it',
      ownCount,
      /4 rows came, and page=2&limit=4 has more: set service.*: pages/,
    ],
    ['a link', linked(() => ({ body: { hasMore: true } })), /hasMore: true says that more follows/],
  ])('is in doubt when %s shows that it was one page', async (_name, account, doubt) => {
    const { end } = await pulledOf(account, 23, stream);
    expect(end.doubts.join()).toMatch(doubt);
  });
});

describe('signs of an answer', () => {
  const url = 'https://a/b?x=1';

  it.each([
    [{ next: 'https://c/d?page=2' }, 'more', 'page=2'],
    [{ data: { pagination: { next_page: 3 } } }, 'more', 'page=3'],
    [{ data: { meta: { nextPageToken: 'a b' } } }, 'more', 'pageToken=a+b'],
    [{ _links: { next: { href: '?after=7' } } }, 'more', 'after=7'],
    [{ data: { hasMore: 'N' } }, 'end', undefined],
    [{ links: { next: null } }, 'end', undefined],
    [{ hasMore: false, next: '?page=2' }, 'more', 'page=2'],
    [{ data: { variants: [{ next: 'x' }] } }, undefined, undefined],
  ])('%j say %s', (json, says, next) => {
    const signs = signsIn(json, {}, url);
    expect([signs.says, signs.next?.toString()]).toEqual([says, next]);
  });

  it.each([
    ['</v?page=2>; rel="next"', 'more'],
    ['<?a=b,c&page=2>; rel=Next; title="x"', 'more'],
    ['<https://a/v2>; rel="successor-version"', undefined],
    ['<?page=1>; rel="prev", <?page=9>; rel="last"', 'end'],
  ])('of a header Link %s say %s', (link, says) => {
    expect(signsIn({}, { link }, url).says).toBe(says);
  });
});

describe('a collection of V2', () => {
  type Collection = (rows: readonly object[], offset: number, limit: number) => object;

  const ACCOUNTS: Readonly<Record<string, Collection>> = {
    'offsets that count pages, and no links': (rows, offset, limit) => ({
      data: slice(rows, offset + 1, limit),
      meta: { pageToken: 't' },
    }),
    'offsets that count pages, and links': (rows, offset, limit) => {
      const isMore = (offset + 1) * limit < rows.length;
      const next = isMore ? `?page[offset]=${offset + 1}&page[limit]=${limit}` : null;
      return { data: slice(rows, offset + 1, limit), meta: { pageToken: 't' }, links: { next } };
    },
    'sizes cut to 2, and neither links nor a token': (rows, offset) => ({
      data: rows.slice(offset, offset + 2),
    }),
    'an empty page behind each full one': (rows, offset, limit) => {
      const data = rows.slice(offset, offset + limit);
      const isFull = data.length === limit;
      const links = {
        next: isFull ? `?page[offset]=${offset + limit}&page[limit]=${limit}` : null,
      };
      return { data, links, meta: { pageToken: 't' } };
    },
    'a flag that more follows': (rows, offset) => ({
      data: rows.slice(offset, offset + 2),
      meta: { hasMore: offset + 2 < rows.length },
    }),
    'a total': (rows, offset) => ({
      data: rows.slice(offset, offset + 2),
      meta: { total: String(rows.length) },
    }),
  };

  it.each(Object.entries(ACCOUNTS))(
    'of an account with %s is read whole',
    async (_name, account) => {
      for (const count of [0, 1, 2, 3, 6, 7]) {
        const rows = Array.from({ length: count }, (_, at) => ({ type: 'color', id: `${at}` }));
        await using server = await startFaulty(({ url }, response) => {
          const query = new URL(url ?? '', 'http://x').searchParams;
          const [offset, limit] = ['offset', 'limit'].map((name) =>
            Number(query.get(`page[${name}]`)),
          );
          answerJson(response, 200, account(rows, offset ?? 0, limit ?? 0));
        });
        await using transport = impatient({ retryWaitsMs: [] });
        const paging = { pageRows: 3, follow: 'token' } as const;
        const client = createV2Client({ baseUrl: server.url, paging }, transport);
        const ids: string[] = [];
        for await (const page of client.collection('color').pages) {
          ids.push(...page.rows.map(({ id }) => id));
          expect(page.doubts).toEqual([]);
        }
        expect(ids).toEqual(rows.map(({ id }) => id));
      }
    },
  );
});
