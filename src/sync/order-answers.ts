/** Shares between reads of an order: faults of intermediaries, the age of answers, writing. */
import type { Read } from '../client/calls.ts';
import { NO_SUCH_PAGE, NOT_FOUND_BARE } from '../client/http/answer.ts';
import type { Listing } from '../client/v1/calls.ts';
import { RefusedError, RetryLaterError } from '../lib/errors.ts';
import { formatDuration } from '../lib/units.ts';
import type { WriteCounts } from '../mirror/entity.ts';
import { clearResolvedQuarantine, quarantineRows } from '../mirror/quarantine.ts';
import type { EntityDefinition, Provenance } from '../mirror/rows/prepared.ts';
import { forgetShared } from '../mirror/shared-number.ts';
import type { Tx } from '../store/store.ts';

const FOREIGN: ReadonlySet<string> = new Set([NO_SUCH_PAGE, NOT_FOUND_BARE]);

export function isForeign(error: unknown): error is RefusedError {
  return error instanceof RefusedError && FOREIGN.has(error.code);
}

/**
 * Turns an intermediary's error page into an error that is retried, because it does not refuse the
 * order.
 */
export function unlessForeign(error: unknown): never {
  if (!isForeign(error)) throw error;
  throw new RetryLaterError(error.code, error.message, { cause: error });
}

/** Statuses of an order that must have deliveries. */
export const HAS_DELIVERIES = /^(partially_)?fulfilled$/;

/**
 * Maximum age in milliseconds of an answer from a cache; an older one does not count as a reading.
 */
const AGE_MS_MAX = 60_000;

/** Time at which all answers of the read were true; throws when that is too long ago. */
export function oldestOf(
  orderId: number,
  startedAt: number,
  reads: readonly (Pick<Read<unknown>, 'startedAt'> | undefined)[],
): number {
  const oldest = Math.min(startedAt, ...reads.map((read) => read?.startedAt ?? startedAt));
  if (startedAt - oldest <= AGE_MS_MAX) return oldest;
  const age = formatDuration(startedAt - oldest);
  const text = `order ${orderId} came out of a cache and is ${age} old (Age)`;
  const hint = 'its operator must leave the service out: requests say no-cache';
  throw new RetryLaterError('sync.cached_answer', text, { hint });
}

type Written = Pick<WriteCounts, 'written'>;

/** Writer of the rows of a list below an order, and the number of each row. */
interface ListWriter<T> {
  readonly definition: EntityDefinition;
  readonly write: (tx: Tx, rows: readonly T[], from: Provenance) => Promise<Written>;
  readonly numberOf: (row: T) => number;
}

/**
 * Writes the answered list of an order: its rows, and those that cannot be read. Gives the keys of
 * the rows that are new or have changed.
 */
export async function keepList<T>(
  tx: Tx,
  orderId: number,
  list: Listing<T> | undefined,
  { definition, write, numberOf }: ListWriter<T>,
  provenance: Provenance,
): Promise<Written['written']> {
  if (!list) return [];
  const { entity } = definition;
  const { written } = await write(tx, list.rows, provenance);
  await quarantineRows(tx, entity, list.rejects, provenance);
  // Keeps rows that were quarantined at this very time.
  await clearResolvedQuarantine(tx, entity, { source: '', startedAt: provenance.at, orderId });
  if (list.rejects.length > 0) return written;
  await forgetShared(tx, definition, orderId, list.rows.map(numberOf));
  return written;
}
