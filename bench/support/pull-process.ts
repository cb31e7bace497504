/**
 * A whole daemon that pulls the stock, in a process of its own, so that its memory and its event
 * loop are its own. Tells its parent `{listenerUrl}` once it has started; told `{measure: true}`,
 * it begins to measure and answers `{isMeasuring: true}`; tells the figures when a pull has ended
 * (ask.ts asks for one), or so far when it is told `{read: true}`; ends with its parent. With
 * `console` it serves pages too, and `{listenerUrl}` has a `consoleLink` beside it.
 *
 * `node pull-process.ts <folder> <service> stream|pages [signing secret|-] [console]`
 */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { requireConfig } from '../../src/config/load.ts';
import { openDaemon } from '../../src/daemon/daemon.ts';
import { preferMemory } from '../../src/daemon/lifecycle.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { silentLogger } from '../../src/lib/log.ts';
import { systemRandom } from '../../src/lib/random.ts';
import { createScrubber } from '../../src/lib/secret.ts';
import { localFile } from '../../src/local-api/ask.ts';
import { startMeter } from './meters.ts';

const [folder = '', v1Url = '', paging = 'stream', signingSecret = '-', pages] =
  process.argv.slice(2);
const hasConsole = pages === 'console';
const FAR_FUTURE_MS = Date.UTC(9999, 0);
/** Only the stock is measured. */
const OTHER_STREAMS = ['brands', 'freight', 'seasons', 'season', 'orders', 'ordersFull'];

mkdirSync(folder, { recursive: true });

/** Keeps a secret in a file beside the configuration, and gives its reference. */
function kept(name: string, secret: string): { readonly file: string } {
  writeFileSync(join(folder, name), secret, { mode: 0o600 });
  return { file: name };
}

const rules = hasConsole ? 'rules' : join(import.meta.dirname, '../../config/rules');
const login = { clientId: 'bench', clientSecret: kept('client', 'a-secret-of-the-bench') };
const secrets = signingSecret === '-' ? [] : [{ secret: kept('signing', signingSecret) }];
// The names are those of 0.1.0, which every version reads: another commit is measured with them.
const written = {
  dataDir: '.',
  rules: { directory: rules },
  service: {
    v1: { baseUrl: v1Url, login, paging },
    limits: { requestsPerSecond: 10_000, loginSpacing: '0s' },
  },
  listener: { port: 0, secrets },
  local: { port: 0 },
  console: hasConsole ? { enabled: true, port: 0 } : {},
  streams: {
    ...Object.fromEntries(OTHER_STREAMS.map((name) => [name, { enabled: false }])),
    stock: { schedule: '0 0 1 1 *', jitter: '0s', deletionGuard: { share: 1 } },
  },
};
const file = join(folder, 'selvedge.yaml');
writeFileSync(file, JSON.stringify(written));
const { config } = requireConfig({ file, env: {} });

preferMemory();
const stop = new AbortController();
let meter = startMeter();
const daemon = await openDaemon(config, {
  clock: systemClock(),
  random: systemRandom(),
  log: silentLogger(),
  scrubber: createScrubber(),
  events: {
    runEnded: ({ outcome, changed }) => process.send?.({ outcome, changed, ...meter.read() }),
  },
});
void daemon.listenerUrl.then(async (listenerUrl) => {
  while (!existsSync(localFile(folder))) await sleep(10);
  const link = hasConsole ? await daemon.consoleLink('bench', 'approver') : undefined;
  process.send?.({ listenerUrl, consoleLink: link });
});
process.on('message', (message: { readonly measure?: true; readonly read?: true }) => {
  if (message.read) {
    process.send?.({ soFar: meter.read(), residentMiB: process.memoryUsage().rss / 2 ** 20 });
    return;
  }
  meter = startMeter();
  process.send?.({ isMeasuring: true });
});
process.on('disconnect', () => stop.abort(new Error('the parent has ended')));
// Not at the start, as it would.
await daemon.store.db
  .insertInto('stream_state')
  .values({
    ...{ stream: 'stock', due_at: FAR_FUTURE_MS, last_run_id: null, complete_at: null },
    ...{ complete_rows: null, last_error: null, requested: null },
  })
  .execute();
await daemon.run(stop.signal);
