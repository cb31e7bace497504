/**
 * How this machine stands as a holder or a standby, read from the file that its process leaves in
 * the data folder. PostgreSQL itself is not asked, because it may be what is down.
 */
import type { Config } from '../config/schema.ts';
import { formatDuration } from '../lib/units.ts';
import { readStandbyStatus, type StandbyStatus } from '../standby/status-file.ts';

/** It is told every five seconds, and at each change. */
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
  /** Whether a synchronous replica confirms what is kept; null: not known. */
  readonly synced: boolean | null;
  /** Entries that PostgreSQL does not have yet. */
  readonly waiting: number;
  readonly acknowledge: StandbyStatus['acknowledge'];
  /** Standbys that could take over now, as the holder sees them; null: not known here. */
  readonly ready: number | null;
  /** Rows that the readiest of them would play; null: not known. */
  readonly behind: number | null;
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
  synced: null,
  waiting: 0,
  acknowledge: 'postgresql',
  ready: null,
  behind: null,
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
    synced: told.synced ?? null,
    waiting: told.waiting,
    acknowledge: told.acknowledge,
    ready: ready?.length ?? null,
    behind: behind.length === 0 ? null : Math.min(...behind),
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
  const other = here.role === 'standby' && here.holder !== null ? `; ${here.holder} holds it` : '';
  const since = here.heldMs === null ? '' : ` for ${formatDuration(here.heldMs)}`;
  const local = here.acknowledge === 'local' ? '; acknowledges what is kept here only' : '';
  const why = here.error === null ? '' : `: ${here.error.message}`;
  const state = `${STATES[here.state]}${here.sends ? since : ''}`;
  return `${state}${why}${other}${describeReady(here)}${local}`;
}

/** Whether a person should look. */
export function isStandbyWell({ state, ready, error }: StandbyHere): boolean {
  return error === null && ready !== 0 && (state === 'sending' || state === 'waiting');
}
