/**
 * Detects that an account lacks a capability that `service.dialect.v1.level` promises: a resource
 * is answered, and a list below it is not. The daemon then works without the list, asks again every
 * few minutes, and opens one incident that names the setting and the likely level. The incident
 * keeps this over restarts, and an answer of the list ends it.
 */

import { isPerhapsNotFound, NO_SUCH_PAGE } from '../client/http/answer.ts';
import type { BrandNeeds } from '../client/v1/brands.ts';
import {
  CAPABILITIES,
  type Capability,
  doubtOfLevel,
  hasAtLevel,
  isCapability,
  refusalAtLevel,
} from '../config/level.ts';
import type { Clock } from '../lib/clock.ts';
import { RefusedError } from '../lib/errors.ts';
import { parseJsonObject } from '../lib/json.ts';
import type { Logger } from '../lib/log.ts';
import {
  endIncidents,
  type Incident,
  openDetail,
  openIncident,
  updateIncident,
} from '../store/incidents.ts';
import type { Store } from '../store/store.ts';

const LEVEL_TOO_HIGH = {
  kind: 'level_too_high',
  entity: 'setting',
  key: 'service.dialect.v1.level',
} as const;

export interface LevelWatch {
  /** Setting `service.dialect.v1.level`. */
  readonly level: string;
  /**
   * Tells whether to request what the capability stands for: the level has it, and it was not
   * recently found missing.
   */
  isThere(capability: Capability): boolean;
  /**
   * Tells whether it is settled since the start if the account has the capability; while it is not,
   * even a look that could do without asks for it.
   */
  isSettled(capability: Capability): boolean;
  /** Explains why a capability is unavailable; undefined: it is available. */
  whyNot(capability: Capability): string | undefined;
  /** Notes that the service answered a request that needs the capability. */
  answered(capability: Capability): Promise<void>;
  /**
   * Notes that the service answered for the resource `about`, but not for the list below it.
   * Without `about`, the caller knows otherwise that the service answers.
   */
  missing(capability: Capability, error: Error, about?: string): Promise<void>;
}

export interface LevelWatchDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Logger;
  readonly level: string;
}

/** Number of different resources that must lack a capability, because one alone may be special. */
const SEEN_MIN = 3;
/** Milliseconds without requests for a capability after it was found missing. */
const REST_MS = 600_000;

/** Tells whether a refusal may mean that the account does not have the address. */
export function isNoAddress(error: unknown): error is RefusedError {
  if (isPerhapsNotFound(error)) return true;
  return error instanceof RefusedError && error.code === NO_SUCH_PAGE;
}

async function readSuspected({ store, level }: LevelWatchDeps): Promise<readonly Capability[]> {
  const open = await openDetail(store.db, LEVEL_TOO_HIGH);
  const { lacking } = open === undefined ? {} : parseJsonObject(open);
  const names = Array.isArray(lacking) ? lacking.map(String).filter(isCapability) : [];
  // Capabilities that the corrected setting no longer promises are dropped.
  return names.filter((name) => hasAtLevel(level, name));
}

export async function createLevelWatch(deps: LevelWatchDeps): Promise<LevelWatch> {
  const { store, clock, log, level } = deps;
  const suspected = new Set(await readSuspected(deps));
  const seen = new Map<Capability, Set<string>>();
  const restsUntil = new Map<Capability, number>();
  const had = new Set<Capability>();
  const promised = new Set(CAPABILITIES.filter((one) => hasAtLevel(level, one)));

  const write = async (said?: string): Promise<void> => {
    const oldest = CAPABILITIES.find((name) => suspected.has(name));
    if (oldest === undefined) {
      await endIncidents(store.db, LEVEL_TOO_HIGH, [LEVEL_TOO_HIGH.key], clock.now());
      return;
    }
    const detail = { ...doubtOfLevel(level, oldest), lacking: [...suspected] };
    const incident = {
      ...LEVEL_TOO_HIGH,
      detail: said === undefined ? detail : { ...detail, said },
    };
    await updateIncident(store.db, incident, clock.now());
  };

  // An incident that no longer names any capability ends.
  if (suspected.size === 0) await write();
  return {
    level,
    isThere: (capability) =>
      promised.has(capability) &&
      clock.monotonic() >= (restsUntil.get(capability) ?? Number.NEGATIVE_INFINITY),
    isSettled: (capability) => had.has(capability) || suspected.has(capability),
    whyNot(capability) {
      if (!promised.has(capability)) return refusalAtLevel(level, capability);
      return suspected.has(capability) ? doubtOfLevel(level, capability).hint : undefined;
    },
    async answered(capability) {
      had.add(capability);
      seen.delete(capability);
      restsUntil.delete(capability);
      if (!suspected.delete(capability)) return;
      log.info({ level, capability }, 'the account has it after all');
      await write();
    },
    async missing(capability, error, about) {
      const things = seen.get(capability) ?? new Set();
      seen.set(capability, things);
      if (about !== undefined && things.size < SEEN_MIN) things.add(about);
      const isSure = about === undefined || things.size >= SEEN_MIN;
      if (!isSure && !suspected.has(capability)) return;
      restsUntil.set(capability, clock.monotonic() + REST_MS);
      had.delete(capability);
      if (suspected.has(capability)) return;
      suspected.add(capability);
      const { hint, looksLike } = doubtOfLevel(level, capability);
      log.error({ level, looksLike, hint, said: error.message }, 'the level is set too high');
      await write(error.message);
    },
  };
}

// Traits of an account are learned while its lists are pulled.

export interface Traits {
  readonly needs: BrandNeeds;
  readonly levels: LevelWatch;
  /** Opens an incident; `over` ends it. */
  readonly tell: (incident: Incident) => Promise<void>;
  readonly over: (incident: Omit<Incident, 'detail'>) => Promise<void>;
}

export async function createTraits(deps: LevelWatchDeps, needs: BrandNeeds): Promise<Traits> {
  const { store, clock } = deps;
  return {
    needs,
    levels: await createLevelWatch(deps),
    tell: (incident) => openIncident(store.db, incident, clock.now()),
    async over(incident) {
      await endIncidents(store.db, incident, [incident.key], clock.now());
    },
  };
}
