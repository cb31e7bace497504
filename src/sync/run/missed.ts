/**
 * Verifies rows that the mirror has and a run did not see, when the list moved while it was read
 * page by page and they may have slipped. Each is requested at its own address: a row that exists
 * is written, the others count as missing.
 */
import { isNotFound } from '../../client/http/answer.ts';
import type { Clock } from '../../lib/clock.ts';
import type { SqlValue } from '../../store/bulk.ts';
import type { Store } from '../../store/store.ts';
import type { Stream, StreamRun } from '../stream.ts';
import type { Run } from './ledger.ts';

/** Most rows requested one by one; beyond that the list is read again. */
const ASKED_MAX = 300;

type List = NonNullable<Stream['list']>;

interface Missed {
  /** Undefined: too many rows to request one by one. */
  readonly missing: readonly SqlValue[] | undefined;
  readonly asked: number;
}

export function tooManyMissed(rows: number): string {
  const why = `more than the ${ASKED_MAX} that are asked for one by one`;
  return `the list moved while it was read, and ${rows} rows did not come: ${why}`;
}

export function toldOfMissed(asked: number): string {
  return `the list moved while it was read: ${asked} rows were asked for one by one`;
}

export async function askForMissed(
  { store, clock }: { readonly store: Store; readonly clock: Clock },
  { lookUp }: List,
  run: Run,
  missing: readonly SqlValue[],
  call: StreamRun['call'],
): Promise<Missed> {
  if (missing.length === 0) return { missing, asked: 0 };
  if (!lookUp || missing.length > ASKED_MAX) return { missing: undefined, asked: 0 };
  const gone: SqlValue[] = [];
  for (const key of missing) {
    try {
      const { write, isSoldOut } = await lookUp(String(key), call);
      const provenance = { source: `run:${run.runId}`, readSeq: run.readSeq, at: clock.now() };
      await store.transaction((tx) => write(tx, provenance));
      // An unlisted row with no stock is sold out, hence gone.
      if (isSoldOut) gone.push(key);
    } catch (error) {
      if (!isNotFound(error)) throw error;
      gone.push(key);
    }
  }
  return { missing: gone, asked: missing.length };
}
