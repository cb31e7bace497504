/** A PostgreSQL with the standby's tables, and the parts of a machine, for the system tests. */

import { type Clock, systemClock } from '../../src/lib/clock.ts';
import { systemRandom } from '../../src/lib/random.ts';
import { Secret } from '../../src/lib/secret.ts';
import { makeSchema } from '../../src/standby/schema.ts';
import { createServers, type Servers, type Session } from '../../src/standby/session.ts';
import type { StandbySettings } from '../../src/standby/settings.ts';
import type { Setting } from '../config/config-of.ts';
import { temporaryFolder } from '../support/store.ts';

export const SCHEMA = 'selvedge_standby';

export function settingsFor(
  urls: readonly string[],
  more: Partial<StandbySettings> = {},
): StandbySettings {
  const dataDir = more.dataDir ?? temporaryFolder();
  return {
    servers: urls.map((url) => new Secret('standby.servers', url)),
    schema: SCHEMA,
    account: 'main',
    machine: `here:${dataDir}`,
    leaseMs: 15_000,
    renewMs: 5_000,
    permitMs: 5_000,
    timeoutMs: 3_000,
    acknowledge: 'postgresql',
    dataDir,
    ...more,
  };
}

/** Remembers timelines in memory. */
export function timelines() {
  let highest = 0;
  return {
    highest: () => highest,
    saw(timeline: number) {
      highest = timeline;
    },
  };
}

export function serversFor(
  urls: readonly string[],
  more: { readonly clock?: Clock; readonly timeoutMs?: number } = {},
): Servers {
  const { clock = systemClock(), timeoutMs = 3_000 } = more;
  const servers = urls.map((url) => new Secret('standby.servers', url));
  const settings = { servers, schema: SCHEMA, timeoutMs };
  return createServers({ settings, clock, timelines: timelines() });
}

/** Makes the standby's tables in a database. */
export async function initStandby(url: string): Promise<void> {
  const session = await serversFor([url]).open();
  await makeSchema(session, SCHEMA);
  await session.end();
}

export async function withSession<T>(url: string, work: (session: Session) => Promise<T>) {
  const session = await serversFor([url]).open();
  try {
    return await work(session);
  } finally {
    await session.end();
  }
}

export const drawTaking = (): string => {
  const hex = systemRandom().bytes(16).toString('hex');
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    hex.slice(12, 16),
    hex.slice(16, 20),
    hex.slice(20),
  ].join('-');
};

/** A service for settings that nobody asks by. */
export const SERVICE: readonly Setting[] = [
  { path: 'service.v1.baseUrl', value: 'http://127.0.0.1:9/api/v1' },
  { path: 'service.v1.apiKey', value: new Secret('service.v1.apiKey', 'unused') },
];

/** Settings of a daemon with a standby. */
export function withStandby(urls: readonly string[], more: readonly Setting[] = []): Setting[] {
  const servers = urls.map((url) => new Secret('standby.servers', url));
  return [
    { path: 'standby.servers', value: servers },
    { path: 'outbox.quietTime', value: '20m' },
    ...more,
  ];
}
