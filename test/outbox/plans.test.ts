/** What is still open is found by indexes, however much was sent before. */
import { expect, it } from 'vitest';
import { manualClock } from '../../src/lib/clock.ts';
import { silentLogger } from '../../src/lib/log.ts';
import { doubtWhatWasSending } from '../../src/outbox/ledger.ts';
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
    pauseReason: () => undefined,
    brake: () => undefined,
    limits: { alertAfterMs: 1, refundAlertAfterMs: 1, auditEveryMs: 1_000, quietMs: 1_000 },
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

it('finds what was on its way after a stop', async () => {
  const planned = notePlans(await temporaryStore());
  expect(await doubtWhatWasSending(planned.store, 0)).toBe(0);
  expect(await planned.steps(/^update "outbox"/)).toEqual([
    'SEARCH outbox USING INDEX outbox_due (state=?)',
  ]);
});
