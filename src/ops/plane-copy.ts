/**
 * State of the copy in PostgreSQL, read from the file that its process leaves in the data folder.
 * PostgreSQL itself is not asked, because it may be what is down.
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
  /** State of the copy; `absent`: no process ran yet; `silent`: it stopped or hangs. */
  readonly state: PlaneStatus['state'] | 'absent' | 'silent';
  /** Age of the oldest change that the copy does not have; null: there is no copy yet. */
  readonly lagMs: number | null;
  /** Whether the lag is longer than `plane.lagWarning`, or there is no copy. */
  readonly isLate: boolean;
  /** Error that keeps the copy waiting, and what to do. */
  readonly error: { readonly message: string; readonly hint: string | null } | null;
}

/**
 * Milliseconds without a report from which a copying or waiting process counts as silent: at such
 * work it reports less often.
 */
const SILENT_AT_WORK_MS_MAX = 300_000;

/** Name under which this daemon's rows stand in the plane. */
export function planeAccount({ plane, instance }: Pick<Config, 'plane' | 'instance'>): string {
  return plane.account ?? instance;
}

/** Address of the plane's database, with the password. Throws where the configuration has none. */
export function planeAddress({ plane }: Pick<Config, 'plane'>): string {
  if (plane.url !== null) return plane.url.reveal();
  throw new ConfigError('plane.not_configured', 'there is no plane: plane.url is not set', {
    hint: 'docs/operating/plane.md says what to set',
  });
}

/** Settings of the copy in PostgreSQL, without its address. */
export interface PlaneSettings {
  readonly dataDir: string;
  readonly account: string;
  readonly lagWarningMs: number;
}

type Configured = Pick<Config, 'dataDir' | 'plane' | 'instance'>;

/** Settings of the copy in PostgreSQL; null: the configuration has no copy. */
export function planeSettingsOf(config: Configured): PlaneSettings | null {
  const { dataDir, plane } = config;
  if (plane.url === null) return null;
  return { dataDir, account: planeAccount(config), lagWarningMs: plane.lagWarning };
}

/** Reads the state of the copy in PostgreSQL; null: the configuration has no copy. */
export function readPlaneCopy(settings: PlaneSettings | null, now: number): PlaneCopy | null {
  if (settings === null) return null;
  const { dataDir, account, lagWarningMs } = settings;
  const status = readPlaneStatus(dataDir);
  // A status file with another account name is of another copy: the account was renamed since.
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

/** State, lag and error of the copy, in one line. */
export function describeCopy({ state, lagMs, error }: PlaneCopy): string {
  if (state === 'absent') return 'there is no copy: no "selvedge plane run" has told of one';
  const behind = `${formatDuration(lagMs ?? 0)} behind`;
  if (state === 'silent') return `its process does not run; ${behind}`;
  const why = error === null ? '' : `: ${error.message}`;
  return `${DOING[state]}, ${behind}${why}`;
}

/** Names of the systemd unit: with several brands, each has an instance of its own. */
const UNIT = 'selvedge-plane, or selvedge-plane@NAME of several brands';

/** Next step for a person when the copy is not as it should be. */
export function stepOfCopy({ state, error }: PlaneCopy): string {
  if (state === 'absent') return `selvedge plane init; then start ${UNIT}`;
  if (state === 'silent')
    return "systemctl status 'selvedge-plane*'; journalctl -u 'selvedge-plane*'";
  return error?.hint ?? 'it catches up by itself; selvedge plane status shows how far it is';
}
