/** An accept leaves while what it rests on is fresh, or is decided again. */
import { expect, it } from 'vitest';
import { ACCEPT_SMALL, createHouse, loadedRules } from '../support.ts';

const MINUTE = 60_000;

it.each([
  ['15m', 15 * MINUTE],
  // In less it might never leave.
  ['10s', MINUTE],
])(
  'may wait as long as the mirror may be old, %s, and a minute in any case',
  async (mirror, ms) => {
    const house = await createHouse();
    const settings = JSON.stringify({ version: 1, rails: { freshness: { mirror } } });
    const rules = loadedRules(ACCEPT_SMALL, settings);
    await house.delivery({ id: 1 });
    expect(await house.decide({ rules: () => rules })).toEqual(['1 accept']);
    const push = await house.store.db.selectFrom('outbox').select('body').executeTakeFirstOrThrow();
    expect(JSON.parse(push.body)).toMatchObject({ sendBefore: house.clock.now() + ms });
  },
);

it.each([
  ['nobody had refused it', undefined, ['1 accept']],
  ['the service had refused it', 'refused', []],
  ['the service had another status', 'conflict', []],
])('is decided again where it waited too long and %s', async (_, answer, anew) => {
  const house = await createHouse();
  const { db } = house.store;
  await house.delivery({ id: 1 });
  expect(await house.decide()).toEqual(['1 accept']);
  await house.clock.advance(15 * MINUTE);
  const tried = { outbox_id: 1, attempt: 1, started_at: 0, ended_at: 0 };
  const nothing = { max_order_id_before: null, http_status: null, error_code: null };
  await db
    .insertInto('outbox_attempt')
    .values({ ...tried, ...nothing, answer: null, class: answer ?? 'not_processed' })
    .execute();
  await house.endPush('refused', { answered: false });
  await house.clock.advance(1);
  expect(await house.decide()).toEqual(anew);
});
