/** The proof of the names of pre-orders, by accounts that answer its checks in their own way. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import Database from 'better-sqlite3';
import { expect, it, onTestFinished } from 'vitest';
import type { NewOrder } from '../../../src/client/v1/order-body.ts';
import { manualClock } from '../../../src/lib/clock.ts';
import { InDoubtError, RefusedError } from '../../../src/lib/errors.ts';
import { noteSeasonUnseen } from '../../../src/outbox/evidence/seasons.ts';
import {
  createPreOrderNames,
  type PreOrderNamesDeps,
} from '../../../src/outbox/preflight/pre-order-names.ts';
import { openStore, type Store } from '../../../src/store/store.ts';
import { repositoryRoot } from '../../support/source.ts';
import { temporaryFolder, temporaryStore } from '../../support/store.ts';

const CALL = { signal: new AbortController().signal, beforeSend: () => {} };
const ORDER: NewOrder = {
  reference: 'A-1',
  seasonName: 'AW26',
  lines: [{ barcode: '4000000000017', quantity: 1, priceUnits: 1, deliveryName: 'Drop 1' }],
  shippingAddress: {
    ...{ firstName: 'Carla', lastName: 'Conti', address: 'Via Roma 1', accountNo: 'C-77' },
    ...{ city: 'Milano', zip: '20121', countryCode: 'IT' },
    ...{ phone: '+39 02 1234567', email: 'carla@conti.example' },
  },
};

type Answer = number | string[] | Error;

async function scene(answer: (body: string) => Answer, own?: Store) {
  const clock = manualClock();
  const store = own ?? (await temporaryStore(clock));
  const bodies: string[] = [];
  const createOrder = async (body: unknown) => {
    bodies.push(JSON.stringify(body));
    const given = answer(JSON.stringify(body));
    if (given instanceof Error) throw given;
    if (Array.isArray(given)) throw new RefusedError('service.refused', 'no', { lines: given });
    return { value: { orderId: given, deliveries: [] }, startedAt: 0 };
  };
  const make = (names: PreOrderNamesDeps['names'], account = 'https://x.example/api/v1') =>
    createPreOrderNames({
      ...{ store, clock, freightSpelling: 'freight', names, account },
      v1: { createOrder },
    });
  const incident = () =>
    store.db.selectFrom('incident').select('detail').where('resolved_at', 'is', null).execute();
  return { clock, store, bodies, make, incident };
}

/** Answers of an account that reads `seasonName`, and checks it after everything else. */
function small(body: string): string[] {
  if (!body.includes('orderLineItems')) return ['orderLineItems: is required'];
  const lines = ['orderLineItems.0.barcode: selvedge-no-article is not known'];
  return body.includes('"seasonName"') ? [...lines, 'no such season: selvedge-none'] : lines;
}

it('holds for the account alone of which it was made, or which a person named', async () => {
  const { make, bodies } = await scene(small);
  expect(await make('seasonName').of(ORDER, CALL)).toBe('seasonName');
  expect(await make('learned').of(ORDER, CALL)).toBe('seasonName');
  expect(bodies).toEqual([]);
  expect(await make('learned', 'https://y.example/api/v1').of(ORDER, CALL)).toBe('seasonName');
  expect(bodies).toHaveLength(4);
  // Nothing of the customer leaves in a check.
  expect(bodies.join()).not.toMatch(/Carla|Conti|Via Roma|C-77|Milano|1234567|conti/);
});

it('is not given by notes of people that the account shows no pre-orders', async () => {
  const { make, store, bodies } = await scene(small);
  for (const now of [1, 2]) await store.transaction((tx) => noteSeasonUnseen(tx, now));
  expect(await make('learned').of(ORDER, CALL)).toBe('seasonName');
  expect(bodies).toHaveLength(4);
});

it('is not given by a strict account, which refuses both spellings', async () => {
  const strict = (body: string) =>
    body.includes('"SeasonName"') ? [...small(body), 'SeasonName: is not known'] : small(body);
  const { make, bodies, clock } = await scene(strict);
  const names = make('learned');
  await expect(names.unlessWaiting()).resolves.toBeUndefined();
  await expect(names.of(ORDER, CALL)).rejects.toThrow('refuses SeasonName and seasonName alike');
  // It is asked again after an hour, whoever starts it meanwhile.
  await expect(make('learned').unlessWaiting()).rejects.toThrow('refuses SeasonName and');
  await expect(make('learned').of(ORDER, CALL)).rejects.toThrow('refuses SeasonName and');
  expect(bodies).toHaveLength(4);
  await clock.advance(3_600_000);
  await expect(names.of(ORDER, CALL)).rejects.toThrow('refuses SeasonName and');
  expect(bodies).toHaveLength(8);
});

it('are those of the contract at an account that breaks on what is wrong', async () => {
  const broken = () => new InDoubtError('transport.in_doubt', 'HTTP 500', { status: 500 });
  const { make, bodies } = await scene(broken);
  expect(await make('learned').of(ORDER, CALL)).toBe('SeasonName');
  expect(await make('learned').of(ORDER, CALL)).toBe('SeasonName');
  expect(bodies).toHaveLength(2);
});

it('is made again once an account that had broken down is asked an hour later', async () => {
  let isDown = true;
  const down = () => new InDoubtError('transport.in_doubt', 'HTTP 500', { status: 500 });
  const { make, clock } = await scene((body) => (isDown ? down() : small(body)));
  expect(await make('learned').of(ORDER, CALL)).toBe('SeasonName');
  isDown = false;
  expect(await make('learned').of(ORDER, CALL)).toBe('SeasonName');
  await clock.advance(3_600_000);
  expect(await make('learned').of(ORDER, CALL)).toBe('seasonName');
  await clock.advance(3_600_000);
  isDown = true;
  expect(await make('learned').of(ORDER, CALL)).toBe('seasonName');
});

it.each<[string, (body: string) => Answer, number, string]>([
  ['without lines was taken', () => 4711, 1, 'cancel order 4711 there'],
  [
    'of no article was taken',
    (body) => (body.includes('orderLineItems') ? 4712 : ['orderLineItems: is required']),
    2,
    'cancel order 4712 there',
  ],
  [
    'has no known outcome',
    () => new InDoubtError('transport.in_doubt', 'HTTP 502'),
    1,
    'is unknown (HTTP 502): look there for one with \\"selvedge-none\\"',
  ],
])('is never asked for again where an order %s, until a person names them', async (...row) => {
  const [, answer, posts, advice] = row;
  const { make, bodies, clock, incident } = await scene(answer);
  for (let day = 0; day < 3; day += 1) {
    const names = make('learned');
    await expect(names.of(ORDER, CALL)).rejects.toMatchObject({ code: 'outbox.preorder_names' });
    await expect(names.unlessWaiting()).rejects.toThrow('pre-orders wait');
    await clock.advance(86_400_000);
  }
  expect(bodies).toHaveLength(posts);
  const [open, ...others] = await incident();
  expect(open?.detail).toContain(advice);
  expect(others).toEqual([]);
  await make('SeasonName').of(ORDER, CALL);
  expect(await incident()).toEqual([]);
  expect(await make('learned').of(ORDER, CALL)).toBe('SeasonName');
});

it('is given by what 0.1.0 saw of the pre-orders that it sent to this account', async () => {
  const path = join(temporaryFolder(), 'mirror.db');
  const released = join(repositoryRoot, 'test', 'store', 'releases', '0.1.0.db.gz');
  writeFileSync(path, gunzipSync(readFileSync(released)));
  const database = new Database(path);
  const set = database.prepare('insert or replace into daemon_state values (?, ?, 1)');
  set.run('account', JSON.stringify({ address: 'https://x.example/api/v1', clientId: null }));
  set.run('outbox.preorders_shown', JSON.stringify({ isShown: true, noted: 0 }));
  database.close();
  const { store } = await openStore({ path, busyTimeoutMs: 100 }, manualClock());
  onTestFinished(() => store.close());
  const { make, bodies } = await scene(small, store);
  expect(await make('learned').of(ORDER, CALL)).toBe('SeasonName');
  expect(bodies).toEqual([]);
});
