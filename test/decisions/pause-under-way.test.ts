/** Decisions of the rules that are on their way while somebody pauses decisions. */
import { rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { rulesKey } from '../../src/decisions/judgement.ts';
import { InDoubtError, RetryLaterError } from '../../src/lib/errors.ts';
import { silentLogger } from '../../src/lib/log.ts';
import { seededRandom } from '../../src/lib/random.ts';
import { createDispatcher } from '../../src/outbox/dispatcher.ts';
import { createDeliveryStatusKind } from '../../src/outbox/kinds/delivery-status.ts';
import { pauseFile } from '../../src/store/pauses.ts';
import { NO_RECENT_READS } from '../outbox/support.ts';
import { DECISIONS, pausesIn } from '../support/pauses.ts';
import { createRejectFixture } from './reject/support.ts';
import {
  ACCEPT_SMALL,
  acceptByHand,
  createDeciderFixture,
  type DeciderFixture,
  loadedRules,
} from './support.ts';

const WHO = { actor: 'anna', reason: 'prices look wrong' };
const PAUSED = 'paused by anna (decisions): prices look wrong';
const MINUTE = 60_000;
const LIMITS = {
  ...{ concurrency: 4, attemptsMax: 5, retryMsMin: 1_000, lookups: 4, retryMsMax: MINUTE },
  ...{ reviewAfterMs: 1_440 * MINUTE, lookupMs: MINUTE, idleMsMax: 30_000 },
};
const TIGHT = () => loadedRules(ACCEPT_SMALL.replaceAll('20', '1'));

/**
 * An outbox and the pauses; the first push that is sent waits for its answer. `onTurn` is called
 * when it has its turn among the requests.
 */
async function outboxOf(
  fixture: Pick<DeciderFixture, 'store' | 'clock'>,
  onTurn = () => {},
  isInForce = (_key: string) => true,
) {
  const { store, clock } = fixture;
  const log = silentLogger();
  const pauses = await pausesIn(fixture);
  const answer = Promise.withResolvers<never>();
  // Nobody waits for it where nothing is sent.
  answer.promise.catch(() => undefined);
  const service = { status: 'pending', sent: 0 };
  const onTurns = [onTurn];
  const shown = async () => {
    const row = store.db.selectFrom('delivery').select('content_hash as contentHash');
    const mirrored = await row.where('order_delivery_id', '=', 1).executeTakeFirstOrThrow();
    return { orderDeliveryId: 1, status: service.status, ...mirrored };
  };
  const kind = createDeliveryStatusKind(
    {
      readDelivery: shown,
      readBack: shown,
      async setDeliveryStatus(_order, _delivery, status, { beforeSend }) {
        onTurns.pop()?.();
        beforeSend();
        service.sent += 1;
        if (service.sent === 1) await answer.promise;
        service.status = status;
        return shown();
      },
    },
    { store, clock, ...NO_RECENT_READS, isInForce, dryRun: false },
  );
  const dispatcher = createDispatcher({
    ...{ store, clock, random: seededRandom(3), log, kinds: [kind], limits: LIMITS },
    ...{ reconcileAfterMs: 12 * MINUTE, processStartedAt: () => 0, dryRun: false },
    pauses,
    pausedReason: (kind, seen) => seen.reason('pushes', kind),
    onMoved: () => undefined,
    onEnded: () => undefined,
  });
  const stop = new AbortController();
  const done = dispatcher.run(stop.signal);
  onTestFinished(async () => {
    stop.abort();
    answer.reject(new InDoubtError('transport.cut', 'cut off'));
    await done;
  });
  await clock.advance(1);
  return { pauses, service, fail: answer.reject, wake: () => dispatcher.wakeUp() };
}

async function accepted(): Promise<DeciderFixture> {
  const fixture = await createDeciderFixture();
  await fixture.delivery({ id: 1 });
  expect(await fixture.decide()).toEqual(['1 accept']);
  return fixture;
}

async function rows({ store }: Pick<DeciderFixture, 'store'>): Promise<string[]> {
  const found = await store.db.selectFrom('outbox').select(['state', 'last_error']).execute();
  return found.map((row) => `${row.state} ${row.last_error ?? ''}`.trim());
}

const WAYS = [
  ['was not processed', new RetryLaterError('http.unreachable', 'nobody answers')],
  ['is in doubt, and not there', new InDoubtError('transport.cut', 'cut off')],
] as const;

describe.each(WAYS)('what was sent before a pause and %s', (_, error) => {
  it('is not sent again after it, but decided again', async () => {
    const fixture = await accepted();
    const { pauses, service, fail } = await outboxOf(fixture);
    expect(service.sent).toBe(1);
    await pauses.pause(DECISIONS, WHO);
    await fixture.clock.advance(MINUTE);
    await pauses.resume(DECISIONS, WHO);
    fail(error);
    await fixture.clock.advance(5 * MINUTE);
    expect(await rows(fixture)).toEqual([`refused ${PAUSED}`]);
    expect(service.sent).toBe(1);
    expect(await fixture.decide({ rules: TIGHT })).toEqual(['1 hold']);
  });

  it('is decided again also where nothing has changed, and then leaves', async () => {
    const fixture = await accepted();
    const { pauses, service, fail, wake } = await outboxOf(fixture);
    await pauses.pause(DECISIONS, WHO);
    await pauses.resume(DECISIONS, WHO);
    fail(error);
    await fixture.clock.advance(5 * MINUTE);
    expect(await fixture.decide()).toEqual(['1 accept']);
    expect(await fixture.decide()).toEqual([]);
    wake();
    await fixture.clock.advance(MINUTE);
    expect(await rows(fixture)).toEqual([`refused ${PAUSED}`, 'confirmed']);
    expect(service.sent).toBe(2);
  });

  it('does not leave where the pause is on still when it comes back', async () => {
    const fixture = await accepted();
    const { pauses, service, fail } = await outboxOf(fixture);
    await pauses.pause(DECISIONS, WHO);
    fail(error);
    await fixture.clock.advance(5 * MINUTE);
    expect(service.sent).toBe(1);
    await pauses.resume(DECISIONS, WHO);
    await fixture.clock.advance(5 * MINUTE);
    expect(service.sent).toBe(1);
    expect(await fixture.decide({ pauses })).toEqual(['1 accept']);
    expect(await fixture.pushes()).toHaveLength(2);
  });

  it('is sent again where a person decided it', async () => {
    const fixture = await createDeciderFixture();
    await fixture.delivery({ id: 1 });
    await acceptByHand(fixture, 1);
    const { pauses, service, fail } = await outboxOf(fixture);
    await pauses.pause(DECISIONS, WHO);
    fail(error);
    await fixture.clock.advance(5 * MINUTE);
    await pauses.resume(DECISIONS, WHO);
    await fixture.clock.advance(5 * MINUTE);
    expect(await rows(fixture)).toEqual(['confirmed']);
    expect(service.sent).toBe(2);
  });

  it('is not sent again where the rules only observe by then', async () => {
    const fixture = await accepted();
    const { service, fail } = await outboxOf(fixture);
    await fixture.decide({ mode: 'observe' });
    fail(error);
    await fixture.clock.advance(5 * MINUTE);
    expect(service.sent).toBe(1);
    const why = 'the rules are in the mode observe by now';
    expect(await rows(fixture)).toEqual([`refused ${why}`]);
  });
});

it.each(WAYS)('a reject that was sent before a pause and %s is held', async (_, error) => {
  const rejects = await createRejectFixture();
  await rejects.waiting();
  await rejects.afterGrace();
  const { pauses, service, fail } = await outboxOf(rejects);
  expect(service.sent).toBe(1);
  await pauses.pause(DECISIONS, WHO);
  await pauses.resume(DECISIONS, WHO);
  fail(error);
  await rejects.clock.advance(5 * MINUTE);
  expect(service.sent).toBe(1);
  expect(await rows(rejects)).toEqual([`refused ${PAUSED}`]);
  await rejects.execute();
  const detail = `the push is refused: ${PAUSED}`;
  expect(await rejects.entry()).toMatchObject({ state: 'failed', detail });
  expect(await rejects.decide()).toEqual(['1 hold']);
});

it('what was sent before a pause and has arrived is confirmed', async () => {
  const fixture = await accepted();
  const { pauses, service, fail } = await outboxOf(fixture);
  await pauses.pause(DECISIONS, WHO);
  await pauses.resume(DECISIONS, WHO);
  service.status = 'accepted';
  fail(new InDoubtError('transport.cut', 'cut off'));
  await fixture.clock.advance(5 * MINUTE);
  expect(await rows(fixture)).toEqual(['confirmed']);
});

it('a pause by a file that is made once an accept has its turn to leave holds it', async () => {
  const fixture = await accepted();
  const file = pauseFile(dirname(fixture.store.path), 'pushes');
  const { service, wake } = await outboxOf(fixture, () => writeFileSync(file, 'wrong prices'));
  expect(service.sent).toBe(0);
  expect(await rows(fixture)).toEqual(['queued paused by file (pushes): wrong prices']);
  rmSync(file);
  wake();
  await fixture.clock.advance(MINUTE);
  expect(service.sent).toBe(1);
});

it('an accept does not leave for other lines than it was decided on', async () => {
  const fixture = await accepted();
  await fixture.delivery({ id: 1, lines: [['a', 3]] });
  const { service } = await outboxOf(fixture);
  expect(service.sent).toBe(0);
  const why = 'the lines of the delivery have changed since it was decided';
  expect(await rows(fixture)).toEqual([`refused ${why}`]);
});

const OTHER_RULES = [
  ['before the outbox looks', 'start'],
  ['once it has its turn to leave', 'turn'],
] as const;

it.each(OTHER_RULES)('an accept waits for rules that come in force %s', async (_, moment) => {
  for (const [rules, left] of [
    [TIGHT(), 0],
    [loadedRules(ACCEPT_SMALL.replaceAll('20', '30')), 1],
  ] as const) {
    const fixture = await accepted();
    let now = moment === 'start' ? rules : loadedRules(ACCEPT_SMALL);
    const come = () => {
      now = rules;
    };
    const isInForce = (key: string) => key === rulesKey('live', now);
    const { service, wake } = await outboxOf(fixture, come, isInForce);
    expect(service.sent).toBe(0);
    expect(await rows(fixture)).toEqual([expect.stringContaining('other rules are in force')]);
    expect(await fixture.decide({ rules: () => now })).toEqual(left === 0 ? ['1 hold'] : []);
    wake();
    await fixture.clock.advance(MINUTE);
    expect(service.sent).toBe(left);
  }
});
