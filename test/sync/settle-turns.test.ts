/** Deleted rows of a long list are written down without keeping the listener from its turn. */
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { manualClock } from '../../src/lib/clock.ts';
import { PDM } from '../../src/mirror/catalog/pdm.ts';
import { createVariantPages } from '../../src/sync/bulk/variant-pages.ts';
import { deleteRows } from '../../src/sync/run/assess-completeness.ts';
import { createStockStream } from '../../src/sync/streams/stock.ts';
import { notePlans } from '../support/plans.ts';
import { temporaryStore } from '../support/store.ts';
import { turnsDuring } from '../support/turns.ts';
import { DELETION_GUARD, runsOn } from './pull.ts';
import { startPull } from './support.ts';

it('gives others a turn between the slices that it marks', async () => {
  const clock = manualClock();
  const store = await temporaryStore(clock);
  await sql`with recursive n(i) as (select 1 union all select i + 1 from n where i < 5000)
    insert into style (style_id, style_color_ids, extra, content_hash, first_seen_at, changed_at,
      read_seq, source)
    select 's' || i, '[]', '{}', '', 0, 0, 1, 'run:1' from n`.execute(store.db);
  const keys = Array.from({ length: 5_000 }, (_, index) => `s${index + 1}`);
  const deps = { store, clock, variants: createVariantPages({ store, clock }) };
  const run = { runId: 2, readSeq: 2, startedAt: 0 };
  let deleted = 0;
  const turns = await turnsDuring(async () => {
    deleted = await deleteRows(deps, PDM.styles, run, keys);
  });
  expect(deleted).toBe(5_000);
  expect(turns).toBeGreaterThanOrEqual(5);
});

it('notes what is missing for the first time in one statement', async () => {
  const pull = await startPull({ world: { styles: 4, orders: 0 } }, { mode: 'pages' });
  const level = { detailed: true, detailedPricing: false, includeVariantsOnOrder: false };
  const options = { level, mode: 'pages', pageRows: 100, deletionGuard: DELETION_GUARD } as const;
  const stock = createStockStream(pull.v1, options);
  await pull.run(stock);
  await sql`insert into stock_variant_row (barcode, quantity, extra, content_hash, first_seen_at,
      changed_at, read_seq, source)
    select value, 1, '{}', '', 0, 0, 0, 'x' from json_each('["a", "b", "c"]')`.execute(
    pull.store.db,
  );
  await sql`update chunk set keys = ' ' || keys, digest = null`.execute(pull.store.db);
  const planned = notePlans(pull.store);
  await runsOn({ ...pull.deps, store: planned.store }).run(stock);
  const absent = await pull.store.db.selectFrom('absence').select('key').orderBy('key').execute();
  expect(absent.map(({ key }) => key)).toEqual(['a', 'b', 'c']);
  expect(planned.times(/insert into "absence"/)).toBeLessThanOrEqual(1);
});
