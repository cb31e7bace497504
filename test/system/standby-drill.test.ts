/** A drill between two machines, each with the units' order of daemon and standby. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import type { Reference } from '../../src/reference/reference.ts';
import { readStandbyStatus } from '../../src/standby/status-file.ts';
import { sharedEnd } from '../console/support.ts';
import { startFastReference } from '../e2e/support.ts';
import { configure, submitTo } from '../standby/machines.ts';
import { initStandby, SCHEMA } from '../standby/support.ts';
import { childDaemon, runCommand } from '../support/daemon-process.ts';
import { until } from '../support/house.ts';
import { type Postgres, startPostgres } from '../support/postgres.ts';
import { placeDatabase, temporaryFolder } from '../support/store.ts';

const { atEnd, end } = sharedEnd();
let postgres: Postgres;
let reference: Reference;

beforeAll(async () => {
  postgres = await startPostgres();
  atEnd(() => postgres.remove());
  const knobs = { world: { styles: 20, orders: 3 }, life: { packAfter: '30d', cancelShare: 0 } };
  reference = await startFastReference(knobs, undefined, atEnd);
});

afterAll(end);

/** Does as the units do: 76 starts the standby, 77 the daemon. */
function unitsOf(file: string) {
  const child = childDaemon(file);
  const off = new AbortController();
  const loop = async (): Promise<void> => {
    let isHolder = true;
    while (!off.signal.aborted) {
      if (isHolder) {
        await child.start().catch(() => undefined);
        isHolder = (await child.ended()) !== 76;
      } else {
        isHolder = (await runCommand(['standby', '--config', file], off.signal)).code === 77;
      }
    }
  };
  const done = loop();
  return {
    child,
    async stop() {
      off.abort();
      await child.kill();
      await done;
    },
  };
}

const REPORT = z.object({
  isBack: z.boolean(),
  inDoubt: z.object({ before: z.number(), after: z.number(), put: z.number() }).nullish(),
  numbers: z.object({ before: z.number(), after: z.number() }).nullish(),
  steps: z.array(z.object({ step: z.string(), machine: z.string(), says: z.string() })),
});

function reportOf(output: string) {
  const [json = ''] = /^\{[\s\S]*?^\}$/m.exec(output) ?? [];
  return REPORT.parse(JSON.parse(json));
}

async function pair(database: string) {
  postgres.sql(`create database ${database}`);
  const url = postgres.url(database);
  await initStandby(url);
  const more = { backups: temporaryFolder(), lease: '6s' };
  const [here, there] = [configure(reference, url, more), configure(reference, url, more)];
  placeDatabase(join(here.dataDir, 'mirror.db'));
  const units = unitsOf(here.file);
  onTestFinished(() => units.stop());
  await until('the daemon', () => existsSync(join(here.dataDir, 'local.json')) || undefined);
  const barcode = reference.world.book.orders.all[0]?.lines[0]?.barcode;
  const submit = (own: string) =>
    until(`${own} to be taken`, async () =>
      (await submitTo(here.dataDir, barcode, own)) < 300 ? true : undefined,
    );
  const drill = (...args: readonly string[]) =>
    runCommand(['standby', 'drill', '--json', ...args, '--config', here.file]);
  const sql = (text: string) => postgres.sql(`set search_path to ${SCHEMA}; ${text}`, database);
  return { here, there, units, submit, drill, sql };
}

const untilWaits = (dataDir: string) =>
  until('the standby', () => readStandbyStatus(dataDir)?.state === 'waiting' || undefined);

describe('a drill', () => {
  it('takes over and back, with nothing in doubt and no number left out', async () => {
    const { here, there, submit, drill } = await pair('over');
    await submit('D-1');
    const refused = await drill();
    expect(refused.output).toContain('standby.nobody_waits');
    expect(refused.code).toBe(1);
    expect(await runCommand(['backup', 'create', '--config', here.file])).toMatchObject({
      code: 0,
    });
    const other = unitsOf(there.file);
    onTestFinished(() => other.stop());
    await untilWaits(there.dataDir);
    const { code, output } = await drill();
    const report = reportOf(output);
    expect(report.steps.map(({ step }) => step).filter((step) => step !== 'says')).toEqual([
      'ready',
      'handed over',
      'taken',
      'given back',
      'back',
      'sends',
      'waits',
    ]);
    expect(report).toMatchObject({ isBack: true, inDoubt: { before: 0, after: 0, put: 0 } });
    expect(report.numbers).toEqual({ before: 1, after: 1 });
    expect(code).toBe(0);
    await submit('D-2');
    const sent = (own: string) =>
      reference.world.book.orders.all.filter((order) => order.reference === own).length;
    await until('D-2 to be sent', () => sent('D-2') === 1 || undefined);
    expect(sent('D-1')).toBe(1);
  });

  it('leaves the lease where it is while the way back does not come, and says so', async () => {
    const { here, there, units, submit, drill, sql } = await pair('stays');
    await submit('D-3');
    await runCommand(['backup', 'create', '--config', here.file]);
    const other = unitsOf(there.file);
    onTestFinished(() => other.stop());
    await untilWaits(there.dataDir);
    // Only the daemon of this machine ends: nothing starts a standby here.
    const stopped = until('the end', () =>
      units.child.output().includes('that of') ? true : undefined,
    );
    const drilled = drill('--within', '25s');
    await stopped.then(() => units.stop());
    const { code, output } = await drilled;
    expect(output).toContain('standby.not_back');
    expect(reportOf(output)).toMatchObject({ isBack: false });
    expect(code).toBe(1);
    expect(sql('select holder from standby_lease')).toContain(there.dataDir);
    await until(
      'the other machine to send',
      () => readStandbyStatus(there.dataDir)?.state === 'sending' || undefined,
    );
    expect(sql("select coalesce(wanted_by, 'nobody') from standby_lease")).toContain('nobody');
  });
});
