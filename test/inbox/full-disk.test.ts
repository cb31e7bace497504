/** Events while the disk is full: an injected probe, then a real small disk. */
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { sql } from 'kysely';
import { describe, expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../../src/lib/clock.ts';
import { silentLogger } from '../../src/lib/log.ts';
import { createSpaceWatch, freeBytesAt, type SpaceWatch } from '../../src/store/space.ts';
import { openStore, type SqliteStore } from '../../src/store/store.ts';
import { mountSmallDisk } from '../support/small-disk.ts';
import { temporaryFolder } from '../support/store.ts';
import { deliveryCreated, sign, startInbox } from './support.ts';

const MIB = 1_048_576;

function watch(probe: () => Promise<number>, floor: number): SpaceWatch {
  const floors = { pull: floor, receive: floor, send: floor / 4 };
  const deps = { probe, clock: systemClock(), log: silentLogger() };
  return createSpaceWatch(deps, { floors, marginBytes: MIB, checkMs: 1_000 });
}

describe('a disk that is nearly full (R6)', () => {
  it('has the relay keep its events, and recovers by itself', async () => {
    let free = 300 * MIB;
    const space = watch(async () => free, 256 * MIB);
    const inbox = await startInbox({ writable: () => space.allows('receive') });
    const body = deliveryCreated(1);
    const send = (): Promise<Response> => inbox.post(body, sign(body, { id: 'msg_1' }));
    await space.look();
    expect((await send()).status).toBe(204);
    free = 255 * MIB;
    await space.look();
    const refused = await send();
    expect(refused.status).toBe(503);
    expect(refused.headers.get('retry-after')).toBe('30');
    expect(await refused.text()).toBe('{"error":"unavailable"}');
    // Just above the floor is not enough: it would come and go with every event.
    free = 256.5 * MIB;
    await space.look();
    expect((await send()).status).toBe(503);
    free = 257 * MIB;
    await space.look();
    expect((await send()).status).toBe(204);
    expect(inbox.meter.stats().refused).toMatchObject({ unwritable: 2, forged: 0 });
  });
});

/** A place for a database that can be made to have no more room than this. */
interface SmallDisk {
  readonly folder: string;
  freeBytes(): Promise<number>;
  leave(store: SqliteStore, bytes: number): Promise<void>;
  makeRoom(store: SqliteStore): Promise<void>;
}

/** Undefined where this user may not mount one. */
function mountedDisk(): SmallDisk | undefined {
  const folder = mountSmallDisk();
  if (folder === undefined) return undefined;
  const filler = join(folder, 'filler');
  const freeBytes = () => freeBytesAt(folder);
  return {
    folder,
    freeBytes,
    leave: async (_, bytes) => writeFileSync(filler, Buffer.alloc((await freeBytes()) - bytes)),
    makeRoom: async () => rmSync(filler),
  };
}

/** SQLite's own limit: to the statements it is the same disk. */
function limitedFile(): SmallDisk {
  const room = 3_000;
  const pageBytes = 4_096;
  let left = room * pageBytes;
  const limit = async (store: SqliteStore, bytes: number): Promise<void> => {
    const { rows } = await sql<{ page_count: number }>`pragma page_count`.execute(store.db);
    const pages = (rows[0]?.page_count ?? 0) + Math.floor(bytes / pageBytes);
    await sql`pragma max_page_count = ${sql.raw(String(pages))}`.execute(store.db);
    left = bytes;
  };
  return {
    folder: temporaryFolder(),
    freeBytes: async () => left,
    leave: limit,
    makeRoom: (store) => limit(store, room * pageBytes),
  };
}

async function ids(store: SqliteStore): Promise<string[]> {
  const rows = await store.db.selectFrom('webhook_event').select('event_id').execute();
  return rows.map((row) => row.event_id).sort();
}

describe('a disk that is really full', () => {
  it.each([
    // A limit of the file stands in for the disk where nobody may mount.
    { kind: 'a file system', disk: () => mountedDisk() ?? limitedFile() },
    { kind: 'a file', disk: limitedFile },
  ])('loses no acknowledged event and goes on with the room: $kind', async ({ disk }) => {
    const { folder, freeBytes, leave, makeRoom } = disk();
    const clock = systemClock();
    const { store } = await openStore(
      { path: join(folder, 'mirror.db'), busyTimeoutMs: 1_000 },
      clock,
    );
    onTestFinished(() => store.close());
    const space = watch(freeBytes, 2 * MIB);
    let watched = false;
    const inbox = await startInbox({ store, writable: () => !watched || space.allows('receive') });
    const acknowledged: string[] = [];
    const send = async (id: string): Promise<number> => {
      const body = deliveryCreated(1).padEnd(60_000);
      const { status } = await inbox.post(body, sign(body, { id }));
      if (status === 204) acknowledged.push(id);
      return status;
    };
    expect(await send('msg_0')).toBe(204);

    // Without the floor: up to the last byte of the disk.
    await leave(store, 300_000);
    let last = 204;
    for (let index = 1; last === 204 && index < 100; index += 1) last = await send(`msg_${index}`);
    expect(last).toBe(503);
    expect(inbox.meter.stats().failedCommits).toBeGreaterThan(0);
    await makeRoom(store);
    expect(await send('msg_after')).toBe(204);
    expect(await ids(store)).toEqual(acknowledged.toSorted());

    // With it: refused before anything is tried, and open again with the room.
    watched = true;
    await leave(store, MIB);
    await space.look();
    const { failedCommits } = inbox.meter.stats();
    expect(await send('msg_low')).toBe(503);
    expect(inbox.meter.stats().failedCommits).toBe(failedCommits);
    await makeRoom(store);
    await space.look();
    expect(await send('msg_low')).toBe(204);
    expect(await ids(store)).toEqual(acknowledged.toSorted());
  });
});
