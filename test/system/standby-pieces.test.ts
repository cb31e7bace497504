/** A take-over whose record or backup is large, with a real PostgreSQL (Debian's). */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Secret } from '../../src/lib/secret.ts';
import { readLease, takeFirst, takeFrom } from '../../src/standby/lease.ts';
import { append } from '../../src/standby/record.ts';
import { renewBeside } from '../../src/standby/take-over/renewing.ts';
import { openSource } from '../../src/standby/take-over/source.ts';
import { drawTaking, initStandby, SCHEMA, withSession } from '../standby/support.ts';
import { testLogger } from '../support/house.ts';
import { type Postgres, startPostgres } from '../support/postgres.ts';

describe('a take-over at size', () => {
  let postgres: Postgres;
  beforeAll(async () => {
    postgres = await startPostgres();
    await initStandby(postgres.url());
  });
  afterAll(() => postgres.remove());

  const me = (account: string) => {
    return { account, machine: 'here', leaseMs: 3_000, taking: drawTaking() };
  };

  it('reads the record in pieces, without what a machine that was cut off had begun', async () => {
    const holder = me('pieces');
    const row = (seq: number, text: string | null) => {
      return { seq, what: seq % 2 === 0 ? 'hold' : 'outbox', key: `[${seq}]`, row: text };
    };
    const limits = { keysMax: 3, rowsMax: 3, charsMax: 25 };
    await withSession(postgres.url(), async (session) => {
      await takeFirst(session, holder);
      const long = JSON.stringify('x'.repeat(30));
      await append(session, holder, [row(1, '{}'), row(2, null), row(3, long)], [], true);
      await append(session, holder, [row(4, '{}'), row(5, '{}'), row(7, '{}')], [], true);
      // The last part of a backlog never came.
      await append(session, holder, [row(8, '{}'), row(9, '{}')], [], false);
      const before = Number.MAX_SAFE_INTEGER;
      const source = await openSource(session, 'pieces', { after: 0, before }, limits);
      const keys: string[][] = [];
      for await (const piece of source.keys()) keys.push(piece.map(({ key }) => key));
      expect(keys).toEqual([
        ['[1]', '[2]', '[3]'],
        ['[4]', '[5]', '[7]'],
      ]);
      const rows: string[][] = [];
      for await (const piece of source.rows('outbox')) rows.push(piece.map(({ key }) => key));
      expect(rows).toEqual([
        ['[1]', '[3]'],
        ['[5]', '[7]'],
      ]);
      const deleted: unknown[] = [];
      for await (const piece of source.rows('hold')) deleted.push(...piece.map((one) => one.row));
      expect(deleted).toEqual([null, '{}']);
    });
  });

  it('renews the lease while its own thread does nothing else', async () => {
    const [holder, other] = [me('held'), me('held')];
    await withSession(postgres.url(), (session) => takeFirst(session, holder));
    const servers = [new Secret('standby.servers', postgres.url())];
    const settings = { servers, schema: SCHEMA, timeoutMs: 3_000, renewMs: 20 };
    const renewing = renewBeside(holder, {
      settings,
      memory: { highest: () => 0 },
      log: testLogger(),
    });
    // Each question waits for the answer of another process, and the event loop does not turn.
    let beat = 0;
    for (let asked = 0; beat < 3 && asked < 2_000; asked += 1) {
      const found = `select beat from ${SCHEMA}.standby_lease where account = 'held'`;
      beat = Number(postgres.sql(found).trim());
    }
    expect(beat).toBeGreaterThanOrEqual(3);
    // Another machine that has the lease is noticed.
    await withSession(postgres.url(), async (session) => {
      for (let isTaken = false; !isTaken; ) {
        const seen = await readLease(session, 'held');
        isTaken = seen !== undefined && (await takeFrom(session, seen, other));
      }
    });
    await expect(renewing.lost).rejects.toMatchObject({ code: 'standby.superseded' });
    await renewing.end();
  });
});
