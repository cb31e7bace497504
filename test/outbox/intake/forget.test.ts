/** Keys of the HTTP door that are old enough go, some at a time. */
import { join } from 'node:path';
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { systemClock } from '../../../src/lib/clock.ts';
import { silentLogger } from '../../../src/lib/log.ts';
import { createExchangeDoor } from '../../../src/outbox/intake/exchange-door.ts';
import { createIntake } from '../../../src/outbox/intake/hand-in.ts';
import { until } from '../../support/house.ts';
import { notePlans } from '../../support/plans.ts';
import { temporaryFolder, temporaryStore } from '../../support/store.ts';
import { DAY_MS, runWorker } from './support.ts';

it('forgets months of keys that are due at once in slices', async () => {
  const clock = systemClock();
  const store = await temporaryStore(clock);
  await sql`with recursive n(i) as (select 1 union all select i + 1 from n where i < 1200)
    insert into intake_key (client, key, outbox_id, at) select 'erp', 'k' || i, i, i from n
    union all select 'erp', 'young', 0, ${clock.now()}`.execute(store.db);
  const planned = notePlans(store);
  const { stop } = runWorker(
    createExchangeDoor({
      ...{ store: planned.store, clock, log: silentLogger(), keepMs: DAY_MS, hasCallback: false },
      intake: createIntake({ store, onTaken: () => undefined, hasRoom: () => true }),
      path: join(temporaryFolder(), 'exchange.db'),
    }),
  );
  const left = await until('the end', async () => {
    const keys = await store.db.selectFrom('intake_key').select('key').execute();
    return keys.length > 1 ? undefined : keys;
  });
  expect(left).toEqual([{ key: 'young' }]);
  await stop();
  expect(planned.times(/^delete from "?intake_key/)).toBe(3);
  expect(await planned.steps(/^delete from "?intake_key/)).toContain(
    'SEARCH intake_key USING COVERING INDEX intake_key_at (at<?)',
  );
});
