import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { RefusedError, RetryLaterError } from '../../src/lib/errors.ts';
import { createBench, lost, NO, YES } from './support.ts';

const MINUTE = 60_000;
const STATES = [
  ...['queued', 'sending', 'sent', 'confirmed'],
  ...['refused', 'in_doubt', 'dead', 'canceled'],
];
/** The ways of the design, written down a second time. */
const WAYS = new Set([
  ...['queued>sending', 'queued>canceled', 'queued>confirmed', 'queued>refused', 'queued>dead'],
  ...['sending>sent', 'sending>queued', 'sending>refused', 'sending>in_doubt', 'sending>confirmed'],
  ...['sent>confirmed', 'sent>in_doubt', 'in_doubt>confirmed', 'in_doubt>queued'],
  ...['in_doubt>refused', 'in_doubt>dead', 'in_doubt>canceled'],
  ...['dead>queued', 'dead>canceled', 'dead>confirmed', 'dead>in_doubt', 'queued>in_doubt'],
  ...['refused>queued', 'canceled>queued'],
]);

describe('ordering keys', () => {
  it('send the pushes of one delivery one after the other, in their order', async () => {
    const bench = await createBench();
    const ids = [await bench.add(1, 1), await bench.add(1, 2), await bench.add(1, 3)];
    const settled = new Set<number>();
    bench.script.lookUp = (item) => (settled.has(item.outboxId) ? YES : NO);
    bench.script.send = (item) => {
      settled.add(item.outboxId);
      return {};
    };
    bench.start();
    await bench.clock.advance(10);
    expect(bench.sends).toEqual(ids);
    expect(bench.ends).toEqual(ids.map((id) => `${id} confirmed`));
  });

  it('wait behind a push that is put off, and do not hold up the others', async () => {
    const bench = await createBench();
    const [first, behind, other] = [
      await bench.add(1, 1),
      await bench.add(1, 2),
      await bench.add(2, 3),
    ];
    bench.script.lookUp = (item) => {
      if (item.outboxId === first) throw new RetryLaterError('transport.timeout', 'no answer');
      return YES;
    };
    bench.start();
    await bench.clock.advance(MINUTE);
    expect(bench.looks).not.toContain(behind);
    expect(bench.ends).toEqual([`${other} confirmed`]);
    bench.script.lookUp = () => YES;
    await bench.clock.advance(2 * MINUTE);
    expect(bench.ends).toEqual([other, first, behind].map((id) => `${id} confirmed`));
  });

  it('go on behind a push that ended badly', async () => {
    const bench = await createBench();
    const first = await bench.add(1, 1);
    const second = await bench.add(1, 2);
    bench.script.send = (item) => {
      if (item.outboxId === first) throw new RefusedError('service.invalid', 'no');
      bench.script.lookUp = () => YES;
      return {};
    };
    bench.start();
    await bench.clock.advance(10);
    expect(bench.ends).toEqual([`${first} refused`, `${second} confirmed`]);
  });

  it('are worked on so many at a time, and the rest waits without a busy loop', async () => {
    const bench = await createBench();
    bench.limits.concurrency = 2;
    const answers: (() => void)[] = [];
    bench.script.send = () =>
      new Promise((resolve) => {
        answers.push(() => resolve({}));
      });
    for (let delivery = 1; delivery <= 5; delivery += 1) await bench.add(delivery);
    bench.start();
    await bench.clock.advance(10 * MINUTE);
    expect(bench.sends).toEqual([1, 2]);
    // The outbox looks at the table each half minute, and a few times at the start.
    expect(bench.sleeps()).toBeLessThan(30);
    bench.script.lookUp = () => YES;
    for (const answer of answers) answer();
    await bench.clock.advance(10);
    expect(bench.ends).toHaveLength(5);
  });
});

it('sends while doubts are looked for, however long that takes', async () => {
  const bench = await createBench();
  bench.limits.concurrency = 1;
  const doubt = await bench.add(1);
  bench.script.send = lost;
  bench.start();
  const hangs = Promise.withResolvers<typeof YES>();
  bench.script.lookUp = (item) => {
    if (bench.sends.length === 0) return NO;
    return item.outboxId === doubt ? hangs.promise : NO;
  };
  await bench.clock.advance(MINUTE);
  const other = await bench.add(2);
  await bench.clock.advance(MINUTE);
  expect(bench.sends).toContain(other);
  hangs.resolve(YES);
});

describe('an idle outbox', () => {
  it('sleeps until it is nudged', async () => {
    const bench = await createBench();
    bench.script.lookUp = () => YES;
    const { dispatcher } = bench.start();
    await bench.clock.advance(10 * MINUTE);
    expect(bench.sleeps()).toBeLessThan(25);
    await bench.add(1);
    dispatcher.wakeUp();
    await bench.clock.advance(0);
    expect(bench.ends).toEqual(['1 confirmed']);
  });

  it('sends nothing while pushes are paused, and goes on when they are resumed', async () => {
    const bench = await createBench();
    bench.paused = true;
    const id = await bench.add(1);
    bench.start();
    await bench.clock.advance(10 * MINUTE);
    expect(bench.sends).toEqual([]);
    expect(await bench.row(id)).toMatchObject({ state: 'queued', attempts: 0 });
    // The push was checked once, says why it waits, and costs the service nothing meanwhile.
    expect(await bench.row(id)).toMatchObject({ last_error: 'paused' });
    expect(bench.looks).toEqual([id]);
    bench.paused = false;
    bench.script.send = () => {
      bench.script.lookUp = () => YES;
      return {};
    };
    // However long it was on, half a minute is enough.
    await bench.clock.advance(31_000);
    expect(bench.ends).toEqual([`${id} confirmed`]);
  });
});

describe('the table of ways between states', () => {
  it('lets the written ones happen and aborts every other one', async () => {
    const { db } = (await createBench()).store;
    for (const from of STATES) {
      for (const to of STATES.filter((state) => state !== from)) {
        const way = `${from}>${to}`;
        await sql`insert into outbox (kind, ordering_key, reference, body, body_hash, state, due_at,
          created_at, cause) values ('k', 'l', ${way}, '{}', '', ${from}, 0, 0, '')`.execute(db);
        const moved = await sql`update outbox set state = ${to} where reference = ${way}`
          .execute(db)
          .then(
            () => true,
            () => false,
          );
        expect(`${way} ${moved}`).toBe(`${way} ${WAYS.has(way)}`);
      }
    }
  });
});
