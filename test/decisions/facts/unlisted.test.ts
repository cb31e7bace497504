/** Facts of a variant that the stock does not list (`service.dialect.v1.unlisted`). */
import { describe, expect, it } from 'vitest';
import { noteSettings } from '../../../src/sync/run/open.ts';
import { createStockStream } from '../../../src/sync/streams/stock.ts';
import { clientsOf } from '../../sync/pull.ts';
import {
  ACCEPT_COVERED,
  createDeciderFixture,
  type DeciderFixture,
  loadedRules,
} from '../support.ts';

const set = { rules: () => loadedRules(ACCEPT_COVERED) };

/** Does what a start of the daemon with this setting does. */
async function configure({ store }: DeciderFixture, unlisted: 'unknown' | 'zero') {
  const nowhere = { v1Url: 'http://127.0.0.1:9/v1', v2Url: 'http://127.0.0.1:9/v2' };
  const key = { clientId: 'a', clientSecret: 'b' };
  const { v1, transport } = clientsOf({ ...nowhere, credentials: { key } });
  const level = { detailed: true, detailedPricing: false, includeVariantsOnOrder: false };
  const deletionGuard = { absolute: 1, share: 1 };
  const options = { level, deletionGuard, unlisted, mode: 'stream', pageRows: 1 } as const;
  await noteSettings(store.db, createStockStream(v1, options));
  await transport[Symbol.asyncDispose]();
}

async function reasonIn({ store }: DeciderFixture): Promise<string | undefined> {
  const rows = store.db.selectFrom('decision').select('reason').orderBy('decision_id', 'desc');
  return (await rows.executeTakeFirst())?.reason;
}

const UNKNOWN = 'could not evaluate: delivery.lines.stock_free';

describe('a variant that the stock does not list', () => {
  it('is unknown, or none by the setting, and is decided again when that changes', async () => {
    const fixture = await createDeciderFixture();
    await fixture.stock({ b: 10 });
    await fixture.delivery({ id: 1 });
    await fixture.decide(set);
    expect(await reasonIn(fixture)).toBe(UNKNOWN);
    await configure(fixture, 'zero');
    expect(await fixture.decide(set)).toEqual(['1 hold']);
    expect(await reasonIn(fixture)).toBe('Not in stock (1 of 1 line: a)');
    await configure(fixture, 'unknown');
    expect(await fixture.decide(set)).toEqual(['1 hold']);
    expect(await reasonIn(fixture)).toBe(UNKNOWN);
  });

  it('is unknown until the stock was complete once', async () => {
    const fixture = await createDeciderFixture();
    await fixture.stock({ b: 10 });
    await configure(fixture, 'zero');
    await fixture.store.db.updateTable('stream_state').set({ complete_at: null }).execute();
    await fixture.delivery({ id: 1 });
    await fixture.decide(set);
    expect(await reasonIn(fixture)).toContain('waits for the first stock');
    await fixture.stock({ b: 10 });
    expect(await fixture.decide(set)).toEqual(['1 hold']);
    expect(await reasonIn(fixture)).toBe('Not in stock (1 of 1 line: a)');
  });

  it('that was listed and is gone has none, and has pieces when it is listed again', async () => {
    const fixture = await createDeciderFixture();
    await fixture.stock({ a: 10 });
    await configure(fixture, 'zero');
    const gone = fixture.store.db.updateTable('stock_variant_row').set({ deleted_at: 1 });
    await gone.execute();
    await fixture.delivery({ id: 1 });
    await fixture.decide(set);
    expect(await reasonIn(fixture)).toBe('Not in stock (1 of 1 line: a)');
    await fixture.stock({ a: 11 });
    expect(await fixture.decide(set)).toEqual(['1 accept']);
  });
});
