/** Documents that come in by any door, and what is told about them. */
import { expect, it } from 'vitest';
import { systemClock } from '../../../src/lib/clock.ts';
import { onFile } from '../../../src/outbox/enqueue.ts';
import { parsePayload, readDocuments } from '../../../src/outbox/intake/envelope.ts';
import { readEntries } from '../../../src/outbox/intake/folder-scan.ts';
import {
  createIntake,
  type IntakeDeps,
  keepingIntake,
  type Submission,
  type SubmitResult,
} from '../../../src/outbox/intake/intake.ts';
import { readReceipt } from '../../../src/outbox/intake/receipt.ts';
import { temporaryStore } from '../../support/store.ts';
import { delivered, endDocument, order } from './support.ts';

async function openIntake(
  hasRoom: () => boolean = () => true,
  whyOff: IntakeDeps['whyOff'] = () => undefined,
) {
  const store = await temporaryStore(systemClock());
  const taken: string[] = [];
  const intake = createIntake({ store, onTaken: () => taken.push('taken'), hasRoom, whyOff });
  const submit = async (...all: Submission[]): Promise<readonly SubmitResult[]> =>
    intake.submit(all);
  const receipt = async (id: number) => readReceipt(store.db, id);
  return { store, taken, intake, submit, receipt };
}

function codeOf(handed: SubmitResult | undefined): string {
  return handed?.ok ? `document ${handed.documentId}` : `${handed?.code}`;
}

function problemsOf(handed: SubmitResult | undefined): string[] {
  if (!handed || handed.ok) return [];
  return handed.problems.map(({ path, message }) => `${path} ${message}`);
}

const REFUND = { orderId: 7, lines: [{ barcode: '5700000000017', quantity: 1 }] };

it('gives an Idempotency-Key to one document of one client', async () => {
  const { submit } = await openIntake();
  const by = async (client: string, one: Submission): Promise<string> => {
    const [handed] = await submit({
      ...one,
      channel: 'http',
      idempotencyKey: { client, key: 'a' },
    });
    return codeOf(handed);
  };
  expect(await by('erp', delivered('SO-1'))).toBe('document 1');
  expect(await by('erp', delivered('so-1'))).toBe('document 1');
  expect(await by('shop', delivered('SO-2'))).toBe('document 2');
  expect(await by('erp', delivered('SO-2'))).toBe('key_reused');
  const refund = { ...delivered('SO-1', REFUND), kind: 'pending_refund' };
  expect(await by('erp', refund)).toBe('key_reused');
  expect((await submit(refund)).map(codeOf)).toEqual(['document 3']);
});

it('keeps nothing of a kind that is off, so that it can be submitted once it is on', async () => {
  let off: string | undefined;
  const { submit } = await openIntake(undefined, (kind) =>
    kind === 'style' && off !== undefined ? { path: 'kind', message: off } : undefined,
  );
  const style = (reference: string) => ({
    ...delivered(reference, { styleNo: reference, styleName: 'Parka', brandId: '1' }),
    kind: 'style',
  });
  expect((await submit(style('S-1'))).map(codeOf)).toEqual(['document 1']);
  off = 'styles are not taken here';
  const handed = await submit(style('S-1'), style('S-2'), delivered('SO-1'));
  expect(handed.map(codeOf)).toEqual(['document 1', 'invalid', 'document 2']);
  expect(problemsOf(handed[1])).toEqual(['kind styles are not taken here']);
  off = undefined;
  expect((await submit(style('S-2'))).map(codeOf)).toEqual(['document 3']);
});

it('finds a document by its reference among those of its kind', async () => {
  const { store, submit } = await openIntake();
  await submit(delivered('A'), { ...delivered('a', REFUND), kind: 'pending_refund' });
  expect(await onFile(store.db, 'order', ' a')).toMatchObject({ outboxId: 1 });
  expect(await onFile(store.db, 'pending_refund', 'A ')).toMatchObject({ outboxId: 2 });
  expect(await onFile(store.db, 'style', 'A')).toBe(undefined);
});

it('takes two spellings of one letter in a reference for one', async () => {
  const { store, submit } = await openIntake();
  const [one, other] = ['M\u00fc', 'Mu\u0308'];
  const both = delivered(other, { ...order(), reference: one });
  const all = await submit(delivered(one), delivered(other), both);
  expect(all.map(codeOf)).toEqual(['document 1', 'document 1', 'document 1']);
  expect(await onFile(store.db, 'order', other)).toMatchObject({ outboxId: 1 });
  const refunds = [one, other].map((orderReference): Submission => {
    const payload = { orderReference, lines: REFUND.lines };
    return { ...delivered('R-1', payload), kind: 'pending_refund' };
  });
  expect((await submit(...refunds)).map(codeOf)).toEqual(['document 2', 'document 2']);
});

it('refuses a reference by which nobody could find the document again', async () => {
  const { submit } = await openIntake();
  const told = async (reference: string, payload: unknown = order()) =>
    problemsOf((await submit(delivered(reference, payload)))[0]);
  const missing = 'reference is missing: it is what the document is known by, for ever';
  expect(await told('  ')).toEqual([missing]);
  expect(await told('A\nB')).toEqual(['reference must not hold control characters']);
  const long = 'reference must not be longer than 200 characters';
  expect(await told('x'.repeat(201))).toEqual([long]);
  expect(await told(` ${'x'.repeat(200)} `)).toEqual([]);
  expect(await told('A\ufffd')).toHaveLength(1);
  // Beside other mistakes it is named as well.
  expect(await told(' ', {})).toEqual([missing, 'lines is missing']);
  const inside = { ...order(), reference: 'A', comment: 7 };
  const [handed] = await submit({ ...delivered('', inside), reference: undefined });
  expect(handed).toMatchObject({ ok: false, reference: 'A' });
});

it('takes no notice of a mark at the beginning of a text', () => {
  expect(parsePayload('\ufeff{"a": 1}')).toEqual({ payload: { a: 1 } });
  expect(readDocuments('\ufeff\n')).toMatchObject([{ problems: [{ message: 'is empty' }] }]);
});

it('says of a text which line is wrong, and by what the ERP knows the document', () => {
  expect(readDocuments('\n\n{"a": ')).toMatchObject([{ line: 3 }]);
  const many = '{}\n'.repeat(10_001);
  const limit = 'holds 10001 documents; 10000 are the most at once';
  expect(readDocuments(many)).toEqual([{ line: 1, problems: [{ path: '', message: limit }] }]);
  expect(readEntries('{"kind": 5, "reference": "SO-1"}')).toMatchObject([
    { kind: null, reference: 'SO-1', envelope: undefined },
  ]);
});

it('wakes the outbox once for what is new, and not for what was there', async () => {
  const { taken, submit } = await openIntake();
  await submit(delivered('A'), delivered('B'));
  expect(taken).toHaveLength(1);
  await submit(delivered('A'), delivered('C', {}));
  expect(taken).toHaveLength(1);
});

it('takes nothing more once the disk is too full, and what it took only once', async () => {
  const room = [true, false];
  const { store, submit } = await openIntake(() => room.shift() ?? true);
  const all = Array.from({ length: 60 }, (_, at) => delivered(`SO-${at}`));
  await expect(submit(...all)).rejects.toMatchObject({ code: 'intake.no_room' });
  const taken = async () => (await store.db.selectFrom('outbox').select('kind').execute()).length;
  expect(await taken()).toBe(50);
  const again = await submit(...all);
  expect(again.filter((one) => one.ok && one.repeated)).toHaveLength(50);
  expect(await taken()).toBe(60);
});

it('shows where two documents of one reference differ, the first twenty places', async () => {
  const { submit } = await openIntake();
  const lines = (count: number) =>
    Array.from({ length: count }, (_, at) => ({ barcode: `b-${at}`, quantity: 1, price: '1.00' }));
  await submit(delivered('A', { lines: lines(1) }));
  const [more] = await submit(delivered('A', { lines: lines(1), comment: 'now' }));
  expect(more).toMatchObject({ conflict: { differences: ['comment: nothing there, "now" here'] } });
  const [many] = await submit(delivered('A', { lines: lines(9) }));
  const shown = many?.ok === false ? many.conflict?.differences : [];
  expect(shown).toHaveLength(21);
  expect(shown?.at(-1)).toBe('and 4 more');
});

it('of what is dead is not final; of what was canceled it is, with the time', async () => {
  const { store, submit, receipt } = await openIntake();
  await submit(delivered('A'), delivered('B'));
  const end = (id: number, state: 'dead' | 'canceled') =>
    store.db
      .updateTable('outbox')
      .set({ state, ended_at: 1 })
      .where('outbox_id', '=', id)
      .execute();
  await end(1, 'dead');
  await end(2, 'canceled');
  expect(await receipt(1)).toMatchObject({ state: 'dead', final: false });
  const endedAt = '1970-01-01T00:00:00.001Z';
  expect(await receipt(2)).toMatchObject({ state: 'canceled', final: true, endedAt });
});

it('has the last words of the service beside warnings, but not once it is there', async () => {
  const { store, submit, receipt } = await openIntake();
  await submit(delivered('A'), delivered('B'));
  const warning = { path: 'lines', message: 'not checked', severity: 'warning' };
  await store.db
    .updateTable('outbox')
    .set({ problems: JSON.stringify([warning]) })
    .execute();
  await endDocument(store, 1, 'refused', { last_error: 'sold out' });
  const said = { path: '', message: 'sold out', severity: 'error' };
  expect((await receipt(1))?.problems).toEqual([warning, said]);
  await endDocument(store, 2, 'confirmed', { last_error: 'timeout' });
  expect((await receipt(2))?.problems).toEqual([warning]);
});

it('names what was made, and the status that a delivery has by now', async () => {
  const { store, submit, receipt } = await openIntake();
  await submit(delivered('A'));
  const numbers = { 5: '', 6: '', 7: 'DN-7', 8: 'SO-7', 9: 'SO-7' };
  const deliveries = Object.entries(numbers).map(([id, deliveryNo]) => {
    return { orderDeliveryId: Number(id), deliveryNo, status: 'pending' };
  });
  const result = JSON.stringify({ orderRefundId: 8, styleId: 'S-1', deliveries });
  await store.db.updateTable('outbox').set({ order_id: 7 }).execute();
  await endDocument(store, 1, 'confirmed', { result });
  const listed = {
    ...{ order_id: 7, delivery_no: '', status: 'accepted' },
    ...{ extra: '{}', content_hash: '', first_seen_at: 0, changed_at: 0, deleted_at: null },
    ...{ read_seq: 0, source: 'test', tracking_numbers: '[]', tracking_links: '[]' },
    ...{ reference: null, order_no: null, created_at: null },
  };
  // The list has the third one under another id than the answer to the order; numbers that are no
  // names tell nothing of the second and the last one.
  const alias = { ...listed, order_delivery_id: 5_007, delivery_no: 'DN-7' };
  const shown = { ...listed, order_delivery_id: 8, delivery_no: 'SO-7' };
  await store.db
    .insertInto('delivery')
    .values([{ ...listed, order_delivery_id: 5 }, alias, shown])
    .execute();
  expect(await receipt(1)).toMatchObject({
    ...{ orderId: 7, refundId: 8, styleId: 'S-1' },
    deliveries: [
      { orderDeliveryId: 5, deliveryNo: '', status: 'accepted' },
      { orderDeliveryId: 6, deliveryNo: '', status: 'pending' },
      { orderDeliveryId: 5_007, deliveryNo: 'DN-7', status: 'accepted' },
      { orderDeliveryId: 8, deliveryNo: 'SO-7', status: 'accepted' },
      { orderDeliveryId: 9, deliveryNo: 'SO-7', status: 'pending' },
    ],
  });
});

it('answers a document once a standby would have it, and takes it once however often', async () => {
  const { intake } = await openIntake();
  const waits: ('kept' | 'unknown')[] = ['unknown', 'kept'];
  const kept = keepingIntake(intake, async () => waits.shift() ?? 'kept');
  await expect(kept.submit([delivered('SO-1')])).rejects.toMatchObject({
    code: 'intake.not_kept',
    hint: /never taken twice/,
  });
  expect(await kept.submit([delivered('SO-1')])).toMatchObject([{ ok: true, repeated: true }]);
});
