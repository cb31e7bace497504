/**
 * Decisions of a minute in which everything that waits is left to changed rules, and packings
 * arrive as they do on the busiest day.
 */
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '../../../src/lib/clock.ts';
import { openReader } from '../../../src/store/connection.ts';
import type { LoopFigures, YearDaemon } from './daemon.ts';
import { FIRST_NEW_DELIVERY, type Shop } from './shop.ts';

/** Deliveries that are packed, unless so many of them are undecided: none waits for long then. */
const PACKED_PER_SECOND = 5;
const QUEUE_MAX = 50;
const LOOK_MS = 100;

export interface Minute {
  readonly decisions: number;
  /** Decisions among them of deliveries that were packed meanwhile. */
  readonly packed: number;
  readonly loop: LoopFigures;
}

export async function measureMinute(
  { daemon, shop, clock }: { daemon: YearDaemon; shop: Shop; clock: Clock },
  dataDir: string,
  seconds: number,
): Promise<Minute> {
  const reader = openReader(join(dataDir, 'mirror.db'), { busyTimeoutMs: 5_000 });
  const last =
    reader.prepare<[], number>('select max(decision_id) from decision').pluck().get() ?? 0;
  const decided = reader
    .prepare<[number], number>('select count(*) from decision where decision_id > ?')
    .pluck();
  const ofPacked = reader
    .prepare<[], number>(
      `select count(*) from evaluation where order_delivery_id >= ${FIRST_NEW_DELIVERY}`,
    )
    .pluck();
  const before = ofPacked.get() ?? 0;
  const packedSoFar = () => (ofPacked.get() ?? 0) - before;
  let placed = 0;
  const loop = await daemon.watched(async () => {
    const from = clock.monotonic();
    for (let at = from; at < from + seconds * 1_000; at = clock.monotonic()) {
      const wanted = Math.floor(((at - from) * PACKED_PER_SECOND) / 1_000);
      const count = Math.min(wanted - placed, QUEUE_MAX - (placed - packedSoFar()));
      if (count > 0) {
        await shop.ask({ pack: await shop.ask({ place: count }) });
        placed += count;
      }
      await sleep(LOOK_MS);
    }
  });
  const [decisions, packed] = [decided.get(last) ?? 0, packedSoFar()];
  reader.close();
  return { decisions, packed, loop };
}
