/** Tries to sign in with a password: guessers are slowed down, and keep nobody else out. */
import { scryptSync } from 'node:crypto';
import { expect, it } from 'vitest';
import { createBrake, type Try } from '../../src/console/access/brake.ts';
import { createEntrance } from '../../src/console/access/entrance.ts';
import { manualClock } from '../../src/lib/clock.ts';
import { errorCode } from '../../src/lib/errors.ts';
import { seededRandom } from '../../src/lib/random.ts';
import { rejection } from '../client/support.ts';
import { temporaryStore } from '../support/store.ts';

const DAY = 86_400_000;
const TRY: Try = { name: 'anna', address: '10.0.0.1', isKnown: true, isFamiliar: false };

/** A hash as the configuration has it, of low cost. */
function hashOf(password: string): string {
  const salt = Buffer.alloc(16, 1);
  const key = scryptSync(password, salt, 32, { N: 1_024, r: 8, p: 1 });
  return `scrypt:1024:${salt.toString('base64url')}:${key.toString('base64url')}`;
}

it('tries for a person are counted on, however many other names are tried', async () => {
  const brake = createBrake(manualClock());
  const attempt = (more: Partial<Try>) => brake({ ...TRY, ...more }, async () => false);
  for (let tries = 0; tries < 5; tries += 1) await attempt({});
  for (let other = 0; other < 1_100; other += 1) {
    await attempt({ name: `other-${other}`, isKnown: false });
  }
  expect(await rejection(attempt({}))).toMatchObject({ code: 'console.tries' });
});

it('a flood of tries does not hinder a person who has signed in from there before', async () => {
  const brake = createBrake(manualClock());
  const never = () => new Promise<boolean>(() => undefined);
  for (let other = 0; other < 20; other += 1) {
    void brake({ ...TRY, name: `other-${other}`, isKnown: false }, never);
  }
  const stranger = brake({ ...TRY, address: '10.0.0.2' }, async () => true);
  expect(await rejection(stranger)).toMatchObject({ code: 'console.busy' });
  expect(await brake({ ...TRY, isFamiliar: true }, async () => true)).toBe(true);
});

it('guesses at one name from many addresses end soon, and do not hinder that person', async () => {
  const clock = manualClock();
  const store = await temporaryStore(clock);
  const password = hashOf('the right phrase');
  const anna = { name: 'anna', role: 'operator', sees: [], password } as const;
  const people = { operators: [anna], proxyRole: null };
  const lasts = { sessionMs: DAY, sessionIdleMs: DAY };
  const entrance = createEntrance({ store, clock, random: seededRandom(1), people, ...lasts });
  await entrance.byPassword('anna', 'the right phrase', '10.0.0.1');
  const guess = (from: number) =>
    rejection(entrance.byPassword('anna', 'a wrong phrase', `10.9.0.${from}`));
  const found = [];
  for (let from = 0; from < 25; from += 1) found.push(await guess(from));
  const refused = found.filter((error) => errorCode(error) === 'console.tries');
  expect(refused).toHaveLength(6);
  const session = await entrance.byPassword('anna', 'the right phrase', '10.0.0.1');
  expect(session.key).not.toBe('');
});
