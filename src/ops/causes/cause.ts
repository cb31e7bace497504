/**
 * A cause for which nothing can be decided, or a stream never be complete: a word that nobody
 * knows, a member that cannot be read, no currency. However many rows it concerns, it is one
 * incident with their number, an example, and what a person can do.
 */
import { parseJsonObject } from '../../lib/json.ts';
import type { Incident } from '../../store/incidents.ts';
import type { Db } from '../../store/store.ts';

export const CAUSE_KINDS = [
  ...(['unknown_status', 'unreadable_member', 'no_currency'] as const),
  ...(['clock_ahead', 'clock_behind', 'shared_number', 'never_complete'] as const),
] as const;

export interface Cause extends Incident {
  readonly kind: (typeof CAUSE_KINDS)[number];
  readonly detail: {
    /** One sentence, with an example. */
    readonly says: string;
    /** What to do: the setting to write, or the command to look with. */
    readonly advice: string;
    readonly rows: number;
  };
}

/** As people are told of it. */
export interface ToldCause {
  readonly says: string;
  readonly advice: string;
}

/** Those whose incidents are open, the oldest first. */
export async function openCauses(db: Db): Promise<readonly ToldCause[]> {
  const rows = await db
    .selectFrom('incident')
    .select('detail')
    .where('kind', 'in', [...CAUSE_KINDS])
    .where('resolved_at', 'is', null)
    .orderBy('id')
    .execute();
  return rows.map(({ detail }) => {
    const { says = '', advice = '' } = parseJsonObject(detail);
    return { says: String(says), advice: String(advice) };
  });
}
