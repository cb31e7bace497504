import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { createDecisions } from '../../src/daemon/decisions.ts';
import { openRules } from '../../src/daemon/rules/reload.ts';
import { createPulse } from '../../src/daemon/watch/pulse.ts';
import { openKillSwitch } from '../../src/decisions/stop/kill-switch.ts';
import { readDecisionsStop } from '../../src/store/state.ts';
import { createCourt, DAY, settingsWith, UNLUCKY } from '../decisions/reject/support.ts';
import { startTestReference, testConfig, testLogger } from '../support/house.ts';
import { temporaryFolder } from '../support/store.ts';

const WHO = { actor: 'ada', reason: 'prices look wrong' };

/** The decisions of a daemon, the kill switch of its folder, and who runs a worker of them. */
async function createRoom() {
  const { store, clock, ...court } = await createCourt();
  const folder = temporaryFolder();
  const config = testConfig(await startTestReference(), { folder, rules: UNLUCKY });
  writeFileSync(join(config.rules.directory, 'settings.yaml'), settingsWith({}));
  const log = testLogger();
  const rules = await openRules(config, { store, clock, log });
  const killSwitch = await openKillSwitch({ store, clock, log, dataDir: folder });
  const delivery = { orderDeliveryId: 1, status: 'pending' };
  const { workers } = createDecisions(config, {
    ...{ store, log, rules, killSwitch, pulse: createPulse(clock) },
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
  return { ...court, store, clock, folder, killSwitch, run, settle };
}

it('a reject whose grace is over waits while the decisions are stopped', async () => {
  const { clock, killSwitch, run, settle, ...court } = await createRoom();
  await court.waiting();
  await clock.advance(DAY);
  await court.fresh();
  await killSwitch.stop(WHO);
  run('rejects');
  await settle();
  expect(await court.entry()).toMatchObject({ state: 'waiting', rail: 'mode' });
  await killSwitch.resume(WHO);
  await clock.advance(300_000);
  expect(await court.meant()).toEqual(['1 rejected']);
});

it('the file decisions.stop is written down, and so is that it is gone', async () => {
  const { clock, store, folder, run, settle } = await createRoom();
  const file = join(folder, 'decisions.stop');
  writeFileSync(file, 'prices look wrong');
  run('decisions');
  await settle();
  expect(await readDecisionsStop(store.db)).toMatchObject({ ...WHO, actor: 'file' });
  rmSync(file);
  await clock.advance(30_000);
  await settle();
  expect(await readDecisionsStop(store.db)).toBeUndefined();
});
