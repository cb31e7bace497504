/** The suite against a reference service in the same process, on a clock that does not wait. */

import { DIRECT } from '../../src/client/http/tunnel.ts';
import { createProbeClient } from '../../src/client/probe-client.ts';
import { TRANSPORT_DEFAULTS } from '../../src/client/transport.ts';
import { type Run, runCases } from '../../src/conformance/suite.ts';
import { manualClock, systemClock } from '../../src/lib/clock.ts';
import { silentLogger } from '../../src/lib/log.ts';
import { seededRandom } from '../../src/lib/random.ts';
import { parseKnobs } from '../../src/reference/control/knob-store.ts';
import { type Reference, startReference } from '../../src/reference/reference.ts';

const WORLD = { brands: 3, styles: 40, colors: 2, sizes: 4, accounts: 2, orders: 160 };
/** Everything happens as a rule says and not by chance. */
const LIFE = { splitShare: 0, cancelShare: 0, refundShare: 1, ordersPerMinute: 0 };

/** Runs every case, the writing ones as well, against a service with these knobs. */
export async function runInProcess(
  knobs: Record<string, unknown> = {},
  key = 'plain',
  may = { writes: true, limits: true },
): Promise<{ run: Run; journal: ReturnType<Reference['edge']['journal']['list']> }> {
  const clock = manualClock();
  const reference = await startReference({
    host: '127.0.0.1',
    ports: { service: 0, relay: 0, control: 0 },
    knobs: parseKnobs({ world: WORLD, life: LIFE, strict: true, ...knobs }),
    clock,
    log: silentLogger(),
    secrets: seededRandom(1),
  });
  try {
    const { clientId = '', clientSecret = '' } = reference.credentials[key] ?? {};
    const side = {
      ...{ key: undefined, clientId, clientSecret, secretMember: 'clientSecret' },
      ...{ header: 'X-Service-Authorization', scheme: 'plain' as const },
    };
    // Its deadlines are of the real clock: the other one stands still while a request is under way.
    const limits = { gapMs: 0, connections: 40, bodyBytesMax: 16_777_216 };
    const { deadlines } = TRANSPORT_DEFAULTS;
    await using asker = createProbeClient({ ...DIRECT, deadlines, ...limits }, systemClock());
    const run = await runCases({
      account: {
        v1: { ...side, baseUrl: reference.v1Url, idMember: 'clientID' },
        v2: { ...side, baseUrl: reference.v2Url, idMember: 'clientId' },
        readTokenHeader: 'X-Service-ReadToken',
        readToken: reference.credentials.readOnly?.readToken,
        priced: key === 'b2bDetailed',
      },
      passing: { asker, now: clock.now, loginSpacingMs: 6_100, wait: (ms) => clock.advance(ms) },
      ...may,
    });
    return { run, journal: reference.edge.journal.list() };
  } finally {
    await reference.close();
  }
}
