/** The package of `npm pack` is compiled, unlike a checkout. */
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { builtProgram } from '../support/built.ts';
import { until } from '../support/house.ts';
import { createDaemonProcess, startFastReference } from './support.ts';

it('pulls lists of variants through its threads when it is compiled', async () => {
  const program = builtProgram();
  const faults = [{ kind: 'wrongTypes', path: '*/variants/season', seed: 4, count: 1 }];
  const reference = await startFastReference({ world: { styles: 100, orders: 0 }, faults });
  const launcher = join(program, 'bin', 'selvedge.mjs');
  const daemon = await createDaemonProcess(reference, { settings: [], launcher });
  await daemon.start();
  await until('both lists', async () => {
    const runs = daemon.query(
      `select stream from sync_run where stream in ('stock', 'season') and outcome <> 'running'`,
    );
    return runs.length === 2 ? true : undefined;
  });
  const { stock, catalog } = reference.world;
  const rows = stock.stockedIn(0, catalog.variantCount);
  expect(daemon.query(`select outcome, rows_changed from sync_run where stream = 'stock'`)).toEqual(
    [['complete', String(rows)]],
  );
  expect(daemon.query('select count(*) from stock_variant')).toEqual([[String(rows)]]);
  const reasons = daemon.query('select distinct reason from quarantine').flat();
  // A member of another type costs itself, in the threads as well.
  expect(reasons).toEqual([]);
});
