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
import { answerJson, envelope, impatient, rejection, startFaulty } from './support.ts';
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
/** Pages of 4, and an error for each number behind the last, and for 0. */
const refusing =
  (status: number): AccountOf =>
  (rows) =>
  ({ page, limit }) => {
    const size = Math.min(limit, 4);
    const isThere = page > 0 && page <= Math.max(1, Math.ceil(rows.length / size));
    return { status: isThere ? 200 : status, data: { variants: slice(rows, page, size) } };
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
  'a 404 behind the last page': refusing(404),
  'a 422 behind the last page': refusing(422),
  'a 400 behind the last page': refusing(400),
  'a fault behind the last page': refusing(500),
  'a total that is less than a page, and the count of the list':
    (rows) =>
    ({ page, limit }) => ({
      data: {
        total: Math.min(2, rows.length),
        count: rows.length,
        variants: slice(rows, page, Math.min(limit, 4)),
      },
    }),
  'a total that is less than a page, and no count':
    (rows) =>
    ({ page, limit }) => ({
      data: { total: Math.min(2, rows.length), variants: slice(rows, page, Math.min(limit, 4)) },
    }),
  'links that always say that nothing follows, and a count':
    (rows) =>
    ({ page, limit }) => ({
      data: {
        links: { next: null },
        count: rows.length,
        variants: slice(rows, page, Math.min(limit, 4)),
      },
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
  'cursors from one empty page to the next': [
    (rows) =>
      ({ query }) => {
        const at = Number(query.get('cursor') ?? 0);
        return { data: { variants: rows.slice(at, at + 4), nextCursor: String(at + 4) } };
      },
    /nextCursor: "\d+" leads from one empty page to the next/,
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
  memory = createPagingMemory(),
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
    memory,
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

describe('a list in pages with a surprise', () => {
  it('fails when one page is refused and the one behind it is not', async () => {
    const account: AccountOf =
      (rows) =>
      ({ page, limit }) => ({
        status: page === 2 ? 500 : 200,
        data: { variants: slice(rows, page, limit) },
      });
    for (const count of [13, 23]) {
      const error = await rejection(pulledOf(account, count));
      expect(error).toMatchObject({ code: 'service.fault' });
    }
  });

  it('is asked for without a look around when the account refused the same length', async () => {
    const memory = createPagingMemory();
    const asked = [];
    for (const count of [23, 23, 24, 11]) {
      const { barcodes, asked: seen } = await pulledOf(refusing(500), count, {}, undefined, memory);
      expect(barcodes).toEqual(barcodesOf(count));
      asked.push(seen.length);
    }
    // Page 0 is looked at once more each time: a fault does not show that there is none.
    expect(asked).toEqual([11, 8, 8, 7]);
  });

  it('states the total that was not reached', async () => {
    const account: AccountOf =
      (rows) =>
      ({ page, limit }) => ({
        data: { meta: { total: 100 }, variants: slice(rows, page, limit) },
      });
    for (const count of [3, 20, 23]) {
      const { end } = await pulledOf(account, count);
      expect(end).toMatchObject({ rows: count, count: 100, countFirst: 100 });
      const { end: streamed } = await pulledOf(account, count, { mode: 'stream' });
      expect(streamed).toMatchObject({ rows: count, count: 100, countFirst: 100 });
    }
  });

  /** Counts of single pages, in which the rows that are hidden are counted. */
  const hiding =
    (isCounted: boolean, ...hidden: readonly number[]): AccountOf =>
    (rows) =>
    ({ page, limit }) => {
      const all = slice(rows, page, limit);
      const variants = all.filter((row) => !hidden.includes(rows.indexOf(row)));
      return { data: isCounted ? { count: all.length, variants } : { variants } };
    };

  it('is read on behind a page with a hidden row, which is told as short', async () => {
    for (const [count, short] of [
      [23, 1],
      [20, 0],
      [50, 1],
    ] as const) {
      const { barcodes, end } = await pulledOf(hiding(false, 13), count);
      expect(barcodes).toEqual(barcodesOf(count).filter((_, at) => at !== 13));
      expect(end.shortPages).toBe(short);
    }
  });

  it('is read whole after a page whose count had a hidden row', async () => {
    const memory = createPagingMemory();
    await pulledOf(hiding(true, 13), 50, {}, undefined, memory);
    await pulledOf(hiding(true, 3), 50, {}, undefined, memory);
    const { barcodes } = await pulledOf(ownCount, 50, {}, undefined, memory);
    expect(barcodes).toEqual(barcodesOf(50));
    // Pages of 12 whatever was asked for, whose count is more than that.
    const longer: AccountOf = (rows) => {
      const pages = hiding(true, 3)(rows);
      return ({ query, page }) => pages({ query, page, limit: 12 });
    };
    const misled = await pulledOf(longer, 50, {}, undefined, memory);
    expect([misled.barcodes.length, memory.isTotal]).toEqual([49, false]);
  });

  it('keeps a last page whose rows all stand on the page before', async () => {
    const account: AccountOf = (rows) => capped([...rows, ...rows.slice(-4, -2)]);
    const { barcodes } = await pulledOf(account, 8);
    expect(barcodes).toEqual([...barcodesOf(8), ...barcodesOf(6).slice(-2)]);
  });

  it('does not begin with 0 because a row was added meanwhile', async () => {
    for (const count of [1, 4, 10, 23]) {
      const memory = createPagingMemory();
      const account: AccountOf =
        (rows) =>
        ({ page, limit }) => {
          const all = page === 0 ? [{ barcode: 'new', quantity: 1 }, ...rows] : rows;
          return { data: { variants: slice(all, Math.max(page, 1), limit) } };
        };
      expect((await pulledOf(account, count, {}, undefined, memory)).barcodes).toEqual(
        barcodesOf(count),
      );
      expect(memory.isOther).toBe(false);
    }
  });
});

describe('a list in pages of an account that errs once', () => {
  /** Answers otherwise to the first request of a page. */
  const once = (at: number, other: Partial<Answer>, account: AccountOf): AccountOf => {
    let isFirst = true;
    return (rows) => (asked) => {
      if (asked.page !== at || !isFirst) return account(rows)(asked);
      isFirst = false;
      return { data: { variants: [] }, ...other };
    };
  };
  const uncounted: AccountOf =
    (rows) =>
    ({ page, limit }) => ({ data: { variants: slice(rows, page, limit) } });
  const counted =
    (countAt: (page: number) => number | undefined): AccountOf =>
    (rows) =>
    ({ page, limit }) => ({
      data: { count: countAt(page) ?? rows.length, variants: slice(rows, page, limit) },
    });

  it.each([200, 404, 500])('at page 0 by %i still begins with it', async (status) => {
    const zeroBased: AccountOf = (rows) => (asked) =>
      uncounted(rows)({ ...asked, page: asked.page + 1 });
    const memory = createPagingMemory();
    const account = once(0, { status }, zeroBased);
    for (const count of [45, 45]) {
      const { barcodes } = await pulledOf(account, count, {}, undefined, memory);
      expect(barcodes).toEqual(barcodesOf(count));
    }
  });

  it('by an empty page is read on', async () => {
    const { barcodes } = await pulledOf(once(3, {}, uncounted), 45);
    expect(barcodes).toEqual(barcodesOf(45));
  });

  it('by the same empty page each time is in doubt, on its first pull too', async () => {
    const memory = createPagingMemory();
    const torn =
      (at: number): AccountOf =>
      (rows) =>
      (asked) =>
        asked.page === at ? { data: { variants: [] } } : uncounted(rows)(asked);
    const next = 'see how the account pages, and set service.dialect.v1.paging and pageLimit';
    const doubtAt = (page: number) =>
      `page=${page} is empty, and page=${page + 1} has rows: ${next}`;
    for (const [account, count, doubts] of [
      [torn(1), 95, [doubtAt(1)]],
      [torn(2), 95, [doubtAt(2)]],
      [torn(2), 95, [doubtAt(2)]],
      [uncounted, 95, []],
      [torn(2), 95, [doubtAt(2)]],
      [uncounted, 10, []],
    ] as const) {
      const { end } = await pulledOf(account, count, {}, undefined, memory);
      expect(end.doubts).toEqual(doubts);
    }
    // Pages behind it are read nevertheless, and not for ever.
    const { barcodes, end } = await pulledOf(torn(2), 45);
    expect(barcodes).toEqual(barcodesOf(45).filter((_, at) => at < 10 || at >= 20));
    expect(end).toMatchObject({ rows: 45, shortPages: 1 });
    const endless: AccountOf = (rows) => (asked) =>
      asked.page % 2 === 0 ? { data: { variants: [] } } : uncounted(rows)({ ...asked, page: 1 });
    expect((await pulledOf(endless, 10)).barcodes.length).toBeLessThan(50);
  });

  it('behind its end by being busy is whole, and is looked at again', async () => {
    const memory = createPagingMemory();
    for (const [isBusy, known] of [
      [true, 0],
      [true, 0],
      [false, 1],
      [true, 1],
    ] as const) {
      const account: AccountOf = (rows) => (asked) =>
        asked.page > 6 && isBusy ? { status: 503, data: {} } : uncounted(rows)(asked);
      const { barcodes, end } = await pulledOf(account, 45, {}, undefined, memory);
      expect([barcodes, end.doubts]).toEqual([barcodesOf(45), []]);
      expect(memory.ends.size).toBe(known);
    }
  });

  it('by a total that ends a full page is read on', async () => {
    const memory = createPagingMemory();
    for (const [at, total] of [
      [3, 30],
      [0, 45],
      [1, 10],
      [3, 30],
    ]) {
      const account = counted((page) => (page === at ? total : undefined));
      const { barcodes } = await pulledOf(account, 45, {}, undefined, memory);
      expect(barcodes).toEqual(barcodesOf(45));
    }
  });

  it('by a count that is not reached is read whole later', async () => {
    const memory = createPagingMemory();
    const erring: AccountOf = (rows) => (asked) =>
      asked.page > 5 ? { data: { count: 999, variants: [] } } : ownCount(rows)(asked);
    for (const account of [erring, ownCount, ownCount]) {
      const { barcodes } = await pulledOf(account, 18, {}, undefined, memory);
      expect(barcodes).toEqual(barcodesOf(18));
    }
  });

  it.each([404, 500])('by %i in a list that has grown fails', async (status) => {
    const memory = createPagingMemory();
    await pulledOf(refusing(status), 3, {}, undefined, memory);
    const error = await rejection(
      pulledOf(once(3, { status }, refusing(status)), 23, {}, undefined, memory),
    );
    expect(String(error)).toContain(`HTTP ${status}`);
  });

  it('is read on behind pages whose rows have no barcodes', async () => {
    const account: AccountOf = (rows) =>
      uncounted(rows.map((row, at) => (at >= 10 && at < 40 ? { ...row, barcode: '' } : row)));
    const { barcodes, end } = await pulledOf(account, 55);
    const named = barcodesOf(55);
    expect(barcodes).toEqual([...named.slice(0, 10), ...named.slice(40)]);
    expect(end.rows).toBe(55);
  });
});

describe('a list in pages whose first number is', () => {
  const zeroBased: AccountOf =
    (rows) =>
    ({ page, limit }) => ({ data: { variants: slice(rows, page + 1, limit) } });
  const oneBased: AccountOf =
    (rows) =>
    ({ page, limit }) => ({ data: { variants: slice(rows, Math.max(page, 1), limit) } });
  const noZero: AccountOf =
    (rows) =>
    ({ page, limit }) => ({ data: { variants: page < 1 ? [] : slice(rows, page, limit) } });
  const counted =
    (account: AccountOf): AccountOf =>
    (rows) =>
    (asked) => ({ data: { count: rows.length, ...account(rows)(asked)?.data } });

  it.each([
    ['zero', zeroBased],
    ['one', oneBased],
    ['one', noZero],
  ] as const)('set to %s is read from there', async (firstPage, account) => {
    for (const count of [0, 1, 10, 23]) {
      for (const one of [account, counted(account)]) {
        const { barcodes, end } = await pulledOf(one, count, { firstPage });
        expect([barcodes, end.doubts]).toEqual([barcodesOf(count), []]);
      }
    }
  });

  it.each([
    ['one', zeroBased, 'zero'],
    ['zero', oneBased, 'one'],
    ['zero', noZero, 'one'],
  ] as const)('wrongly set to %s is told with its next step', async (firstPage, account, right) => {
    const told = expect.stringContaining(`set service.dialect.v1.firstPage: ${right}`);
    for (const count of [3, 10, 23]) {
      for (const one of [account, counted(account)]) {
        // A page that holds the whole list leaves nothing in doubt.
        const { barcodes, end } = await pulledOf(one, count, { firstPage });
        if (barcodes.length !== count || end.rows !== count) expect(end.doubts).toEqual([told]);
      }
    }
    if (firstPage !== 'zero') return;
    const error = await rejection(pulledOf(refusing(422), 23, { firstPage }));
    expect(error).toMatchObject({ hint: expect.stringContaining('firstPage: one') });
  });

  it('learned from a count that is not reached begins with it in the next pull', async () => {
    const memory = createPagingMemory();
    const first = await pulledOf(counted(zeroBased), 23, {}, undefined, memory);
    expect(first.end.doubts).toEqual(['page=0 has other rows: the next pull begins with it']);
    const { barcodes, end } = await pulledOf(counted(zeroBased), 23, {}, undefined, memory);
    expect([barcodes, end.doubts]).toEqual([barcodesOf(23), []]);
  });
});

describe('a list as one stream', () => {
  const stream = { mode: 'stream' } as const;

  it('that grew is looked behind again', async () => {
    const memory = createPagingMemory();
    const account: AccountOf =
      (rows) =>
      ({ page, limit }) => ({ data: { variants: slice(rows, page, Math.min(limit, 20)) } });
    const doubts = [];
    for (const count of [18, 30]) {
      doubts.push((await pulledOf(account, count, stream, undefined, memory)).end.doubts.join());
    }
    expect(doubts).toEqual(['', expect.stringContaining('20 rows came, and page=3&limit=10')]);
  });

  it('is asked for once more when the account failed behind the same length', async () => {
    const memory = createPagingMemory();
    const asked = [];
    for (const count of [23, 23]) {
      const account: AccountOf =
        (rows) =>
        ({ query, page }) => ({
          status: page > 1 ? 500 : 200,
          data: query ? { variants: rows } : {},
        });
      asked.push((await pulledOf(account, count, stream, undefined, memory)).asked.length);
    }
    expect(asked).toEqual([3, 1]);
  });

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
    expect(asked).toHaveLength(3);
  });

  it.each([200, 404, 422, 500])('is looked behind again after one answer %i', async (status) => {
    const memory = createPagingMemory();
    let isFirst = true;
    const account: AccountOf =
      (rows) =>
      ({ query, page, limit }) => {
        if (!query.has('page')) return { data: { variants: rows.slice(0, 20) } };
        if (!isFirst) return { data: { variants: slice(rows, page, limit) } };
        isFirst = false;
        return { status, data: { variants: [] } };
      };
    for (const count of [45, 45]) {
      const { end } = await pulledOf(account, count, stream, undefined, memory);
      expect(end.doubts.join()).toContain('page=3&limit=10 has more');
    }
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

  const refusingV2 =
    (status: number): Collection =>
    (rows, offset, limit) =>
      offset > 0 && offset >= rows.length
        ? { status, errors: [{ status: String(status), detail: 'no such page' }] }
        : { data: rows.slice(offset, offset + limit), meta: { pageToken: 't' } };

  type Follow = 'token' | 'pages' | 'links';

  async function pulls(
    account: Collection,
    count: number,
    { follow = 'token', times = 1 }: { readonly follow?: Follow; readonly times?: number } = {},
    from?: string,
  ) {
    const rows = Array.from({ length: count }, (_, at) => ({ type: 'color', id: `${at}` }));
    await using server = await startFaulty(({ url }, response) => {
      const query = new URL(url ?? '', 'http://x').searchParams;
      const [offset, limit] = ['offset', 'limit'].map((name) => Number(query.get(`page[${name}]`)));
      const answer = account(rows, offset ?? 0, limit ?? 0);
      answerJson(response, 'status' in answer ? Number(answer.status) : 200, answer);
    });
    await using transport = impatient({ retryWaitsMs: [] });
    const paging = { pageRows: 3, follow };
    const client = createV2Client({ baseUrl: server.url, paging }, transport);
    const all = rows.map(({ id }) => id);
    const pulled = [];
    for (let time = 1; time <= times; time += 1) {
      const [ids, doubts, places]: [string[], string[], string[]] = [[], [], []];
      const before = server.seen.length;
      for await (const page of client.collection('color', {}, { from })) {
        ids.push(...page.rows.map(({ id }) => id));
        doubts.push(...page.doubts);
        if (page.next !== undefined) places.push(page.next);
      }
      pulled.push({ ids, doubts, places, all, asked: server.seen.length - before });
    }
    return pulled;
  }

  async function collected(...given: Parameters<typeof pulls>) {
    const [pulled] = await pulls(...given);
    if (!pulled) throw new Error('no pull');
    return pulled;
  }

  it('is in doubt when its total is not reached', async () => {
    for (const count of [2, 3, 7]) {
      const { doubts } = await collected(
        (rows, offset, limit) => ({ data: rows.slice(offset, offset + limit), meta: { total: 9 } }),
        count,
      );
      expect(doubts.join()).toContain(`the total is ${9 - count} more than came`);
    }
  });

  it('is read on behind a page with a hidden row', async () => {
    const { ids, all } = await collected((rows, offset, limit) => {
      const data = rows.slice(offset, offset + limit);
      return { data: data.filter((row) => rows.indexOf(row) !== 4) };
    }, 9);
    expect([...new Set(ids)]).toEqual(all.filter((id) => id !== '4'));
  });

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
    'a 400 behind the last page': refusingV2(400),
    'a 404 behind the last page': refusingV2(404),
    'a fault behind the last page': refusingV2(500),
    'tokens for the next page that it does not read': (rows, offset, limit) => ({
      data: rows.slice(offset, offset + limit),
      meta: { nextToken: `t${offset}` },
    }),
    'a total that is that of the page': (rows, offset, limit) => {
      const data = rows.slice(offset, offset + limit);
      return { data, meta: { total: data.length } };
    },
    'a total': (rows, offset) => ({
      data: rows.slice(offset, offset + 2),
      meta: { total: String(rows.length) },
    }),
  };

  it.each(Object.entries(ACCOUNTS))(
    'of an account with %s is read whole',
    async (_name, account) => {
      for (const count of [0, 1, 2, 3, 6, 7]) {
        const { ids, doubts, all } = await collected(account, count);
        expect(doubts).toEqual([]);
        expect(ids).toEqual(all);
      }
    },
  );

  const byPage: Collection = (rows, offset, limit) => ({
    data: slice(rows, offset + 1, limit),
    meta: { pageToken: 't' },
  });
  const byRow: Collection = (rows, offset, limit) => ({
    data: rows.slice(offset, offset + limit),
    meta: { pageToken: 't' },
  });

  it('is asked for by what earlier walks have learned, and once behind its end', async () => {
    for (const account of [byPage, byRow]) {
      const asked = (await pulls(account, 7, { times: 3 })).map((pull) => pull.asked);
      // What offsets count is looked at once; an empty page twice, and behind it, until it was one
      // before.
      expect(asked).toEqual([7, 4, 4]);
    }
    const linked: Collection = (rows, offset, limit) => {
      const next = offset + limit < rows.length ? `?page[offset]=${offset + limit}` : null;
      return { ...byRow(rows, offset, limit), links: { next } };
    };
    expect((await pulls(linked, 7, { times: 2 })).map((pull) => pull.asked)).toEqual([3, 3]);
    const refused = await pulls(refusingV2(404), 7, { times: 2 });
    expect(refused.map((pull) => pull.asked)).toEqual([7, 4]);
  });

  it('is in doubt where a page in its midst is empty each time', async () => {
    const torn: Collection = (rows, offset, limit) =>
      offset === 3 ? { data: [], meta: { pageToken: 't' } } : byRow(rows, offset, limit);
    const { ids, doubts } = await collected(torn, 20);
    expect(ids).toHaveLength(3);
    expect(doubts.join()).toMatch(/is empty, and .* has rows/);
  });

  it('is read on behind a full page whose total is stated once', async () => {
    for (const [at, low] of [
      [0, 3],
      [3, 6],
      [6, 9],
    ]) {
      let pull = 0;
      const account: Collection = (rows, offset, limit) => {
        if (offset === 0) pull += 1;
        const total = pull === 2 && offset === at ? low : rows.length;
        return { data: rows.slice(offset, offset + limit), meta: { pageToken: 't', total } };
      };
      for (const { ids, all } of await pulls(account, 20, { times: 2 })) expect(ids).toEqual(all);
    }
  });

  it('is read whole where offsets count pages, and totals the rows of the page', async () => {
    const account: Collection = (rows, offset, limit) => {
      const data = slice(rows, offset + 1, limit);
      return { data, meta: { pageToken: 't', total: data.length } };
    };
    for (const { ids, doubts, all } of await pulls(account, 20, { times: 2 })) {
      expect([ids, doubts]).toEqual([all, []]);
    }
  });

  it.each([true, false])('learns nothing from one empty answer, totals: %s', async (isTotaled) => {
    let isFirst = true;
    const account: Collection = (rows, offset, limit) => {
      const meta = { pageToken: 't', ...(isTotaled ? { total: rows.length } : {}) };
      const data = offset === 1 && isFirst ? [] : rows.slice(offset, offset + limit);
      isFirst &&= offset !== 1;
      return { data, meta };
    };
    for (const { ids, doubts, all } of await pulls(account, 21, { times: 2 })) {
      expect([ids, doubts]).toEqual([all, []]);
    }
  });

  it('is in doubt where offsets that should count pages give rows again', async () => {
    const totaled: Collection = (rows, offset, limit) => {
      const total = offset === 0 ? limit : rows.length;
      return { ...byRow(rows, offset, limit), meta: { pageToken: 't', total } };
    };
    const { doubts } = await collected(totaled, 20, { follow: 'pages' });
    expect(doubts.join()).toContain('set service.dialect.v2.paging: token');
  });

  it('goes on behind any page of an account whose offsets count pages', async () => {
    const { places, all } = await collected(byPage, 11);
    for (const [at, from] of places.slice(0, -1).entries()) {
      const rest = await collected(byPage, 11, {}, from);
      expect(rest.ids).toEqual(all.slice((at + 1) * 3));
      expect(rest.doubts).toEqual([]);
    }
  });

  it('is read by the setting, which is told with its next step where it is wrong', async () => {
    const { ids, doubts, all, asked } = await collected(byPage, 7, { follow: 'pages' });
    expect([ids, doubts]).toEqual([all, []]);
    expect(asked).toBe(7);
    const wrong = await collected(byRow, 7, { follow: 'pages' });
    expect(wrong.doubts).toEqual([
      'the pages have other numbers: set service.dialect.v2.paging: token',
    ]);
  });
});
