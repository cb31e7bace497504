/** Builds the messages to people from the configuration, and their test. */
import { createPools, type Pools } from '../client/http/pools.ts';
import { DIRECT } from '../client/http/tunnel.ts';
import type { Config } from '../config/schema.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import type { Scrubber } from '../lib/secret.ts';
import { createHeartbeat } from '../ops/notify/heartbeat.ts';
import { channelsOf, createNotifier } from '../ops/notify/notifier.ts';
import { placesOf, tryChannels } from '../ops/notify/try-channels.ts';
import type { Messages } from '../ops/surface.ts';
import type { Store } from '../store/store.ts';
import { routeOf } from './service.ts';
import type { Worker } from './supervisor.ts';

const CONNECT_MS = 10_000;

/** Connections for messages; they share only the proxy with those to the service. */
function dispatchers(config: Config) {
  const { proxy } = routeOf(config.service);
  const pools = new Map<string | undefined, Pools>();
  return (origin: string, caText?: string) => {
    const options = { ...DIRECT, proxy, caText, connectionsMax: 2, connectMs: CONNECT_MS };
    const known = pools.get(caText) ?? createPools(options);
    pools.set(caText, known);
    return known.of(origin, false);
  };
}

export interface NotificationsDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Logger;
  readonly scrubber: Scrubber;
  readonly timeZone: () => string;
  readonly isWell: () => boolean;
}

export type MessagesDeps = Pick<NotificationsDeps, 'store' | 'clock' | 'scrubber'>;

/** Creates the test of the channels, with or without a daemon. */
export function createMessages(config: Config, { store, clock, scrubber }: MessagesDeps): Messages {
  const { instance } = config;
  const channels = channelsOf(config);
  return {
    channels: () => placesOf(channels),
    test(who) {
      const { signal } = new AbortController();
      const sending = { dispatcher: dispatchers(config), signal, scrub: scrubber.scrub };
      return tryChannels({ ...sending, store, clock, instance }, channels, who);
    },
  };
}

export function createNotifications(
  config: Config,
  { log: base, ...deps }: NotificationsDeps,
): readonly Worker[] {
  const { scrub } = deps.scrubber;
  const { instance, notify } = config;
  const log = base.child({ room: 'notify' });
  const sending = { ...deps, log, instance, scrub, dispatcher: dispatchers(config) };
  const { heartbeat: address } = notify;
  const heartbeat = address === null ? [] : [createHeartbeat({ ...sending, address })];
  return [createNotifier(sending, channelsOf(config)), ...heartbeat];
}
