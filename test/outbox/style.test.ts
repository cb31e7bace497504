/** Lookups of V2's styles, at services that do not show what one would expect. */
import { expect, it } from 'vitest';
import type { V2Client } from '../../src/client/v2/client.ts';
import { manualClock } from '../../src/lib/clock.ts';
import { RefusedError } from '../../src/lib/errors.ts';
import type { JsonObject } from '../../src/lib/json.ts';
import type { OutboxItem } from '../../src/outbox/item.ts';
import { createStyleKind, type StyleKindDeps } from '../../src/outbox/kinds/style.ts';
import { createReadSequence } from '../../src/store/state.ts';
import { temporaryStore } from '../support/store.ts';

const signal = new AbortController().signal;
const NEW = { styleNo: 'ST-1', styleName: 'Parka', brandId: '1' };

function style(id: string, attributes: JsonObject = {}, brand = '1') {
  const relationships = { brand: { data: { type: 'brand', id: brand } } };
  const own = { styleNo: 'ST-1', styleName: 'Parka', ...attributes };
  return { type: 'style' as const, id, attributes: own, relationships };
}

type Shown = ReturnType<typeof style>;

/** A service with these styles, which may have no filter, or one that filters nothing. */
async function kindOf(shown: readonly Shown[], filter: 'refused' | 'ignored' = 'ignored') {
  const clock = manualClock();
  const store = await temporaryStore(clock);
  const included = { of: () => ({ rows: [], rejects: [] }) };
  const pages = async function* (asked: object) {
    if (filter === 'refused' && Object.keys(asked).length > 0) {
      throw new RefusedError('service.bad_request', 'no such filter');
    }
    const page = { pageNumber: 1, startedAt: 0, next: undefined, doubts: [], included };
    yield { ...page, rows: [...shown], rejects: [] };
  };
  const v2 = {
    collection: (_: string, query: { readonly filter: object }) => pages(query.filter),
    async resource(_: string, id: string) {
      const value = shown.find((one) => one.id === id);
      if (!value) throw new RefusedError('service.not_found', 'no such style');
      return { value, startedAt: 0, included };
    },
  } as unknown as V2Client;
  const deps = { v2, enabled: true, store, clock, sequence: createReadSequence(store, clock) };
  const kind = createStyleKind(deps satisfies StyleKindDeps);
  const mirrored = () => store.db.selectFrom('style').select('style_id').execute();
  return { kind, mirrored };
}

function item(body: JsonObject): OutboxItem {
  return {
    ...{
      outboxId: 1,
      kind: 'style',
      orderingKey: 'style/no/ST-1',
      reference: 'N-1',
      cause: 'c',
      body,
    },
    ...{ expectedFrom: null, state: 'in_doubt', attempts: 1 },
    ...{ result: null, inDoubtSince: 0, createdAt: 0 },
  };
}

it.each(['refused', 'ignored'] as const)(
  'is found among all others where the filter is %s',
  async (filter) => {
    const { kind, mirrored } = await kindOf([style('6', { styleNo: 'ST-10' }), style('7')], filter);
    const found = { outcome: 'matched', result: { styleId: '7' } };
    expect(await kind.lookUp(item(NEW), signal)).toMatchObject(found);
    expect(await mirrored()).toEqual([{ style_id: '7' }]);
  },
);

it('is for a person where another has its number, and is not made then', async () => {
  for (const [shown, members] of [
    [style('7', { styleName: 'Coat' }), ['styleName']],
    [style('7', {}, '2'), ['brandId']],
  ] as const) {
    const { kind, mirrored } = await kindOf([shown]);
    const lookup = { outcome: 'ambiguous', detail: { styleId: '7', differences: members } };
    expect(await kind.lookUp(item(NEW), signal)).toMatchObject(lookup);
    expect(await kind.clear(item(NEW), signal)).toMatchObject({ send: false, lookup });
    expect(await mirrored()).toEqual([]);
  }
});

it('is for a person where two have its number', async () => {
  const { kind, mirrored } = await kindOf([style('7'), style('8')]);
  expect(await kind.lookUp(item(NEW), signal)).toMatchObject({
    outcome: 'ambiguous',
    reason: '2 styles have the number ST-1: 7, 8',
  });
  expect(await mirrored()).toEqual([]);
});

it('is changed until all of it is shown, and never where there is no such style', async () => {
  const { kind, mirrored } = await kindOf([style('7')]);
  const other = item({ styleId: '7', brandId: '2' });
  expect(await kind.lookUp(other, signal)).toMatchObject({ outcome: 'not_found' });
  expect(await kind.clear(other, signal)).toMatchObject({ send: true });
  expect(await mirrored()).toEqual([]);
  expect(await kind.lookUp(item({ styleId: '9', styleName: 'Coat' }), signal)).toMatchObject({
    outcome: 'superseded',
    reason: 'the service has no style 9',
  });
  // A new style made again would be there twice; a change made again would not.
  expect([kind.creates(item(NEW)), kind.creates(other)]).toEqual([true, false]);
});

it.each([[[{ type: 'type', id: '3' }]], [{ type: 'type', id: 3 }]])(
  'is sent, and then for a person, where a relation is shown in an unknown form: %j',
  async (data) => {
    const shown = style('7');
    Object.assign(shown.relationships, { type: { data } });
    const { kind } = await kindOf([shown]);
    const change = item({ styleId: '7', styleName: 'Parka', typeId: '3' });
    const queued = { ...change, state: 'queued', attempts: 0 } as const;
    expect(await kind.clear(queued, signal)).toMatchObject({ send: true });
    // No word that it is not set: it may well be.
    expect(await kind.lookUp(change, signal)).toMatchObject({
      outcome: 'ambiguous',
      reason: 'style 7 shows typeId in a form that cannot be compared',
    });
    // The name can be compared, and is not shown: it may be sent again.
    const other = item({ styleId: '7', styleName: 'Coat', typeId: '3' });
    expect(await kind.lookUp(other, signal)).toMatchObject({ outcome: 'not_found' });
  },
);
