/** An accept leaves while what it rests on is fresh, or is decided again. */
import { expect, it } from 'vitest';
import { ACCEPT_SMALL, createDeciderFixture, loadedRules } from '../support.ts';

const MINUTE = 60_000;

it.each([
  // The rules are asked again about what waited longer: its customer may be blocked by then.
  ['15m', 3 * MINUTE],
  ['2m', 2 * MINUTE],
  // In less it might never leave.
  ['10s', MINUTE],
])(
  'may wait as long as the mirror may be old, %s, but for one to three minutes in any case',
  async (mirror, ms) => {
    const fixture = await createDeciderFixture();
    const settings = JSON.stringify({ version: 1, safeguards: { freshness: { mirror } } });
    const rules = loadedRules(ACCEPT_SMALL, settings);
    await fixture.delivery({ id: 1 });
    expect(await fixture.decide({ rules: () => rules })).toEqual(['1 accept']);
    const push = await fixture.store.db
      .selectFrom('outbox')
      .select('body')
      .executeTakeFirstOrThrow();
    expect(JSON.parse(push.body)).toMatchObject({ sendBefore: fixture.clock.now() + ms });
  },
);

it.each([
  ['nobody had refused it', undefined, ['1 accept']],
  ['the service had refused it', 'refused', []],
  ['the service had another status', 'conflict', []],
])('is decided again where it waited too long and %s', async (_, answer, anew) => {
  const fixture = await createDeciderFixture();
  const { db } = fixture.store;
  await fixture.delivery({ id: 1 });
  expect(await fixture.decide()).toEqual(['1 accept']);
  await fixture.clock.advance(15 * MINUTE);
  const tried = { outbox_id: 1, attempt: 1, started_at: 0, ended_at: 0 };
  const nothing = { max_order_id_before: null, http_status: null, error_code: null };
  await db
    .insertInto('outbox_attempt')
    .values({ ...tried, ...nothing, answer: null, class: answer ?? 'not_processed' })
    .execute();
  await fixture.endPush('refused', { answered: false });
  await fixture.clock.advance(1);
  expect(await fixture.decide()).toEqual(anew);
});
