/** The console's server in this process, behind a public address; the daemon's side beside it. */
import { createEntrance, type People } from '../../src/console/access/entrance.ts';
import { type ProxySettings, secretDigestOf } from '../../src/console/access/proxy.ts';
import { createAnswers } from '../../src/console/answers.ts';
import { createConsoleApp } from '../../src/console/server.ts';
import { manualClock } from '../../src/lib/clock.ts';
import { createLogger } from '../../src/lib/log.ts';
import { seededRandom } from '../../src/lib/random.ts';
import { createScrubber } from '../../src/lib/secret.ts';
import { pauseActs } from '../../src/ops/surface.ts';
import type { Store } from '../../src/store/store.ts';
import type { Keep } from '../../src/store/transaction/keep.ts';
import { bind } from '../../src/surface/perform.ts';
import { pausesIn } from '../support/pauses.ts';
import { temporaryStore } from '../support/store.ts';
import { CONSOLE_SETTINGS, NO_LOOKUPS } from './made-up.ts';

export const PROXY_SECRET = 'a-secret-of-the-proxy-alone';

/** Headers of a proxy that signs people in. */
export const PROXY: ProxySettings = {
  userHeader: 'x-forwarded-email',
  secretHeader: 'x-selvedge-proxy-secret',
  secretDigest: secretDigestOf(PROXY_SECRET),
};

const NOBODY: People = { operators: [], proxyRole: null };
const IDLE_MS = 7_200_000;

export async function startBehindProxy(
  people = NOBODY,
  proxy: ProxySettings | null = null,
  publicUrl = 'https://selvedge.example.com',
  keep?: Keep,
) {
  const store = await temporaryStore();
  const clock = manualClock();
  const lasts = { sessionMs: 9e6, sessionIdleMs: IDLE_MS };
  const entrance = createEntrance({ store, clock, random: seededRandom(1), people, ...lasts });
  const logged: string[] = [];
  const scrubber = createScrubber();
  const write = (line: string): void => void logged.push(line);
  const log = createLogger({ level: 'warn', format: 'json', scrubber, write });
  const pauses = await pausesIn({ store, clock });
  const acts = keep ? bind(pauseActs, () => pauses) : [];
  const parts = { store, clock, log, entrance, sessionIdleMs: IDLE_MS };
  const answer = createAnswers({ ...parts, acts, lookups: NO_LOOKUPS, keep });
  const settings = {
    ...CONSOLE_SETTINGS,
    ...{ publicUrl, sessionIdleMs: IDLE_MS, proxy },
  };
  const snapshot: Store['snapshot'] = (read) => store.snapshot(read);
  const deps = { db: store.db, snapshot, clock, log, settings, ask: answer, beats: () => [] };
  let stalledAt: number | undefined;
  const app = createConsoleApp({
    ...deps,
    rulesMode: () => 'live',
    daemonSeenAt: () => stalledAt ?? clock.monotonic(),
  });
  const call = (path: string, headers: Record<string, string>, payload?: string) =>
    app.inject({
      method: payload === undefined ? 'GET' : 'POST',
      url: path,
      headers: { host: 'selvedge.example.com', ...headers },
      ...(payload !== undefined && { payload }),
    });
  /** From now on the daemon's loop answers no beat. */
  const stall = (): void => {
    stalledAt = clock.monotonic();
  };
  return { store, clock, entrance, call, logged, stall };
}
