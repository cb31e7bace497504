/**
 * The currency that the configuration gives to orders which name none (setting
 * `service.dialect.v1.currency`). It is stored in the database, so that facts and the view
 * `order_currency` use the same one.
 */
import type { Clock } from '../lib/clock.ts';
import { readState, writeState } from '../store/state.ts';
import type { Store } from '../store/store.ts';

const KEY = 'service_currency';

/**
 * Stores the configured currency when the daemon starts, before open deliveries are evaluated
 * again.
 */
export async function setCurrency(
  { store, clock }: { readonly store: Store; readonly clock: Clock },
  currency: string | null,
): Promise<void> {
  const value = currency ?? '';
  if (((await readState(store.db, KEY)) ?? '') === value) return;
  await writeState(store.db, KEY, value, clock);
}
