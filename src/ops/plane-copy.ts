/**
 * How the copy in PostgreSQL is, by the file that its process leaves in the data folder. No
 * database is asked: it may be the one that is down.
 */
import type { Config } from '../config/schema.ts';
import { ConfigError } from '../lib/errors.ts';
import { formatDuration } from '../lib/units.ts';
import {
  type PlaneStatus,
  planeLagMs,
  readPlaneStatus,
  SILENT_MS_MAX,
} from '../plane/status-file.ts';

export interface PlaneCopy {
  readonly account: string;
  /** `absent`: no process has run yet; `silent`: it has stopped, or hangs. */
  readonly state: PlaneStatus['state'] | 'absent' | 'silent';
  /** Age of the oldest change that the copy does not have; null: there is no copy yet. */
  readonly lagMs: number | null;
  /** Longer than `plane.lagWarning`, or there is none. */
  readonly isLate: boolean;
  /** Why it waits, and what to do. */
  readonly error: { readonly message: string; readonly hint: string | null } | null;
}

/** A process that copies all, or waits longer and longer, tells of itself less often. */
const SILENT_AT_WORK_MS_MAX = 300_000;

/** Name of the rows of this daemon in the plane. */
export function planeAccount({ plane, instance }: Pick<Config, 'plane' | 'instance'>): string {
  return plane.account ?? instance;
}

/** Address of the plane, with the password. Throws where the configuration has none. */
export function planeAddress({ plane }: Pick<Config, 'plane'>): string {
  if (plane.url !== null) return plane.url.reveal();
  throw new ConfigError('plane.not_configured', 'there is no plane: plane.url is not set', {
    hint: 'docs/operating/plane.md says what to set',
  });
}

/** Settings of a copy, without its address. */
export interface PlaneSettings {
  readonly dataDir: string;
  readonly account: string;
  readonly lagWarningMs: number;
}

type Configured = Pick<Config, 'dataDir' | 'plane' | 'instance'>;

/** Null: the configuration has none. */
export function planeSettingsOf(config: Configured): PlaneSettings | null {
  const { dataDir, plane } = config;
  if (plane.url === null) return null;
  return { dataDir, account: planeAccount(config), lagWarningMs: plane.lagWarning };
}

/** Null: there is none by the configuration. */
export function readPlaneCopy(settings: PlaneSettings | null, now: number): PlaneCopy | null {
  if (settings === null) return null;
  const { dataDir, account, lagWarningMs } = settings;
  const status = readPlaneStatus(dataDir);
  // A file of before the account was given another name tells of another copy.
  if (!status || status.account !== account) {
    return { account, state: 'absent', lagMs: null, isLate: true, error: null };
  }
  const lagMs = planeLagMs(status, now);
  const { error } = status;
  const silentAfter = status.state === 'following' ? SILENT_MS_MAX : SILENT_AT_WORK_MS_MAX;
  return {
    account,
    state: now - status.at > silentAfter ? 'silent' : status.state,
    lagMs,
    isLate: lagMs > lagWarningMs,
    error: error ? { message: error.message, hint: error.hint ?? null } : null,
  };
}

const DOING = {
  following: 'follows',
  rebuilding: 'is being made again as a whole',
  reconciling: 'is being compared by keys',
  waiting: 'waits',
} as const;

/** Words for one line: state, lag and reason. */
export function describeCopy({ state, lagMs, error }: PlaneCopy): string {
  if (state === 'absent') return 'there is no copy: no "selvedge plane run" has told of one';
  const behind = `${formatDuration(lagMs ?? 0)} behind`;
  if (state === 'silent') return `its process does not run; ${behind}`;
  const why = error === null ? '' : `: ${error.message}`;
  return `${DOING[state]}, ${behind}${why}`;
}

/** Each of several brands has an instance of its own. */
const UNIT = 'selvedge-plane, or selvedge-plane@NAME of several brands';

/** Next step of a copy that is not as it should be. */
export function stepOfCopy({ state, error }: PlaneCopy): string {
  if (state === 'absent') return `selvedge plane init; then start ${UNIT}`;
  if (state === 'silent')
    return "systemctl status 'selvedge-plane*'; journalctl -u 'selvedge-plane*'";
  return error?.hint ?? 'it catches up by itself; selvedge plane status shows how far it is';
}
