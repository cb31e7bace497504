/** The inbox as the configuration describes it: listener and refresher. */
import type { Config } from '../config/schema.ts';
import type { RouteGroup } from '../console/api.ts';
import { eventRoutes } from '../console/event-routes.ts';
import { createAccess } from '../inbox/access.ts';
import { createJournal, type Journal } from '../inbox/journal.ts';
import { createListener, LISTENER_LIMITS } from '../inbox/listener.ts';
import { createLossMeter, type LossMeter, type LossMeterLimits } from '../inbox/loss/loss-meter.ts';
import { createMeter, type Meter } from '../inbox/meter.ts';
import { createEventOperations, replayAfterUpgrade } from '../inbox/operations.ts';
import { createRefresher, type Refresher } from '../inbox/refresher.ts';
import { createVerifier } from '../inbox/signature.ts';
import type { Random } from '../lib/chance.ts';
import { type Clock, untilAborted } from '../lib/clock.ts';
import type { RefusedError } from '../lib/errors.ts';
import type { Logger } from '../lib/log.ts';
import type { Scrubber } from '../lib/secret.ts';
import { ORDER_UNREADABLE } from '../mirror/refresh.ts';
import { endIncidents, openIncident } from '../store/incidents.ts';
import type { SpaceWatch } from '../store/space.ts';
import type { Store } from '../store/store.ts';
import type { ReadOrder } from '../sync/read-order.ts';
import { openPortal } from './commands/portal.ts';
import type { Service } from './service.ts';
import type { Worker } from './supervisor.ts';

export interface Inbox {
  readonly listener: Worker;
  readonly refresher: Refresher;
  readonly meter: Meter;
  readonly lossMeter: LossMeter;
  /** What a person may ask of it. */
  readonly routes: RouteGroup;
  /** The address that events are received at, once the listener has started. */
  readonly url: Promise<string | undefined>;
}

export interface InboxDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly scrubber: Scrubber;
  readonly service: Service;
  readonly readOrder: ReadOrder;
  readonly space: SpaceWatch;
  /** For the refresher's own loop. */
  readonly refresherClock: Clock;
  /** A socket that the service manager keeps open for us. */
  readonly socket: number | undefined;
  /** An order was read again: its deliveries may be due. */
  readonly onRead: (orderId: number) => void;
}

/** How long the listener may take to answer what is on its way. */
const DRAIN_MS = 5_000;

/** An order that the service does not have (any more): nothing to read, somebody should know. */
async function recordRefused(
  { store, clock }: InboxDeps,
  orderId: number,
  { code, message, hint }: RefusedError,
): Promise<void> {
  const detail = { code, message, ...(hint === undefined ? {} : { hint }) };
  const incident = { ...ORDER_UNREADABLE, key: String(orderId), detail };
  await openIncident(store.db, incident, clock.now());
}

/** Looks at what an older program could only store before it reads orders. */
function afterUpgrade(refresher: Refresher, { store, clock, log }: InboxDeps): Refresher {
  return {
    ...refresher,
    async run(signal) {
      const events = await replayAfterUpgrade(store, clock);
      if (events > 0) log.info({ events }, 'stored events are understood now');
      await refresher.run(signal);
    },
  };
}

/** The listener as a worker, and where it listens once it has started. */
function listenerWorker(
  config: Config['listener'],
  deps: InboxDeps & { readonly journal: Journal; readonly meter: Meter },
): { readonly worker: Worker; readonly url: Promise<string | undefined> } {
  const { clock, log, journal, meter, space } = deps;
  const verifier = createVerifier(
    config.secrets.map(({ secret, notAfter }, index) => ({
      name: `listener.secrets[${index}]`,
      secret,
      notAfter: notAfter ?? undefined,
    })),
    config.tolerance,
  );
  const access = createAccess({
    ...config.access,
    path: config.path,
    header: config.access.header.toLowerCase(),
    proxyHeader: config.access.proxyHeader.toLowerCase(),
  });
  const limits = {
    ...LISTENER_LIMITS,
    bodyBytesMax: config.bodyMax,
    connectionsMax: config.connectionsMax,
    headersMs: config.headersTimeout,
    requestMs: config.requestTimeout,
    keepAliveMs: config.keepAlive,
  };
  const writable = (): boolean => space.allows('receive');
  const started = Promise.withResolvers<string | undefined>();
  const worker: Worker = {
    name: 'listener',
    async run(signal) {
      const parts = { access, verifier, journal, meter, clock, log, writable };
      const server = createListener(parts, limits);
      const at = deps.socket === undefined ? config : { fd: deps.socket };
      const { url } = await server.start(at).catch((error: unknown) => {
        started.resolve(undefined);
        throw error;
      });
      // Without the token that may follow: the path is a secret then.
      const base = url ?? 'unix socket ';
      const inherited = deps.socket !== undefined;
      log.info({ url: `${base}${config.path}`, inherited }, 'listening for events');
      started.resolve(base + access.path);
      await untilAborted(signal);
      await server.close(DRAIN_MS);
    },
  };
  return { worker, url: started.promise };
}

function lossLimits(config: Config['lossMeter']): LossMeterLimits {
  return {
    lateAfterMs: config.lateAfter,
    graceMs: config.grace,
    windowMs: config.window,
    sweepMsMin: config.sweepMin,
    sweepMsMax: config.sweepMax,
    silentMs: config.silentAfter,
    silentChanges: config.silentChanges,
    silentMsMax: config.silentMax,
  };
}

export function createInbox({ listener: config, lossMeter }: Config, deps: InboxDeps): Inbox {
  const { store, clock, random } = deps;
  const log = deps.log.child({ room: 'inbox' });
  const refresher = createRefresher({
    ...{ store, random, log, clock: deps.refresherClock },
    readOrder: async (orderId, request) => {
      await deps.readOrder(orderId, request);
      // It was only early before: the service shows the order now.
      await endIncidents(store.db, ORDER_UNREADABLE, [String(orderId)], clock.now());
    },
    onRead: deps.onRead,
    onRefused: (orderId, error) => recordRefused(deps, orderId, error),
  });
  const meter = createMeter(clock, log);
  const journal = createJournal({ store, clock, meter, onAccepted: () => refresher.nudge() });
  const { worker, url } = listenerWorker(config, { ...deps, log, journal, meter });
  return {
    ...{ listener: worker, meter, url },
    refresher: afterUpgrade(refresher, { ...deps, log }),
    routes: eventRoutes({
      events: createEventOperations({ store, clock, nudge: () => refresher.nudge() }),
      async openPortal(asker) {
        const link = await openPortal(deps, asker);
        // Taken out of every log line that it might get into.
        deps.scrubber.register(link.url.reveal(), link.url.name);
        return link;
      },
    }),
    lossMeter: createLossMeter({ store, clock, log, meter }, lossLimits(lossMeter)),
  };
}
