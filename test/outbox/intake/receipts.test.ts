import fastify from 'fastify';
import { expect, it, onTestFinished } from 'vitest';
import { pushRoutes } from '../../../src/console/push-routes.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { createIntake } from '../../../src/outbox/intake/hand-in.ts';
import { createPreflight } from '../../../src/outbox/intake/preflight.ts';
import { temporaryStore } from '../../support/store.ts';
import { turnsDuring } from '../../support/turns.ts';
import { delivered } from './support.ts';

it('tells of a thousand documents at once without keeping anybody waiting', async () => {
  const clock = systemClock();
  const store = await temporaryStore(clock);
  const intake = createIntake({ store, onTaken: () => undefined, hasRoom: () => true });
  const ids = Array.from({ length: 1_000 }, (_, index) => index + 1);
  await intake.handIn(ids.map((id) => delivered(`SO-${id}`)));
  const app = fastify();
  onTestFinished(() => app.close());
  const preflight = createPreflight(store, []);
  pushRoutes({ store, intake, preflight, clock }).install(app);
  await app.ready();
  const payload = { actor: 'anna', documentIds: ids };
  const ask = () => app.inject({ method: 'POST', url: '/api/intake/receipts', payload });
  const turns = await turnsDuring(async () => {
    const { receipts } = (await ask()).json();
    expect(receipts).toHaveLength(1_000);
    expect(receipts[999]).toMatchObject({ documentId: 1_000, reference: 'SO-1000' });
  });
  expect(turns).toBeGreaterThan(40);
});
