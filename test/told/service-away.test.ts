/** A service that is stopped is told through all doors, and so is its return. */
import { writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';

import { expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { type Clock, systemClock } from '../../src/lib/clock.ts';
import { startCliHouse } from '../cli/house.ts';
import { answerJson, envelope } from '../client/support.ts';
import { signIn } from '../console/support.ts';
import { startFastReference } from '../e2e/support.ts';
import { until } from '../support/house.ts';

/** The system's clock, which can be moved on without waiting. */
function movable(): Clock & { move(ms: number): void } {
  const clock = systemClock();
  let moved = 0;
  return {
    ...clock,
    now: () => clock.now() + moved,
    monotonic: () => clock.monotonic() + moved,
    move(ms) {
      moved += ms;
    },
  };
}

const overrides = [
  { path: 'console.enabled', value: true },
  { path: 'console.port', value: 0 },
  { path: 'outbox.delayMin', value: '100ms' },
  { path: 'outbox.delayMax', value: '1s' },
  { path: 'service.limits.loginSpacing', value: '0s' },
  { path: 'service.retry', value: 1 },
];

const overviewSchema = z.looseObject({
  status: z.looseObject({ service: z.array(z.looseObject({ state: z.string() })) }),
  checks: z.array(z.looseObject({ check: z.string(), grade: z.string() })),
});

it('tells all that nobody answers, after a minute as an incident, until one does', async () => {
  const clock = movable();
  const reference = await startFastReference({ world: { styles: 20, orders: 3 } });
  const house = await startCliHouse(reference, { overrides }, undefined, clock);
  const { daemon, call, folder } = house;
  const [order] = reference.world.book.orders.all;
  const barcode = order?.lines[0]?.barcode;
  const said = async (...args: readonly string[]) => (await call(...args)).stdout;
  const firstLine = async () => (await said('status')).split('\n')[0] ?? '';
  const host = new URL(reference.v1Url).host;
  await until('an answer', async () => (await firstLine()).includes(' answers (') || undefined);
  expect(await firstLine()).toBe(`service     answers (V1 at ${host})`);

  await reference.close();
  const file = join(folder, 'order.json');
  const lines = [{ barcode, quantity: 1, price: '12.50' }];
  writeFileSync(file, JSON.stringify({ reference: 'AWAY-1', lines }));
  await call('orders', 'push', file);
  const silent =
    /^service +does not answer since \S+Z: the connection failed \(ECONNREFUSED\) \(V1 /;
  await until('silence', async () => silent.test(await firstLine()) || undefined);
  const url = new URL(await daemon.consoleLink('nobody', 'viewer')).origin;
  const ada = await signIn({ daemon, url }, 'ada', 'viewer');
  for (const path of ['/', '/review', '/outbox', '/orders', '/pulls', '/system', '/reports']) {
    const { text } = await ada.get(path);
    expect(text, path).toMatch(
      /<div class="band" role="alert"><p>The service does not answer since/,
    );
  }
  expect((await ada.get('/')).text).toMatch(/tile t-look".*?<span>Service<\/span>\s<b>no answer</);
  const away = /wait: the service has not answered since \S+Z; it is sent once the service answers/;
  await until(
    'the next step',
    async () => away.test(await said('outbox', 'show', '1')) || undefined,
  );
  expect(await said('orders', 'list')).toMatch(/^The service does not answer since/m);
  expect(await said('sync', 'list')).toMatch(/^The service does not answer since/m);
  const silentIncident = /^incidents .*The service does not answer \(1\)/m;
  // Asked for seconds only, nobody needs to be called.
  expect((await call('status', '--check')).code).toBe(1);
  expect(await said('status')).not.toMatch(silentIncident);

  clock.move(61_000);
  await until('the incident', async () => silentIncident.test(await said('status')) || undefined);
  const check = await call('status', '--check');
  expect([check.code, check.stdout]).toEqual([
    2,
    expect.stringMatching(/^CRITICAL: the service does not answer since \S+Z: .*ECONNREFUSED/),
  ]);
  const overview = overviewSchema.parse((await ada.get('/index.json')).json);
  expect(overview.status.service).toMatchObject([{ api: 'V1', host, state: 'silent' }]);
  expect(overview.checks).toContainEqual(
    expect.objectContaining({ check: 'service', grade: 'critical' }),
  );
  expect((await ada.get('/')).text).toMatch(/tile t-bad".*?<span>Service<\/span>\s<b>no answer</);
  expect(await said('doctor', '--offline')).toMatch(/^FAIL service +the service does not answer/m);
  const local = z
    .object({ url: z.string() })
    .parse(JSON.parse(await readFile(join(folder, 'data', 'local.json'), 'utf8')));
  const metrics = await (await fetch(`${local.url}/metrics`)).text();
  expect(metrics).toContain('selvedge_service_state{api="V1",state="silent"} 1');
  expect(metrics).toContain('selvedge_service_state{api="V1",state="answers"} 0');

  const back = createServer((_request, response) => answerJson(response, 422, envelope(422, null)));
  await new Promise<void>((resolve) => back.listen(Number(new URL(reference.v1Url).port), resolve));
  onTestFinished(() => void back.close());
  await until('its return', async () =>
    silentIncident.test(await said('status')) ? undefined : true,
  );
  expect((await ada.get('/')).text).not.toContain('does not answer');
});
