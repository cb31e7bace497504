/**
 * A relay in a process of its own, for the test that kills it: publishes messages to an endpoint,
 * says so, and sends until it dies. Arguments: state file, URL of the receiver, number of messages.
 */

import { systemClock } from '../../../src/lib/clock.ts';
import { silentLogger } from '../../../src/lib/log.ts';
import { systemRandom } from '../../../src/lib/random.ts';
import { webhookFaultSchema } from '../../../src/reference/control/fault-knobs.ts';
import { createRelay } from '../../../src/reference/relay/relay.ts';

const [statePath = '', url = '', count = '0'] = process.argv.slice(2);
const relay = createRelay({
  clock: systemClock(),
  wallClock: systemClock(),
  random: systemRandom(),
  log: silentLogger(),
  statePath,
  faults: webhookFaultSchema.parse({}),
});
relay.createEndpoint({ url });
for (let number = 0; number < Number(count); number += 1) relay.publish('ping', { ping: number });
process.stdout.write('published\n');
await relay.idle();
