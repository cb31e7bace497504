import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { localFile } from '../../src/console/api.ts';
import { startTestDaemon, startTestReference, testConfig, until } from '../support/house.ts';
import { temporaryFolder } from '../support/store.ts';
import { selvedge } from './support.ts';

/** A daemon, and the configuration file with which the command line finds it. */
async function startHouse() {
  const folder = temporaryFolder();
  const reference = await startTestReference({ world: { styles: 6, orders: 0 } });
  const config = testConfig(reference, { folder });
  const [credentials] = Object.values(reference.credentials);
  const file = join(folder, 'selvedge.yaml');
  writeFileSync(join(folder, 'secret'), credentials?.clientSecret ?? '', { mode: 0o600 });
  const login = { clientId: credentials?.clientId, clientSecret: { file: join(folder, 'secret') } };
  writeFileSync(
    file,
    stringify({
      dataDir: config.dataDir,
      rules: { directory: config.rules.directory },
      service: { v1: { baseUrl: reference.v1Url, login } },
    }),
  );
  const call = (...args: readonly string[]) => selvedge(['--config', file, 'sync', ...args]);
  return { reference, config, call };
}

describe('selvedge sync', () => {
  it('asks the running daemon, and does it by itself when none runs', async () => {
    const { reference, config, call } = await startHouse();
    const daemon = await startTestDaemon(reference, config);
    const local = await until('the local API', () => {
      try {
        return readFileSync(localFile(config.dataDir), 'utf8');
      } catch {
        return undefined;
      }
    });
    expect(statSync(localFile(config.dataDir)).mode & 0o777).toBe(0o600);
    const state = (stream: string) =>
      daemon.store.db
        .selectFrom('stream_state')
        .selectAll()
        .where('stream', '=', stream)
        .executeTakeFirstOrThrow();
    await until('the first stock', async () => (await state('stock')).complete_at ?? undefined);
    expect(await call('pause', 'brands', '--reason', 'looking')).toMatchObject({ code: 0 });
    expect(await state('brands')).toMatchObject({ paused: 1 });
    const before = (await state('stock')).last_run_id;
    expect(await call('run', 'stock', '--full')).toMatchObject({ code: 0 });
    await until('a run that was asked for', async () =>
      (await state('stock')).last_run_id === before ? undefined : true,
    );
    const wrong = await call('run', 'stok');
    expect(wrong).toMatchObject({ code: 1 });
    expect(wrong.stderr).toContain('did you mean stock?');
    const { url } = JSON.parse(local);
    const bare = await fetch(`${url}/api/sync/pause`, { method: 'POST' });
    expect([401, 403]).toContain(bare.status);
    const forged = { authorization: 'Bearer x', 'content-type': 'application/json' };
    const guess = await fetch(`${url}/api/sync/pause`, {
      method: 'POST',
      headers: forged,
      body: '{}',
    });
    expect(guess.status).toBe(401);
    await daemon.stop();
    expect(await call('resume', 'brands')).toMatchObject({ code: 0 });
    const shown = await call('status', '--json');
    expect(JSON.parse(shown.stdout)).toContainEqual(
      expect.objectContaining({ stream: 'brands', paused: false }),
    );
    const runs = await call('runs', 'stock', '--json');
    expect(JSON.parse(runs.stdout)[0]).toMatchObject({ cause: 'operator', outcome: 'complete' });
    const [{ runId }] = JSON.parse(runs.stdout);
    const one = await call('show', String(runId), '--json');
    expect(JSON.parse(one.stdout)).toMatchObject({
      ...{ runId, stream: 'stock', outcome: 'complete' },
      drift: [{ entity: 'stock_variant', unknownMembers: {}, newValues: {} }],
    });
    const held = await call('release', '1');
    expect(held).toMatchObject({ code: 1 });
  });
});
