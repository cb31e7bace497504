/** A drill of which something happens between two looks at the lease. */
import { describe, expect, it } from 'vitest';
import { manualClock } from '../../src/lib/clock.ts';
import { type DrillStep, runDrill } from '../../src/standby/drill.ts';
import type { Row, Servers } from '../../src/standby/session.ts';

/** PostgreSQL as far as a drill asks it. */
function serversWith(lease: Row): Pick<Servers, 'open'> {
  const machine = { machine: 'there', version: '1', ago: 0, backup_ago: 0, backup_place: 0 };
  const columns = { wanted_by: null, wanted_ms: null, says: null, handed_over: false, token: 1 };
  const times = { beat: 1, timeline: 1, confirmed_by: [], taken_at: 0, ends_at: 0 };
  const answer = (text: string): readonly Row[] => {
    if (text.includes('from standby_lease')) return [{ ...columns, ...times, ...lease }];
    if (text.includes('pg_stat_replication')) return [{ names: '', replicas: [] }];
    if (text.includes('from standby_machine')) return [machine];
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

it('a drill goes on by the row where the daemon that is to hand over answers nothing', async () => {
  const clock = manualClock();
  const lease = { taking: 'ours', holder: 'here' };
  const steps: DrillStep[] = [];
  let isAborted = false;
  const done = runDrill({
    clock,
    settings: { account: 'main', machine: 'here', leaseMs: 15_000 },
    servers: serversWith(lease),
    version: '1',
    isOneWay: true,
    withinMs: 60_000,
    requireWayBack: async () => undefined,
    here: async () => CALM,
    handOver: (_to, signal) =>
      new Promise((_, refuse) => {
        signal.addEventListener('abort', () => {
          isAborted = true;
          refuse(new Error('aborted'));
        });
      }),
    tell: (step) => void steps.push(step),
  });
  await clock.advance(20_000);
  Object.assign(lease, { taking: 'theirs', holder: 'there' });
  await clock.advance(20_000);
  expect(await done).toMatchObject({ to: 'there', isBack: false });
  expect(steps.map(({ step }) => step)).toEqual(['ready', 'says', 'taken']);
  expect(isAborted).toBe(true);
});

describe('a lease that comes back between two looks', () => {
  const drillWhereItComesBack = async (takenAt: number) => {
    const clock = manualClock();
    const lease: Record<string, unknown> = { taking: 'ours', holder: 'here' };
    const steps: DrillStep[] = [];
    const done = runDrill({
      clock,
      settings: { account: 'main', machine: 'here', leaseMs: 15_000 },
      servers: serversWith(lease),
      version: '1',
      isOneWay: false,
      withinMs: 60_000,
      requireWayBack: async () => undefined,
      here: async () => ({ ...CALM, token: Number(lease.token ?? 1) }),
      handOver: async () => void Object.assign(lease, { taking: 'theirs', holder: 'there' }),
      tell: (step) => void steps.push(step),
    });
    Object.assign(lease, { ends_at: 20_000 });
    await clock.advance(10_000);
    Object.assign(lease, { taking: 'again', holder: 'here', token: 3, taken_at: takenAt });
    await clock.advance(10_000);
    expect(await done).toMatchObject({ isBack: true });
    return steps.map(({ step }) => step);
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
