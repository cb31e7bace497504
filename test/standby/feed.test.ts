import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { manualClock } from '../../src/lib/clock.ts';
import { sha256 } from '../../src/lib/json.ts';
import {
  beginFeed,
  endFeed,
  forgetKept,
  openFeed,
  type PieceLimits,
  readPlace,
} from '../../src/standby/feed.ts';
import { RECORDED } from '../../src/standby/recorded.ts';
import { writeAudit } from '../../src/store/audit.ts';
import { writePause } from '../../src/store/pauses.ts';
import { deleteState, writeState } from '../../src/store/state.ts';
import type { SqliteStore } from '../../src/store/store.ts';
import { temporaryStore } from '../support/store.ts';

const clock = manualClock();

async function feedOf(limits?: PieceLimits) {
  const store = await temporaryStore(clock);
  await beginFeed(store, clock, 'first');
  const reader = openFeed({ path: store.path, busyTimeoutMs: 100 }, limits);
  return { store, reader };
}

const act = (store: SqliteStore, subject: string) =>
  writeAudit(store.db, { actor: 'eva', action: 'x', subject, reason: '' }, 1);

describe('the feed of the record', () => {
  it('notes changed and deleted rows of recorded tables in their transaction', async () => {
    const { store, reader } = await feedOf();
    const begun = reader.read(0);
    expect(begun).toMatchObject({
      isWhole: true,
      rows: [{ what: 'daemon_state', key: '["standby_feed"]' }],
    });
    await store
      .transaction(async (tx) => {
        await writePause(tx, { target: 'pushes', name: '', reason: 'r', actor: 'a', at: 1 });
        throw new Error('undone');
      })
      .catch(() => undefined);
    await writeState(store.db, 'last_login_at', '1', clock);
    expect(reader.read(begun.last).rows).toEqual([]);
    await store.transaction((tx) =>
      writePause(tx, { target: 'pushes', name: '', reason: 'r', actor: 'a', at: 1 }),
    );
    await writeState(store.db, 'reject_breaker', 'x', clock);
    await deleteState(store.db, 'reject_breaker');
    const { rows, last } = reader.read(begun.last);
    expect(rows).toEqual([
      { seq: 2, what: 'pause', key: '["pushes",""]', row: expect.stringContaining('"reason":"r"') },
      { seq: 4, what: 'daemon_state', key: '["reject_breaker"]', row: null },
    ]);
    await forgetKept(store, clock, { seq: last, place: 42 });
    expect([reader.read(last).isWhole, await readPlace(store.db)]).toEqual([true, 42]);
    reader.close();
  });

  it('gives rows whole, blobs as base64, and as they are now', async () => {
    const { store, reader } = await feedOf();
    await sql`insert into webhook_event (event_id, received_at, sent_at, body, secret_name, outcome)
      values ('msg_1', 1, 1, x'00ff', 's', 'stored')`.execute(store.db);
    await sql`update webhook_event set duplicates = 3`.execute(store.db);
    const row = reader.read(1).rows[0]?.row ?? '';
    expect(JSON.parse(row)).toMatchObject({ duplicates: 3, body: { base64: 'AP8=' }, type: null });
    expect(reader.read(1).rows).toHaveLength(1);
    reader.close();
  });

  it('comes in pieces, of which only the one at the end is whole', async () => {
    const { store, reader } = await feedOf({ entriesMax: 2, charsMax: 1_000_000 });
    for (const subject of ['a', 'b', 'c']) await act(store, subject);
    const first = reader.read(0);
    expect(first).toMatchObject({ isWhole: false, last: 2 });
    expect(reader.read(first.last)).toMatchObject({ isWhole: true, last: 4 });
    reader.close();
  });

  it('ends a piece at its size, and loses no row that changes again behind it', async () => {
    const { store, reader } = await feedOf({ entriesMax: 100, charsMax: 10 });
    await writeState(store.db, 'account', '1', clock);
    await act(store, 'long');
    await writeState(store.db, 'account', '2', clock);
    const seen: string[] = [];
    for (let after = 0; ; ) {
      const { rows, last, isWhole } = reader.read(after);
      seen.push(...rows.map(({ what, row }) => `${what} ${JSON.parse(row ?? '{}').value ?? ''}`));
      after = last;
      if (isWhole) break;
    }
    expect(seen).toEqual(['daemon_state first', 'audit ', 'daemon_state 2']);
    reader.close();
  });

  it('is made again under another name where a part is gone, and leaves nothing', async () => {
    const { store, reader } = await feedOf();
    const names = async () =>
      (
        await sql<{ value: string }>`select value from daemon_state
      where key = 'standby_feed'`.execute(store.db)
      ).rows.map(({ value }) => value);
    await beginFeed(store, clock, 'second');
    expect(await names()).toEqual(['first']);
    // As an older program has left it, which recorded less.
    const older = await sql<{ name: string; sql: string }>`select name, sql from sqlite_schema
      where type = 'trigger' and name like 'standby_change_%'
        and name <> 'standby_change_audit_update' order by sql`.execute(store.db);
    await sql`drop trigger standby_change_audit_update`.execute(store.db);
    const digest = sha256(
      older.rows
        .map((row) => row.sql)
        .sort()
        .join('\n'),
    );
    await writeState(store.db, 'standby_triggers', digest, clock);
    await beginFeed(store, clock, 'upgraded');
    expect(await names()).toEqual(['first']);
    expect(store.triggers().others).toContain('standby_change_audit_update');
    await sql`drop trigger standby_change_audit_insert`.execute(store.db);
    await beginFeed(store, clock, 'third');
    expect(await names()).toEqual(['third']);
    expect(store.triggers()).toMatchObject({ missing: [] });
    reader.close();
    await store.transaction(endFeed);
    expect(store.triggers().others).toEqual([]);
    expect(await names()).toEqual([]);
    const left = await sql`select 1 from sqlite_schema where name = 'standby_change'`.execute(
      store.db,
    );
    expect(left.rows).toEqual([]);
  });

  it('knows of each table whether a second machine needs it', async () => {
    const store = await temporaryStore(clock);
    const { rows } = await sql<{ name: string }>`select name from sqlite_schema
      where type = 'table' and name not like 'sqlite_%'`.execute(store.db);
    const recorded = RECORDED.map(({ table }) => table);
    const left = rows.map(({ name }) => name).filter((name) => !recorded.includes(name));
    // The mirror and what is computed from it, runs, wishes, incidents, sessions: made again.
    expect(left.sort()).toEqual(LEFT_OUT.split(' '));
    expect(recorded.filter((name) => !rows.some((row) => row.name === name))).toEqual([]);
  });
});

const LEFT_OUT =
  'absence announced brand change change_hour chunk claim color console_session country delivery ' +
  'delivery_line duplicate_key freight_option gender incident key_place lease notification ' +
  'outbox_transition pdm_brand pending_refund pending_refund_line quarantine refresh refund ' +
  'refund_line sales_order sales_order_line schema_migration season season_delivery ' +
  'season_variant_row shared_number size_rank stock_age stock_day stock_out_of_band ' +
  'stock_variant_row stream_state style style_color style_type sync_run tally variant_extra ' +
  'zone_offset';
