/** Pages that come as one batch. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Transport } from '../../src/client/transport.ts';
import { createV1Client, type V1Client } from '../../src/client/v1/client.ts';
import {
  type RowBatch,
  VARIANT_LIST_DEFAULTS,
  type VariantListOptions,
} from '../../src/client/v1/variants.ts';
import { RetryLaterError } from '../../src/lib/errors.ts';
import { digestOf, type KnownChunks } from '../../src/lib/json-rows/known.ts';
import { type Rig, startRig } from '../reference/support.ts';
import { impatient, rejection, startFaulty } from './support.ts';
import { readAll, v1Client } from './v1-support.ts';

/** Rows that a consumer would know of these batches, except those that `isKnown` leaves out. */
function knownOf(
  batches: readonly RowBatch[],
  isKnown: (firstRow: number) => boolean,
): KnownChunks {
  const all = batches.flatMap(({ bytes, chunks }) =>
    chunks.map(({ firstRow, rowCount, start, end }) => {
      return {
        firstRow,
        rowCount,
        size: end - start,
        digest: digestOf(bytes.subarray(start, end)),
      };
    }),
  );
  return async (from, to) =>
    all.filter(({ firstRow }) => firstRow >= from && firstRow < to && isKnown(firstRow));
}

/** The text of the chunks that were looked into, by their first rows. */
function openOf(batches: readonly RowBatch[]): Map<number, string> {
  return new Map(
    batches.flatMap(({ bytes, chunks }) =>
      chunks
        .filter((chunk) => !chunk.isKnown)
        .map(({ firstRow, start, end }) => [
          firstRow,
          Buffer.from(bytes.subarray(start, end)).toString(),
        ]),
    ),
  );
}

describe('neighbouring pages', () => {
  let rig: Rig;
  let transport: Transport;

  const clientWith = (variants: Partial<VariantListOptions>): V1Client =>
    v1Client(rig, transport, { mode: 'pages', ...variants });
  const whole = (variants: Partial<VariantListOptions>, known?: KnownChunks) =>
    readAll(clientWith(variants).stock({ detailed: true }, { known }));

  beforeEach(async () => {
    rig = await startRig({ auth: { loginSpacing: '0s' } });
    transport = impatient({ retryWaitsMs: [1] });
  });
  afterEach(async () => {
    await transport[Symbol.asyncDispose]();
    await rig.reference.close();
  });

  it('come as one batch where they fit, every row once and in order', async () => {
    const alone = await whole({ pageRows: 40, batchRows: 40 });
    expect(alone.batches.every(({ pages }) => pages === 1)).toBe(true);
    const { batches, variants, end } = await whole({ pageRows: 40, batchRows: 96 });
    expect(variants).toEqual(alone.variants);
    expect(end).toEqual(alone.end);
    expect(batches.map(({ pages }) => pages).slice(0, 2)).toEqual([2, 2]);
    expect(batches.map(({ firstRow }) => firstRow)).toEqual(batches.map((_, at) => at * 80));
    expect(batches.map(({ next }) => next)).toEqual(
      batches.map(({ firstRow, pages }) => firstRow / 40 + pages + 1),
    );
    // Cut as they were, and as many bytes came.
    const cuts = (all: readonly RowBatch[]) =>
      all.flatMap(({ chunks }) => chunks.map(({ firstRow, rowCount }) => [firstRow, rowCount]));
    expect(cuts(batches)).toEqual(cuts(alone.batches));
    const sum = (member: 'rowCount' | 'size' | 'pages', all: readonly RowBatch[]) =>
      all.reduce((total, batch) => total + batch[member], 0);
    for (const member of ['rowCount', 'size', 'pages'] as const) {
      expect(sum(member, batches)).toBe(sum(member, alone.batches));
    }
    for (const { chunks, rowCount } of batches) {
      expect(chunks.reduce((rows, chunk) => rows + chunk.rowCount, 0)).toBe(rowCount);
    }
  });

  it('are told of one by one, before they are joined', async () => {
    const client = clientWith({ pageRows: 40, batchRows: 96 });
    let told = 0;
    let given = 0;
    const { batches } = client.stock({ detailed: true }, { onPage: () => (told += 1) });
    for await (const { pages } of batches) {
      given += pages;
      expect(told).toBe(given);
    }
    expect(given).toBeGreaterThan(4);
  });

  it('are no more in a batch than are asked for side by side', async () => {
    const { batches } = await whole({ pageRows: 10, batchRows: 512, pagesAheadMax: 3 });
    expect(batches.slice(0, -1).every(({ pages }) => pages === 3)).toBe(true);
  });

  it('come with the bytes of what is not known, and only with those', async () => {
    const sizes = { pageRows: 32, batchRows: 64 };
    const first = await whole(sizes);
    const all = openOf(first.batches);
    // A batch of which nothing is known, one of which all is, pages of both kinds, and mixed ones.
    const isKnown = (firstRow: number): boolean =>
      (firstRow >= 64 && firstRow < 160) || (firstRow > 160 && firstRow % 32 === 0);
    const { batches, end } = await whole(sizes, knownOf(first.batches, isKnown));
    expect(end).toEqual(first.end);
    const open = openOf(batches);
    expect([...open]).toEqual([...all].filter(([firstRow]) => !isKnown(firstRow)));
    expect(batches.length).toBe(4);
    for (const { pages, bytes, chunks } of batches.filter(({ pages }) => pages > 1)) {
      const needed = chunks.filter((chunk) => !chunk.isKnown);
      const size = needed.reduce((total, { start, end }) => total + end - start, 0);
      expect([pages, bytes.length]).toEqual([2, size]);
      expect(bytes.buffer.byteLength).toBe(size);
    }
    expect(batches[1]?.bytes.length).toBe(0);
  });

  it('that came before one that fails are given first', async () => {
    const bodyOf = await rig.call('GET', '/variants/stock?detailed=true');
    const headers = rig.headersOf('plain');
    // The reference, but for its third page.
    await using gateway = await startFaulty(async ({ url = '' }, response) => {
      if (/[?&]page=3(&|$)/.test(url)) response.writeHead(500).end();
      else response.end(await (await fetch(rig.reference.v1Url + url, { headers })).text());
    });
    const variants = { ...VARIANT_LIST_DEFAULTS, pageRows: 20, batchRows: 80 };
    const options = { variants, seasonParameter: 'seasonName', idempotencyHeader: undefined };
    const client = createV1Client({ ...options, baseUrl: gateway.url }, { sender: transport });
    const pull = client.stock({ detailed: true });
    const batches: RowBatch[] = [];
    const reading = async (): Promise<void> => {
      for await (const batch of pull.batches) batches.push(batch);
    };
    expect(await rejection(reading())).toBeInstanceOf(RetryLaterError);
    expect(batches).toMatchObject([{ pages: 2, rowCount: 40, next: 3 }]);
    const rows = [...openOf(batches).values()].flatMap((text) => JSON.parse(`[${text}]`));
    expect(rows).toEqual(bodyOf.body.data.variants.slice(0, 40));
    expect(() => pull.end()).toThrow('before it was reached');
    await expect.poll(() => transport.limiter.active()).toBe(0);
  });
});
