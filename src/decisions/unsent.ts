/**
 * Cancels what the rules decided and the service has not taken yet: when decisions are paused, in a
 * mode in which the rules do not act, and where those that decided it do not act any more.
 */
import { type RawBuilder, sql } from 'kysely';
import { DELIVERY_STATUS_KIND } from '../outbox/enqueue.ts';
import { inKeys } from '../store/bulk.ts';
import type { Db, Tx } from '../store/store.ts';

/** Open pushes of decisions `n` by the rules of which this is true. */
export function pushesOfRules(which: RawBuilder<boolean>): RawBuilder<boolean> {
  return sql<boolean>`(outbox.kind = ${DELIVERY_STATUS_KIND} and outbox.ended_at is null
    and exists (select 1 from decision n where n.actor = 'daemon'
      and n.decision_id = cast(substr(outbox.cause, length('decision:') + 1) AS integer)
      and ${which}))`;
}

const OF_RULES = pushesOfRules(sql<boolean>`true`);

/** Those that were not sent yet. */
const UNSENT = sql<boolean>`outbox.state = 'queued'`;

/**
 * Those that may come back and be sent again. What takes an accept back is none of them: pending
 * harms nobody.
 */
const UNDER_WAY = sql<boolean>`(outbox.state in ('sending', 'in_doubt')
  and outbox.expected_from <> 'accepted' and outbox.body->>'$.cancelRequested' is null)`;

/** Whether there is anything to cancel: found out without a turn to write. */
export async function hasUnsent(db: Db): Promise<boolean> {
  const row = await db
    .selectFrom('outbox')
    .select('outbox_id')
    // By these an index finds it.
    .where('state', 'in', ['queued', 'sending', 'in_doubt'])
    .where(OF_RULES)
    .where((eb) => eb.or([UNSENT, UNDER_WAY]))
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}

function decisionOf({ cause }: { readonly cause: string }): number {
  return Number(cause.slice('decision:'.length));
}

/**
 * What the rules decided and was not sent yet; gives how many there were. What is on its way may
 * have arrived, which is confirmed; it is not sent a second time.
 *
 * @param which of the pushes that the rules decided on; all of them when left out.
 */
export async function cancelUnsent(
  tx: Tx,
  reason: string,
  at: number,
  which: RawBuilder<boolean> = OF_RULES,
): Promise<number> {
  const underWay = await tx
    .updateTable('outbox')
    .set({ body: sql<string>`json_set(body, '$.cancelRequested', ${reason})` })
    .where(which)
    .where(UNDER_WAY)
    .returning('cause')
    .execute();
  const rows = await tx
    .updateTable('outbox')
    .set({ state: 'canceled', ended_at: at, last_error: reason })
    .where(which)
    .where(UNSENT)
    .returning(['cause', 'expected_from'])
    .execute();
  const takenBack = rows.filter((row) => row.expected_from === 'accepted');
  // By no rules: they are decided again even where the pause is over before anybody looked.
  await tx
    .updateTable('evaluation')
    .set({ rules_key: '' })
    .where(inKeys('decision_id', [...rows, ...underWay].map(decisionOf)))
    .execute();
  // What is not taken back is as it was accepted, and the rules are asked about it again.
  await tx
    .updateTable('evaluation as e')
    .set({
      due_at: at,
      decision_id: sql<number>`(select max(n.decision_id) from decision n
        where n.order_delivery_id = e.order_delivery_id and n.decision_id < e.decision_id)`,
    })
    .where(inKeys('e.decision_id', takenBack.map(decisionOf)))
    .execute();
  return rows.length;
}
