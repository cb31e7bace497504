/**
 * The reference service: the whole remote side in one process, built from the wire contract only.
 * It stands where the customer's service stands: in the demo, in tests, at an operator's desk.
 *
 * Three listeners, on loopback: the service (V1 and V2 on one port), the relay with its portal, and
 * the control API. They share one world, one clock and one set of knobs that may change at run
 * time. Nothing here is kept on disk: a new start with the same seed is the same world again.
 *
 * What can go wrong: a port that is taken (the start fails, nothing stays open), a host that is
 * not loopback (refused: this service has no defences and random secrets are its only lock).
 */
import { type Random, systemRandom } from '../lib/chance.ts';
import type { Clock } from '../lib/clock.ts';
import { ConfigError } from '../lib/errors.ts';
import { createHttpServer, listenOn } from '../lib/http-server.ts';
import type { Logger } from '../lib/log.ts';
import type { Knobs } from './control/knobs.ts';
import { type Credentials, createKeyRing, type KeyRing } from './keys.ts';
import { createLife, type Life } from './life/life.ts';
import { installV1, V1_PREFIX } from './v1/server.ts';
import type { EventSink } from './world/events.ts';
import { createWorld, type World } from './world/world.ts';

export interface ReferenceOptions {
  /** A loopback address. */
  readonly host: string;
  /** 0 means any free port. */
  readonly ports: { readonly service: number };
  readonly knobs: Knobs;
  readonly clock: Clock;
  readonly log: Logger;
  /** Tokens and secrets are drawn from here; the system's randomness unless given. */
  readonly secrets?: Random;
  readonly events?: EventSink;
}

export interface Reference {
  readonly serviceUrl: string;
  readonly v1Url: string;
  /** By the name of the key in the knobs. */
  readonly credentials: Readonly<Record<string, Credentials>>;
  readonly world: World;
  readonly keys: KeyRing;
  readonly life: Life;
  close(): Promise<void>;
}

function requireLoopback(host: string): void {
  if (host === '::1' || host === 'localhost' || host.startsWith('127.')) return;
  throw new ConfigError('reference.public_host', `${host} is not a loopback address`, {
    hint: 'The reference service listens on 127.0.0.1, ::1 or localhost only.',
  });
}

/** Starts the listeners and the life of the world; resolves when all of them answer. */
export async function startReference(options: ReferenceOptions): Promise<Reference> {
  const { host, ports, clock } = options;
  requireLoopback(host);
  const log = options.log.child({ room: 'reference' });
  const knobs = (): Knobs => options.knobs;
  const events: EventSink = options.events ?? { publish: () => undefined };
  const world = createWorld({ events, clock, knobs });
  const keys = createKeyRing({ knobs, clock, secrets: options.secrets ?? systemRandom() });
  const life = createLife({ world, clock, knobs });

  const service = createHttpServer(log);
  await installV1(service, { world, keys, knobs });
  const { url } = await listenOn(service, host, ports.service);
  life.start();
  log.info({ url }, 'reference service listens');
  return {
    serviceUrl: url,
    v1Url: url + V1_PREFIX,
    credentials: keys.credentials(),
    world,
    keys,
    life,
    async close() {
      life.stop();
      await service.close();
    },
  };
}
