import { describe, expect, it } from 'vitest';
import { ACCEPT_SMALL, acceptByHand, createDeciderFixture, loadedRules } from '../support.ts';

const ACCEPT_ANY = '  - id: accept-any\n    title: Any\n    action: accept\n    mode: live\n';
const BOTH = `${ACCEPT_SMALL}${ACCEPT_ANY}    when: [ delivery.quantity < 1000 ]\n`;
const SHADOW = ACCEPT_SMALL.replace('mode: live', 'mode: shadow');

const WAYS: readonly (readonly [string, string, string | undefined])[] = [
  ['only watches', SHADOW, undefined],
  ['is off', ACCEPT_SMALL.replace('mode: live', 'mode: off'), undefined],
  ['is gone', 'rules: []\n', undefined],
  ['only watches with its set', ACCEPT_SMALL, 'version: 1\nmode: shadow\n'],
];

async function accepted(rules = ACCEPT_SMALL) {
  const fixture = await createDeciderFixture();
  await fixture.delivery({ id: 1 });
  expect(await fixture.decide({ rules: () => loadedRules(rules) })).toEqual(['1 accept']);
  const outbox = async () => {
    const rows = await fixture.store.db
      .selectFrom('outbox')
      .select(['state', 'last_error'])
      .execute();
    return rows.map(({ state, last_error: error }) => `${state} ${error ?? ''}`.trim());
  };
  return { fixture, outbox };
}

describe('an accept that was not sent yet', () => {
  it.each(WAYS)('is canceled and decided again when its rule %s', async (_, text, settings) => {
    const { fixture, outbox } = await accepted();
    const rules = () => loadedRules(text, settings);
    expect(await fixture.decide({ rules })).toEqual(['1 no_rule']);
    expect(await outbox()).toEqual(['canceled its rules do not act any more']);
    // Nothing is lost: it leaves as a decision of its own once the rule acts again.
    expect(await fixture.decide()).toEqual(['1 accept']);
    expect(await outbox()).toEqual(['canceled its rules do not act any more', 'queued']);
  });

  it('leaves where another rule that accepted it still acts', async () => {
    const { fixture, outbox } = await accepted(BOTH);
    const rules = () => loadedRules(BOTH.replace('mode: live', 'mode: off'));
    expect(await fixture.decide({ rules })).toEqual([]);
    expect(await outbox()).toEqual(['queued']);
  });

  it.each([
    ['its rules do not act', { rules: () => loadedRules(SHADOW) }],
    ['the daemon only observes', { mode: 'observe' as const }],
  ])('leaves where a person accepted it, also when %s', async (_, parts) => {
    const fixture = await createDeciderFixture();
    await fixture.delivery({ id: 1 });
    await acceptByHand(fixture, 1);
    await fixture.delivery({ id: 2, order: 2 });
    expect(await fixture.decide()).toEqual(['2 accept']);
    await fixture.decide(parts);
    const push = fixture.store.db.selectFrom('outbox').select('state').orderBy('outbox_id');
    expect(await push.execute()).toEqual([{ state: 'queued' }, { state: 'canceled' }]);
  });

  it('leaves where its rule was only edited', async () => {
    const { fixture, outbox } = await accepted();
    const rules = () => loadedRules(ACCEPT_SMALL.replaceAll('20', '30'));
    expect(await fixture.decide({ rules })).toEqual([]);
    expect(await outbox()).toEqual(['queued']);
  });

  it('is not sent again where it was on its way', async () => {
    const { fixture } = await accepted();
    await fixture.store.db.updateTable('outbox').set({ state: 'in_doubt' }).execute();
    await fixture.decide({ rules: () => loadedRules(SHADOW) });
    const { body } = await fixture.store.db
      .selectFrom('outbox')
      .select('body')
      .executeTakeFirstOrThrow();
    expect(JSON.parse(body)).toMatchObject({ cancelRequested: 'its rules do not act any more' });
  });
});
