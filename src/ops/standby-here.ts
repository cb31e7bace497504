/**
 * How this machine stands as a holder or a standby, read from the file that its process leaves in
 * the data folder. PostgreSQL itself is not asked, because it may be what is down.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../config/schema.ts';
import { RefusedError } from '../lib/errors.ts';
import { formatDuration } from '../lib/units.ts';
import { readStandbyStatus, type StandbyStatus } from '../standby/status-file.ts';

/** Told every five seconds, and at each change. */
const SILENT_MS_MAX = 60_000;
/** A standby tells of itself each half minute. */
const GONE_MS_MAX = 120_000;

export interface StandbyHere {
  readonly role: StandbyStatus['role'] | null;
  /** `absent`: nothing ran yet; `silent`: it stopped or hangs. */
  readonly state: StandbyStatus['state'] | 'absent' | 'silent';
  /** Machine that holds the lease, and for how long (ms); null: not known. */
  readonly holder: string | null;
  readonly heldMs: number | null;
  /** Whether this machine may send. */
  readonly sends: boolean;
  /** Entries that PostgreSQL does not have yet. */
  readonly waiting: number;
  readonly acknowledge: StandbyStatus['acknowledge'];
  /** Standbys that could take over now, as the holder sees them; null: not known here. */
  readonly ready: number | null;
  /** Rows that the readiest of them would play; null: not known. */
  readonly behind: number | null;
  /** Age of the backup from which this standby would go on; null: not known, or it is none. */
  readonly backupMs: number | null;
  readonly error: { readonly message: string; readonly hint: string | null } | null;
}

export interface StandbyHereSettings {
  readonly dataDir: string;
}

/** Null: the configuration has no standby. */
export function standbyHereOf({
  standby,
  dataDir,
}: Pick<Config, 'standby' | 'dataDir'>): StandbyHereSettings | null {
  return standby.servers.length === 0 ? null : { dataDir };
}

const ABSENT: StandbyHere = {
  role: null,
  state: 'absent',
  holder: null,
  heldMs: null,
  sends: false,
  waiting: 0,
  acknowledge: 'postgresql',
  ready: null,
  behind: null,
  backupMs: null,
  error: null,
};

export function readStandbyHere(
  settings: StandbyHereSettings | null,
  now: number,
): StandbyHere | null {
  if (settings === null) return null;
  const told = readStandbyStatus(settings.dataDir);
  if (told === undefined) return ABSENT;
  const isSilent = now - told.at > SILENT_MS_MAX;
  const ready = told.standbys?.filter(
    ({ seenMsAgo, behind }) => seenMsAgo < GONE_MS_MAX && behind !== null,
  );
  const behind = ready?.flatMap((one) => one.behind ?? []) ?? [];
  const { role, error } = told;
  return {
    role,
    state: isSilent ? 'silent' : told.state,
    holder: told.holder ?? null,
    heldMs: told.since === undefined ? null : Math.max(0, now - told.since),
    sends: !isSilent && told.state === 'sending',
    waiting: told.waiting,
    acknowledge: told.acknowledge,
    ready: ready?.length ?? null,
    behind: behind.length === 0 ? null : Math.min(...behind),
    backupMs: told.backupAt === undefined ? null : Math.max(0, now - told.backupAt),
    error: error ? { message: error.message, hint: error.hint ?? null } : null,
  };
}

const STATES: Readonly<Record<StandbyHere['state'], string>> = {
  sending: 'holds the lease and sends',
  away: 'SENDS NOTHING: PostgreSQL cannot be asked',
  unknown: 'SENDS NOTHING: who holds the lease is not known yet',
  handed_over: 'has handed over and sends nothing',
  waiting: 'waits as a standby',
  taking_over: 'takes over',
  absent: 'nothing ran here yet',
  silent: 'its process stopped or hangs',
};

function describeReady({ ready, behind }: StandbyHere): string {
  if (ready === null) return '';
  if (ready === 0) return '; NO STANDBY could take over now';
  return `; a standby waits, ${behind ?? 0} rows to play`;
}

/** How it stands, in one line. */
export function describeStandby(here: StandbyHere): string {
  const other =
    here.role === 'standby' && here.holder !== null ? `; ${here.holder} holds the lease` : '';
  const since = here.heldMs === null ? '' : `, for ${formatDuration(here.heldMs)} now`;
  const backup =
    here.backupMs === null
      ? ''
      : `; would go on from a backup ${formatDuration(here.backupMs)} old`;
  const local = here.acknowledge === 'local' ? '; acknowledges what is kept here only' : '';
  const why = here.error === null ? '' : `: ${here.error.message.replace(/^PostgreSQL: /, '')}`;
  const state = `${STATES[here.state]}${here.sends ? since : ''}`;
  return `${state}${why}${other}${backup}${describeReady(here)}${local}`;
}

/** Next step of a person who finds it unwell. */
export function stepOfStandby({ error }: StandbyHere): string {
  return error?.hint ?? 'docs/operating/standby.md; selvedge standby status';
}

/** This machine, if it waits as a standby, and so has no database. */
export function waitingHere(
  config: Pick<Config, 'standby' | 'dataDir'>,
  now: number,
): StandbyHere | undefined {
  if (existsSync(join(config.dataDir, 'mirror.db'))) return undefined;
  const here = readStandbyHere(standbyHereOf(config), now);
  return here?.role === 'standby' ? here : undefined;
}

/** Refuses what needs a database where this machine waits as a standby. */
export function refuseOnStandby(config: Pick<Config, 'standby' | 'dataDir'>, now: number): void {
  const here = waitingHere(config, now);
  if (here === undefined) return;
  throw new RefusedError('standby.waits', `no database is here: it ${describeStandby(here)}`, {
    hint: 'ask on the machine that holds the lease; of this one: selvedge standby status',
  });
}

/** Whether a person should look. */
export function isStandbyWell({ state, ready, error }: StandbyHere): boolean {
  return error === null && ready !== 0 && (state === 'sending' || state === 'waiting');
}
