/** A drill by what it asks: what it refuses, and what happens between two looks at the lease. */
import { describe, expect, it } from 'vitest';
import { manualClock } from '../../src/lib/clock.ts';
import { RefusedError, RetryLaterError } from '../../src/lib/errors.ts';
import {
  type DrillDeps,
  type DrillReport,
  type DrillStep,
  runDrill,
  whyUnclean,
} from '../../src/standby/drill.ts';
import type { Row, Servers } from '../../src/standby/session.ts';

/** What PostgreSQL has, which a test changes while the drill runs. */
interface Seen {
  lease: Row;
  machines: readonly Row[];
  /** Whether a wish for the lease finds the holder that was seen. */
  isHeldStill: boolean;
  readonly wishes: string[];
}

const LEASE = {
  ...{ taking: 'ours', holder: 'here', token: 1, handed_over: false, says: null },
  ...{ beat: 1, timeline: 1, confirmed_by: [], taken_at: 0, ends_at: 0 },
  ...{ wanted_by: null, wanted_ms: null },
};
const THERE = { machine: 'there', version: '1', ago: 0, backup_ago: 0, backup_place: 0 };

/** PostgreSQL as far as a drill asks it. */
function serversWith(seen: Seen): Pick<Servers, 'open'> {
  const answer = (text: string): readonly Row[] => {
    if (text.includes('update standby_lease')) {
      seen.wishes.push(/wanted_by = (\S+),/.exec(text)?.[1] ?? '');
      return seen.isHeldStill ? [{}] : [];
    }
    if (text.includes('from standby_lease')) return [seen.lease];
    if (text.includes('pg_stat_replication')) return [{ names: '', replicas: [] }];
    if (text.includes('from standby_machine')) return seen.machines;
    return [{ place: 0, now: 0 }];
  };
  const lost = new AbortController().signal;
  return {
    open: async () => ({
      timeline: 1,
      lost,
      ask: async (text) => answer(text),
      end: () => Promise.resolve(),
    }),
  };
}

const CALM = {
  token: 1,
  waitsFor: undefined,
  inDoubt: 0,
  lastDocument: 0,
  lastAct: 0,
  takeOvers: [],
};

/** A drill that goes on as the clock is moved. */
function drilling(more: Partial<DrillDeps> = {}, found: Partial<Seen> = {}) {
  const clock = manualClock();
  const steps: DrillStep[] = [];
  const seen: Seen = {
    ...{ lease: LEASE, machines: [THERE], isHeldStill: true, wishes: [], ...found },
  };
  const moveTo = (holder: string, lease: Row = {}) => {
    const token = Number(seen.lease.token) + 1;
    seen.lease = { ...LEASE, taking: `taking ${token}`, token, holder, ...lease };
  };
  let handedOver = 0;
  const done = runDrill({
    clock,
    settings: { account: 'main', machine: 'here', leaseMs: 15_000 },
    servers: serversWith(seen),
    version: '1',
    isOneWay: false,
    withinMs: 60_000,
    requireWayBack: async () => undefined,
    here: async () => ({ ...CALM, token: Number(seen.lease.token) }),
    handOver: async () => {
      handedOver += 1;
      moveTo('there');
    },
    tell: (step) => void steps.push(step),
    ...more,
  });
  // An error that comes while the clock is moved has its reader already.
  const ended = done.catch((thrown: unknown) => thrown);
  return {
    clock,
    seen,
    moveTo,
    ended,
    handedOver: () => handedOver,
    told: () => steps.map(({ step }) => step),
    says: () => steps.map(({ says }) => says),
  };
}

describe('a drill is refused, and nothing is handed over,', () => {
  const NOBODY = [
    [[], 'none has ever told of itself'],
    [[{ ...THERE, machine: 'here' }], 'none has ever told of itself'],
    [[{ ...THERE, ago: 600_000 }], 'there: it told of itself 10m ago at last'],
    [[{ ...THERE, backup_place: null }], 'there: it has no backup to begin from'],
    [[{ ...THERE, version: '2' }], 'there: it runs 2, and this machine 1'],
  ] as const;

  it.each(NOBODY)('where nobody could take over: %j', async (machines, why) => {
    const drill = drilling({}, { machines });
    expect(await drill.ended).toBeInstanceOf(RefusedError);
    expect(await drill.ended).toMatchObject({
      code: 'standby.nobody_waits',
      message: expect.stringContaining(`no standby could take over now: ${why}`),
    });
    expect([drill.told(), drill.handedOver()]).toEqual([[], 0]);
  });

  const NOT_SENDING: readonly [string, Partial<DrillDeps>, Row][] = [
    ['holds no lease', {}, { ...LEASE, holder: 'there' }],
    ['has handed it over already', {}, { ...LEASE, handed_over: true }],
    ['sends by an earlier taking', { here: async () => CALM }, { ...LEASE, token: 2 }],
    ['sends nothing', { here: async () => ({ ...CALM, token: undefined }) }, LEASE],
    ['has no database', { here: async () => undefined }, LEASE],
  ];

  it.each(NOT_SENDING)('where the daemon of this machine %s', async (_, more, lease) => {
    const drill = drilling(more, { lease });
    expect(await drill.ended).toBeInstanceOf(RefusedError);
    expect(await drill.ended).toMatchObject({ code: 'standby.not_holder' });
    expect([drill.told(), drill.handedOver()]).toEqual([[], 0]);
  });

  it('where this machine has not gone on by itself since it took over', async () => {
    const here = async () => ({ ...CALM, waitsFor: 'all pushes pause: reads everything once' });
    const drill = drilling({ here });
    expect(await drill.ended).toBeInstanceOf(RefusedError);
    expect(await drill.ended).toMatchObject({
      code: 'standby.catching_up',
      message: 'this machine waits: all pushes pause: reads everything once',
    });
    expect([drill.told(), drill.handedOver()]).toEqual([[], 0]);
  });

  it('where this machine could not come back, unless it is not to', async () => {
    const why = new RefusedError('standby.no_backup', 'no backup to begin from');
    const requireWayBack = () => Promise.reject(why);
    const drill = drilling({ requireWayBack });
    expect(await drill.ended).toBe(why);
    expect([drill.told(), drill.handedOver()]).toEqual([[], 0]);
    const oneWay = drilling({ requireWayBack, isOneWay: true });
    await oneWay.clock.advance(1_000);
    expect(await oneWay.ended).toMatchObject({ to: 'there', isBack: false, inDoubt: null });
    expect(oneWay.told()).toEqual(['ready', 'handed over', 'taken']);
  });

  it('where its daemon refuses', async () => {
    const why = new RefusedError('standby.given', 'it hands over already');
    const drill = drilling({ handOver: () => Promise.reject(why) });
    await drill.clock.advance(1_000);
    expect(await drill.ended).toBe(why);
    expect(drill.told()).toEqual(['ready']);
  });
});

describe('the daemon that is to hand over', () => {
  const silent = () => {
    const aborted: string[] = [];
    const handOver = (to: string, signal: AbortSignal) =>
      new Promise<void>((_, refuse) => {
        signal.addEventListener('abort', () => {
          aborted.push(to);
          refuse(new Error('aborted'));
        });
      });
    return { aborted, handOver };
  };

  it('answers nothing: the drill goes on by the row', async () => {
    const { aborted, handOver } = silent();
    const { clock, moveTo, ended, told, says } = drilling({ isOneWay: true, handOver });
    await clock.advance(20_000);
    moveTo('there');
    await clock.advance(20_000);
    expect(await ended).toMatchObject({ to: 'there', isBack: false });
    expect(told()).toEqual(['ready', 'says', 'taken']);
    expect(says()[1]).toBe('no answer, and the lease is another machine’s');
    expect(aborted).toEqual(['there']);
  });

  it('answers after the lease was taken, as on a busy machine: it was given', async () => {
    const answer = Promise.withResolvers<void>();
    const drill = drilling({ isOneWay: true, handOver: () => answer.promise });
    await drill.clock.advance(5_000);
    drill.moveTo('there');
    await drill.clock.advance(14_000);
    answer.resolve();
    await drill.clock.advance(1_000);
    expect(await drill.ended).toMatchObject({ to: 'there' });
    expect(drill.told()).toEqual(['ready', 'handed over', 'taken']);
  });

  it('breaks off: the row tells whether the lease was given', async () => {
    const broken = new RetryLaterError('local.broken_off', 'it broke off');
    const drill = drilling({ isOneWay: true, handOver: () => Promise.reject(broken) });
    await drill.clock.advance(1_000);
    drill.moveTo('there');
    await drill.clock.advance(1_000);
    expect(await drill.ended).toMatchObject({ to: 'there' });
    expect(drill.told()).toEqual(['ready', 'says', 'taken']);
  });

  it('answers nothing and keeps the lease: nothing is told to be handed over', async () => {
    const { aborted, handOver } = silent();
    const drill = drilling({ handOver });
    await drill.clock.advance(300_000);
    expect(await drill.ended).toBeInstanceOf(RetryLaterError);
    expect(await drill.ended).toMatchObject({
      code: 'standby.not_taken',
      message: 'nobody took the lease',
    });
    expect(drill.says().slice(1)).toEqual(['no answer in time']);
    expect(aborted).toEqual(['there']);
  });
});

describe('a drill ends with what has not come', () => {
  it('if nobody takes the lease, and this machine takes it back', async () => {
    const drill = drilling({ handOver: async () => undefined });
    await drill.clock.advance(60_000);
    drill.moveTo('here');
    await drill.clock.advance(1_000);
    expect(await drill.ended).toBeInstanceOf(RetryLaterError);
    expect(await drill.ended).toMatchObject({
      code: 'standby.not_taken',
      message: 'nobody took the lease: this machine took it back',
    });
    expect(drill.told()).toEqual(['ready', 'handed over']);
  });

  it.each([
    [true, 'reads stock', 'not back in time; there keeps the lease: reads stock'],
    [
      false,
      null,
      'not back in time; it may still come back by itself: its daemon has said nothing',
    ],
  ])('if the lease does not come back (withdrawn: %s)', async (isHeldStill, says, message) => {
    const drill = drilling();
    await drill.clock.advance(1_000);
    drill.seen.lease = { ...drill.seen.lease, says };
    await drill.clock.advance(50_000);
    drill.seen.isHeldStill = isHeldStill;
    await drill.clock.advance(10_000);
    expect(await drill.ended).toBeInstanceOf(RetryLaterError);
    expect(await drill.ended).toMatchObject({ code: 'standby.not_back', message });
    expect(drill.seen.wishes).toEqual(["'here'", 'null']);
    expect(drill.told()).toEqual(['ready', 'handed over', 'taken', ...(says ? ['says'] : [])]);
  });

  const NOT_SENDING_YET: readonly [string, (drill: ReturnType<typeof drilling>) => void][] = [
    ['its daemon has not started', () => undefined],
    ['there holds the lease', ({ moveTo }) => moveTo('there')],
  ];

  it.each(NOT_SENDING_YET)('if this machine does not send again: %s', async (why, change) => {
    let isStarted = true;
    const drill = drilling({ here: async () => (isStarted ? CALM : undefined) });
    await drill.clock.advance(1_000);
    isStarted = false;
    drill.moveTo('here');
    await drill.clock.advance(1_000);
    change(drill);
    await drill.clock.advance(60_000);
    expect(await drill.ended).toBeInstanceOf(RetryLaterError);
    expect(await drill.ended).toMatchObject({
      code: 'standby.not_back',
      message: `this machine does not send yet: ${why}`,
    });
    expect(drill.told()).toEqual(['ready', 'handed over', 'taken', 'back']);
  });

  it('if this machine does not go on by itself', async () => {
    let waitsFor: string | undefined;
    const drill = drilling({
      here: async () => ({ ...CALM, token: Number(drill.seen.lease.token), waitsFor }),
    });
    await drill.clock.advance(1_000);
    waitsFor = 'all pushes pause: the record lacks something';
    drill.moveTo('here');
    await drill.clock.advance(60_000);
    expect(await drill.ended).toMatchObject({
      code: 'standby.not_back',
      message: `this machine does not send yet: ${waitsFor}`,
    });
  });

  it.each([
    [600_000, 'it has not told that it waits'],
    [600_000, 'it has no backup to begin from (its log says why)'],
  ])('if the other machine does not wait again', async (ago, why) => {
    const drill = drilling();
    await drill.clock.advance(1_000);
    drill.moveTo('here');
    drill.seen.machines = [{ ...THERE, ago }];
    await drill.clock.advance(1_000);
    if (why.includes('backup')) drill.seen.machines = [{ ...THERE, ago: 0, backup_place: null }];
    await drill.clock.advance(60_000);
    expect(await drill.ended).toBeInstanceOf(RetryLaterError);
    expect(await drill.ended).toMatchObject({
      code: 'standby.nobody_waits',
      message: `there does not wait again: ${why}`,
    });
    expect(drill.told()).toEqual(['ready', 'handed over', 'taken', 'back', 'sends']);
  });
});

it('a drill that came back is unclean by doubts, by gaps and by numbers that jumped', () => {
  const CLEAN: DrillReport = {
    ...{ from: 'here', to: 'there', isBack: true, missing: 0 },
    ...{ inDoubt: { before: 1, after: 1, put: 0 }, numbers: { before: 5, after: 6 } },
  };
  const why = (more: Partial<DrillReport>) => whyUnclean({ ...CLEAN, ...more });
  expect(why({})).toBeUndefined();
  expect(why({ inDoubt: null, numbers: null })).toBeUndefined();
  expect(why({ inDoubt: { before: 0, after: 2, put: 2 } })).toBe('2 pushes were put in doubt');
  expect(why({ missing: 1 })).toMatch(/^pushes are paused/);
  expect(why({ numbers: { before: 5, after: 1_000_005 } })).toBe(
    'numbers of documents jumped from 5 to 1000005',
  );
});

describe('a lease that comes back between two looks', () => {
  const drillWhereItComesBack = async (takenAt: number) => {
    const drill = drilling({
      handOver: async () => drill.moveTo('there', { ends_at: 20_000 }),
    });
    await drill.clock.advance(10_000);
    drill.moveTo('here', { taken_at: takenAt });
    await drill.clock.advance(10_000);
    expect(await drill.ended).toMatchObject({ isBack: true });
    return drill.told();
  };

  it('was given back where it was taken before its end', async () => {
    const steps = await drillWhereItComesBack(19_999);
    expect(steps.slice(2)).toEqual(['taken', 'given back', 'back', 'sends', 'waits']);
  });

  it('was not given back where it had ended', async () => {
    const steps = await drillWhereItComesBack(20_000);
    expect(steps.slice(2)).toEqual(['taken', 'back', 'sends', 'waits']);
  });
});
