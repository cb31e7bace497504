/**
 * How late an effect may come after its request, and which looks came later than that: only they
 * can prove that there is none.
 */
import type { Clock } from '../../lib/clock.ts';
import { readState, writeState } from '../../store/state.ts';
import type { Store, Tx } from '../../store/store.ts';
import type { OutboxItem } from '../item.ts';

/**
 * Times of the complete looks that found nothing, also for earlier doubts. A time to come is from
 * before the clock was set back: it proves nothing about this doubt.
 */
export async function absences(tx: Tx, outboxId: number, now: number): Promise<number[]> {
  const rows = await tx
    .selectFrom('outbox_evidence')
    .select('at')
    .where('outbox_id', '=', outboxId)
    .where('found', '=', 'no')
    .where('complete', '=', 1)
    .where('at', '<=', now)
    .orderBy('at')
    .execute();
  return rows.map(({ at }) => at);
}

const LATENESS_KEY = 'outbox.latest_effect_ms';

/** How long after its request an effect was seen to be missing still, at the worst. */
export async function worstLateness(tx: Tx | Store['db']): Promise<number> {
  return Number((await readState(tx, LATENESS_KEY)) ?? 0);
}

/** Before an absence proves something: never less than twice the worst that was seen. */
export async function quietTime(tx: Tx | Store['db'], configuredMs: number): Promise<number> {
  return Math.max(configuredMs, 2 * (await worstLateness(tx)));
}

/** An effect that was proved absent and then appeared teaches how late effects can be. */
export async function learnLateness(
  tx: Tx,
  { outboxId, inDoubtSince }: OutboxItem,
  { clock, watchedSince }: { readonly clock: Clock; readonly watchedSince: number },
): Promise<void> {
  if (inDoubtSince === null) return;
  const since = Math.max(inDoubtSince, watchedSince);
  const last = (await absences(tx, outboxId, clock.now())).at(-1);
  if (last === undefined || last - since <= (await worstLateness(tx))) return;
  await writeState(tx, LATENESS_KEY, String(last - since), clock);
}
