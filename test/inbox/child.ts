/**
 * An inbox as a process of its own, to be killed: `node child.ts <database> [fd]`. Listens on a
 * free port, or on an inherited socket, and writes one line when it is ready. SIGTERM drains it.
 */
import { createAccess, createVerifier } from '../../src/inbox/access.ts';
import { createEventStore } from '../../src/inbox/event-store.ts';
import { createListener } from '../../src/inbox/listener.ts';
import { createMeter } from '../../src/inbox/meter.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { silentLogger } from '../../src/lib/log.ts';
import { Secret } from '../../src/lib/secret.ts';
import { openStore } from '../../src/store/store.ts';

const [path = '', fd] = process.argv.slice(2);
const clock = systemClock();
const log = silentLogger();
const { store } = await openStore({ path, busyTimeoutMs: 5_000 }, clock);
const meter = createMeter(clock, log);
const eventStore = createEventStore({ store, clock, meter, onAccepted: () => undefined });
const key = `whsec_${Buffer.alloc(24, 7).toString('base64')}`;
const verifier = createVerifier([{ name: 'current', secret: new Secret('current', key) }]);
const access = createAccess({ path: '/events' });
const writable = (): boolean => true;
const listener = createListener({ access, verifier, eventStore, meter, clock, log, writable });
const at = fd === undefined ? { host: '127.0.0.1', port: 0 } : { fd: Number(fd) };
const { url } = await listener.start(at);
process.once('SIGTERM', async () => {
  await listener.close(5_000);
  await store.close();
  process.exit(0);
});
process.stdout.write(`${JSON.stringify({ pid: process.pid, url })}\n`);
