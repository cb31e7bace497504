import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { manualClock } from '../../src/lib/clock.ts';
import { RefusedError } from '../../src/lib/errors.ts';
import { createLogger } from '../../src/lib/log.ts';
import { createScrubber } from '../../src/lib/secret.ts';
import { openPauses, pauseFile, pauseOf, readPauses, resumeStep } from '../../src/store/pauses.ts';
import { ALL, DECISIONS, ORDERS, PUSHES, pausesIn, STOCK } from '../support/pauses.ts';
import { temporaryStore } from '../support/store.ts';

const ASKER = { actor: 'ada', reason: 'wrong prices' };
const PAUSED = 'paused by ada (pushes of orders): wrong prices';

async function opened() {
  const clock = manualClock();
  const store = await temporaryStore(clock);
  const open = () => pausesIn({ store, clock });
  const file = (target: 'pushes' | 'decisions' | 'all') => pauseFile(dirname(store.path), target);
  const audit = async () => {
    const rows = await store.db
      .selectFrom('audit')
      .select(['action', 'subject', 'actor'])
      .execute();
    return rows.map(({ action, subject, actor }) => `${action} ${subject} by ${actor}`);
  };
  const failing = (when = '') =>
    sql`create trigger full before insert on audit ${sql.raw(when)} begin
      select raise(abort, 'the disk is full'); end`.execute(store.db);
  const mended = () => sql`drop trigger full`.execute(store.db);
  return { clock, store, open, file, audit, failing, mended, pauses: await open() };
}

describe('a pause', () => {
  it('outlives restarts, each target and each kind by itself, and is in the audit', async () => {
    const { pauses, open, audit } = await opened();
    await pauses.pause(ORDERS, ASKER);
    await pauses.pause(PUSHES, { ...ASKER, reason: 'the service is being moved' });
    const second = await open();
    expect(second.reason('pushes', 'style')).toMatch(/^paused by ada \(pushes\): the service is/);
    await second.resume(PUSHES, ASKER);
    const third = await open();
    expect(third.reason('pushes', 'style')).toBeUndefined();
    expect(third.reason('pushes', 'order')).toBe(PAUSED);
    await third.resume(ORDERS, ASKER);
    expect((await open()).list()).toEqual([]);
    expect(await audit()).toEqual([
      ...['pause pushes:order by ada', 'pause pushes by ada'],
      ...['resume pushes by ada', 'resume pushes:order by ada'],
    ]);
  });

  it('of all holds pushes, decisions and streams', async () => {
    const { pauses, store } = await opened();
    await pauses.pause(ALL, ASKER);
    const reasons = [pauses.reason('pushes', 'order'), pauses.reason('decisions')];
    expect([...reasons, pauses.reason('stream', 'stock')]).toEqual(
      Array(3).fill('paused by ada (everything): wrong prices'),
    );
    const rows = await readPauses(store.db);
    expect(pauseOf(rows, 'stream', 'stock')).toMatchObject({ target: 'all', ...ASKER });
    await pauses.pause(STOCK, ASKER);
    await pauses.resume(ALL, ASKER);
    expect(pauses.list().map(resumeStep)).toEqual(['selvedge resume stream stock --reason "…"']);
    expect(pauses.reason('stream', 'brands')).toBeUndefined();
  });

  it('is refused twice, as is its end where there is none, and a name of nothing', async () => {
    const { pauses } = await opened();
    await pauses.pause(ORDERS, ASKER);
    const twice = pauses.pause(ORDERS, { actor: 'bo', reason: 'again' });
    const hint = 'to go on: selvedge resume pushes --kind order --reason "…"';
    await expect(twice).rejects.toMatchObject({ code: 'pause.paused', hint });
    const never = { code: 'pause.not_paused', hint: 'paused: pushes of orders' };
    await expect(pauses.resume(PUSHES, ASKER)).rejects.toMatchObject(never);
    const near = { code: 'pause.unknown', hint: 'did you mean stock?' };
    await expect(pauses.pause({ ...STOCK, name: 'stok' }, ASKER)).rejects.toMatchObject(near);
    for (const one of [
      { target: 'stream', name: '' },
      { target: 'all', name: 'order' },
      { target: 'pushes', name: 'stock' },
    ] as const) {
      await expect(pauses.pause(one, ASKER)).rejects.toMatchObject({ code: 'pause.unknown' });
    }
    expect(pauses.list()).toMatchObject([ASKER]);
  });

  it('that could not be written down does not hold, and its end neither', async () => {
    const { pauses, open, failing, mended } = await opened();
    await failing();
    await expect(pauses.pause(ORDERS, ASKER)).rejects.toThrow('the disk is full');
    expect(pauses.reason('pushes', 'order')).toBeUndefined();
    await mended();
    await pauses.pause(ORDERS, ASKER);
    await failing("when new.action = 'resume'");
    await expect(pauses.resume(ORDERS, ASKER)).rejects.toThrow('the disk is full');
    expect(pauses.reason('pushes', 'order')).toBe(PAUSED);
    await mended();
    for (const { reason } of [pauses, await open()]) expect(reason('pushes', 'order')).toBe(PAUSED);
    await pauses.resume(ORDERS, ASKER);
    expect(pauses.list()).toEqual([]);
  });

  it('that comes while one before is ending holds', async () => {
    const { pauses, open } = await opened();
    await pauses.pause(ORDERS, ASKER);
    const again = { actor: 'bo', reason: 'they are wrong again' };
    await Promise.all([pauses.resume(ORDERS, ASKER), pauses.pause(ORDERS, again)]);
    for (const { list } of [pauses, await open()]) expect(list()).toMatchObject([again]);
  });
});

describe('a pause by a file', () => {
  it('holds at once, is written down with its reason, and ends when the file is gone', async () => {
    const { pauses, open, file, audit, store } = await opened();
    const { mark } = pauses.look();
    writeFileSync(file('pushes'), 'moving (bo)\n');
    expect(pauses.reason('pushes', 'order')).toBe('paused by file (pushes): moving (bo)');
    expect(pauses.look().mark).not.toBe(mark);
    expect(await readPauses(store.db, dirname(store.path))).toMatchObject([{ actor: 'file' }]);
    for (const one of [pauses, await open(), pauses]) await one.followFiles();
    expect(await readPauses(store.db)).toMatchObject([{ ...PUSHES, reason: 'moving (bo)' }]);
    rmSync(file('pushes'));
    const again = await open();
    expect([pauses.reason('pushes', 'order'), again.list()]).toEqual([undefined, []]);
    await again.followFiles();
    expect(await readPauses(store.db)).toEqual([]);
    expect(await audit()).toEqual(['pause pushes by file', 'resume pushes by file']);
  });

  it('holds although its reason cannot be read', async () => {
    const { pauses, file } = await opened();
    // Nobody can read a folder as a file; a file of another user is the same.
    mkdirSync(file('decisions'));
    expect(pauses.reason('decisions')).toMatch(
      /^paused by file \(decisions\): the reason in .* cannot/,
    );
  });

  it('beats the table: nobody resumes it but by removing the file', async () => {
    const { pauses, file } = await opened();
    await pauses.pause(DECISIONS, ASKER);
    writeFileSync(file('decisions'), '');
    await pauses.followFiles();
    expect(pauses.reason('decisions')).toBe('paused by file (decisions): without a reason');
    const refusal = { code: 'pause.file', hint: `remove ${file('decisions')}` };
    await expect(pauses.resume(DECISIONS, ASKER)).rejects.toMatchObject(refusal);
    expect(existsSync(file('decisions'))).toBe(true);
    rmSync(file('decisions'));
    await pauses.followFiles();
    // A person's earlier pause stays so.
    expect(pauses.reason('decisions')).toBe('paused by ada (decisions): wrong prices');
  });

  it('says what its end has brought to light, and ends', async () => {
    const { clock, store, file } = await opened();
    const lines: string[] = [];
    const write = (line: string) => void lines.push(line);
    const log = createLogger({ level: 'warn', format: 'json', scrubber: createScrubber(), write });
    const late = [new RefusedError('pause.acts_since', '2 deliveries held', { hint: 'look' })];
    const pauses = await openPauses({
      ...{ store, clock, log, dataDir: dirname(store.path), streams: [] },
      cancelDecided: async () => 0,
      beforeResume: async () => late.pop(),
    });
    writeFileSync(file('pushes'), '');
    await pauses.followFiles();
    rmSync(file('pushes'));
    lines.length = 0;
    await pauses.followFiles();
    expect(lines).toEqual([expect.stringContaining('2 deliveries held')]);
    await pauses.followFiles();
    expect(await readPauses(store.db)).toEqual([]);
  });

  it('holds although it cannot be written down, and is written down once it can', async () => {
    const { pauses, file, failing, mended, store } = await opened();
    writeFileSync(file('all'), 'prices');
    await failing();
    await expect(pauses.followFiles()).rejects.toThrow('the disk is full');
    expect(pauses.reason('decisions')).toBe('paused by file (everything): prices');
    await mended();
    await pauses.followFiles();
    expect(await readPauses(store.db)).toMatchObject([{ ...ALL, actor: 'file' }]);
  });
});
