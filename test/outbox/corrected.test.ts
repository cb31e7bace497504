/**
 * Documents that a person cancels and the ERP corrects while the dispatcher holds the text of
 * before: the row is the same, the document is another one.
 */
import { expect, it } from 'vitest';
import { RefusedError, RetryLaterError } from '../../src/lib/errors.ts';
import type { JsonObject } from '../../src/lib/json.ts';
import type { DocumentIntent } from '../../src/outbox/enqueue.ts';
import type { LookupResult } from '../../src/outbox/item.ts';
import { createBench, NO, OVERTAKEN, reviewOf, YES } from './support.ts';

const WHO = { actor: 'ada', reason: 'a wrong quantity' };
const WRONG = 90;
const RIGHT = 1;

/** A document of each kind. */
function documentsWith(quantity: number): Omit<DocumentIntent, 'cause'>[] {
  const lines = [{ barcode: 'b', quantity, price: '12.50' }];
  const status = { orderId: 7, orderRefundId: quantity, status: 'accepted' };
  return [
    { kind: 'order', reference: 'R-1', document: { lines } },
    { kind: 'style', reference: 'R-2', document: { styleId: '2', styleName: `${quantity}` } },
    { kind: 'pending_refund', reference: 'R-3', document: { orderId: 8, lines } },
    { kind: 'refund_status', reference: 'R-4', document: status },
  ];
}

const CORRECTED = documentsWith(RIGHT);

async function startCorrecting() {
  const bench = await createBench();
  const { store, clock, script, put } = bench;
  const review = reviewOf({ store, clock });
  const sent = new Map<string, JsonObject>();
  script.lookUp = ({ reference }) => (sent.has(reference) ? YES : NO);
  script.send = ({ reference, body }) => {
    sent.set(reference, body);
    return {};
  };
  return {
    ...bench,
    async putAll(): Promise<void> {
      for (const one of documentsWith(WRONG)) await put(one);
    },
    /** A person cancels the document, and the ERP corrects it: all in the same millisecond. */
    async correct(wanted: string): Promise<void> {
      const { outbox_id: outboxId } = await store.db
        .selectFrom('outbox')
        .select('outbox_id')
        .where('reference', '=', wanted)
        .executeTakeFirstOrThrow();
      await review.cancel({ outboxId }, WHO);
      const again = CORRECTED.find(({ reference }) => reference === wanted);
      if (again) expect(await put(again)).toBe(outboxId);
    },
    async left() {
      const rows = store.db.selectFrom('outbox').select(['reference', 'state', 'attempts', 'body']);
      const own = await rows.where('reference', 'like', 'R-%').orderBy('outbox_id').execute();
      return own.map(({ reference, body, ...row }) => {
        return { ...row, document: JSON.parse(body), sent: sent.get(reference) };
      });
    },
  };
}

const ALL_CORRECTED = CORRECTED.map(({ document }) => {
  return { document, sent: document, state: 'confirmed', attempts: 1 };
});

/** Ends of a check that were about the text of before. */
const CHECKS: Readonly<Record<string, () => LookupResult>> = {
  cleared: () => NO,
  found: () => YES,
  refused: () => OVERTAKEN,
  'left to a person': () => ({ outcome: 'ambiguous', reason: 'two alike', detail: {} }),
  'put off': () => {
    throw new RetryLaterError('transport.connect', 'refused', { retryAfterMs: 3_600_000 });
  },
  'not answered for': () => {
    throw new RefusedError('service.forbidden', 'HTTP 403');
  },
};

it.each(Object.keys(CHECKS))(
  'a correction leaves in place of a text that is %s by a check from before it',
  async (end) => {
    const { script, correct, putAll, start, clock, left } = await startCorrecting();
    await putAll();
    const { lookUp } = script;
    const corrected = new Set<string>();
    script.lookUp = async (item) => {
      if (corrected.has(item.reference)) return lookUp(item);
      corrected.add(item.reference);
      await correct(item.reference);
      return CHECKS[end]?.() ?? NO;
    };
    start();
    await clock.advance(100);
    expect(await left()).toEqual(ALL_CORRECTED);
  },
);

it('a correction leaves in place of a text that was read ahead', async () => {
  const { script, limits, addStyle, correct, putAll, start, clock, sends, left } =
    await startCorrecting();
  limits.concurrency = 1;
  const first = await addStyle('first');
  await putAll();
  const { send } = script;
  script.send = async (item, call) => {
    if (item.outboxId !== first) return send(item, call);
    for (const { reference } of CORRECTED) await correct(reference);
    return send(item, call);
  };
  start();
  await clock.advance(100);
  expect(await left()).toEqual(ALL_CORRECTED);
  expect(sends).toHaveLength(1 + CORRECTED.length);
});
