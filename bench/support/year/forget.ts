/** How long the loop of a daemon stands still while an order is forgotten, and a while after. */
import { setTimeout as sleep } from 'node:timers/promises';
import { type CostsDeps, openLook, until } from './costs.ts';
import type { LoopFigures } from './daemon.ts';

const AFTER_MS = 5_000;

export async function measureForgetting(
  { daemon, shop, clock, dataDir }: Omit<CostsDeps, 'idleSeconds'>,
  orderId: number,
): Promise<LoopFigures> {
  await shop.ask({ ship: [orderId] });
  const look = openLook(dataDir);
  await until(
    clock,
    'the end of an order',
    () => look.isCompleted(orderId) && look.isRead(orderId),
  );
  look.close();
  const order = `id:${orderId}`;
  const given = { order, again: order };
  return daemon.watched(async () => {
    const body = { given, actor: 'bench', reason: 'measured' };
    await daemon.local('/api/acts/orders.forget', body);
    await sleep(AFTER_MS);
  });
}
