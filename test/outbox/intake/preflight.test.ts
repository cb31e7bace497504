import { expect, it } from 'vitest';
import { RefusedError } from '../../../src/lib/errors.ts';
import { createPreflight } from '../../../src/outbox/intake/preflight.ts';
import type { OutboxKind } from '../../../src/outbox/item.ts';
import { temporaryStore } from '../../support/store.ts';
import { order } from './support.ts';

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
