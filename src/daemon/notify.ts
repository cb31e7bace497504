/** Builds the messages to people from the configuration, and their test. */
import { createPools } from '../client/http/pools.ts';
import { DIRECT } from '../client/http/tunnel.ts';
import type { Config } from '../config/schema.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import type { Scrubber } from '../lib/secret.ts';
import type { RouteGroup } from '../local-api/api.ts';
import { notifyRoutes } from '../local-api/notify-routes.ts';
import { createHeartbeat } from '../ops/notify/heartbeat.ts';
import { channelsOf, createNotifier } from '../ops/notify/notifier.ts';
import { type TriedChannel, tryChannels } from '../ops/notify/try-channels.ts';
import type { Actor } from '../store/audit.ts';
import type { Store } from '../store/store.ts';
import { routeOf } from './service.ts';
import type { Worker } from './supervisor.ts';

const CONNECT_MS = 10_000;

/** Connections for messages; they share only the proxy with those to the service. */
function dispatchers(config: Config) {
  const { proxy } = routeOf(config.service);
  const pools = createPools({ ...DIRECT, proxy, connectionsMax: 2, connectMs: CONNECT_MS });
  return (origin: string) => pools.of(origin, false);
}

export interface NotificationsDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Logger;
  readonly scrubber: Scrubber;
  readonly timeZone: () => string;
  readonly isWell: () => boolean;
}

/** Sends a test message through every channel, with or without a daemon. */
export function testChannels(
  config: Config,
  { store, clock, scrubber }: Pick<NotificationsDeps, 'store' | 'clock' | 'scrubber'>,
  who: Actor,
  signal: AbortSignal,
): Promise<readonly TriedChannel[]> {
  const { instance } = config;
  const dispatcher = dispatchers(config);
  const deps = { store, clock, instance, dispatcher, signal, scrub: scrubber.scrub };
  return tryChannels(deps, channelsOf(config), who);
}

export function createNotifications(
  config: Config,
  { log: base, ...deps }: NotificationsDeps,
): { readonly workers: readonly Worker[]; readonly routes: RouteGroup } {
  const { scrub } = deps.scrubber;
  const { instance, notify } = config;
  const log = base.child({ room: 'notify' });
  const sending = { ...deps, log, instance, scrub, dispatcher: dispatchers(config) };
  const { heartbeat: address } = notify;
  const heartbeat = address === null ? [] : [createHeartbeat({ ...sending, address })];
  return {
    workers: [createNotifier(sending, channelsOf(config)), ...heartbeat],
    routes: notifyRoutes((who) => {
      return testChannels(config, deps, who, new AbortController().signal);
    }),
  };
}
