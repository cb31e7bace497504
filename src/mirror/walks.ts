/** Result of the last sound walk over the orders: it saw all orders from some number up. */
import { z } from 'zod';
import type { Clock } from '../lib/clock.ts';
import { tryParseJson } from '../lib/json.ts';
import { readState, writeState } from '../store/state.ts';
import type { Db, Tx } from '../store/store.ts';

const WALK = z.object({
  /** Minimum `read_seq` of the orders that the walk saw. */
  readSeq: z.int(),
  /** Start of the walk, epoch ms. */
  startedAt: z.number(),
  /** Lowest order number of the walk, which saw every order from there up; 0: all orders. */
  bottom: z.int(),
});

export type OrdersWalk = z.output<typeof WALK>;

const STREAMS = ['orders', 'ordersFull'] as const;

function keyOf(stream: (typeof STREAMS)[number]): string {
  return `${stream}_walk`;
}

export function writeWalk(
  tx: Tx,
  stream: (typeof STREAMS)[number],
  walk: OrdersWalk,
  clock: Clock,
): Promise<void> {
  return writeState(tx, keyOf(stream), JSON.stringify(walk), clock);
}

/** Last walks of both streams, as far as there were any. */
export async function readWalks(db: Db): Promise<OrdersWalk[]> {
  const texts = await Promise.all(STREAMS.map((stream) => readState(db, keyOf(stream))));
  return texts.flatMap((text) => WALK.safeParse(tryParseJson(text ?? '')).data ?? []);
}
