/** Open pushes are found by indexes, however many were sent before. */
import { expect, it } from 'vitest';
import { manualClock } from '../../src/lib/clock.ts';
import { silentLogger } from '../../src/lib/log.ts';
import { sortOut } from '../../src/outbox/evidence/candidates.ts';
import { piecesOf } from '../../src/outbox/evidence/compare.ts';
import { mirroredWithLines } from '../../src/outbox/evidence/mirrored.ts';
import { explain } from '../../src/outbox/evidence/spelling.ts';
import { dueOutcomes } from '../../src/outbox/intake/outcomes.ts';
import type { OutboxItem } from '../../src/outbox/item.ts';
import { markInterruptedAsUnknown } from '../../src/outbox/queue.ts';
import { createWatch } from '../../src/outbox/watch/watch.ts';
import { notePlans } from '../support/plans.ts';
import { temporaryStore } from '../support/store.ts';

it('looks for the refund that became of a pending one', async () => {
  const clock = manualClock();
  const store = await temporaryStore(clock);
  const planned = notePlans(store);
  const stop = new AbortController();
  const watch = createWatch({
    ...{ store: planned.store, clock, log: silentLogger() },
    limits: {
      alertAfterMs: 1,
      refundAlertAfterMs: 1,
      auditEveryMs: 1_000,
      reconcileAfterMs: 1_000,
    },
  });
  const done = watch.run(stop.signal);
  await clock.advance(10);
  stop.abort();
  await done;
  const steps = await planned.steps(/from refund r/);
  expect(steps.filter((step) => / r\b/.test(step))).toEqual([
    'SEARCH r USING COVERING INDEX refund_pending (pending_refund_id=?)',
  ]);
});

it('finds what the ERP is not told yet, however much it was told', async () => {
  const planned = notePlans(await temporaryStore());
  expect(await dueOutcomes(planned.store)).toEqual([]);
  const steps = await planned.steps(/from "outcome" as "t"/);
  expect(steps).toEqual([
    'CORRELATED SCALAR SUBQUERY 1',
    'SCAN t USING INDEX outcome_row_due',
    'SEARCH d USING INTEGER PRIMARY KEY (rowid=?)',
    'SEARCH o USING INTEGER PRIMARY KEY (rowid=?) LEFT-JOIN',
    'SEARCH own USING INDEX outbox_order (order_id=?)',
    'SEARCH v USING INTEGER PRIMARY KEY (rowid=?) LEFT-JOIN',
  ]);
});

it('finds what was on its way after a stop', async () => {
  const planned = notePlans(await temporaryStore());
  expect(await markInterruptedAsUnknown(planned.store, 0)).toBe(0);
  expect(await planned.steps(/^update "outbox"/)).toEqual([
    'SEARCH outbox USING INDEX outbox_due (state=?)',
  ]);
});

it('finds whose an order is, however many were confirmed before', async () => {
  const planned = notePlans(await temporaryStore());
  const item: OutboxItem = {
    ...{ outboxId: 1, kind: 'order', orderingKey: 'l', reference: '#1', cause: 'test', body: {} },
    ...{ expectedFrom: null, state: 'in_doubt', attempts: 1, inDoubtSince: 0, createdAt: 0 },
    result: null,
  };
  const pairs = ['#7', '#8'].map((sent) => ({ sent, shown: sent.slice(1) }));
  const now = explain(pairs);
  const tested = { length: 9, signs: new Set(['#']) };
  const known = { now, ever: [now], tested };
  const pieces = piecesOf([{ barcode: 'b', quantity: 1 }]);
  const lines = [{ barcode: 'b', quantity: 1 }];
  const seen = { orderId: 7, reference: '2', orderLineItems: lines };
  const { db } = planned.store;
  const survey = await sortOut(db, { item, pieces, known }, [seen], 0);
  expect(survey.perhaps).toHaveLength(1);
  await mirroredWithLines(db, lines, 0);
  const steps = await planned.steps(/from "outbox"|from "sales_order_line" as/);
  expect(steps.filter((step) => /^SEARCH (?:outbox|l) /.test(step)).sort()).toEqual([
    'SEARCH l USING COVERING INDEX sales_order_line_barcode (barcode=? AND order_id>?)',
    'SEARCH outbox USING INDEX outbox_ended (kind=? AND state=?)',
    'SEARCH outbox USING INDEX outbox_order (order_id=?)',
    'SEARCH outbox USING INDEX outbox_reference_key (kind=? AND reference_key=?)',
    'SEARCH outbox USING INDEX outbox_shown_reference (kind=? AND shown_reference=?)',
  ]);
});
