/** The plane follows a mirror; follow.slow.test.ts breaks what is between them. */
import { sql } from 'kysely';
import { describe, expect, it, onTestFinished } from 'vitest';
import { manualClock } from '../../src/lib/clock.ts';
import { moveCursor, readCursor } from '../../src/plane/cursor.ts';
import { planeStatus } from '../../src/plane/status.ts';
import { readPlaneStatus } from '../../src/plane/status-file.ts';
import { addLedgerFeed, ledgerFeedState, removeLedgerFeed } from '../../src/store/ledger-feed.ts';
import { temporaryStore } from '../support/store.ts';
import { changeALot, isWrong, openPglite, planeHouse, wrongTables } from './support.ts';

describe('the plane, in PGlite', () => {
  it('has every row of the mirror after it was made and after it followed', async () => {
    const pglite = await openPglite();
    onTestFinished(() => pglite.close());
    const clock = manualClock();
    const house = await planeHouse({ connect: pglite.connect, clock, seed: 1 });
    await changeALot(house, 20);
    expect(await house.settle()).toEqual(['rebuilt', 'nothing']);
    expect(await wrongTables(house)).toEqual([]);
    await changeALot(house, 30);
    const { pending, tables } = await house.verify(false);
    expect(tables.filter(isWrong)).toEqual([]);
    expect(pending).toBeGreaterThan(0);
    expect(await house.settle()).toEqual(['followed', 'nothing']);
    expect(await wrongTables(house)).toEqual([]);
    const status = readPlaneStatus(house.dataDir);
    expect(status).toMatchObject({ state: 'following', account: 'acme', lagMs: 0 });
    const client = await house.connect();
    const [acme] = await planeStatus(client, clock.now());
    expect(acme).toMatchObject({ account: 'acme', seq: status?.seq, lagMs: 0 });
    // What the mirror has forgotten goes from the copy as well.
    await house.store.db.deleteFrom('change').where('seq', '<=', 10).execute();
    await house.settle();
    const { rows } = await client.query('select min(seq)::int as first from change');
    expect(rows).toEqual([{ first: 11 }]);
    // Another sink has moved the cursor in the same millisecond: this one does not know that place.
    const from = await readCursor(client, 'acme');
    if (!from) throw new Error('there is no copy');
    await moveCursor(client, from, { ...from, writtenAt: from.writtenAt + 1 });
    await expect(moveCursor(client, from, from)).rejects.toMatchObject({ name: 'RetryLaterError' });
    expect(from.writtenAt).toBeGreaterThan(clock.now());
  });
});

describe('the feed of the ledgers', () => {
  it('is there between its making and its removal, and tells when it is broken', async () => {
    const store = await temporaryStore();
    await store.transaction((tx) => addLedgerFeed(tx, 1));
    expect(await ledgerFeedState(store.db)).toBe('whole');
    await sql`drop trigger ledger_change_outbox_update`.execute(store.db);
    expect(await ledgerFeedState(store.db)).toBe('broken');
    await store.transaction((tx) => addLedgerFeed(tx, 1));
    expect(await ledgerFeedState(store.db)).toBe('whole');
    await store.transaction((tx) => removeLedgerFeed(tx));
    expect(await ledgerFeedState(store.db)).toBe('absent');
  });
});
