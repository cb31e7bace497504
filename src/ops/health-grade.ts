/**
 * The table of checks: everything that is not fine about an installation, each with its grade, its
 * words and the tiles of the overview that it colours. `selvedge status --check` makes one line and
 * an exit code of it, the console's overview its colours, the doctor findings with advice.
 */
import { hasAtLevel } from '../config/level.ts';
import { wordFor } from '../config/words.ts';
import { formatDuration, formatSize } from '../lib/units.ts';
import {
  absent,
  apiOfStream,
  describeAnswer,
  nameOfApis,
  type ServiceAnswer,
  SILENT_MS,
} from '../store/answering.ts';
import { LOG_BYTES_MAX } from '../store/care/checkpoints.ts';
import { describePause, type Pause, resumeStep } from '../store/pauses.ts';
import { restingWith } from '../store/space.ts';
import type { Installation, InstallationSettings } from './installation.ts';
import { overdueLooks } from './order-book.ts';
import { describeCopy, stepOfCopy } from './plane-copy.ts';
import { describeIdle } from './rules-acting.ts';
import { describeStandby, isStandbyWell, stepOfStandby } from './standby-here.ts';
import { WORKER_FAILING } from './status.ts';
import { describeWaiting } from './waiting.ts';

/** Tiles of the console's overview. */
export const TILES = [
  'service',
  'waiting',
  'stock',
  'pulls',
  'pushes',
  'events',
  'incidents',
  'rules',
  'system',
] as const;
export type Tile = (typeof TILES)[number];

export interface Check {
  /** Name of the check, as the doctor shows it. */
  readonly check: string;
  readonly grade: 'warning' | 'critical';
  readonly text: string;
  /** Next step of a person. */
  readonly advice: string;
  /** Tiles that it colours. */
  readonly tiles: readonly Tile[];
}

export interface HealthGrade {
  readonly grade: 'ok' | Check['grade'];
  /** Findings in words, the gravest first; empty when everything is fine. */
  readonly findings: readonly string[];
  /** Numbers of what waits for a person, by kind; no finding while nothing of it is overdue. */
  readonly waiting: string;
}

/** Multiple of its allowed age from which a stream is critical, and no longer only late. */
const CRITICAL_AGE = 4;
/** Most ms since the newest backup: the timer's day, and time for it to be late. */
export const BACKUP_MS_MAX = 26 * 3_600_000;

/** Kinds of incidents that have a check of their own. */
const OWN_CHECK: ReadonlySet<string> = new Set([
  'exchange_locked',
  WORKER_FAILING.kind,
  'quarantined',
  'service_silent',
]);

/** Checks that tell kinds of incidents, and the tiles that these colour beside "Incidents". */
const OF_INCIDENTS: Readonly<Record<string, readonly [check: string, tile: Tile]>> = {
  events_missed: ['incidents', 'events'],
  events_refused: ['signatures', 'events'],
  secret_ends: ['signatures', 'events'],
  hold_expired: ['incidents', 'waiting'],
  login_refused: ['incidents', 'service'],
  push_late: ['incidents', 'pushes'],
  push_in_doubt: ['incidents', 'pushes'],
  push_dead: ['pushes', 'pushes'],
};

type Told = Omit<Check, 'grade'>;

function critical(isSo: boolean, told: Told): Check[] {
  return isSo ? [{ grade: 'critical', ...told }] : [];
}

function warning(isSo: boolean, told: Told): Check[] {
  return isSo ? [{ grade: 'warning', ...told }] : [];
}

function streamChecks({ streams, service }: Installation, limits: InstallationSettings): Check[] {
  return streams
    .filter(({ stale }) => stale)
    .map(({ stream, ageMs, waitsMs, paused }) => {
      const tried = waitsMs === null ? '' : `, tried for ${formatDuration(waitsMs)}`;
      const age = ageMs === null ? `never complete${tried}` : `${formatDuration(ageMs)} old`;
      const limitMs = limits.freshnessMs[stream] ?? Infinity;
      const isGrave = !paused && (waitsMs ?? 0) > CRITICAL_AGE * limitMs;
      const away = absent(service, apiOfStream(stream));
      const because = away === undefined ? '' : `: ${away}`;
      return {
        check: 'freshness',
        grade: isGrave ? 'critical' : 'warning',
        text: `${wordFor('stream', stream)}: ${paused ? 'paused, ' : ''}${age}${because}`,
        advice: 'selvedge sync list says why',
        tiles: stream === 'stock' ? ['stock', 'pulls'] : ['pulls'],
      };
    });
}

function serviceChecks(service: readonly ServiceAnswer[], now: number): Check[] {
  return service
    .filter(({ state }) => state === 'silent')
    .flatMap((one) => {
      const text = `the service ${describeAnswer(one, now)} (${nameOfApis([one])})`;
      const advice = 'selvedge doctor tries it: host name, certificate, proxy; is it up?';
      const told = { check: 'service', text, advice };
      return one.unansweredMs >= SILENT_MS
        ? critical(true, { ...told, tiles: ['service', 'incidents'] })
        : warning(true, { ...told, tiles: ['service'] });
    });
}

/** Tiles of what a pause stops. */
function tilesOfPause({ target, name }: Pause): readonly Tile[] {
  if (target === 'pushes') return ['pushes'];
  if (target === 'decisions') return ['rules'];
  if (target === 'all') return ['pulls', 'pushes', 'rules'];
  return name === 'stock' ? ['stock', 'pulls'] : ['pulls'];
}

/** Describes a daemon that runs and cannot write. */
export function describeSilence({ silentMs }: Pick<Installation, 'silentMs'>): string {
  return `has written nothing for more than ${formatDuration(silentMs ?? 0)}`;
}

const SYSTEM = ['system'] as const;

function machineChecks(found: Installation, { store }: InstallationSettings): Check[] {
  const { freeBytes, logBytes } = found;
  const log = formatSize(logBytes);
  const resting = restingWith(freeBytes, store);
  const isFull = freeBytes < store.space.sendFloor;
  const tiles = SYSTEM;
  const daemon = { check: 'daemon', tiles };
  const disk = { check: 'disk', tiles, advice: 'free space' };
  return [
    ...critical(!found.daemon.running, {
      ...daemon,
      text: 'the daemon does not run',
      advice: 'systemctl start selvedge',
    }),
    ...critical(found.silentMs !== null, {
      ...daemon,
      text: `the daemon ${describeSilence(found)}`,
      advice: 'its log says why: a disk that cannot be written, a program that holds it',
    }),
    ...found.failingWorkers.flatMap(({ worker, since, error }) => {
      const text = `${worker} fails since ${new Date(since).toISOString()}: ${error}`;
      const line = text.split('\n').join(' ');
      return critical(true, {
        check: 'workers',
        tiles: ['system', 'incidents'],
        text: line,
        advice: 'selvedge doctor',
      });
    }),
    ...critical(isFull, { ...disk, text: `the disk is full: ${resting}` }),
    ...warning(!isFull && resting !== undefined, {
      ...disk,
      text: `the disk is nearly full: ${resting}`,
    }),
    ...warning(logBytes > LOG_BYTES_MAX, {
      check: 'readers',
      tiles,
      advice: 'short transactions, or report snapshot',
      text: `the log of the database has ${log}: "selvedge doctor" names who reads`,
    }),
  ];
}

/** Checks of the lease, and whether somebody could take over. */
function standbyChecks({ standby }: Installation): Check[] {
  if (standby === null || isStandbyWell(standby)) return [];
  const isCritical = standby.state === 'away' || standby.state === 'unknown';
  const text = `standby: ${describeStandby(standby)}`;
  const told = { check: 'standby', tiles: SYSTEM, text, advice: stepOfStandby(standby) };
  return isCritical ? critical(true, told) : warning(true, told);
}

/** Checks of the copies: that in PostgreSQL, and the backups. */
function copyChecks({ backupAgeMs, plane }: Installation): Check[] {
  const advice = 'selvedge backup create; systemctl enable --now selvedge-backup.timer';
  const backup = { check: 'backup', tiles: SYSTEM, advice };
  return [
    ...(plane?.isLate
      ? warning(true, {
          check: 'plane',
          tiles: SYSTEM,
          advice: stepOfCopy(plane),
          text: `plane: ${describeCopy(plane)}`,
        })
      : []),
    ...warning(backupAgeMs === null, { ...backup, text: 'there is no backup' }),
    ...warning((backupAgeMs ?? 0) > BACKUP_MS_MAX, {
      ...backup,
      text: 'the newest backup is older than a day',
    }),
  ];
}

/** Describes for how long the exchange database has been locked. */
export function describeExchangeWait(since: number): string {
  const at = new Date(since).toISOString();
  return `receipts wait since ${at}: another program keeps exchange.db locked`;
}

/** Checks of what is on its way to the service or the ERP, and of what keeps it here. */
function pushChecks({ accountHold, dryRun, receiptsWaitSince }: Installation): Check[] {
  const tiles = ['pushes'] as const;
  return [
    ...warning(receiptsWaitSince !== null, {
      check: 'exchange',
      tiles: ['pushes', 'incidents'],
      text: describeExchangeWait(receiptsWaitSince ?? 0),
      advice: 'end its unfinished SELECT or transaction ("selvedge doctor" names who has it open)',
    }),
    ...critical(accountHold !== null, {
      check: 'account',
      tiles,
      advice: 'selvedge account show',
      text: `the account is not known: ${accountHold}`,
    }),
    ...warning(dryRun, {
      check: 'paused',
      tiles,
      advice: 'correct outbox.dryRun',
      text: 'nothing is sent: outbox.dryRun',
    }),
  ];
}

function incidentChecks({ causes }: Installation): Check[] {
  return causes
    .filter(({ kind }) => !OWN_CHECK.has(kind))
    .map(({ kind, says, advice }): Check => {
      const [check = 'incidents', tile] = OF_INCIDENTS[kind] ?? [];
      const tiles: Tile[] = tile === undefined ? ['incidents'] : ['incidents', tile];
      return { check, grade: 'warning', text: says, advice, tiles };
    });
}

/** Checks of what decides: pauses, rules, events. */
function decidingChecks(found: Installation, { level }: InstallationSettings): Check[] {
  const { relay, paused } = found;
  const idle = describeIdle(found.rules, found.pending);
  return [
    ...critical(hasAtLevel(level, 'orderParts') && relay?.state === 'silent', {
      check: 'last event',
      tiles: ['events'],
      advice: 'selvedge portal open',
      text: 'no event comes while orders change',
    }),
    ...paused.flatMap((one) => {
      const [text, advice] = [describePause(one), resumeStep(one)];
      return warning(true, { check: 'paused', tiles: tilesOfPause(one), text, advice });
    }),
    ...warning(idle !== undefined, {
      check: 'in force',
      tiles: ['rules'],
      text: idle ?? '',
      advice: 'selvedge rules check; rules.mode; selvedge rules reload',
    }),
  ];
}

/** Everything that is not fine. */
export function checksOf(
  found: Installation,
  settings: InstallationSettings,
  now: number,
): readonly Check[] {
  const { quarantined, service } = found;
  const looks = overdueLooks(found.book, settings);
  const text = [looks, absent(service, 'V1')].filter((one) => one !== undefined).join(': ');
  return [
    ...serviceChecks(service, now),
    ...machineChecks(found, settings),
    ...pushChecks(found),
    ...decidingChecks(found, settings),
    ...incidentChecks(found),
    ...streamChecks(found, settings),
    ...warning(looks !== undefined, {
      check: 'open orders',
      tiles: ['pulls'],
      text,
      advice: 'selvedge sync show orders says why',
    }),
    ...warning(quarantined > 0, {
      check: 'quarantine',
      tiles: ['incidents'],
      advice: 'the table quarantine says why',
      text: `${quarantined} rows in quarantine`,
    }),
    ...standbyChecks(found),
    ...copyChecks(found),
  ];
}

export function gradeHealth(
  found: Installation,
  settings: InstallationSettings,
  now: number,
): HealthGrade {
  // Alphabetical order puts critical before warning; without findings the grade is ok.
  const gravestFirst = checksOf(found, settings, now).toSorted((a, b) =>
    a.grade.localeCompare(b.grade),
  );
  return {
    grade: gravestFirst[0]?.grade ?? 'ok',
    findings: gravestFirst.map(({ text }) => text),
    waiting: describeWaiting(found.waiting),
  };
}
