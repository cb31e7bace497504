/**
 * The currency that the configuration gives to orders which name none (service.v1.currency). It
 * stands in the database, where facts and views find it alike (the view `order_currency`).
 */
import type { Clock } from '../lib/clock.ts';
import { readState, writeState } from '../store/state.ts';
import type { Store } from '../store/store.ts';

const KEY = 'service_currency';

/** Takes it over when the daemon starts, before every open delivery is evaluated again. */
export async function setCurrency(
  { store, clock }: { readonly store: Store; readonly clock: Clock },
  currency: string | null,
): Promise<void> {
  const value = currency ?? '';
  if (((await readState(store.db, KEY)) ?? '') === value) return;
  await writeState(store.db, KEY, value, clock);
}
