import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import fs from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { sql } from 'kysely';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { systemClock } from '../../../src/lib/clock.ts';
import { sha256 } from '../../../src/lib/json.ts';
import { until } from '../../support/house.ts';
import { temporaryFolder } from '../../support/store.ts';
import { type Dropped, envelope, openFolder } from './folder-support.ts';
import { delivered, endDocument, order } from './support.ts';

/** Both files of the name `orders.json` were taken, the second one's receipt is there. */
async function secondIsTaken({ store, receipt }: Dropped): Promise<void> {
  await until('both documents', async () => {
    const rows = await store.db.selectFrom('outbox').select('reference').execute();
    return rows.length === 2 || undefined;
  });
  const { documents } = await receipt('done/orders.json');
  expect(documents).toMatchObject([{ documentId: 2 }]);
}

describe('the drop folder', () => {
  it('takes one document over several lines, and shows its end in the receipt', async () => {
    const { store, start, drop, receipt } = await openFolder();
    start();
    drop('one.json', JSON.stringify(JSON.parse(envelope('SO-1')), null, 2));
    expect(await receipt('done/one.json')).toMatchObject({
      ...{ file: 'one.json', final: false },
      documents: [{ line: 1, documentId: 1, reference: 'SO-1', state: 'queued' }],
    });
    await endDocument(store, 1, 'refused', { last_error: 'orderLineItems[0].barcode: sold out' });
    const ended = await until('the end', async () => {
      const found = await receipt('done/one.json');
      return found.final ? found : undefined;
    });
    expect(ended.documents).toMatchObject([
      { state: 'refused', problems: [{ message: 'orderLineItems[0].barcode: sold out' }] },
    ]);
  });

  it('takes a document a line, and puts a file aside that has a bad one', async () => {
    const { start, drop, receipt } = await openFolder();
    start();
    const lines = [envelope('SO-1'), '', '{"kind":', envelope('SO-2', 0), envelope('SO-3')];
    drop('many.json', `${lines.join('\n')}\n`);
    const { documents, final } = await receipt('refused/many.json');
    expect(final).toBe(false);
    expect(documents.map(({ line, state }) => `${line} ${state}`)).toEqual([
      '1 queued',
      '3 refused',
      '4 refused',
      '5 queued',
    ]);
    expect(documents[1]?.problems[0]?.message).toMatch(/^is no JSON/);
    expect(documents[2]?.problems[0]?.path).toBe('lines[0].quantity');
  });

  it('takes a file as well that took the place of one while that was taken', async () => {
    const followers = [envelope('SO-2')];
    const house = await openFolder(undefined, () => {
      const next = followers.shift();
      if (next !== undefined) house.drop('orders.json', next);
    });
    house.drop('orders.json', envelope('SO-1'));
    house.start();
    await secondIsTaken(house);
  });

  it.each([
    ['moved away', false],
    ['moved away, and it was stopped right then', true],
  ])('takes a file as well that took the place of one while that was %s', async (_, isStopped) => {
    const house = await openFolder();
    const { rename } = fs;
    const followers = [envelope('SO-2')];
    const stops = isStopped ? [new Error('stopped')] : [];
    vi.spyOn(fs, 'rename').mockImplementation(async (from, to) => {
      if (from === join(house.folder, 'orders.json')) {
        const next = followers.shift();
        if (next !== undefined) house.drop('orders.json', next);
      } else if (followers.length === 0 && !String(from).endsWith('.tmp')) {
        const stop = stops.shift();
        if (stop) throw stop;
      }
      await rename(from, to);
    });
    syncBuiltinESMExports();
    onTestFinished(() => {
      vi.restoreAllMocks();
      syncBuiltinESMExports();
    });
    house.drop('orders.json', envelope('SO-1'));
    const { failure } = house.start();
    if (isStopped) {
      expect(String(await failure)).toBe('Error: stopped');
      house.start();
    }
    await secondIsTaken(house);
    expect(readdirSync(house.folder).sort()).toEqual(['done', 'refused']);
  });

  it('gives the same file again the same receipt, and makes nothing new', async () => {
    const { store, folder, start, drop, receipt } = await openFolder();
    start();
    drop('one.json', envelope('SO-1'));
    const first = await receipt('done/one.json');
    drop('one.json', envelope('SO-1'));
    await until('taken again', () => (existsSync(join(folder, 'one.json')) ? undefined : true));
    const second = await until('the receipt', () =>
      receipt('done/one.json').catch(() => undefined),
    );
    expect(second.documents).toEqual(first.documents);
    expect(await store.db.selectFrom('outbox').select('outbox_id').execute()).toHaveLength(1);
  });

  it('keeps an older file of the same name beside the new one, with its receipt', async () => {
    const { folder, start, drop, receipt } = await openFolder();
    start();
    drop('orders.json', envelope('SO-1'));
    const first = await receipt('done/orders.json');
    drop('orders.json', envelope('SO-2'));
    const aside = `done/orders.${first.sha256.slice(0, 12)}.json`;
    expect((await receipt(aside)).documents).toMatchObject([{ reference: 'SO-1' }]);
    await until('the second', () => (existsSync(join(folder, 'orders.json')) ? undefined : true));
    expect((await receipt('done/orders.json')).documents).toMatchObject([{ reference: 'SO-2' }]);
    drop('orders.json', envelope('SO-1'));
    await until('the first', () => (existsSync(join(folder, 'orders.json')) ? undefined : true));
    expect((await receipt('done/orders.json')).documents).toMatchObject([{ reference: 'SO-1' }]);
    expect(existsSync(join(folder, aside))).toBe(false);
  });

  it('keeps a file that a kill left on its way though another came before the start', async () => {
    const { folder, start, drop, receipt } = await openFolder();
    const { stop } = start();
    drop('orders.json', envelope('SO-1'));
    const first = await receipt('done/orders.json');
    await stop();
    renameSync(join(folder, 'done/orders.json'), join(folder, '.orders.json.under-way'));
    drop('orders.json', envelope('SO-2'));
    start();
    // The last receipt comes after its file has gone.
    await until('both with their receipts', () =>
      readdirSync(join(folder, 'done')).length === 4 ? true : undefined,
    );
    expect(existsSync(join(folder, 'orders.json'))).toBe(false);
    const aside = `done/orders.${first.sha256.slice(0, 12)}.json`;
    expect((await receipt(aside)).documents).toMatchObject([{ reference: 'SO-1' }]);
  });

  it('takes what a kill left on its way unread though another came before the start', async () => {
    const { folder, start, drop, receipt } = await openFolder();
    writeFileSync(join(folder, '.orders.json.under-way'), envelope('SO-1'));
    drop('orders.json', envelope('SO-2'));
    start();
    expect((await receipt('done/orders.json')).documents).toMatchObject([{ reference: 'SO-2' }]);
    const name = `orders.${sha256(envelope('SO-1')).slice(0, 12)}.json`;
    expect((await receipt(`done/${name}`)).documents).toMatchObject([{ reference: 'SO-1' }]);
    await until('no other file', () =>
      readdirSync(folder).sort().join() === 'done,refused' ? true : undefined,
    );
  });

  it('deletes months of files at once, but none before its documents have long ended', async () => {
    const { store, folder, start, drop } = await openFolder();
    const first = start();
    for (const name of ['open', 'young', 'old']) {
      drop(`${name}.json`, JSON.stringify({ kind: 'order', reference: name, payload: order() }));
      await until(name, () => existsSync(join(folder, 'done', `${name}.json`)) || undefined);
    }
    await first.stop();
    const ended = (reference: string, at: number) =>
      store.db
        .updateTable('outbox')
        .set({ state: 'canceled', ended_at: at })
        .where('reference', '=', reference)
        .execute();
    await ended('young', systemClock().now());
    await ended('old', 1);
    await sql`update intake_file set taken_at = 1`.execute(store.db);
    await sql`with recursive n(i) as (select 1 union all select i + 1 from n where i < 450)
      insert into intake_file (name, sha256, taken_at, folder, stored_as, receipt_due)
      select 'f' || i, 'x', 1, 'done', 'f' || i, 0 from n`.execute(store.db);
    start();
    const left = await until('the end of the old ones', async () => {
      const files = await store.db.selectFrom('intake_file').select('name').execute();
      return files.length > 2 ? undefined : files.map(({ name }) => name);
    });
    expect(left).toEqual(['open.json', 'young.json']);
    const lines = store.db.selectFrom('intake_file_document').select('line');
    expect(await lines.execute()).toHaveLength(2);
    const done = readdirSync(join(folder, 'done')).filter((name) => !name.includes('receipt'));
    expect(done.sort()).toEqual(left);
  });

  it('shows what is in the way of a reference that another door has brought', async () => {
    const { intake, start, drop, receipt } = await openFolder();
    await intake.submit([delivered('SO-1', order(1))]);
    start();
    drop('same.json', envelope('SO-1', 1));
    expect((await receipt('done/same.json')).documents).toMatchObject([{ documentId: 1 }]);
    drop('other.json', envelope('SO-1', 2));
    expect((await receipt('refused/other.json')).documents).toMatchObject([
      {
        ...{ documentId: null, state: 'refused' },
        conflict: {
          existing: { documentId: 1 },
          differences: ['lines[0].quantity: 1 there, 2 here'],
        },
      },
    ]);
  });

  it('is for its group: both folders, and receipts that the group reads', async () => {
    const { folder, start, drop, receipt } = await openFolder();
    chmodSync(folder, 0o2770);
    const umask = process.umask(0o077);
    onTestFinished(() => {
      process.umask(umask);
    });
    start();
    drop('one.json', envelope('SO-1'));
    await receipt('done/one.json');
    const modeOf = (name: string): number => statSync(join(folder, name)).mode & 0o7777;
    expect([modeOf('done'), modeOf('refused')]).toEqual([0o2770, 0o2770]);
    expect(modeOf('done/one.json.receipt.json')).toBe(0o640);
  });

  it('writes no receipt through a link that lies in its way', async () => {
    const { folder, start, drop, receipt } = await openFolder();
    const victim = join(temporaryFolder(), 'mirror.db');
    writeFileSync(victim, 'untouched', { mode: 0o600 });
    mkdirSync(join(folder, 'done'));
    symlinkSync(victim, join(folder, 'done', '.one.json.receipt.json.tmp'));
    start();
    drop('one.json', envelope('SO-1'));
    await receipt('done/one.json');
    expect(readFileSync(victim, 'utf8')).toBe('untouched');
    expect(statSync(victim).mode & 0o777).toBe(0o600);
  });

  it('moves no file through a link in the place of a folder of its own', async () => {
    const { folder, start, drop, receipt } = await openFolder();
    const victim = temporaryFolder();
    writeFileSync(join(victim, 'local.json'), 'untouched');
    const { failure } = start();
    drop('one.json', envelope('SO-1'));
    await receipt('done/one.json');
    const isGone = (): true | undefined => !existsSync(join(folder, 'local.json')) || undefined;
    rmdirSync(join(folder, 'refused'));
    symlinkSync(victim, join(folder, 'refused'));
    drop('local.json', 'planted');
    const ended = await Promise.race([failure, until('the move', isGone)]);
    expect(readdirSync(victim)).toEqual(['local.json']);
    expect(readFileSync(join(victim, 'local.json'), 'utf8')).toBe('untouched');
    expect(String(ended)).toMatch(/refused is no folder/);
  });

  it('leaves alone what is unfinished, hidden or no JSON by name', async () => {
    const { folder, start, drop, receipt } = await openFolder();
    for (const name of ['.hidden.json', 'orders.json.tmp', 'orders.csv']) {
      writeFileSync(join(folder, name), envelope('SO-1'));
    }
    start();
    drop('last.json', envelope('SO-9'));
    await receipt('done/last.json');
    expect(readdirSync(folder).sort()).toEqual([
      '.hidden.json',
      'done',
      'orders.csv',
      'orders.json.tmp',
      'refused',
    ]);
  });

  it('refuses a file that is too large or no text, by a receipt that says so', async () => {
    const { start, drop, receipt, folder } = await openFolder(1_000);
    start();
    drop('large.json', 'x'.repeat(1_001));
    const [large] = (await receipt('refused/large.json')).documents;
    expect(large?.problems[0]?.message).toContain('1000 are the most in one file');
    writeFileSync(join(folder, 'wide.json'), Buffer.from(`\ufeff${envelope('SO-1')}`, 'utf16le'));
    const [wide] = (await receipt('refused/wide.json')).documents;
    expect(wide?.problems[0]?.message).toMatch(/^is no JSON, and not UTF-8: /);
  });

  it('refuses of a file the documents alone of which a text is not UTF-8', async () => {
    const { start, folder, receipt } = await openFolder();
    start();
    const latin = { kind: 'order', reference: 'SO-1', payload: { ...order(), comment: 'Grüße' } };
    const text = `${JSON.stringify(latin)}\n${envelope('SO-2')}\n`;
    writeFileSync(join(folder, 'latin.json'), Buffer.from(text, 'latin1'));
    const { documents } = await receipt('refused/latin.json');
    expect(documents).toMatchObject([
      { line: 1, state: 'refused', problems: [{ path: 'comment' }] },
      { line: 2, state: 'queued', documentId: 1 },
    ]);
  });

  it.each(['submitted', 'noted', 'receipt written'])(
    'finds the same end after a stop once the file was %s',
    async (step) => {
      const { store, intake, folder, start, drop, receipt } = await openFolder();
      const { stop } = start();
      drop('before.json', envelope('SO-0'));
      await receipt('done/before.json');
      await stop();
      drop('one.json', envelope('SO-1'));
      const where = { channel: 'folder', source: 'one.json:1' } as const;
      await intake.submit([{ ...delivered('SO-1'), ...where }]);
      if (step !== 'submitted') {
        // A stop can leave behind everything but the last rename.
        const again = start();
        await receipt('done/one.json');
        await again.stop();
        renameSync(join(folder, 'done/one.json'), join(folder, 'one.json'));
      }
      if (step === 'noted') writeFileSync(join(folder, 'done/one.json.receipt.json'), '{"hal');
      start();
      await until('taken', () => (existsSync(join(folder, 'one.json')) ? undefined : true));
      expect((await receipt('done/one.json')).documents).toMatchObject([{ documentId: 2 }]);
      expect(await store.db.selectFrom('outbox').select('outbox_id').execute()).toHaveLength(2);
    },
  );
});
