/** The drop folder over minutes and hours: what is waited for, and for how long. */
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import fs from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { manualClock } from '../../../src/lib/clock.ts';
import { silentLogger } from '../../../src/lib/log.ts';
import { writeRefunds } from '../../../src/mirror/refund.ts';
import { openCauses } from '../../../src/ops/causes.ts';
import { createFolderChannel } from '../../../src/outbox/intake/folder-channel.ts';
import type { SqliteStore } from '../../../src/store/store.ts';
import { followClock } from '../../support/clock-guard.ts';
import { until } from '../../support/house.ts';
import { temporaryFolder, temporaryStore } from '../../support/store.ts';
import { envelope } from './folder-support.ts';
import { DAY_MS, endDocument, intakeOf, runWorker } from './support.ts';

const LOOK_MS = 500;
const HOUR_MS = 3_600_000;

async function timedFolder(settleMs = 0) {
  const clock = manualClock();
  const store = await temporaryStore(clock);
  const folder = temporaryFolder();
  const intake = intakeOf(store);
  const limits = { settleMs, fileBytesMax: 100_000, keepMs: DAY_MS };
  const worker = createFolderChannel({
    store,
    intake,
    clock,
    log: silentLogger(),
    folder,
    ...limits,
  });
  let running = runWorker(worker);
  const rests = () => until('the end of a round', () => clock.pending() > 0 || undefined);
  const path = (name: string): string => join(folder, name);
  await rests();
  return {
    ...{ clock, store, intake, path },
    stop: () => running.stop(),
    start(): void {
      running = runWorker(worker);
    },
    /** So many looks into the folder, each to its end. */
    async looks(times: number, ms = LOOK_MS): Promise<void> {
      for (let time = 0; time < times; time += 1) {
        await clock.advance(ms);
        await rests();
      }
    },
    write(name: string, text: string, ageMs = 0): void {
      writeFileSync(path(name), text);
      const at = (clock.now() - ageMs) / 1_000;
      utimesSync(path(name), at, at);
    },
    states(name: string): string[] {
      const text = readFileSync(path(`${name}.receipt.json`), 'utf8');
      const { documents }: { documents: { state: string; problems: unknown[] }[] } =
        JSON.parse(text);
      return documents.map(({ state, problems }) => `${state} ${problems.length}`);
    },
  };
}

it('reads no file while it grows, however long that takes', async () => {
  const { clock, path, looks, write } = await timedFolder(2_000);
  write('a.json', '');
  for (const part of envelope('SO-1').match(/.{1,12}/g) ?? []) {
    appendFileSync(path('a.json'), part);
    utimesSync(path('a.json'), clock.now() / 1_000, clock.now() / 1_000);
    await looks(2);
    expect(existsSync(path('a.json'))).toBe(true);
  }
  await looks(4);
  expect(existsSync(path('done/a.json'))).toBe(true);
});

/** Orders in a file, one a line. */
function lines(...references: string[]): string {
  return references.map((reference) => `${envelope(reference)}\n`).join('');
}

/** References of all documents, each with how often it was submitted once more. */
async function taken({ db }: SqliteStore): Promise<string[]> {
  const rows = await db
    .selectFrom('intake')
    .innerJoin('outbox', 'outbox.outbox_id', 'intake.outbox_id')
    .select(['outbox.reference', 'repeats'])
    .orderBy('outbox.outbox_id')
    .execute();
  return rows.map(({ reference, repeats }) => `${reference} ${repeats}`);
}

async function grown({ db }: SqliteStore): Promise<string[]> {
  const told = await openCauses(db);
  return told.map(({ kind }) => kind).filter((kind) => kind.startsWith('file_'));
}

it.each([
  ['between two documents', lines('SO-1'), 'done'],
  ['in the middle of a document', lines('SO-1', 'SO-2').slice(0, -9), 'refused'],
])(
  'takes the rest of a file that goes on growing, cut off %s, and tells',
  async (_, cut, first) => {
    const house = await timedFolder(2_000);
    const { store, path, looks, write, states } = house;
    write('a.json', cut);
    await looks(5);
    const whole = lines('SO-1', 'SO-2', 'SO-3');
    for (const part of whole.slice(cut.length).match(/.{1,40}\n?/gs) ?? []) {
      // The program goes on in the file that it has open, wherever that lies.
      appendFileSync(path(`${first}/a.json`), part);
      await looks(2);
      expect(await grown(store)).toEqual([]);
    }
    await looks(5);
    expect(states('done/a.json')).toEqual(['queued 0', 'queued 0', 'queued 0']);
    expect(readFileSync(path('done/a.json'), 'utf8')).toBe(whole);
    expect(existsSync(path('refused/a.json.receipt.json'))).toBe(false);
    expect(await taken(store)).toEqual(['SO-1 0', 'SO-2 0', 'SO-3 0']);
    expect(await grown(store)).toEqual(['file_grew']);
    // The whole file, submitted once more, is the same file.
    write('a.json', whole);
    await looks(5);
    expect(await taken(store)).toEqual(['SO-1 1', 'SO-2 1', 'SO-3 1']);
    await looks(1, DAY_MS + HOUR_MS);
    expect(await grown(store)).toEqual([]);
  },
);

it('says nothing final of a file that somebody still writes', async () => {
  const { store, path, looks, write } = await timedFolder(2_000);
  write('a.json', lines('SO-1'));
  await looks(5);
  const isFinal = (): boolean =>
    JSON.parse(readFileSync(path('done/a.json.receipt.json'), 'utf8')).final;
  await endDocument(store, 1, 'confirmed', { result: '{}' });
  appendFileSync(path('done/a.json'), lines('SO-2'));
  await looks(2);
  expect(isFinal()).toBe(false);
  await looks(5);
  expect(isFinal()).toBe(false);
  await endDocument(store, 2, 'confirmed', { result: '{}' });
  await looks(2);
  expect(isFinal()).toBe(true);
});

it('takes what was added while nobody looked, also hours later and across a stop', async () => {
  const house = await timedFolder();
  const { path, looks, write, states, stop, start, store } = house;
  for (let at = 0; at < 60; at += 1) write(`${at + 10}.json`, lines(`SO-${at}`), HOUR_MS);
  await looks(2);
  await stop();
  appendFileSync(path('done/10.json'), lines('SO-late'));
  // A stop between two folders has left another one in the wrong one.
  renameSync(path('done/11.json'), path('refused/11.json'));
  await house.clock.advance(3 * HOUR_MS);
  start();
  await looks(3);
  expect(states('done/10.json')).toEqual(['queued 0', 'queued 0']);
  expect(existsSync(path('done/11.json'))).toBe(true);
  expect(await taken(store)).toHaveLength(61);
});

it('keeps what was taken of a file that is too large once it is whole', async () => {
  const { store, path, looks, write, states } = await timedFolder();
  write('a.json', lines('SO-1'));
  await looks(2);
  appendFileSync(path('done/a.json'), `{"kind": "${'x'.repeat(100_000)}"}`);
  await looks(3);
  expect(states('refused/a.json')).toEqual(['queued 0', 'refused 1']);
  expect(await taken(store)).toEqual(['SO-1 0']);
});

it.each([
  ['emptied', ''],
  ['given another text', lines('SO-9')],
  ['corrected in one document', lines('SO-1', 'SO-2').replace('SO-2', 'SO-8')],
])(
  'takes nothing of a file that is %s after it was taken, keeps its receipt, and tells',
  async (_, text) => {
    const house = await timedFolder();
    const { store, path, looks, write, states } = house;
    write('a.json', lines('SO-1', 'SO-2'));
    await looks(2);
    writeFileSync(path('done/a.json'), text);
    await looks(3);
    expect(states('done/a.json')).toEqual(['queued 0', 'queued 0']);
    expect(await taken(store)).toEqual(['SO-1 0', 'SO-2 0']);
    expect(await grown(store)).toEqual(['file_changed']);
    // The receipt goes on to show how the documents end.
    await endDocument(store, 1, 'refused', { last_error: 'sold out' });
    await looks(2);
    expect(states('done/a.json')).toEqual(['refused 1', 'queued 0']);
    appendFileSync(path('done/a.json'), lines('SO-7'));
    await looks(3);
    expect(await taken(store)).toEqual(['SO-1 0', 'SO-2 0']);
    await looks(1, DAY_MS + HOUR_MS);
    expect(await grown(store)).toEqual([]);
  },
);

it('keeps a document in the receipt of which further text made the line unreadable', async () => {
  const { store, path, looks, write, states } = await timedFolder();
  write('a.json', lines('SO-1').trim());
  await looks(2);
  appendFileSync(path('done/a.json'), lines('SO-2'));
  await looks(3);
  expect(states('refused/a.json')).toEqual(['queued 0', 'refused 1']);
  expect(await taken(store)).toEqual(['SO-1 0']);
});

it('passes over a touched file that may not be read any more, and serves others', async () => {
  const { store, clock, path, looks, write, states } = await timedFolder();
  for (let at = 0; at < 61; at += 1) write(`${at + 10}.json`, lines(`SO-${at}`));
  await looks(2);
  await looks(1, HOUR_MS);
  const { open } = fs;
  vi.spyOn(fs, 'open').mockImplementation(async (name, ...more) => {
    if (name !== path('done/10.json')) return open(name, ...more);
    throw Object.assign(new Error('permission denied'), { code: 'EACCES' });
  });
  syncBuiltinESMExports();
  onTestFinished(() => {
    vi.restoreAllMocks();
    syncBuiltinESMExports();
  });
  utimesSync(path('done/10.json'), clock.now() / 1_000, clock.now() / 1_000);
  for (const id of [1, 2]) await endDocument(store, id, 'refused', { last_error: 'sold out' });
  await looks(2);
  expect(states('done/11.json')).toEqual(['refused 1']);
});

it('reads at once what was finished before, and what is of a time to come later', async () => {
  const { path, looks, write } = await timedFolder(2_000);
  write('before.json', envelope('SO-1'), 60_000);
  write('ahead.json', envelope('SO-2'), -DAY_MS);
  await looks(2);
  expect([existsSync(path('done/before.json')), existsSync(path('ahead.json'))]).toEqual([
    true,
    true,
  ]);
  await looks(4);
  expect(existsSync(path('done/ahead.json'))).toBe(true);
});

it('shows how documents move also while others of their file are open', async () => {
  const { store, looks, write, states } = await timedFolder();
  write('a.json', `${envelope('SO-1')}\n${envelope('SO-2')}`);
  await looks(2);
  await endDocument(store, 1, 'refused', { last_error: 'sold out' });
  await looks(1);
  expect(states('done/a.json')).toEqual(['refused 1', 'queued 0']);
  const second = store.db.updateTable('outbox').where('outbox_id', '=', 2);
  await second.set({ last_error: 'the service is down' }).execute();
  await looks(12);
  expect(states('done/a.json')).toEqual(['refused 1', 'queued 1']);
});

it('shows the last end at once, however short after the one before', async () => {
  const { store, looks, write, states } = await timedFolder();
  write('a.json', `${envelope('SO-1')}\n${envelope('SO-2')}`);
  await looks(2);
  for (const id of [1, 2]) {
    await endDocument(store, id, 'refused', { last_error: 'sold out' });
    await looks(1);
  }
  expect(states('done/a.json')).toEqual(['refused 1', 'refused 1']);
});

it('shows an end that came while the receipt was written', async () => {
  const { store, looks, write, states } = await timedFolder();
  const { rename } = fs;
  let isFirst = true;
  vi.spyOn(fs, 'rename').mockImplementation(async (from, to) => {
    if (isFirst && String(to).endsWith('.receipt.json')) {
      isFirst = false;
      await endDocument(store, 1, 'refused', { last_error: 'sold out' });
    }
    await rename(from, to);
  });
  syncBuiltinESMExports();
  onTestFinished(() => {
    vi.restoreAllMocks();
    syncBuiltinESMExports();
  });
  write('a.json', envelope('SO-1'));
  await looks(3);
  expect(states('done/a.json')).toEqual(['refused 1']);
});

it('tries a file again a minute after something was in its way', async () => {
  const { path, looks, write } = await timedFolder();
  mkdirSync(path('done/a.json/inside'), { recursive: true });
  write('a.json', envelope('SO-1'));
  await looks(2);
  rmSync(path('done/a.json'), { recursive: true });
  await looks(2);
  expect(existsSync(path('a.json'))).toBe(true);
  await looks(2, 60_000);
  expect(existsSync(path('done/a.json.receipt.json'))).toBe(true);
  expect(existsSync(path('a.json'))).toBe(false);
});

it('keeps what was refused for as long as it is to be kept', async () => {
  const { path, looks, write } = await timedFolder();
  write('a.json', '{}');
  await looks(2);
  await looks(3, HOUR_MS);
  expect(existsSync(path('refused/a.json'))).toBe(true);
  await looks(1, DAY_MS);
  await looks(2);
  expect(existsSync(path('refused/a.json'))).toBe(false);
  expect(existsSync(path('refused/a.json.receipt.json'))).toBe(false);
});

it('deletes no files by a clock that is a year ahead', async () => {
  const { clock, store, path, looks, write } = await timedFolder();
  write('a.json', '{}');
  await looks(2);
  await followClock({ store, clock });
  clock.step(365 * DAY_MS);
  await looks(3, HOUR_MS);
  expect(existsSync(path('refused/a.json'))).toBe(true);
});

it('shows beside the file the refund that the service made of a pending one', async () => {
  const { store, looks, write, path } = await timedFolder();
  const lines = [{ barcode: 'b', quantity: 1 }];
  write('r.json', JSON.stringify({ kind: 'pending_refund', reference: 'R-1', orderId: 7, lines }));
  await looks(2);
  await endDocument(store, 1, 'confirmed', { result: JSON.stringify({ pendingRefundId: 8 }) });
  await store.db.updateTable('outbox').set({ order_id: 7 }).execute();
  const refundIds = () => {
    const text = readFileSync(path('done/r.json.receipt.json'), 'utf8');
    const { documents }: { documents: { pendingRefundId: number; refundId: number | null }[] } =
      JSON.parse(text);
    return documents.map(({ pendingRefundId, refundId }) => [pendingRefundId, refundId]);
  };
  await looks(2);
  expect(refundIds()).toEqual([[8, null]]);
  const made = { orderRefundId: 9, orderId: 7, pendingRefundId: 8, status: 'pending' };
  const from = { source: 'run:1', readSeq: 1, at: 0 };
  await store.transaction((tx) => writeRefunds(tx, [{ ...made, refundedLineItems: [] }], from));
  await looks(2);
  expect(refundIds()).toEqual([[8, 9]]);
});
