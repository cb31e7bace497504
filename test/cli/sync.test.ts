import { readFileSync, statSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runCli } from '../../src/cli/program.ts';
import { localFile } from '../../src/local-api/ask.ts';
import { startTestReference, until, withStreams } from '../support/house.ts';
import { startCliHouse } from './house.ts';

/** Nothing comes into stock meanwhile: a run that compares everything finds no change. */
const startHouse = async () => {
  const life = { ordersPerMinute: 0, restocksPerMinute: 0 };
  const reference = await startTestReference({ world: { styles: 6, orders: 0 }, life });
  return startCliHouse(reference, { overrides: withStreams('stock', 'brands') });
};

describe('selvedge sync', () => {
  it('asks the running daemon, and does it by itself when none runs', async () => {
    const { daemon, folder, call: selvedge } = await startHouse();
    const call = (...args: readonly string[]) => selvedge('sync', ...args);
    const file = localFile(join(folder, 'data'));
    const local = readFileSync(file, 'utf8');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const state = (stream: string) =>
      daemon.store.db
        .selectFrom('stream_state')
        .selectAll()
        .where('stream', '=', stream)
        .executeTakeFirstOrThrow();
    await until('the first stock', async () => (await state('stock')).complete_at ?? undefined);
    const pause = ['pause', 'stream', 'brands', '--reason', 'looking'];
    expect(await selvedge(...pause)).toMatchObject({
      code: 0,
      stdout: 'paused: the pull of brands\n',
    });
    const paused = await call('run', 'brands');
    expect(paused).toMatchObject({ code: 1 });
    expect(paused.stderr).toContain('selvedge resume stream brands');
    const before = (await state('stock')).last_run_id;
    const run = await call('run', 'stock', '--full', '--every', '1');
    expect(run).toMatchObject({ code: 0 });
    expect(run.stdout).toMatch(/^run \d+ is complete, \d+ rows, 0 changed, 0 deleted$/m);
    expect(run.stderr).toMatch(/^stock .*100 %.* rows in \d+ pages/m);
    expect((await state('stock')).last_run_id).not.toBe(before);
    const wrong = await call('run', 'stok');
    expect(wrong).toMatchObject({ code: 1 });
    expect(wrong.stderr).toContain('did you mean stock?');
    const { url } = JSON.parse(local);
    const bare = await fetch(`${url}/api/acts/pause`, { method: 'POST' });
    expect([401, 403]).toContain(bare.status);
    const forged = { authorization: 'Bearer x', 'content-type': 'application/json' };
    const guess = await fetch(`${url}/api/acts/pause`, {
      method: 'POST',
      headers: forged,
      body: '{}',
    });
    expect(guess.status).toBe(401);
    await daemon.store.db.updateTable('sync_run').set({ rows_quarantined: 2 }).execute();
    await daemon.stop();
    const resumed = await selvedge('resume', 'stream', 'brands', '--reason', 'looked');
    expect(resumed).toMatchObject({ code: 0 });
    const { stdout: audit } = await selvedge(
      'audit',
      'list',
      '--subject',
      'stream:brands',
      '--json',
    );
    expect(JSON.parse(audit)).toMatchObject([
      { action: 'resume', actor: `cli:${userInfo().username}`, reason: 'looked' },
      { action: 'pause', actor: `cli:${userInfo().username}`, reason: 'looking' },
    ]);
    expect((await call('run', 'brands')).stdout).toBe('brands: due when the daemon starts\n');
    const shown = await call('list', '--json');
    const brands = JSON.parse(shown.stdout).find(
      (one: object) => 'stream' in one && one.stream === 'brands',
    );
    expect(brands).toMatchObject({
      ...{ paused: false, stale: false, schedule: '7 * * * *', freshnessMs: 3 * 3_600_000 },
    });
    const [next, after] = brands.nextTimes;
    expect(new Date(next).getUTCMinutes()).toBe(7);
    expect(after - next).toBe(3_600_000);
    expect((await call('list')).stdout).toMatch(/^brands +due now +\d+.* ago +3h +\d+ +complete/m);
    const runs = await call('show', 'stock', '--json');
    const typo = await call('show', 'stok');
    expect(typo).toMatchObject({ code: 1, stdout: '' });
    expect(typo.stderr).toBe('selvedge: there is no stream stok\nhint: did you mean stock?\n');
    expect(JSON.parse(runs.stdout)[0]).toMatchObject({ cause: 'operator', outcome: 'complete' });
    const [{ runId }] = JSON.parse(runs.stdout);
    const one = await call('show', String(runId), '--json');
    expect(JSON.parse(one.stdout)).toMatchObject({
      ...{ runId, stream: 'stock', outcome: 'complete' },
      drift: [{ entity: 'stock_variant', unknownMembers: {}, newValues: {}, unreadable: {} }],
    });
    expect(JSON.parse(one.stdout)).toHaveProperty('retries', 0);
    const text = (await call('show', String(runId))).stdout;
    expect(text).toMatch(/^waitMs +\d+ms$/m);
    expect(text).toMatch(/^quarantined +2, see "selvedge report run quarantine"$/m);
    const held = await call('release', '1');
    expect(held).toMatchObject({ code: 1 });
  });

  it('takes a change or a count for right, and shows who said so', async () => {
    const { daemon, call: selvedge } = await startHouse();
    const call = (...args: readonly string[]) => selvedge('sync', ...args);
    const { db } = daemon.store;
    const stock = db.selectFrom('stream_state').selectAll().where('stream', '=', 'stock');
    const { last_run_id: runId } = await until('the first stock', async () => {
      const state = await stock.executeTakeFirst();
      return state?.complete_at ? state : undefined;
    });
    const id = String(runId);
    const run = db.updateTable('sync_run').where('run_id', '=', Number(runId));
    await run.set({ change_guard: 'open', rows_drastic: 200 }).execute();
    const dry = await call('release', id, '--dry-run');
    expect(dry.stdout).toBe(
      `stock: rules would go by what run ${id} changed\nstock: 0 rows would be deleted\n`,
    );
    const accepted = await call('release', id, '--reason', 'a new list');
    expect(accepted.stdout).toBe(`stock: rules go by what run ${id} changed\n`);
    const again = await call('release', id);
    expect(again).toMatchObject({ code: 1 });
    expect(again.stderr).toContain(`run ${id} is complete, not suspicious`);
    await run.set({ outcome: 'partial', count_off: '{"count:":2}' }).execute();
    const unread = { entity: 'brand', raw: '[]', raw_hash: 'x', path: '', reason: 'no brand' };
    await db
      .insertInto('quarantine')
      .values({ ...unread, source: 'run:1', first_seen_at: 1, last_seen_at: 1 })
      .execute();
    const retried = await call('retry-quarantine', '--reason', 'fixed there');
    expect(retried.stdout).toBe('0 rows are read again, 1 still cannot be read\n');
    await daemon.stop();
    const offline = JSON.parse((await call('release', 'stock', '--dry-run', '--json')).stdout);
    expect(offline).toMatchObject({ deletes: 0, acceptsCount: '2 more counted than come' });
    const counted = await call('release', 'stock', '--reason', 'hidden ones');
    const told = `stock: 2 more counted than come, as in run ${id}; that is right from now on`;
    expect(counted.stdout).toBe(`stock: 0 rows deleted, run ${id} counts\n${told}\n`);
    const shown = (await call('show', id)).stdout;
    expect(shown).toMatch(/^changes +accepted$/m);
    expect(shown).toMatch(/^accepted +2 more counted than come \(\S+, 20\S+Z: hidden ones\)$/m);
    const { acceptedCounts } = JSON.parse((await call('show', id, '--json')).stdout);
    expect(acceptedCounts).toMatchObject({ off: { 'count:': 2 }, reason: 'hidden ones' });
    const { stdout } = await selvedge('audit', 'list', '--json');
    const actions = JSON.parse(stdout).map(({ action }: { readonly action: string }) => action);
    expect(actions).toEqual([...['sync.release', 'sync.retry_quarantine', 'sync.accept_change']]);
  });

  it('shows a bar on a terminal while a run goes on', async () => {
    const { daemon, file } = await startHouse();
    await until('the first stock', async () => {
      const { db } = daemon.store;
      const state = await db.selectFrom('stream_state').selectAll().execute();
      return state.find((one) => one.stream === 'stock' && one.complete_at !== null);
    });
    let seen = '';
    const stderr = { isTTY: true, write: (text: string) => (seen += text) };
    const stdout = { write: () => undefined };
    const args = ['--config', file, 'sync', 'run', 'stock'];
    expect(await runCli(args, { stdout, stderr, env: {} })).toBe(0);
    expect(seen).toMatch(/█+ 100 % {2}\d+ rows in \d+ pages/);
    // Nothing of it is left behind.
    expect(seen.endsWith('\r\u001b[2K')).toBe(true);
  });
});
