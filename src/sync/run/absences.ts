/**
 * Rows that one run did not see although they may have slipped between pages; they count as gone
 * only when the next run does not see them either.
 */
import { insertKeys, type SqlValue } from '../../store/bulk.ts';
import type { Store, Tx } from '../../store/store.ts';
import { type Run, runBefore } from './ledger.ts';

/** Notes rows that the run did not see, for the next run to confirm. */
export async function noteAbsences(
  tx: Tx,
  { runId }: Run,
  list: string,
  keys: readonly SqlValue[],
): Promise<void> {
  const absent = { stream: list, run_id: runId };
  await insertKeys(tx, 'absence', 'key', keys.map(String), absent);
}

/** Returns the missing rows that the previous run missed as well; notes the others. */
export async function missingTwice(
  store: Store,
  run: Run,
  list: string,
  missing: readonly SqlValue[],
): Promise<readonly SqlValue[]> {
  return store.transaction(async (tx) => {
    // Only consecutive runs can confirm: a run in between may have seen the row.
    const last = await runBefore(tx, run);
    const known = await tx
      .selectFrom('absence')
      .select('key')
      .where('stream', '=', list)
      .where('run_id', '=', last?.runId ?? 0)
      .execute();
    const before = new Set(known.map(({ key }) => key));
    await tx.deleteFrom('absence').where('stream', '=', list).execute();
    await noteAbsences(
      tx,
      run,
      list,
      missing.filter((one) => !before.has(String(one))),
    );
    return missing.filter((key) => before.has(String(key)));
  });
}

export async function forgetAbsences(store: Store, run: Run): Promise<void> {
  await store.transaction(async (tx) => {
    await tx.deleteFrom('absence').where('stream', '=', run.stream).execute();
  });
}
