import { describe, expect, it } from 'vitest';
import { verifyChain } from '../../src/decisions/journal.ts';
import { foreignSql } from '../support/foreign-sql.ts';
import { startTestDaemon, testConfig, until } from '../support/house.ts';
import { startFastReference } from './support.ts';

describe('the way through', () => {
  it('goes from a packed order to a confirmed accept and to a hold with its reason', async () => {
    const reference = await startFastReference({
      world: { styles: 20, orders: 0 },
      life: { ordersPerMinute: 1200, packAfter: '50ms', shipAfter: '1h', cancelShare: 0 },
    });
    const daemon = await startTestDaemon(reference, testConfig(reference));
    const { db, path } = daemon.store;
    // A machine that stands still for seconds loses connections, and a push its first attempt.
    const confirmed = await until('a push confirmed at once', () =>
      db
        .selectFrom('outbox')
        .selectAll()
        .where('state', '=', 'confirmed')
        .where('attempts', '=', 1)
        .executeTakeFirst(),
    );
    expect(confirmed).toMatchObject({ kind: 'delivery_status' });
    const held = await until('a held delivery', () =>
      db.selectFrom('decision').selectAll().where('outcome', '=', 'hold').executeTakeFirst(),
    );
    expect(held.rules).toBe('["hold-large"]');
    expect(held.reason).toMatch(/^\d+ pieces$/);
    const decision = await db
      .selectFrom('decision')
      .selectAll()
      .where('outcome', '=', 'accept')
      .executeTakeFirstOrThrow();
    expect(decision).toMatchObject({ rules: '["accept-small"]', mode: 'live', actor: 'daemon' });
    expect(await verifyChain(db)).toMatchObject({ brokenAt: undefined });
    const accepted = foreignSql(path, "select count(*) from delivery where status = 'accepted'");
    expect(Number(accepted)).toBeGreaterThan(0);
  });
});
