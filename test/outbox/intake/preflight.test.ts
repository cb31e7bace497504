import { expect, it } from 'vitest';
import { systemClock } from '../../../src/lib/clock.ts';
import { BugError, RefusedError } from '../../../src/lib/errors.ts';
import { createPreflight } from '../../../src/outbox/intake/preflight.ts';
import type { Clearance, OutboxKind } from '../../../src/outbox/item.ts';
import { temporaryStore } from '../../support/store.ts';
import { delivered, endDocument, intakeOf, order } from './support.ts';

it('of one document is unclear when the service will not be asked about it', async () => {
  const store = await temporaryStore();
  const refuse = async (): Promise<never> => {
    throw new RefusedError('service.forbidden', 'GET /orders: 403 This key may only read');
  };
  const kind: OutboxKind = {
    ...{ kind: 'order', creates: () => true },
    ...{ clear: refuse, lookUp: refuse, send: refuse },
  };
  const preflight = createPreflight(store, systemClock(), [kind]);
  const envelope = { kind: 'order', reference: 'SO-1', payload: order() };
  expect(await preflight(envelope, new AbortController().signal)).toEqual({
    ...{ reference: 'SO-1', verdict: 'unclear', documentId: null },
    problems: [{ path: '', message: 'GET /orders: 403 This key may only read' }],
  });
});

it('of a document that was refused before says so, and what to do', async () => {
  const store = await temporaryStore(systemClock());
  const intake = intakeOf(store);
  await intake.submit([delivered('SO-1')]);
  const preflight = createPreflight(store, systemClock(), []);
  const envelope = { kind: 'order', reference: 'SO-1', payload: order() };
  const check = () => preflight(envelope, new AbortController().signal);
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

/** A dry run in which the checks before the sending come to this. */
async function checkedBy(clear: () => Promise<Clearance>) {
  const store = await temporaryStore(systemClock());
  const intake = intakeOf(store);
  const never = async (): Promise<never> => {
    throw new Error('a dry run sends nothing');
  };
  const kinds = (['order', 'pending_refund'] as const).map((kind) => {
    return { kind, creates: () => true, clear, lookUp: never, send: never };
  });
  const preflight = createPreflight(store, systemClock(), kinds);
  const check = (kind = 'order', payload: unknown = order(), reference = 'SO-1') =>
    preflight({ kind, reference, payload }, new AbortController().signal);
  return { store, intake, check };
}

const warning = { path: 'lines', message: 'odd', severity: 'warning' } as const;
const FIT: Clearance = { send: true, baseline: {}, warnings: [warning] };

it.each<[string, Clearance, object]>([
  ['fit, with its warnings', FIT, { verdict: 'fit', problems: [warning] }],
  [
    'refused for what is unfit',
    { send: false, lookup: { outcome: 'invalid', problems: [{ ...warning, severity: 'error' }] } },
    { verdict: 'refused', problems: [{ path: 'lines', severity: 'error' }] },
  ],
  [
    'unclear where only a person can tell',
    { send: false, lookup: { outcome: 'ambiguous', reason: 'two of them', detail: {} } },
    { verdict: 'unclear', problems: [{ message: 'two of them' }] },
  ],
  [
    'unclear where it is there already',
    { send: false, lookup: { outcome: 'matched', detail: {} } },
    { verdict: 'unclear', problems: [{ message: 'the service has it already' }] },
  ],
])('of one document is %s', async (_, clearance, told) => {
  const { check } = await checkedBy(async () => clearance);
  expect(await check()).toMatchObject(told);
});

it('does not hide a mistake of ours', async () => {
  const { check } = await checkedBy(() => Promise.reject(new BugError('bug.test', 'ours')));
  await expect(check()).rejects.toThrow('ours');
});

it('waits with a refund for the order that it names, as long as that is on its way', async () => {
  const { store, intake, check } = await checkedBy(async () => FIT);
  const lines = [{ barcode: '5700000000017', quantity: 1 }];
  const refund = () => check('pending_refund', { orderReference: 'so-1', lines });
  // An order that came in another way is not known here.
  expect(await refund()).toMatchObject({ verdict: 'fit' });
  await intake.submit([delivered('SO-1')]);
  expect(await refund()).toMatchObject({ verdict: 'unclear' });
  await store.db.updateTable('outbox').set({ state: 'dead', ended_at: 1 }).execute();
  expect(await refund()).toMatchObject({ verdict: 'fit' });
  expect(await check()).toMatchObject({ verdict: 'refused', documentId: 1 });
});
