/**
 * The reference service: the whole remote side in one process, built from the wire contract only.
 * It replaces the customer's service in the demo, in tests and on a developer's machine.
 *
 * It has three listeners, on loopback: the service (V1 and V2 on one port), the relay with its
 * portal, and the control API. They share one world, one clock and one set of knobs, which may
 * change at run time. The world is not kept on disk: the same seed gives the same world again. The
 * relay's endpoints and queue survive a stop in a file of their own, when one is named.
 *
 * What can go wrong: a port is taken (the start fails, nothing stays open), or the host is not
 * loopback (refused: this service has no defences, and random secrets are its only lock).
 */
import { isDeepStrictEqual } from 'node:util';
import type { FastifyInstance } from 'fastify';
import type { Clock } from '../lib/clock.ts';
import { ConfigError, RefusedError } from '../lib/errors.ts';
import { createHttpServer, listenOn } from '../lib/http-server.ts';
import type { Logger } from '../lib/log.ts';
import { type Random, systemRandom } from '../lib/random.ts';
import { createKnobStore, type KnobStore } from './control/knob-store.ts';
import type { Knobs } from './control/knobs.ts';
import { createControl } from './control/server.ts';
import { createEventVoice } from './dialect/events.ts';
import { createEdge, type Edge, type EdgeDeps } from './edge/edge.ts';
import { type Credentials, createKeyRing, type KeyRing } from './keys.ts';
import { type Past, writeHistory } from './life/history.ts';
import { createLife } from './life/life.ts';
import { installDescriptions } from './openapi/server.ts';
import { createPortal } from './portal/portal.ts';
import { createRelay, type Relay } from './relay/relay.ts';
import { startRelayServer } from './relay/server.ts';
import { installV1, keyOfRequest, V1_PREFIX, v1Routes } from './v1/server.ts';
import { createPageTokens } from './v2/pages.ts';
import { createPdm, type Pdm } from './v2/pdm/pdm.ts';
import { v2Routes } from './v2/routes.ts';
import { installV2, V2_PREFIX } from './v2/server.ts';
import type { EventSink } from './world/events.ts';
import { createWorld, type World } from './world/world.ts';

const RELAY_TOKEN_BYTES = 24;

export interface ReferenceOptions {
  /** Loopback address that the servers listen on. */
  readonly host: string;
  /** Ports of the servers; 0 means any free port. */
  readonly ports: { readonly service: number; readonly relay: number; readonly control: number };
  readonly knobs: Knobs;
  readonly clock: Clock;
  /** Real time, which the relay signs; `clock` unless that runs faster. */
  readonly wallClock?: Clock;
  readonly log: Logger;
  /** Source of tokens and secrets; the system's randomness unless given. */
  readonly secrets?: Random;
  /** Sink that gets every event besides the relay. */
  readonly events?: EventSink;
  /** File that keeps the relay's endpoints, queue and history; absent: they are in memory. */
  readonly relayState?: string | undefined;
  /** Orders before those of every world; absent: there are none. */
  readonly past?: Past | undefined;
}

export interface Reference {
  readonly serviceUrl: string;
  readonly v1Url: string;
  readonly v2Url: string;
  readonly relayUrl: string;
  readonly controlUrl: string;
  /** Bearer token of the relay's management API. */
  readonly relayToken: string;
  /** Credentials by the name of the key in the knobs. */
  readonly credentials: Readonly<Record<string, Credentials>>;
  readonly knobs: KnobStore;
  readonly world: World;
  readonly pdm: Pdm;
  readonly keys: KeyRing;
  readonly edge: Edge;
  readonly relay: Relay;
  close(): Promise<void>;
}

const LOOPBACK = /^(?:127\.\d+\.\d+\.\d+|::1|localhost)$/;

function requireLoopback(host: string): void {
  if (LOOPBACK.test(host)) return;
  throw new ConfigError('reference.public_host', `${host} is not a loopback address`, {
    hint: 'The reference service listens on 127.0.0.1, ::1 or localhost only.',
  });
}

/** Makes a sink that publishes each event to several sinks. */
function publishTo(sinks: readonly (EventSink | undefined)[]): EventSink {
  return {
    publish(...event) {
      for (const sink of sinks) sink?.publish(...event);
    },
  };
}

/**
 * Wraps the relay as a sink: an event that it refuses as too large is logged and lost, and no order
 * with it.
 */
function relayOrLog(relay: EventSink, log: Logger): EventSink {
  return {
    publish(type, ...event) {
      try {
        relay.publish(type, ...event);
      } catch (error) {
        if (!(error instanceof RefusedError)) throw error;
        log.warn({ type, reason: error.message }, 'the relay refused an event');
      }
    },
  };
}

/** Builds all parts, before anything listens. */
function compose(options: ReferenceOptions) {
  const { clock, wallClock = clock, secrets = systemRandom() } = options;
  const log = options.log.child({ room: 'reference' });
  const store = createKnobStore(options.knobs);
  const knobs = store.current;
  const relay = createRelay({
    clock,
    wallClock,
    random: secrets,
    log,
    faults: knobs().webhooks,
    statePath: options.relayState,
  });
  const worldDeps = {
    events: createEventVoice(knobs, publishTo([options.events, relayOrLog(relay, log)])),
    clock,
    knobs,
  };
  const world = createWorld(worldDeps);
  writeHistory(world, worldDeps, options.past);
  const keys = createKeyRing({ knobs, clock, secrets });
  const life = createLife({ world, clock, knobs });
  const keyOf: EdgeDeps['keyOf'] = (request) => keyOfRequest(keys, request)?.name;
  const edge = createEdge({ clock, knobs, keyOf });
  const portal = createPortal({
    clock: wallClock,
    random: secrets,
    onRefused: (reason) =>
      edge.mistake('POST', '/portal/session', 410, `The portal link is ${reason}`),
  });
  const pdm = createPdm(world.catalog, clock);
  const lifetime = (): number => knobs().paging.tokenLifetime;
  const pageTokens = createPageTokens({ clock, random: secrets, lifetime });
  const relayToken = secrets.bytes(RELAY_TOKEN_BYTES).toString('base64url');
  store.onChange((now, before) => {
    edge.faults.set(now.faults);
    life.hasten();
    // Unchanged faults are not set again, because the relay would begin their draws again.
    if (!isDeepStrictEqual(now.webhooks, before.webhooks)) relay.setFaults(now.webhooks);
  });
  return {
    log,
    clock,
    store,
    knobs,
    relay,
    relayToken,
    portal,
    world,
    keys,
    life,
    edge,
    pdm,
    pageTokens,
  };
}

type Parts = ReturnType<typeof compose>;

async function createService(parts: Parts): Promise<FastifyInstance> {
  const { log, edge, world, keys, knobs, clock, pdm, pageTokens: tokens, portal } = parts;
  const portalLink = portal.mintLink;
  const v1 = { world, keys, knobs, clock, portalLink };
  const v2 = { pdm, tokens, keys, portalLink };
  const service = createHttpServer(log);
  edge.install(service);
  await installV1(service, v1);
  await installV2(service, v2);
  installDescriptions(service, {
    knobs,
    v1: { prefix: V1_PREFIX, routes: v1Routes(v1) },
    v2: { prefix: V2_PREFIX, routes: v2Routes(v2) },
  });
  return service;
}

/** Starts the listeners and the life of the world; resolves when all of them answer. */
export async function startReference(options: ReferenceOptions): Promise<Reference> {
  const { host, ports } = options;
  requireLoopback(host);
  const parts = compose(options);
  const { log, store, relay, relayToken, portal, world, keys, life, edge, pdm } = parts;
  await using opened = new AsyncDisposableStack();
  opened.defer(() => relay.close());
  opened.defer(() => life.stop());
  const service = await createService(parts);
  opened.defer(() => service.close());
  const { url } = await listenOn(service, host, ports.service);
  const relayServer = await startRelayServer({
    relay,
    portal,
    host,
    log,
    port: ports.relay,
    authToken: relayToken,
  });
  opened.defer(() => relayServer.close());
  life.start();
  const control = createControl(log, { ...parts, knobs: store });
  opened.defer(() => control.close());
  const { url: controlUrl } = await listenOn(control, host, ports.control);
  log.info({ url, relayUrl: relayServer.url, controlUrl }, 'reference service listens');
  const running = opened.move();
  return {
    serviceUrl: url,
    v1Url: url + V1_PREFIX,
    v2Url: url + V2_PREFIX,
    relayUrl: relayServer.url,
    controlUrl,
    credentials: keys.credentials(),
    relayToken,
    knobs: store,
    world,
    pdm,
    keys,
    edge,
    relay,
    close: () => running.disposeAsync(),
  };
}
