/**
 * A machine as its units run it, in one process: the daemon while it holds the lease, else the
 * standby, and the daemon again once that has taken over.
 * `node machine-child.ts <selvedge.yaml> <clock's step> <delay> <service's port> <its tap>`
 */
import { flushCompileCache, syncBuiltinESMExports } from 'node:module';
import net from 'node:net';

import { requireConfig } from '../../../src/config/load.ts';
import { openDaemon } from '../../../src/daemon/daemon.ts';
import { preferMemory } from '../../../src/daemon/lifecycle.ts';
import { runStandby } from '../../../src/daemon/standby/waiting.ts';
import { serviceManager } from '../../../src/daemon/systemd/manager.ts';
import { EXIT, exitCodeOf, toError } from '../../../src/lib/errors.ts';
import { createLogger } from '../../../src/lib/log.ts';
import { systemRandom } from '../../../src/lib/random.ts';
import { createScrubber } from '../../../src/lib/secret.ts';
import { steppedClock } from '../../plane/campaign/stepped-clock.ts';

/**
 * Leads connections to one port to another one: both machines have the service at one address, and
 * each has a tap of its own before it.
 */
function divert(from: string, to: string): void {
  const { connect } = net;
  const diverted = (...args: readonly unknown[]): unknown => {
    const [options] = args;
    const isThere = typeof options === 'object' && options !== null && 'port' in options;
    if (!isThere || String(options.port) !== from) return Reflect.apply(connect, net, args);
    return Reflect.apply(connect, net, [{ ...options, port: Number(to) }, ...args.slice(1)]);
  };
  Object.assign(net, { connect: diverted });
  syncBuiltinESMExports();
}

const LOOK_EVERY_MS = 500;
const RETRY_MS = 200;
/** Ends that the units answer by a start. */
const EXPECTED: readonly number[] = [EXIT.superseded.code, EXIT.temporary.code];

const [file = '', stepMs = '0', quietMs = '0', service = '', tap = ''] = process.argv.slice(2);
divert(service, tap);
const clock = steppedClock(Number(stepMs));
const random = systemRandom();
const scrubber = createScrubber();
const { config: written } = requireConfig({ file, env: {}, scrubber, absent: 'none' });
const outbox = { ...written.outbox, quietTime: Number(quietMs), lookEvery: LOOK_EVERY_MS };
const config = { ...written, outbox };
const log = createLogger({
  level: 'info',
  format: 'json',
  scrubber,
  write: (line) => process.stdout.write(line),
});
const manager = serviceManager({}, process.pid, log);
const { signal } = new AbortController();

const tell = (message: object): void => void process.send?.(message);

/** Runs one of them to its end; gives the exit code that its process would have. */
async function codeOf(run: () => Promise<unknown>): Promise<number> {
  try {
    await run();
    return EXIT.takenOver.code;
  } catch (thrown) {
    const error = toError(thrown);
    const code = exitCodeOf(error);
    log.warn({ code, err: error.message }, 'ended');
    if (!EXPECTED.includes(code)) tell({ failure: `${code}: ${error.stack ?? error.message}` });
    return code;
  }
}

async function runDaemon(): Promise<void> {
  const daemon = await openDaemon(config, { clock, random, log, scrubber, manager });
  void daemon.listenerUrl.then((url) => tell({ role: 'holder', url }));
  await daemon.run(signal);
}

// Written now: the process may be killed at any time.
flushCompileCache();
preferMemory();
tell({ role: 'none' });
for (;;) {
  const code = await codeOf(runDaemon);
  if (code !== EXIT.superseded.code) {
    await clock.sleep(RETRY_MS);
    continue;
  }
  tell({ role: 'standby' });
  while (
    (await codeOf(() => runStandby(config, { clock, random, log, manager }, signal))) !==
    EXIT.takenOver.code
  ) {
    await clock.sleep(RETRY_MS);
  }
  tell({ role: 'none' });
}
