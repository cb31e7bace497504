import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { createDecisions } from '../../src/daemon/decisions.ts';
import { openRules } from '../../src/daemon/rules/reload.ts';
import { createPulse } from '../../src/daemon/watch/pulse.ts';
import { openKillSwitch } from '../../src/decisions/stop/kill-switch.ts';
import { createCourt, DAY, settingsWith, UNLUCKY } from '../decisions/reject/support.ts';
import { startTestReference, testConfig, testLogger } from '../support/house.ts';
import { temporaryFolder } from '../support/store.ts';

const WHO = { actor: 'ada', reason: 'prices look wrong' };

it('a reject whose grace is over waits while the decisions are stopped', async () => {
  const { store, clock, ...court } = await createCourt();
  await court.waiting();
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
  await clock.advance(DAY);
  await court.fresh();
  await killSwitch.stop(WHO);
  const stop = new AbortController();
  const done = workers.find(({ name }) => name === 'rejects')?.run(stop.signal);
  onTestFinished(async () => {
    stop.abort();
    await done;
  });
  for (let turn = 0; turn < 10; turn += 1) await clock.advance(0);
  expect(await court.entry()).toMatchObject({ state: 'waiting', rail: 'mode' });
  await killSwitch.resume(WHO);
  await clock.advance(300_000);
  expect(await court.meant()).toEqual(['1 rejected']);
});
