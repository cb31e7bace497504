/** People's acts between a backup and its restore. */
import { appendFileSync, renameSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { writeAssignment, writeNote } from '../../src/decisions/review/note.ts';
import { enqueueDocument } from '../../src/outbox/enqueue.ts';
import { waitingFor } from '../../src/outbox/queue.ts';
import { writeAudit } from '../../src/store/audit.ts';
import { readPauses } from '../../src/store/pauses.ts';
import { rejection } from '../client/support.ts';
import { reviewOf } from '../outbox/support.ts';
import {
  actBy,
  backUp,
  decideAfter,
  decideBefore,
  LARGE,
  listActs,
  loseAndRestore,
  pausesAfter,
} from './lost.ts';
import { createDeciderFixture } from './support.ts';

const NUMBERED = { deliveryNo: 'DN-1' };

async function createHeld() {
  const fixture = await createDeciderFixture();
  await fixture.delivery({ id: 1, lines: LARGE, more: NUMBERED });
  await decideBefore(fixture);
  const backup = await backUp(fixture);
  await fixture.clock.advance(60_000);
  await actBy(fixture, { delivery: 1, action: 'hold' });
  await listActs(fixture);
  return { ...fixture, backup };
}

it('what a person held after the backup stays held until a person decides', async () => {
  const lost = await createHeld();
  const { told, after } = await loseAndRestore(lost, lost.backup);
  expect(told.since).toEqual({ acts: 1, unreadable: 0, stopped: 1, paused: [] });
  // Even what changed since is left alone.
  await after.delivery({ id: 1, lines: [['a', 3]], more: NUMBERED });
  expect(await decideAfter(after)).toEqual(['1 hold']);
  const { reason } = await after.store.db
    .selectFrom('decision')
    .select('reason')
    .orderBy('decision_id', 'desc')
    .executeTakeFirstOrThrow();
  expect(reason).toBe('safeguard restored: ada held it after the backup that was restored');
  expect(await actBy(after, { delivery: 1, action: 'release', toRules: true })).toBe(true);
  expect(await decideAfter(after)).toEqual(['1 accept']);
});

it('pauses since the backup are made again, and a torn line costs itself alone', async () => {
  const lost = await createHeld();
  const { clock, store } = lost;
  const file = join(dirname(store.path), 'backups', 'acts.jsonl');
  appendFileSync(file, '\n{"at": 1, "act');
  await store.db
    .insertInto('audit')
    .values(
      ['pause', 'resume', 'pause'].map((action, at) => ({
        ...{ action, at: clock.now(), actor: 'bo', reason: '', detail: '{}' },
        ...{ subject: at < 2 ? 'decisions' : 'stream:stock', session: null, address: null },
      })),
    )
    .execute();
  await listActs(lost);
  const { told, after } = await loseAndRestore(lost, lost.backup);
  expect(told.since).toEqual({ acts: 4, unreadable: 1, stopped: 1, paused: ['stream:stock'] });
  const paused = await readPauses(after.store.db);
  expect(paused.map(({ target, name, actor }) => [target, name, actor])).toEqual([
    ['pushes', '', 'cli:ada'],
    ['stream', 'stock', 'bo'],
  ]);
});

it('a document that a person canceled since is left to a person', async () => {
  const fixture = await createDeciderFixture();
  const { store, clock } = fixture;
  const document = { lines: [{ barcode: 'a', quantity: 1, price: '10.00' }] };
  const order = { kind: 'order', reference: 'PO-9', document, cause: 'erp' } as const;
  await store.transaction((tx) => enqueueDocument(tx, order, clock.now()));
  const backup = await backUp(fixture);
  await clock.advance(60_000);
  await reviewOf({ store, clock }).cancel({ outboxId: 1 }, { actor: 'ada', reason: 'twice' });
  await listActs(fixture);
  const { after } = await loseAndRestore(fixture, backup);
  const free = { busy: new Set<string>(), paused: new Map<string, string>() };
  const { due } = await waitingFor(after.store.db, 'lookup', clock.now() + 1, free);
  expect(due).toEqual([]);
  const rows = after.store.db.selectFrom('outbox').select(['state', 'blocked_reason']);
  expect(await rows.execute()).toEqual([
    {
      state: 'in_doubt',
      blocked_reason: 'a person canceled it after the backup that was restored',
    },
  ]);
});

it('a restore without the list says that nobody knows', async () => {
  const lost = await createHeld();
  const file = join(dirname(lost.store.path), 'backups', 'acts.jsonl');
  renameSync(file, `${file}.away`);
  const { told } = await loseAndRestore(lost, lost.backup);
  expect(told.since).toBeNull();
});

it('resume refuses once where the list comes to light after the restore, and holds', async () => {
  const lost = await createHeld();
  const directory = join(dirname(lost.store.path), 'backups');
  const file = join(directory, 'acts.jsonl');
  renameSync(file, `${file}.away`);
  const { after } = await loseAndRestore(lost, lost.backup);
  await after.delivery({ id: 1, lines: [['a', 3]], more: NUMBERED });
  expect(await decideAfter(after)).toEqual(['1 accept']);
  renameSync(`${file}.away`, file);
  const pauses = await pausesAfter(after, directory);
  const what = { target: 'pushes', name: '' } as const;
  const resume = () => pauses.resume(what, { actor: 'ada', reason: 'looked through' });
  expect(await rejection(resume())).toMatchObject({
    code: 'pause.acts_since',
    message: 'the list of acts has more than at the restore: 1 delivery held',
  });
  expect(pauses.reason('pushes')).toContain('restored from the backup');
  expect(await decideAfter(after)).toEqual(['1 hold']);
  // A release of a person has the last word, whatever the list says.
  await actBy(after, { delivery: 1, action: 'release', toRules: true });
  await resume();
  expect(pauses.reason('pushes')).toBeUndefined();
  expect(await decideAfter(after)).toEqual(['1 accept']);
});

it('a note, a name or a count since the restore is no word on holds and pauses', async () => {
  const lost = await createHeld();
  const { clock } = lost;
  const pause = { action: 'pause', subject: 'stream:stock', actor: 'bo', reason: '' };
  await writeAudit(lost.store.db, pause, clock.now());
  await listActs(lost);
  const directory = join(dirname(lost.store.path), 'backups');
  const file = join(directory, 'acts.jsonl');
  renameSync(file, `${file}.away`);
  const { after } = await loseAndRestore(lost, lost.backup);
  await after.delivery({ id: 1, lines: [['a', 3]], more: NUMBERED });
  expect(await decideAfter(after)).toEqual(['1 accept']);
  await clock.advance(1_000);
  await after.store.transaction(async (tx) => {
    await writeNote(tx, 1, 'ada asked about this one', { actor: 'bo' }, clock.now());
    await writeAssignment(tx, 1, 'ada', { actor: 'bo' }, clock.now());
    const count = { action: 'sync.accept_count', subject: 'stream:stock' };
    await writeAudit(tx, { ...count, actor: 'bo', reason: '' }, clock.now());
  });
  renameSync(`${file}.away`, file);
  const pauses = await pausesAfter(after, directory);
  const what = { target: 'pushes', name: '' } as const;
  expect(await rejection(pauses.resume(what, { actor: 'ada', reason: 'looked' }))).toMatchObject({
    code: 'pause.acts_since',
    message:
      'the list of acts has more than at the restore: 1 delivery held and stream:stock paused',
  });
  expect(await decideAfter(after)).toEqual(['1 hold']);
});
