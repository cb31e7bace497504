/** The parts of a pull, for tests and for a process of its own, which loads nothing else. */
import { createLoginGate, createSession } from '../../src/client/session.ts';
import { createTransport, TRANSPORT_DEFAULTS } from '../../src/client/transport.ts';
import { createV1Client } from '../../src/client/v1/client.ts';
import { VARIANT_LIST_DEFAULTS } from '../../src/client/v1/variants.ts';
import { createV2Client } from '../../src/client/v2/client.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { createOutages } from '../../src/lib/log/outages.ts';
import type { Logger } from '../../src/lib/log.ts';
import { systemRandom } from '../../src/lib/random.ts';
import { createScrubber, Secret } from '../../src/lib/secret.ts';
import type { Reference } from '../../src/reference/reference.ts';
import { createReadSequence } from '../../src/store/state.ts';
import type { SqliteStore } from '../../src/store/store.ts';
import { createVariantPages } from '../../src/sync/bulk/variant-pages.ts';
import { createSyncOperations } from '../../src/sync/operations.ts';
import { PULLS } from '../../src/sync/planner.ts';
import { ensureState } from '../../src/sync/run/open.ts';
import { type RunnerDeps, runStream } from '../../src/sync/run/run-stream.ts';
import type { Stream } from '../../src/sync/stream.ts';

export const DELETION_GUARD = { absolute: 1_000, share: 0.3 };

export interface SourceOptions {
  readonly mode?: 'stream' | 'pages';
  readonly pageRows?: number;
  readonly batchRows?: number;
  /** Rows in a page of V2's collections. */
  readonly resourceRows?: number;
  readonly follow?: 'token' | 'links';
  /** The window in which a body must make progress. */
  readonly idleMs?: number;
}

export type ServiceAddress = Pick<Reference, 'v1Url' | 'v2Url' | 'credentials'>;

/** The clients of a reference, quick to retry. */
export function clientsOf(reference: ServiceAddress, options: SourceOptions = {}) {
  const clock = systemClock();
  const deadlines = { ...TRANSPORT_DEFAULTS.deadlines };
  if (options.idleMs !== undefined) deadlines.idleMs = options.idleMs;
  const quick = { requestsPerSecond: 10_000, retryWaitsMs: [1, 2, 4, 8] };
  const transport = createTransport(
    { ...TRANSPORT_DEFAULTS, ...quick, deadlines },
    { clock, random: systemRandom(), scrubber: createScrubber() },
  );
  const [credentials] = Object.values(reference.credentials);
  if (!credentials) throw new Error('the reference has no key');
  const spacing = { lastLoginAt: () => undefined, recordLogin: () => undefined };
  const session = (url: string, idMember: string) =>
    createSession(
      {
        kind: 'login',
        url: `${url}/auth/login`,
        header: 'X-Service-Authorization',
        ...{ idMember, secretMember: 'clientSecret', tokenPointers: ['/data/token'] },
        clientId: credentials.clientId,
        clientSecret: new Secret('clientSecret', credentials.clientSecret),
      },
      { transport, clock, scrubber: createScrubber(), gate: createLoginGate(clock, spacing, 0) },
    );
  const { mode = 'stream', pageRows = 100, batchRows = 64 } = options;
  const { resourceRows = 50, follow = 'token' } = options;
  const v1 = createV1Client(
    {
      baseUrl: reference.v1Url,
      idempotencyHeader: undefined,
      seasonParameter: 'seasonName',
      variants: { ...VARIANT_LIST_DEFAULTS, mode, pageRows, batchRows },
    },
    { sender: session(reference.v1Url, 'clientID') },
  );
  const v2 = createV2Client(
    { baseUrl: reference.v2Url, paging: { pageRows: resourceRows, follow } },
    session(reference.v2Url, 'clientId'),
  );
  return { v1, v2, transport };
}

export type Clients = ReturnType<typeof clientsOf>;

export function runnerWith(store: SqliteStore, log: Logger): RunnerDeps {
  const clock = systemClock();
  return {
    ...{ store, clock, log },
    sequence: createReadSequence(store, clock),
    variants: createVariantPages({ store, clock }),
    outages: createOutages({ clock, log }, PULLS),
  };
}

/** Runs of streams on one store. */
export function runsOn(deps: RunnerDeps) {
  const { store } = deps;
  const never = new AbortController().signal;
  return {
    async run(stream: Stream) {
      await ensureState(store.db, stream.name, 0);
      return runStream(deps, stream, () => 0, never);
    },
    operations: (streams: readonly Stream[]) =>
      createSyncOperations({
        ...{ ...deps, streams },
        ...{ wakeUp: () => undefined, onAccepted: () => undefined },
      }),
    lastRun: (stream: string) =>
      store.db
        .selectFrom('sync_run')
        .selectAll()
        .where('stream', '=', stream)
        .orderBy('run_id', 'desc')
        .executeTakeFirstOrThrow(),
    state: (stream: string) =>
      store.db
        .selectFrom('stream_state')
        .selectAll()
        .where('stream', '=', stream)
        .executeTakeFirstOrThrow(),
  };
}
