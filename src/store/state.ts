/** Small facts about this installation that must outlive the process. */
import { z } from 'zod';
import type { Clock } from '../lib/clock.ts';
import { tryParseJson } from '../lib/json.ts';
import { upsertRow } from './bulk.ts';
import type { Db, Store, Tx } from './store.ts';
import { kept, type Value } from './transaction/kept.ts';

const stateOf = kept((db: Db, key: Value<string>) =>
  db.selectFrom('daemon_state').select(['value', 'updated_at as at']).where('key', '=', key),
);

export async function readState(db: Db | Tx, key: string): Promise<string | undefined> {
  return (await readStateSince(db, key))?.value;
}

/** Reads a fact with the time at which it was last written (epoch ms). */
export async function readStateSince(
  db: Db | Tx,
  key: string,
): Promise<{ readonly value: string; readonly at: number } | undefined> {
  return (await stateOf(db, key))[0];
}

export function writeState(db: Db | Tx, key: string, value: string, clock: Clock): Promise<void> {
  return writeStateAt(db, key, value, clock.now());
}

/** Writes a fact about the installation at the time `at` (epoch ms). */
export async function writeStateAt(
  db: Db | Tx,
  key: string,
  value: string,
  at: number,
): Promise<void> {
  await upsertRow(db, 'daemon_state', 'key', { key, value, updated_at: at });
}

/** Removes a fact about the installation, and tells whether there was one. */
export async function deleteState(db: Db | Tx, key: string): Promise<boolean> {
  const { numDeletedRows } = await db
    .deleteFrom('daemon_state')
    .where('key', '=', key)
    .executeTakeFirst();
  return numDeletedRows > 0n;
}

export interface ReadSequence {
  /** Gives a number greater than that of every read that started before. */
  next(): Promise<number>;
}

/**
 * Size of the blocks in which numbers are taken from the database, so that a read costs no commit.
 */
const BLOCK = 1_000;
const SEQUENCE_KEY = 'read_sequence';

/**
 * Numbers the reads of the service in the order in which they *started*, across restarts. An answer
 * that started earlier never overwrites one that started later.
 */
export function createReadSequence(store: Store, clock: Clock): ReadSequence {
  let next = 0;
  let end = 0;
  let taking: Promise<void> | undefined;

  const takeBlock = async (): Promise<void> => {
    const start = await store.transaction(async (tx) => {
      const start = Number((await readState(tx, SEQUENCE_KEY)) ?? '1');
      await writeState(tx, SEQUENCE_KEY, String(start + BLOCK), clock);
      return start;
    });
    // The block is used only after its commit: numbers that are not durable would be given out
    // again later.
    next = start;
    end = start + BLOCK;
  };

  return {
    async next() {
      while (next >= end) {
        taking ??= takeBlock().finally(() => {
          taking = undefined;
        });
        await taking;
      }
      next += 1;
      return next - 1;
    },
  };
}

const RESTORED_KEY = 'restored';

const RESTORED = z.object({
  at: z.number(),
  createdAt: z.string(),
  maxOrderId: z.int().nullish(),
  /**
   * Highest document number that the backup knew; receipts above it are of unknown documents. Null:
   * the receipts were cut off from these.
   */
  maxDocumentId: z.int().nullish(),
});

/**
 * The last restore: its time (epoch ms), that of its backup, and the highest numbers that the
 * backup knew.
 */
export type Restored = z.output<typeof RESTORED>;

/** Reads the last restore; undefined: this database was never restored. */
export async function readRestored(db: Db | Tx): Promise<Restored | undefined> {
  const text = await readState(db, RESTORED_KEY);
  return text === undefined ? undefined : RESTORED.parse(tryParseJson(text));
}

export async function writeRestored(db: Db | Tx, restored: Restored, clock: Clock): Promise<void> {
  await writeState(db, RESTORED_KEY, JSON.stringify(restored), clock);
}

const ACCOUNT_KEY = 'account';

const ACCOUNT = z.object({
  address: z.string(),
  /** Client id of the log-in; null with an API key, which may be rotated. */
  clientId: z.string().nullable(),
});

/** The service's account whose data are in this database. */
export type Account = z.output<typeof ACCOUNT>;

/** Reads the service's account of this database; undefined until the first start has written it. */
export async function readAccount(db: Db | Tx): Promise<Account | undefined> {
  const text = await readState(db, ACCOUNT_KEY);
  return text === undefined ? undefined : ACCOUNT.parse(tryParseJson(text));
}

export async function writeAccount(db: Db | Tx, account: Account, clock: Clock): Promise<void> {
  await writeState(db, ACCOUNT_KEY, JSON.stringify(account), clock);
}

const ACCOUNT_HOLD_KEY = 'account_hold';

/** Reason for which no request is sent to the service; undefined: the account is known. */
export async function readAccountHold(db: Db | Tx): Promise<string | undefined> {
  return (await readState(db, ACCOUNT_HOLD_KEY)) || undefined;
}

export async function writeAccountHold(db: Db | Tx, why: string, clock: Clock): Promise<void> {
  await writeState(db, ACCOUNT_HOLD_KEY, why, clock);
}

const EXCHANGE_WAITS_KEY = 'exchange_waits';

/** Since when the exchange database cannot be written (epoch ms); undefined: it can. */
export async function readExchangeWait(db: Db | Tx): Promise<number | undefined> {
  return (await readStateSince(db, EXCHANGE_WAITS_KEY))?.at;
}

/** Notes since when the exchange database cannot be written; null: it can. */
export async function noteExchangeWait(db: Db | Tx, since: number | null): Promise<void> {
  if (since === null) await deleteState(db, EXCHANGE_WAITS_KEY);
  else await writeStateAt(db, EXCHANGE_WAITS_KEY, 'yes', since);
}

const SYSTEM_KEY = 'account_system_key';

/** System key in the events of our own orders; undefined: none has named one. */
export function readSystemKey(db: Db | Tx): Promise<string | undefined> {
  return readState(db, SYSTEM_KEY);
}

export async function writeSystemKey(db: Db | Tx, key: string, clock: Clock): Promise<void> {
  await writeState(db, SYSTEM_KEY, key, clock);
}
