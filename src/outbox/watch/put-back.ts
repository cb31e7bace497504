/**
 * Signs that the service was put back to an earlier state (a restore, a migration): orders of ours
 * that were confirmed are gone there, or their numbers have become other orders. They follow from
 * what reads bring: a row of such an order that becomes another order, or is marked as deleted; and
 * a walk over the orders that does not meet one, whose own address does not know it either.
 */
import { sql } from 'kysely';
import { isNotFound } from '../../client/http/answer.ts';
import type { Clock } from '../../lib/clock.ts';
import { RefusedError, SelvedgeError } from '../../lib/errors.ts';
import { isJsonObject, parseJsonObject } from '../../lib/json.ts';
import { orderSlices } from '../../mirror/sales-order.ts';
import type { OrdersWalk } from '../../mirror/walks.ts';
import type { Db, Store } from '../../store/store.ts';
import type { ReadOrder } from '../service.ts';
import { addLost, type NewLost } from './lost.ts';

export interface PutBackDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly readOrder: ReadOrder;
}

/** A list may lag behind what its service has just confirmed. */
const LAG_MS = 30_000;

interface Changed {
  readonly outbox_id: number;
  readonly order_id: number;
  readonly op: 'update' | 'delete' | 'restore';
  readonly diff: string;
  readonly reference: string | null;
  readonly read_seq: number;
}

/** [before, after] of a member in a diff. */
function pairIn(diff: string, member: string): readonly [unknown, unknown] | undefined {
  const pair = parseJsonObject(diff)[member];
  return Array.isArray(pair) && pair.length === 2 ? [pair[0], pair[1]] : undefined;
}

/** Of lines, what makes them an order's own: an order that was edited keeps its reference. */
function isOther(pair: readonly [unknown, unknown] | undefined): boolean {
  const key = (value: unknown): string => {
    const lines = Array.isArray(value) ? value.filter(isJsonObject) : [];
    return JSON.stringify(lines.map(({ barcode, quantity, price }) => [barcode, quantity, price]));
  };
  return pair !== undefined && key(pair[0]) !== key(pair[1]);
}

/** Whether a row has become another order: its reference changed, and what it holds did, too. */
function becameAnother({ diff }: Changed): boolean {
  const hasOtherLines = isOther(pairIn(diff, 'lines'));
  const created = pairIn(diff, 'created_at') ?? [];
  // A time that was not known before is no other one.
  const hasOtherTime = created.length > 0 && created.every((at) => typeof at === 'number');
  if (pairIn(diff, 'reference') !== undefined) return hasOtherLines || hasOtherTime;
  // Where the service keeps no reference, the time and the lines have to differ both.
  return hasOtherLines && hasOtherTime;
}

function lostIn(changed: Changed): NewLost[] {
  const { outbox_id: outboxId, order_id: orderId, op, diff, read_seq: readSeq } = changed;
  const known = { outboxId, orderId, readSeq };
  if (op === 'delete') return [{ ...known, reference: changed.reference }];
  if (!becameAnother(changed)) return [];
  const before = pairIn(diff, 'reference')?.[0] ?? null;
  return [{ ...known, reference: typeof before === 'string' ? before : null }];
}

async function changesBetween(db: Db, after: number, to: number): Promise<readonly Changed[]> {
  const { rows } = await sql<Changed>`
    select o.outbox_id, o.order_id, c.op, c.diff, s.reference, s.read_seq
    from change c
    join outbox o on o.order_id = c.key + 0
      and o.kind = 'order' and o.state = 'confirmed'
    join sales_order s on s.order_id = o.order_id
    where c.seq > ${after} and c.seq <= ${to}
      and +c.entity = 'sales_order' and +c.op <> 'insert'
    order by c.seq`.execute(db);
  return rows;
}

/** Orders that entries of the feed, those behind `after` up to `to`, tell to be gone. */
export async function lostBetween(db: Db, after: number, to: number): Promise<NewLost[]> {
  return (await changesBetween(db, after, to)).flatMap(lostIn);
}

interface Missed {
  readonly outbox_id: number;
  readonly order_id: number;
  readonly reference: string | null;
  readonly read_seq: number;
}

/** Confirmed orders that a walk should have met and no read since its start has. */
export async function missedBy(db: Db, walk: OrdersWalk): Promise<readonly Missed[]> {
  const missed: Missed[] = [];
  for await (const { from, before } of orderSlices(db, walk.bottom)) {
    const { rows } = await sql<Missed>`
      select o.outbox_id, o.order_id, s.reference, s.read_seq from sales_order s
      join outbox o on o.order_id = s.order_id and o.kind = 'order' and o.state = 'confirmed'
      where s.order_id >= ${from} and s.order_id < ${before}
        and s.deleted_at is null and s.read_seq < ${walk.readSeq}
        and o.ended_at < ${walk.startedAt - LAG_MS}
        and not exists (select 1 from outbox_lost l where l.outbox_id = o.outbox_id)
      order by s.order_id`.execute(db);
    missed.push(...rows);
  }
  return missed;
}

function isUnreadable(error: unknown): boolean {
  const isBroken = error instanceof SelvedgeError && error.code === 'transport.broken_answer';
  return isBroken || (error instanceof RefusedError && !isNotFound(error));
}

/** Asks for each by its own address: what is read into the mirror is followed by the feed. */
export async function askForMissed(
  { store, clock, readOrder }: PutBackDeps,
  missed: readonly Missed[],
  signal: AbortSignal,
): Promise<number> {
  let found = 0;
  for (const { outbox_id: outboxId, order_id: orderId, reference, read_seq: readSeq } of missed) {
    try {
      await readOrder(orderId, { cause: 'put-back', priority: 'pull', signal });
    } catch (error) {
      // It is answered for, though not so that it can be read.
      if (isUnreadable(error)) continue;
      if (!isNotFound(error)) throw error;
      const lost = { outboxId, orderId, reference, readSeq };
      await store.transaction((tx) => addLost(tx, [lost], clock.now()));
      found += 1;
    }
  }
  return found;
}
