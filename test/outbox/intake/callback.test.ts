import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { sql } from 'kysely';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type Clock, manualClock, systemClock } from '../../../src/lib/clock.ts';
import { silentLogger } from '../../../src/lib/log.ts';
import { openCauses } from '../../../src/ops/causes.ts';
import { createCallback } from '../../../src/outbox/intake/callback.ts';
import { followClock } from '../../support/clock-guard.ts';
import { until } from '../../support/house.ts';
import { temporaryFolder, temporaryStore } from '../../support/store.ts';
import { reviewOf } from '../support.ts';
import { delivered, endDocument, intakeOf, runWorker } from './support.ts';

const QUICK = { timeoutMs: 60_000, attemptsMax: 3, delayMinMs: 10, delayMaxMs: 20 };

/** A document that has ended, and a shell script that is told of it. */
async function ended(
  script: string,
  settings: Partial<typeof QUICK> = {},
  clock: Clock = systemClock(),
) {
  const store = await temporaryStore(systemClock());
  const folder = temporaryFolder();
  const intake = intakeOf(store);
  await intake.submit([delivered('SO-1')]);
  await endDocument(store, 1, 'confirmed', { result: '{"orderId":5,"orderNo":"N-5"}' });
  const program = join(folder, 'told.sh');
  writeFileSync(program, `#!/bin/sh\ncd ${folder}\n${script}\n`, { mode: 0o700 });
  const command = [program, 'one argument; not two'];
  const deps = { store, clock, log: silentLogger() };
  const worker = createCallback({ ...deps, settings: { command, ...QUICK, ...settings } });
  const { stop, failure } = runWorker(worker);
  const row = () => store.db.selectFrom('intake').selectAll().executeTakeFirstOrThrow();
  return { store, folder, row, stop, failure, restart: () => runWorker(worker) };
}

describe('the callback command', () => {
  it('gets the receipt on its input, with its arguments as they are, once', async () => {
    const script = 'cat > receipt.part; echo "$#: $1" > arguments; env > environment';
    const { folder, row } = await ended(`${script}; mv receipt.part receipt.json`);
    await until('told', async () => (await row()).callback_due_at === null || undefined);
    const receipt: unknown = JSON.parse(readFileSync(join(folder, 'receipt.json'), 'utf8'));
    expect(receipt).toMatchObject({ documentId: 1, state: 'confirmed', orderNo: 'N-5' });
    expect(readFileSync(join(folder, 'arguments'), 'utf8')).toBe('1: one argument; not two\n');
    expect(readFileSync(join(folder, 'environment'), 'utf8')).not.toContain('VITEST');
    expect(await row()).toMatchObject({ callback_attempts: 1, callback_error: null });
  });

  it('is told again when it fails, then given up with what it said', async () => {
    const script = 'echo x >> tries; echo "no such customer" >&2; exit 7';
    const { folder, row, store } = await ended(script);
    await until('given up', async () => (await row()).callback_due_at === null || undefined);
    expect(readFileSync(join(folder, 'tries'), 'utf8')).toBe('x\nx\nx\n');
    expect(await row()).toMatchObject({
      ...{ callback_attempts: 3 },
      callback_error: 'the command ended with 7: no such customer',
    });
    const [told] = await until('an incident', async () => {
      const open = await openCauses(store.db);
      return open.length > 0 ? open : undefined;
    });
    const why = 'the command ended with 7: no such customer';
    expect(told).toEqual({
      kind: 'callback_failed',
      says: `the callback command was given up for the receipt of document 1: ${why}`,
      advice: 'correct intake.callback; the receipt: selvedge outbox show 1',
    });
    // A start without a command ends it, since no run can.
    const parts = { store, clock: systemClock(), log: silentLogger() };
    runWorker(createCallback({ ...parts, settings: { command: [], ...QUICK } }));
    await until('its end', async () => (await openCauses(store.db)).length === 0 || undefined);
  });

  it('is told of an end that came while it was told of the one before', async () => {
    const waiting = 'while [ ! -e go ]; do sleep 0.01; done';
    const { store, folder, row } = await ended(`echo x >> tries; ${waiting}`);
    const tries = join(folder, 'tries');
    await until('the first', () => existsSync(tries) || undefined);
    const again = store.db.updateTable('intake');
    await again.set((eb) => ({ callback_due_at: eb('callback_due_at', '+', 1) })).execute();
    writeFileSync(join(folder, 'go'), '');
    await until('told', async () => (await row()).callback_due_at === null || undefined);
    expect(readFileSync(tries, 'utf8')).toBe('x\nx\n');
  });

  it('does not wait until a clock that was set back has caught up', async () => {
    const ahead = manualClock(systemClock().now() + 86_400_000);
    const script = 'test -e second || exit 1';
    const { store, folder, row, stop } = await ended(script, { delayMaxMs: 60_000 }, ahead);
    await until('the first try', async () => (await row()).callback_error ?? undefined);
    await stop();
    await followClock({ store, clock: ahead });
    await followClock({ store, clock: systemClock() });
    writeFileSync(join(folder, 'second'), '');
    const settings = { command: [join(folder, 'told.sh')], ...QUICK, delayMaxMs: 60_000 };
    const clock = systemClock();
    runWorker(createCallback({ store, clock, log: silentLogger(), settings }));
    await until('told', async () => (await row()).callback_due_at === null || undefined);
    expect(await row()).toMatchObject({ callback_attempts: 2, callback_error: null });
  });

  it('is ended with all that it started when it takes too long', async () => {
    const clock = manualClock(systemClock().now() + 60_000);
    const limits = { timeoutMs: 200, attemptsMax: 1 };
    const script = 'sleep 300 & echo $! > new; mv new child; wait';
    const { row, folder } = await ended(script, limits, clock);
    await until('the child', () => existsSync(join(folder, 'child')) || undefined);
    await clock.advance(200);
    await until('given up', async () => (await row()).callback_due_at === null || undefined);
    const { callback_error } = await row();
    expect(callback_error).toBe('the command was ended by SIGKILL: it took too long');
    const child = readFileSync(join(folder, 'child'), 'utf8').trim();
    const state = (): string | undefined => {
      const stat = existsSync(`/proc/${child}/stat`)
        ? readFileSync(`/proc/${child}/stat`, 'utf8')
        : '';
      return stat === '' || stat.includes(') Z ') ? 'gone' : undefined;
    };
    expect(await until('no child', state)).toBe('gone');
  });

  it('that leaves something behind which holds its output keeps nothing waiting', async () => {
    const clock = manualClock(systemClock().now() + 60_000);
    const args = '["-c", "echo $$ > new; mv new child; exec sleep 300"]';
    const options = '{ detached: true, stdio: "inherit" }';
    const spawn = `require("node:child_process").spawn("sh", ${args}, ${options}).unref()`;
    const left = `"${process.execPath}" -e '${spawn}' &`;
    const script = `echo $$ > command; ${left} while ! test -e child; do sleep 0.01; done; exit 0`;
    const { row, folder } = await ended(script, { timeoutMs: 200 }, clock);
    const idIn = (file: string): number => Number(readFileSync(join(folder, file), 'utf8'));
    await until('the child', () => existsSync(join(folder, 'child')) || undefined);
    onTestFinished(() => {
      process.kill(idIn('child'), 'SIGKILL');
    });
    const isOver = () => !existsSync(`/proc/${idIn('command')}`) || undefined;
    await until('the end of the command', isOver);
    await clock.advance(200);
    await until('told', async () => (await row()).callback_due_at === null || undefined);
    expect(await row()).toMatchObject({ callback_attempts: 1, callback_error: null });
  });

  it('is told by the next start of what a stop has cut off', async () => {
    const script = 'test -e second && cat > receipt.json; touch first; test -e second || sleep 300';
    const { folder, row, stop, restart } = await ended(script);
    await until('the first try', () => existsSync(join(folder, 'first')) || undefined);
    await stop();
    expect(await row()).toMatchObject({ callback_due_at: expect.any(Number) });
    writeFileSync(join(folder, 'second'), '');
    restart();
    await until('told', async () => (await row()).callback_due_at === null || undefined);
    expect(await row()).toMatchObject({ callback_error: null });
  });

  it('is not given up when it was told and only that could not be noted', async () => {
    const clock = manualClock(systemClock().now() + 60_000);
    const script = 'while ! test -e go; do sleep 0.01; done; echo x >> tries';
    const { store, folder, row, failure, restart } = await ended(script, { attemptsMax: 1 }, clock);
    await sql`create trigger full before update of callback_due_at on intake
      when new.callback_due_at is null and new.callback_error is null
      begin select raise(abort, 'the disk is full'); end`.execute(store.db);
    writeFileSync(join(folder, 'go'), '');
    let broken: unknown;
    void failure.then((error) => {
      broken = error;
    });
    await until('the end', async () => broken ?? (await row()).callback_error ?? undefined);
    expect(String(broken)).toBe('SqliteError: the disk is full');
    await sql`drop trigger full`.execute(store.db);
    restart();
    await until('told', async () => (await row()).callback_due_at === null || undefined);
    expect(await row()).toMatchObject({ callback_attempts: 1, callback_error: null });
    expect(readFileSync(join(folder, 'tries'), 'utf8')).toBe('x\nx\n');
  });

  it('does not hold up a stop that came just before it was started', async () => {
    const clock = manualClock(systemClock().now() + 60_000);
    const script = 'touch first; test -e second && sleep 300; exit 1';
    const { store, folder, row, stop, restart } = await ended(script, { delayMaxMs: 0 }, clock);
    await until('the first try', async () => (await row()).callback_error ?? undefined);
    await stop();
    writeFileSync(join(folder, 'second'), '');
    const before = Promise.withResolvers<void>();
    const writing = store.transaction(() => before.promise);
    const stopped = restart().stop();
    before.resolve();
    await Promise.all([writing, stopped]);
    expect(await row()).toMatchObject({ callback_attempts: 1 });
  });

  it.each(['confirmed', 'canceled'])(
    'is told when a dead document is %s by a person',
    async (as) => {
      const store = await temporaryStore(systemClock());
      const intake = intakeOf(store);
      await intake.submit([delivered('SO-1')]);
      const outbox = store.db.updateTable('outbox');
      await outbox.set({ state: 'dead', ended_at: 1 }).execute();
      await store.db.updateTable('intake').set({ callback_due_at: null }).execute();
      const confirm = async () => ({ orderId: 5 });
      const review = reviewOf({ store, clock: systemClock() }, { confirm });
      const who = { actor: 'anna', reason: 'asked the service' };
      if (as === 'confirmed') await review.resolve(1, { as: 'confirmed', id: '5' }, who);
      else await review.cancel({ outboxId: 1 }, who);
      const row = await store.db.selectFrom('intake').selectAll().executeTakeFirstOrThrow();
      expect(row.callback_due_at).toEqual(expect.any(Number));
    },
  );
});
