import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { prepareDemoFolder } from '../../src/cli/demo/folder.ts';
import { V2_STREAMS } from '../../src/config/lists.ts';
import { requireConfig } from '../../src/config/load.ts';
import { zoneOfMachine } from '../../src/lib/local-time.ts';
import { lockFolder } from '../../src/store/lock.ts';
import { placeOrders } from '../e2e/support.ts';
import { startTestDaemon, startTestReference, until, WEBHOOK_SECRET } from '../support/house.ts';
import { repositoryRoot } from '../support/source.ts';
import { temporaryFolder } from '../support/store.ts';
import { selvedge } from './support.ts';

const COOKBOOK = join(repositoryRoot, 'config/rules/cookbook');

describe('the folder of the demo', () => {
  it('is emptied at the start, but never under a demo that runs', async () => {
    const reference = await startTestReference();
    const dir = join(temporaryFolder(), 'demo');
    const prepare = () => prepareDemoFolder(dir, reference, WEBHOOK_SECRET);
    prepare();
    const written = readFileSync(join(dir, 'selvedge.yaml'), 'utf8');
    expect(written).toContain(`timeZone: ${zoneOfMachine()}\n`);
    mkdirSync(join(dir, 'data'));
    const lock = lockFolder(join(dir, 'data', 'daemon.lock'));
    const database = join(dir, 'data', 'mirror.db');
    writeFileSync(database, '');
    expect(prepare).toThrow(/a daemon runs on this data folder/);
    expect(existsSync(database)).toBe(true);
    lock.release();
    prepare();
    expect(existsSync(database)).toBe(false);
  });

  it('lets the daemon pull all of the styles, so that rules can tell what is NOOS', async () => {
    const reference = await startTestReference({
      ...{ world: { styles: 12, orders: 0 }, life: { ordersPerMinute: 0, packAfter: '50ms' } },
    });
    const dir = join(temporaryFolder(), 'demo');
    const { configFile } = prepareDemoFolder(dir, reference, WEBHOOK_SECRET, COOKBOOK);
    const { config } = requireConfig({ file: configFile, env: {} });
    // The service counts log-ins; a log-in to each interface would cost six seconds here.
    const limits = { ...config.service.limits, loginSpacing: 0, requestsPerSecond: 1000 };
    const service = { ...config.service, limits };
    const daemon = await startTestDaemon(reference, { ...config, service });
    const { db } = daemon.store;
    await until('styles and their colors', async () => {
      const complete = db.selectFrom('stream_state').where('complete_at', 'is not', null);
      const done = new Set((await complete.select('stream').execute()).map(({ stream }) => stream));
      return ['stock', ...V2_STREAMS].every((name) => done.has(name)) || undefined;
    });
    const { rows } = await sql`select count(*) as styles, sum(designer is null) as no_designer,
      sum(type is null) as no_type, sum(active is null) as no_active from v_style`.execute(db);
    expect(rows).toEqual([{ styles: 12, no_designer: 0, no_type: 0, no_active: 0 }]);
    placeOrders(reference, 1);
    const decision = await until('a decision', () =>
      db.selectFrom('decision').select('order_delivery_id as id').executeTakeFirst(),
    );
    const explain = ['--config', configFile, 'deliveries', 'explain', String(decision.id), '--all'];
    expect((await selvedge(explain)).stdout).toMatch(
      /^accept-noos \(accept, shadow\): (does not )?match/m,
    );
  });

  it('is never one that holds something else', async () => {
    const reference = await startTestReference();
    const dir = temporaryFolder();
    writeFileSync(join(dir, 'thesis.tex'), 'years of work');
    expect(() => prepareDemoFolder(dir, reference, WEBHOOK_SECRET)).toThrow(/is no demo/);
    expect(existsSync(join(dir, 'thesis.tex'))).toBe(true);
  });
});
