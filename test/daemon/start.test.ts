import { existsSync, readdirSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { sql } from 'kysely';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Config } from '../../src/config/schema.ts';
import { openDaemon } from '../../src/daemon/daemon.ts';
import { type Clock, manualClock, systemClock } from '../../src/lib/clock.ts';
import { EXIT, exitCodeOf } from '../../src/lib/errors.ts';
import { systemRandom } from '../../src/lib/random.ts';
import { createScrubber } from '../../src/lib/secret.ts';
import type { Reference } from '../../src/reference/reference.ts';
import { openStore } from '../../src/store/store.ts';
import {
  startTestDaemon,
  startTestReference,
  testConfig,
  testLogger,
  WITH_STOCK,
} from '../support/house.ts';
import { temporaryFolder } from '../support/store.ts';

const clock = systemClock();
let reference: Reference;
let folder: string;

beforeEach(async () => {
  reference = await startTestReference();
  folder = temporaryFolder();
});

function open(config: Config, time: Clock = clock) {
  const log = testLogger();
  return openDaemon(config, {
    clock: time,
    random: systemRandom(),
    log,
    scrubber: createScrubber(),
  });
}

/** Files below the folder that this process has open. */
function openFiles(): string[] {
  return readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      const target = readlinkSync(`/proc/self/fd/${fd}`);
      return target.startsWith(folder) ? [target] : [];
    } catch {
      return [];
    }
  });
}

async function expectGoodStart(): Promise<void> {
  const daemon = await startTestDaemon(reference, testConfig(reference, { folder }));
  await daemon.stop();
  expect(openFiles()).toEqual([]);
}

describe('a start that fails', () => {
  it('for a folder in use says so, and does not disturb the daemon that uses it', async () => {
    const config = testConfig(reference, { folder });
    const first = await startTestDaemon(reference, config);
    await expect(open(config)).rejects.toMatchObject({ code: 'store.locked' });
    const { count } = await first.store.db
      .selectFrom('lease')
      .select((eb) => eb.fn.countAll<number>().as('count'))
      .where('fencing', '=', 1)
      .executeTakeFirstOrThrow();
    expect(Number(count)).toBe(1);
    expect(first.health().every(({ restarts }) => restarts === 0)).toBe(true);
    await first.stop();
    await expectGoodStart();
  });

  it('for a database of a newer program changes nothing, and leaves nothing open', async () => {
    const config = testConfig(reference, { folder });
    await expectGoodStart();
    const path = join(config.dataDir, 'mirror.db');
    const { store } = await openStore({ path, busyTimeoutMs: 1_000 }, clock);
    await sql`insert into schema_migration values (99, 'future', '', 0)`.execute(store.db);
    await store.close();
    await expect(open(config)).rejects.toMatchObject({ code: 'store.newer_schema' });
    expect(openFiles()).toEqual([]);
  });

  it('for a clock that is not set touches nothing, and is tried again', async () => {
    const config = testConfig(reference, { folder });
    const refused = await open(config, manualClock(0)).catch((thrown: unknown) => thrown);
    expect(refused).toMatchObject({
      message: 'the clock is not set: it says 1970-01-01T00:00:00.000Z',
      hint: expect.stringContaining('timedatectl'),
    });
    expect(exitCodeOf(refused)).toBe(EXIT.temporary.code);
    expect(existsSync(config.dataDir)).toBe(false);
  });
});

describe('a stop', () => {
  it('closes every file and every connection, and the next start goes on', async () => {
    const config = testConfig(reference, { folder, overrides: WITH_STOCK });
    const daemon = await startTestDaemon(reference, config);
    expect(openFiles()).not.toEqual([]);
    await daemon.stop();
    expect(openFiles()).toEqual([]);
    await expectGoodStart();
  });
});
