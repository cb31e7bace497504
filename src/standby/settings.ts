/** Settings of the standby as its parts use them. */
import { hostname } from 'node:os';
import type { Config } from '../config/schema.ts';
import type { Secret } from '../lib/secret.ts';

export interface StandbySettings {
  /** Addresses of all servers that may be the primary. */
  readonly servers: readonly Secret[];
  readonly schema: string;
  /** Name of this daemon's rows, the same on both machines. */
  readonly account: string;
  /** Name of this machine and its data folder, for people. */
  readonly machine: string;
  /** Milliseconds without a renewal after which another machine may take over. */
  readonly leaseMs: number;
  readonly renewMs: number;
  /** Milliseconds for which a permit is good, counted from before it was asked for. */
  readonly permitMs: number;
  /** Milliseconds within which PostgreSQL must answer; later it is not known what it did. */
  readonly timeoutMs: number;
  readonly acknowledge: 'postgresql' | 'local';
  readonly dataDir: string;
}

const RENEWALS = 3;
const ANSWERS = 5;

/** The settings of the configuration; undefined: there is no standby. */
export function standbySettingsOf({
  standby,
  plane,
  instance,
  dataDir,
}: Pick<Config, 'standby' | 'plane' | 'instance' | 'dataDir'>): StandbySettings | undefined {
  const { servers, schema, acknowledge, lease } = standby;
  if (servers.length === 0) return undefined;
  return {
    servers,
    schema,
    acknowledge,
    dataDir,
    account: plane.account ?? instance,
    machine: `${hostname()}:${dataDir}`,
    leaseMs: lease,
    renewMs: lease / RENEWALS,
    permitMs: lease / RENEWALS,
    timeoutMs: lease / ANSWERS,
  };
}
