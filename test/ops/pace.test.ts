import { describe, expect, it } from 'vitest';
import { createLimiter } from '../../src/client/http/limiter.ts';
import { createPaceNote } from '../../src/daemon/watch/status-note.ts';
import { manualClock } from '../../src/lib/clock.ts';
import { bottleneckOf, readPace, type ServicePace } from '../../src/ops/pace.ts';
import { temporaryStore } from '../support/store.ts';

const NOW = 1_000_000;
const PACE: ServicePace = { at: NOW - 20_000, perSecond: 2, perSecondMax: 2, busy: 1, waiting: 7 };

describe('the line about the limit of requests', () => {
  it('says what waits, for how long, and which setting it is', () => {
    const backlog = {
      pace: PACE,
      refreshWaiting: 14,
      outbox: { queued: 2, sent: 1, confirmed: 90 },
    };
    expect(bottleneckOf(backlog, NOW)).toBe(
      'the limit of 2/s is the bottleneck: 47 requests waiting, about 24s ' +
        '(service.limits.requestsPerSecond: 2)',
    );
    const learned = { ...backlog, pace: { ...PACE, perSecond: 1.734, perSecondMax: 20 } };
    expect(bottleneckOf(learned, NOW)).toMatch(
      /limit of 1\.7\/s .* about 27s \(the service takes no more; .*requestsPerSecond: 20\)$/,
    );
  });

  it.each<[string, Partial<ServicePace> | null, number]>([
    ['no daemon has told of it', null, 1_000],
    ['it is long ago', { at: NOW - 61_000 }, 1_000],
    ['requests wait for something else', { busy: 0.4 }, 1_000],
    ['it is over in a moment', {}, 4],
    ['the limit is high', { perSecond: 200 }, 900],
  ])('is not there when %s', (_name, pace, refreshWaiting) => {
    const told = pace && { ...PACE, ...pace };
    expect(bottleneckOf({ pace: told, refreshWaiting, outbox: {} }, NOW)).toBeUndefined();
  });
});

it('is noted while requests wait for the limit, and once when they do no more', async () => {
  const clock = manualClock();
  const store = await temporaryStore(clock);
  const limiter = createLimiter({ requestsPerSecond: 2, concurrencyMax: 8 }, clock);
  const note = createPaceNote({ store, clock, limiter });
  await note();
  expect(await readPace(store.db)).toMatchObject({ busy: 0, waiting: 0, perSecond: 2 });
  for (let nth = 0; nth < 60; nth += 1) void limiter.acquire('read').then((release) => release());
  await clock.advance(20_000);
  await note();
  const busy = await readPace(store.db);
  expect(busy).toMatchObject({ at: clock.now(), perSecondMax: 2 });
  expect(busy?.busy).toBeGreaterThan(0.9);
  expect(busy?.waiting).toBeGreaterThan(15);
  await clock.advance(20_000);
  await note();
  await clock.advance(20_000);
  await note();
  const over = await readPace(store.db);
  expect(over).toMatchObject({ at: clock.now(), busy: 0, waiting: 0 });
  await clock.advance(20_000);
  await note();
  expect(await readPace(store.db)).toEqual(over);
});
