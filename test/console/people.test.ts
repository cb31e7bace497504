/** People whom a reload of the configuration changes, while they are signed in. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Config } from '../../src/config/schema.ts';
import { hashPassword } from '../../src/console/access/password.ts';
import { seededRandom } from '../../src/lib/random.ts';
import { configOf } from '../config/config-of.ts';
import {
  type ConsoleHouse,
  caller,
  cookieIn,
  seenRows,
  sharedEnd,
  signIn,
  startConsole,
} from './support.ts';

const WHO = { actor: 'ada', reason: 'people have changed' };
const PASSWORD = 'a long enough phrase';
const OTHER = 'another phrase, as long';

const NAMES = ['anna', 'ben', 'carl', 'dora', 'eve'];

describe('a reload', () => {
  const { atEnd, end } = sharedEnd();
  let house: ConsoleHouse;
  let password: string;
  let config: Config | undefined;

  beforeAll(async () => {
    password = await hashPassword(PASSWORD, seededRandom(3));
    const operators = NAMES.map((name) => ({ name, role: 'operator', password, sees: [] }));
    house = await startConsole({
      held: 1,
      settings: [{ path: 'console.operators', value: operators }],
      readConfig: () => config ?? house.config,
      atEnd,
    });
  });

  afterAll(end);

  it('ends sessions of people whose password, role or view it changes', async () => {
    const other = await hashPassword(OTHER, seededRandom(4));
    const signIn = (name: string, given: string) =>
      caller(house.url).form('/sign-in/password', { name, password: given });
    const people = new Map<string, ReturnType<typeof caller>>();
    for (const name of NAMES) {
      const cookie = cookieIn(await signIn(name, PASSWORD));
      people.set(name, caller(house.url, { cookie }));
    }
    const statuses = async () => {
      const found: [string, number | undefined][] = [];
      for (const [name, who] of people) found.push([name, (await who.get('/review.json')).status]);
      return Object.fromEntries(found);
    };
    expect(await statuses()).toEqual({ anna: 200, ben: 200, carl: 200, dora: 200, eve: 200 });
    const operators: Config['console']['operators'] = [
      { name: 'anna', role: 'operator', password: other, sees: [] },
      { name: 'carl', role: 'viewer', password, sees: [] },
      { name: 'dora', role: 'operator', password, sees: ['addresses'] },
      { name: 'eve', role: 'operator', password, sees: [] },
    ];
    config = { ...house.config, console: { ...house.config.console, operators } };
    expect(await house.daemon.reload(WHO)).toMatchObject({ restart: [] });
    expect(await statuses()).toEqual({ anna: 401, ben: 401, carl: 401, dora: 401, eve: 200 });
    expect((await signIn('anna', PASSWORD)).status).toBe(401);
    expect((await signIn('ben', PASSWORD)).status).toBe(401);
    const again = caller(house.url, { cookie: cookieIn(await signIn('anna', OTHER)) });
    expect((await again.get('/review.json')).status).toBe(200);
  });

  it('of rules.mode changes what the rules now say of a delivery', async () => {
    const anna = await signIn(house, 'anna', 'operator');
    const [row] = await seenRows(anna);
    const now = async () => (await anna.get(`/deliveries/${row?.orderDeliveryId}/now.json`)).json;
    expect(await now()).toMatchObject({ evaluation: { live: { kind: 'hold' } } });
    config = { ...house.config, rules: { ...house.config.rules, mode: 'shadow' } };
    await house.daemon.reload(WHO);
    expect(await now()).toMatchObject({ evaluation: { live: { kind: 'no_rule' } } });
  });
});

it('a proxy without its secret, and an operator without a way in, are mistakes', () => {
  const set = (path: string, value: unknown) => ({ path: `console.${path}`, value });
  expect(() => configOf([set('proxy.userHeader', 'X-Forwarded-User')])).toThrow('needed beside');
  const anna = { name: 'anna', role: 'viewer' };
  expect(() => configOf([set('operators', [anna])])).toThrow('has no password for anna');
});
