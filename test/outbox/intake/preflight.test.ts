import { expect, it } from 'vitest';
import { systemClock } from '../../../src/lib/clock.ts';
import { RefusedError } from '../../../src/lib/errors.ts';
import { createIntake } from '../../../src/outbox/intake/hand-in.ts';
import { createPreflight } from '../../../src/outbox/intake/preflight.ts';
import type { OutboxKind } from '../../../src/outbox/item.ts';
import { temporaryStore } from '../../support/store.ts';
import { delivered, endDocument, order } from './support.ts';

it('of one document is unclear when the service will not be asked about it', async () => {
  const store = await temporaryStore();
  const refuse = async (): Promise<never> => {
    throw new RefusedError('service.forbidden', 'GET /orders: 403 This key may only read');
  };
  const kind: OutboxKind = {
    ...{ kind: 'order', creates: () => true },
    ...{ clear: refuse, look: refuse, send: refuse },
  };
  const preflight = createPreflight(store, [kind]);
  const submission = { kind: 'order', reference: 'SO-1', payload: order() };
  expect(await preflight(submission, new AbortController().signal)).toEqual({
    ...{ reference: 'SO-1', verdict: 'unclear', documentId: null },
    problems: [{ path: '', message: 'GET /orders: 403 This key may only read' }],
  });
});

it('of a document that was refused before says so, and what to do', async () => {
  const store = await temporaryStore(systemClock());
  const intake = createIntake({ store, onTaken: () => undefined, hasRoom: () => true });
  await intake.handIn([delivered('SO-1')]);
  const preflight = createPreflight(store, []);
  const submission = { kind: 'order', reference: 'SO-1', payload: order() };
  const check = () => preflight(submission, new AbortController().signal);
  expect(await check()).toMatchObject({ verdict: 'repeated', documentId: 1, problems: [] });
  await endDocument(store, 1, 'refused', { last_error: 'lines[0].barcode: sold out' });
  expect(await check()).toMatchObject({
    ...{ verdict: 'refused', documentId: 1 },
    problems: [
      {
        path: 'reference',
        message: expect.stringMatching(/1, this very one \(refused\): .*new ref/),
      },
      { message: 'lines[0].barcode: sold out' },
    ],
  });
});
