/** A relay server with its portal, on a relay whose clock stands still. */
import { onTestFinished } from 'vitest';
import { type ManualClock, manualClock } from '../../../src/lib/clock.ts';
import { silentLogger } from '../../../src/lib/log.ts';
import { seededRandom } from '../../../src/lib/random.ts';
import { createPortal, type Portal } from '../../../src/reference/portal/portal.ts';
import { startRelayServer } from '../../../src/reference/relay/server.ts';
import { type Bench, startBench } from '../relay/support.ts';

export interface PortalBench extends Bench {
  readonly portal: Portal;
  /** People's time: links and sessions. */
  readonly wall: ManualClock;
  readonly url: string;
  /** Why links were refused, in order. */
  readonly refused: readonly string[];
}

export async function startPortal(): Promise<PortalBench> {
  const bench = await startBench();
  const wall = manualClock();
  const refused: string[] = [];
  const portal = createPortal({
    clock: wall,
    random: seededRandom(2),
    onRefused: (reason) => refused.push(reason),
  });
  const { url, close } = await startRelayServer({
    relay: bench.relay,
    portal,
    host: '127.0.0.1',
    port: 0,
    log: silentLogger(),
    authToken: 'testsk_relay',
  });
  onTestFinished(close);
  return { ...bench, portal, wall, url, refused };
}
