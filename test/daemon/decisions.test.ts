import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { createDecisions, openRules } from '../../src/daemon/decisions.ts';
import { createPulse } from '../../src/daemon/supervisor.ts';
import { createRejectFixture, DAY, settingsWith, UNLUCKY } from '../decisions/reject/support.ts';
import { startTestReference, testConfig, testLogger } from '../support/house.ts';
import { DECISIONS, pausesIn } from '../support/pauses.ts';
import { temporaryFolder } from '../support/store.ts';

const WHO = { actor: 'ada', reason: 'prices look wrong' };

/** The decisions of a daemon, its pauses, and who runs a worker of them. */
async function createRoom() {
  const { store, clock, ...rejects } = await createRejectFixture();
  const folder = temporaryFolder();
  const config = testConfig(await startTestReference(), { folder, rules: UNLUCKY });
  writeFileSync(join(config.rules.directory, 'settings.yaml'), settingsWith({}));
  const log = testLogger();
  const rules = await openRules(config, { store, clock, log });
  const pauses = await pausesIn({ store, clock });
  const delivery = { orderDeliveryId: 1, status: 'pending' };
  const { workers, pushEnded } = createDecisions(config, {
    ...{ store, log, rules, pauses, pulse: createPulse(clock) },
    readOrder: async () => JSON.parse(JSON.stringify({ deliveries: [delivery] })),
    onDecided: () => undefined,
    onPush: () => undefined,
  });
  const run = (worker: string): void => {
    const stop = new AbortController();
    const done = workers.find(({ name }) => name === worker)?.run(stop.signal);
    onTestFinished(async () => {
      stop.abort();
      await done;
    });
  };
  const settle = async (): Promise<void> => {
    for (let turn = 0; turn < 10; turn += 1) await clock.advance(0);
  };
  return { ...rejects, store, clock, pauses, pushEnded, run, settle };
}

it('a reject whose grace is over waits while decisions are paused', async () => {
  const { clock, pauses, run, settle, ...rejects } = await createRoom();
  await rejects.waiting();
  await clock.advance(DAY);
  await rejects.fresh();
  await pauses.pause(DECISIONS, WHO);
  run('rejects');
  await settle();
  expect(await rejects.entry()).toMatchObject({ state: 'waiting', safeguard: 'mode' });
  await pauses.resume(DECISIONS, WHO);
  await clock.advance(300_000);
  expect(await rejects.intendedPushes()).toEqual(['1 rejected']);
});

it('a delivery is decided again as soon as its push has ended', async () => {
  const { clock, run, settle, pushEnded, ...rejects } = await createRoom();
  await rejects.order(1, { comment: 'keep' });
  await rejects.delivery({ id: 1 });
  run('decisions');
  await settle();
  await rejects.delivery({ id: 1, lines: [['a', 3]] });
  await settle();
  const before = await rejects.decisions();
  expect(before).toMatchObject([{ outcome: 'accept' }]);
  await rejects.endPush('refused', { answered: false });
  await settle();
  expect(await rejects.decisions()).toEqual(before);
  pushEnded({ orderDeliveryId: 1, status: 'accepted', state: 'refused' });
  await settle();
  expect(await rejects.decisions()).toMatchObject([{}, { outcome: 'accept' }]);
});
