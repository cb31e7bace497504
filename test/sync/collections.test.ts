/** Collections of V2 that are told in pages, and what a page leaves out. */
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/lib/clock.ts';
import { driftOfStream } from '../../src/sync/drift.ts';
import { createPdmStream } from '../../src/sync/streams/pdm.ts';
import { answerJson } from '../client/support.ts';
import { temporaryStore } from '../support/store.ts';
import { DELETION_GUARD, runsOn, type SourceOptions } from './pull.ts';
import { runnerOf, startClients, startPull } from './support.ts';

const PATH = '*/pdm/colors';
/** The next answer loses all its rows; its links stay what they were. */
const EMPTIED = { kind: 'emptyList', path: PATH, probability: 1, count: 1 };
/** A run makes a request this often before it is put off. */
const BROKEN = { kind: 'serverError', path: PATH, probability: 1, count: 5 };

async function startColors(follow: 'token' | 'links') {
  const pull = await startPull({ world: { styles: 8, orders: 0 } }, { follow, resourceRows: 7 });
  const colors = createPdmStream(pull.v2, 'colors', DELETION_GUARD);
  expect(await pull.run(colors)).toMatchObject({ outcome: 'complete' });
  const deleted = async () => {
    const { db } = pull.store;
    return db.selectFrom('change').select('key').where('op', '=', 'delete').execute();
  };
  return { ...pull, colors, deleted };
}

/** Pages of colors as `answer` gives them for their query; else a status, usually 503. */
async function startPages(
  options: SourceOptions,
  answer: (query: URLSearchParams) => object | number | undefined,
) {
  const clients = await startClients((request, response) => {
    if (request.url?.endsWith('/auth/login')) {
      answerJson(response, 200, { data: { token: 'a' } });
      return;
    }
    const page = answer(new URL(request.url ?? '', 'http://x').searchParams);
    if (typeof page === 'object') answerJson(response, 200, page);
    else answerJson(response, page ?? 503, {});
  }, options);
  const store = await temporaryStore(systemClock());
  return {
    store,
    ...runsOn(runnerOf(store)),
    colors: createPdmStream(clients.v2, 'colors', DELETION_GUARD),
  };
}

describe('a page that lost rows', () => {
  it('proves nothing when the links lead past them', async () => {
    const { reference, run, colors, deleted } = await startColors('links');
    reference.knobs.patch({ faults: [EMPTIED] });
    expect(await run(colors)).toMatchObject({
      outcome: 'partial',
      reason: expect.stringContaining('skipped'),
    });
    expect(await deleted()).toEqual([]);
    expect(await run(colors)).toMatchObject({ outcome: 'complete', changed: 0 });
  });

  it('is not forgotten when the run is cut off behind it', async () => {
    const { reference, run, colors, deleted } = await startColors('links');
    reference.knobs.patch({ faults: [EMPTIED, BROKEN] });
    expect(await run(colors)).toMatchObject({ outcome: 'interrupted' });
    expect(await run(colors)).toMatchObject({
      outcome: 'partial',
      reason: expect.stringContaining('skipped'),
    });
    expect(await deleted()).toEqual([]);
  });

  it('is asked for again where places are counted', async () => {
    const { reference, run, colors, deleted } = await startColors('token');
    reference.knobs.patch({ faults: [EMPTIED] });
    expect(await run(colors)).toMatchObject({ outcome: 'complete', changed: 0 });
    expect(await deleted()).toEqual([]);
  });
});

describe('a run of a short list', () => {
  it('counts the bytes that came, also those that were no use', async () => {
    const { reference, run, colors, lastRun } = await startColors('token');
    const { bytes } = await lastRun('colors');
    expect(bytes).toBeGreaterThan(1_000);
    reference.knobs.patch({ faults: [{ ...BROKEN, count: 1 }] });
    expect(await run(colors)).toMatchObject({ outcome: 'complete' });
    expect((await lastRun('colors')).bytes).toBeGreaterThanOrEqual(bytes);
  });
});

describe('a token that pins nothing', () => {
  it('lets no row that slips between two pages count as gone', async () => {
    let rows = ['1', '2', '3', '4', '5', '6'];
    let onAsked = (_offset: number): void => undefined;
    const { store, run, colors } = await startPages({ resourceRows: 2 }, (query) => {
      const offset = Number(query.get('page[offset]'));
      onAsked(offset);
      const data = rows
        .slice(offset, offset + 2)
        .map((id) => ({ type: 'color', id, attributes: { name: 'red' } }));
      const next = offset + 2 < rows.length ? `?page[offset]=${offset + 2}` : null;
      return { data, links: { next }, meta: { pageToken: 't' } };
    });
    const there = async () => {
      const live = store.db.selectFrom('color').select('color_id').where('deleted_at', 'is', null);
      return (await live.orderBy('color_id').execute()).map((row) => row.color_id);
    };
    expect(await run(colors)).toMatchObject({ outcome: 'complete', rows: 6 });
    // The first row is taken away behind its page: the third one slips onto it.
    onAsked = (offset) => {
      if (offset === 2) rows = rows.filter((id) => id !== '1');
    };
    expect(await run(colors)).toMatchObject({ outcome: 'complete', rows: 5 });
    expect(await there()).toEqual(['1', '2', '3', '4', '5', '6']);
    expect(await run(colors)).toMatchObject({ outcome: 'complete' });
    expect(await run(colors)).toMatchObject({ outcome: 'complete' });
    expect(await there()).toEqual(['2', '3', '4', '5', '6']);
  });
});

it('a resource that came twice is what its place says once the other one is gone', async () => {
  const color = (id: string, name = 'red') => ({ type: 'color', id, attributes: { name } });
  let rows = ['1', '2', '3', '4'].map((id) => color(id));
  const { store, run, colors } = await startPages({ resourceRows: 2 }, (query) => {
    const offset = Number(query.get('page[offset]'));
    const next = offset + 2 < rows.length ? `?page[offset]=${offset + 2}` : null;
    return { data: rows.slice(offset, offset + 2), links: { next }, meta: { pageToken: 't' } };
  });
  await run(colors);
  const before = rows;
  rows = rows.with(3, color('1', 'blue'));
  expect(await run(colors)).toMatchObject({ outcome: 'partial' });
  rows = before;
  expect(await run(colors)).toMatchObject({ outcome: 'complete' });
  const names = await store.db.selectFrom('color').select('name').execute();
  expect(names.map(({ name }) => name)).toEqual(['red', 'red', 'red', 'red']);
});

describe('a list without links', () => {
  const red = (id: string) => ({ type: 'color', id, attributes: { name: 'red' } });

  it('proves nothing by a full page that comes again whatever is asked for', async () => {
    let [hasToken, readsOffset] = [true, true];
    const { store, run, colors } = await startPages({ resourceRows: 4 }, (query) => {
      const offset = readsOffset ? Number(query.get('page[offset]')) : 0;
      const data = ['1', '2', '3', '4', '5'].slice(offset, offset + 4).map(red);
      return { data, ...(hasToken ? { meta: { pageToken: 't' } } : {}) };
    });
    expect(await run(colors)).toMatchObject({ outcome: 'complete', rows: 5 });
    hasToken = false;
    expect(await run(colors)).toMatchObject({ outcome: 'complete', rows: 5 });
    readsOffset = false;
    for (let times = 0; times < 2; times += 1) {
      expect(await run(colors)).toMatchObject({
        outcome: 'partial',
        reason: expect.stringContaining('page[offset]=4 has the rows of page[offset]=0 again'),
      });
    }
    const gone = store.db
      .selectFrom('color')
      .select('color_id')
      .where('deleted_at', 'is not', null);
    expect(await gone.execute()).toEqual([]);
  });

  it('is complete with an empty page behind its last full one', async () => {
    const { run, colors } = await startPages({ resourceRows: 2 }, (query) => {
      const offset = Number(query.get('page[offset]'));
      const data = ['1', '2', '3', '4'].slice(offset, offset + 2).map(red);
      return { data, meta: { pageToken: 't' } };
    });
    expect(await run(colors)).toMatchObject({ outcome: 'complete', rows: 4, reason: null });
  });
});

describe('pages that lead on', () => {
  const red = (id: string) => ({ type: 'color', id, attributes: { name: 'red' } });
  const links = { resourceRows: 2, follow: 'links' } as const;
  const linkOf = (query: URLSearchParams, place: string) => {
    query.set(`page[${place}]`, '2');
    return `?${query}`;
  };

  it.each([400, 404, 410])('are read from the first one when they are gone: %i', async (status) => {
    let isGone = true;
    const { run, colors } = await startPages(links, (query) => {
      const offset = Number(query.get('page[offset]'));
      if (offset === 2 && isGone) return status;
      const data = ['1', '2', '3'].slice(offset, offset + 2).map(red);
      return { data, links: { next: offset === 0 ? linkOf(query, 'offset') : null } };
    });
    const reason = expect.stringContaining('the page is gone');
    expect(await run(colors)).toMatchObject({ outcome: 'interrupted', reason });
    isGone = false;
    expect(await run(colors)).toMatchObject({ outcome: 'complete', rows: 3 });
  });

  it('prove nothing where there is nothing, also to a run that was cut off before', async () => {
    let isCutOff = false;
    const { run, colors } = await startPages(links, (query) => {
      if (!query.has('page[offset]')) {
        return { data: [red('1')], links: { next: linkOf(query, 'offset') } };
      }
      return isCutOff ? undefined : { data: [], links: { next: null } };
    });
    const reason = expect.stringContaining('a page that was announced is empty');
    const partial = { outcome: 'partial', reason };
    expect(await run(colors)).toMatchObject(partial);
    isCutOff = true;
    expect(await run(colors)).toMatchObject({ outcome: 'interrupted' });
    isCutOff = false;
    expect(await run(colors)).toMatchObject(partial);
  });

  it('are full where their links tell no places', async () => {
    let first = ['1'];
    const { run, colors } = await startPages(links, (query) =>
      query.has('page[cursor]')
        ? { data: [red('3')], links: { next: null } }
        : { data: first.map(red), links: { next: linkOf(query, 'cursor') } },
    );
    expect(await run(colors)).toMatchObject({ outcome: 'partial', reason: '1 rows were skipped' });
    first = ['1', '2'];
    expect(await run(colors)).toMatchObject({ outcome: 'complete', rows: 3 });
  });

  it('are asked for by the token that only the first one told', async () => {
    const { run, colors } = await startPages({ resourceRows: 2 }, (query) => {
      const offset = Number(query.get('page[offset]'));
      const data = ['1', '2', '3', '4', '5'].slice(offset, offset + 2).map(red);
      return { data, ...(offset === 0 ? { meta: { pageToken: 't' } } : {}) };
    });
    expect(await run(colors)).toMatchObject({ outcome: 'complete', rows: 5 });
  });
});

describe('links that go round in circles', () => {
  it('end the run, however many pages each attempt brings', async () => {
    let behind: readonly (number | null)[] = [1, 2, 1];
    const options = { resourceRows: 1, follow: 'links' } as const;
    const { run, lastRun, colors } = await startPages(options, (query) => {
      const offset = Number(query.get('page[offset]'));
      const data = [{ type: 'color', id: String(offset), attributes: { name: 'red' } }];
      const next = behind[offset] ?? null;
      query.set('page[offset]', String(next));
      return { data, links: { next: next && `?${query}` } };
    });
    const outcomes: string[] = [];
    while (outcomes.length < 8 && outcomes.at(-1) !== 'failed') {
      outcomes.push((await run(colors)).outcome);
    }
    expect(outcomes).toEqual([...Array<string>(5).fill('interrupted'), 'failed']);
    expect(await lastRun('colors')).toMatchObject({ reason: expect.stringContaining('circles') });
    behind = [1, 2, null];
    expect(await run(colors)).toMatchObject({ outcome: 'complete', rows: 3 });
  });

  it('leave nothing of a first list that the second one has not', async () => {
    let rows = ['1', '2', '3', '4'];
    let behind: readonly (number | null)[] = [1, 2, 3, 1];
    const options = { resourceRows: 1, follow: 'links' } as const;
    const { store, run, colors } = await startPages(options, (query) => {
      const offset = Number(query.get('page[offset]'));
      const data = [{ type: 'color', id: rows[offset], attributes: { name: 'red' } }];
      const next = behind[offset] ?? null;
      query.set('page[offset]', String(next));
      return { data, links: { next: next && `?${query}` } };
    });
    expect(await run(colors)).toMatchObject({ outcome: 'interrupted' });
    rows = ['1', '3', '4'];
    behind = [1, 2, null];
    // The run has read two lists, so that it takes two runs to say that a row is gone.
    for (let times = 0; times < 2; times += 1) {
      expect(await run(colors)).toMatchObject({ outcome: 'complete', rows: 3 });
    }
    const live = store.db.selectFrom('color').select('color_id').where('deleted_at', 'is', null);
    expect((await live.execute()).map((row) => row.color_id)).toEqual(rows);
  });
});

describe('an array for what is included', () => {
  it('is taken, and counted as drift over attempts', async () => {
    const pages = [1, 2, 3].map((id) => ({
      data: [{ type: 'color', id: String(id), attributes: { name: 'red' } }],
      links: { next: id < 3 ? `?page[offset]=${id}` : null },
      meta: { pageToken: 't' },
      included: [{ type: 'planet', id: '9' }],
    }));
    let broken = 0;
    const { store, run, colors } = await startPages({}, (query) => {
      const offset = query.get('page[offset]');
      if (offset !== '2' || broken >= 5) return pages[Number(offset)];
      broken += 1;
      return undefined;
    });
    expect(await run(colors)).toMatchObject({ outcome: 'interrupted' });
    expect(await run(colors)).toMatchObject({ outcome: 'complete', rows: 3 });
    expect(await driftOfStream(store.db, 'colors')).toContainEqual({
      entity: 'document',
      unknownMembers: { 'included.planet': 3 },
      newValues: { 'included=array': 3 },
      unreadable: {},
    });
  });
});
