/** A relay on a clock that stands still, and a receiver; both end with the test. */
import { onTestFinished } from 'vitest';
import { type ManualClock, manualClock, systemClock } from '../../../src/lib/clock.ts';
import { silentLogger } from '../../../src/lib/log.ts';
import { seededRandom } from '../../../src/lib/random.ts';
import { webhookFaultSchema } from '../../../src/reference/control/fault-knobs.ts';
import { createRelay, type Relay, type RelayOptions } from '../../../src/reference/relay/relay.ts';
import { type Receiver, startReceiver } from './receiver.ts';

export interface Bench {
  readonly clock: ManualClock;
  readonly relay: Relay;
  readonly receiver: Receiver;
}

export const DELIVERY = { salesOrderDelivery: { orderDeliveryId: 7, status: 'pending' } };

export function startRelay(clock = manualClock(), options: Partial<RelayOptions> = {}): Relay {
  const relay = createRelay({
    clock,
    wallClock: systemClock(),
    // No jitter: the schedule is exact.
    random: { ...seededRandom(7), next: () => 0.5 },
    log: silentLogger(),
    faults: webhookFaultSchema.parse({}),
    ...options,
  });
  onTestFinished(() => relay.close());
  return relay;
}

export async function startBench(options: Partial<RelayOptions> = {}): Promise<Bench> {
  const clock = manualClock();
  const receiver = await startReceiver();
  onTestFinished(() => receiver.close());
  return { clock, receiver, relay: startRelay(clock, options) };
}

/** Steps the clock and lets everything that fell due arrive. */
export async function pass({ clock, relay }: Pick<Bench, 'clock' | 'relay'>, ms: number) {
  await clock.advance(ms);
  await relay.idle();
}
