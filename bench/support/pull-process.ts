/**
 * A whole daemon that pulls the stock once, in a process of its own, so that its memory and its
 * event loop are its own. Tells its parent what it saw.
 */
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { monitorEventLoopDelay, performance } from 'node:perf_hooks';
import { requireConfig } from '../../src/config/load.ts';
import { openDaemon } from '../../src/daemon/daemon.ts';
import { systemRandom } from '../../src/lib/chance.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { silentLogger } from '../../src/lib/log.ts';
import { createScrubber, Secret } from '../../src/lib/secret.ts';

const [folder = '', v1Url = '', clientId = '', clientSecret = '', paging = 'stream'] =
  process.argv.slice(2);
/** Only the stock is measured. */
const OTHER_STREAMS = ['brands', 'freight', 'seasons', 'season', 'orders', 'ordersFull'];
const set = (path: string, value: unknown) => ({ path, value });
const { config } = requireConfig({
  env: {},
  overrides: [
    ...OTHER_STREAMS.map((name) => set(`streams.${name}.enabled`, false)),
    set('dataDir', folder),
    set('rules.directory', new URL('../../config/rules', import.meta.url).pathname),
    set('service.v1.baseUrl', v1Url),
    set('service.v1.login.clientId', clientId),
    set('service.v1.login.clientSecret', new Secret('clientSecret', clientSecret)),
    set('service.v1.paging', paging),
    set('service.limits.requestsPerSecond', 10_000),
    set('service.limits.loginSpacing', '0s'),
    set('listener.port', 0),
    set('local.port', 0),
    set('streams.stock.fuse.share', 1),
    set('streams.stock.jitter', '0s'),
    set('streams.stock.schedule', '* * * * * *'),
  ],
});

const stop = new AbortController();
const delay = monitorEventLoopDelay({ resolution: 5 });
let seconds = 0;
const daemon = await openDaemon(config, {
  clock: systemClock(),
  random: systemRandom(),
  log: silentLogger(),
  scrubber: createScrubber(),
  events: {
    runEnded(result) {
      seconds = (performance.now() - startedAt) / 1_000;
      delay.disable();
      stop.abort(result);
    },
  },
});
delay.enable();
const startedAt = performance.now();
const cpu = process.cpuUsage();
await daemon.run(stop.signal);
const used = process.cpuUsage(cpu);
const peakKiB = Number(/VmHWM:\s+(\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]);
const { outcome, changed } = stop.signal.reason;
process.send?.({
  ...{ outcome, changed, seconds },
  cpuSeconds: (used.user + used.system) / 1e6,
  peakMiB: peakKiB / 1_024,
  delayP99Ms: delay.percentile(99) / 1e6,
  delayMaxMs: delay.max / 1e6,
  databaseMiB: statSync(join(folder, 'mirror.db')).size / 2 ** 20,
});
process.disconnect?.();
