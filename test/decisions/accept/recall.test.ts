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

async function accepted(rules = ACCEPT_SMALL, settings?: string) {
  const fixture = await createDeciderFixture();
  await fixture.delivery({ id: 1 });
  expect(await fixture.decide({ rules: () => loadedRules(rules, settings) })).toEqual(['1 accept']);
  const outbox = async () => {
    const rows = await fixture.store.db
      .selectFrom('outbox')
      .select(['state', 'last_error'])
      .execute();
    return rows.map(({ state, last_error: error }) => `${state} ${error ?? ''}`.trim());
  };
  return { fixture, outbox };
}

/** A rule about deliveries of so many pieces; nobody armed it, so that it holds. */
function rejectOf(pieces: string, more = ''): string {
  const tests = [2, 1, 3, 4].map((quantity) => {
    const says = pieces.split(', ').includes(String(quantity)) ? 'reject' : 'none';
    const given = `{ delivery: { quantity: ${quantity} } }`;
    return `{ name: p${quantity}, given: ${given}, expect: ${says} }`;
  });
  return `  - { id: reject-some, title: Some, action: reject, mode: live, ${more}
      when: ["delivery.quantity in [${pieces}]"], reject: { grace: 24h }, tests: [${tests}] }\n`;
}

const IN_LIST = `  - { id: hold-listed, title: Listed, action: hold, mode: live,
      when: [order.reference in lists.stopped] }\n`;
const listed = (names: string) => `version: 1\nlists: { stopped: [${names}] }\n`;

/** Rules that accept delivery 1, the next ones that do not, and their settings. */
const EDITS: readonly (readonly [string, string, string, string?, string?])[] = [
  ['a reject rule is edited', rejectOf('1, 3'), rejectOf('1, 2')],
  ['a reject rule is new', '', rejectOf('1, 2')],
  ['a reject rule is live now', rejectOf('1, 2', '').replace('live', 'shadow'), rejectOf('1, 2')],
  ['a reject rule no longer only watches', rejectOf('2', 'otherwise: nothing, '), rejectOf('2')],
  ['a list that a rule reads is edited', IN_LIST, IN_LIST, listed('X'), listed('X, PO-1')],
];

describe('an accept that was not sent yet', () => {
  it.each(EDITS)('is canceled when %s', async (_, before, after, lists, edited) => {
    const { fixture, outbox } = await accepted(ACCEPT_SMALL + before, lists);
    const rules = () => loadedRules(ACCEPT_SMALL + after, edited);
    expect(await fixture.decide({ rules })).toEqual(['1 hold']);
    expect(await outbox()).toEqual([expect.stringMatching(/^canceled the rules now say hold: /)]);
  });

  it('is canceled when the time of a rule has come', async () => {
    const { fixture, outbox } = await accepted();
    const soon = loadedRules(
      ACCEPT_SMALL + rejectOf('2', 'effective_from: 2026-01-05T08:01:00Z, '),
    );
    const stop = new AbortController();
    const done = fixture.decider({ rules: () => soon }).run(stop.signal);
    await fixture.clock.advance(59_000);
    expect(await outbox()).toEqual(['queued']);
    await fixture.clock.advance(1_000);
    expect(await outbox()).toEqual([expect.stringMatching(/^canceled the rules now say hold: /)]);
    stop.abort();
    await done;
  });

  it('on its way is not sent again when a rule is edited that holds it now', async () => {
    const { fixture } = await accepted();
    await fixture.store.db.updateTable('outbox').set({ state: 'in_doubt' }).execute();
    await fixture.decide({ rules: () => loadedRules(ACCEPT_SMALL + rejectOf('2')) });
    const { body } = await fixture.store.db
      .selectFrom('outbox')
      .select('body')
      .executeTakeFirstOrThrow();
    const cancelRequested = expect.stringMatching(/^the rules now say hold: /);
    expect(JSON.parse(body)).toMatchObject({ cancelRequested });
  });

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
