/** Says why there is no decision about a delivery yet. */

import { parseJsonObject } from '../../lib/json.ts';
import { absent, readAnswers } from '../../store/answering.ts';
import { daemonRuns } from '../../store/lock.ts';
import type { Db } from '../../store/store.ts';
import { evaluationErrorIds } from '../incidents.ts';

async function failingWorker(db: Db): Promise<string | undefined> {
  const row = await db
    .selectFrom('incident')
    .select('detail')
    .where('kind', '=', 'worker_failing')
    .where('key', '=', 'decisions')
    .where('resolved_at', 'is', null)
    .executeTakeFirst();
  return row && String(parseJsonObject(row.detail).error);
}

/** Why nothing is decided about the delivery, as a hint for people. */
export async function whyUndecided(db: Db, orderDeliveryId: number, now: number): Promise<string> {
  const delivery = await db
    .selectFrom('delivery as d')
    .leftJoin('sales_order as o', 'o.order_id', 'd.order_id')
    .select(['d.status', 'd.deleted_at', 'd.order_id', 'o.order_id as mirrored'])
    .where('d.order_delivery_id', '=', orderDeliveryId)
    .executeTakeFirst();
  if (delivery?.mirrored === null) {
    const away = absent(await readAnswers(db), 'V1');
    const because = away === undefined ? '' : `: ${away}`;
    return `its order ${delivery.order_id} is not mirrored yet${because}`;
  }
  if (delivery && delivery.deleted_at !== null) return 'the service no longer has it';
  if (delivery && delivery.status !== 'pending') {
    return `it is ${delivery.status}: the rules decide what is pending`;
  }
  if ((await evaluationErrorIds(db)).includes(orderDeliveryId)) {
    return 'an error keeps it from being decided: "selvedge incidents list"';
  }
  const failing = await failingWorker(db);
  if (failing !== undefined) return `the decisions fail: ${failing}`;
  if (!(await daemonRuns(db, now))) return 'the daemon does not run';
  return 'a new delivery is decided once it stays unchanged for decisions.settle';
}
