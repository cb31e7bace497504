/** The suite against a reference service in the same process, on a clock that does not wait. */
import { seededRandom } from '../../src/lib/chance.ts';
import { manualClock } from '../../src/lib/clock.ts';
import { silentLogger } from '../../src/lib/log.ts';
import { parseKnobs } from '../../src/reference/control/knob-store.ts';
import { type Reference, startReference } from '../../src/reference/reference.ts';
import { type Run, runCases } from './suite.ts';

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
    const run = await runCases({
      account: {
        v1: reference.v1Url,
        v2: reference.v2Url,
        clientId,
        clientSecret,
        readToken: reference.credentials.readOnly?.readToken,
        priced: key === 'b2bDetailed',
      },
      passing: { wait: (ms) => clock.advance(ms) },
      ...may,
    });
    return { run, journal: reference.edge.journal.list() };
  } finally {
    await reference.close();
  }
}
