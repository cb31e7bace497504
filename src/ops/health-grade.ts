/**
 * Grades the installation for `selvedge status --check`: whether somebody should look, as one line
 * and an exit code.
 */
import { hasAtLevel } from '../config/level.ts';
import type { Config } from '../config/schema.ts';
import { formatDuration, formatSize } from '../lib/units.ts';
import { LOG_BYTES_MAX } from '../store/care/checkpoints.ts';
import { describePause } from '../store/pauses.ts';
import { restingWith } from '../store/space.ts';
import type { Installation } from './installation.ts';
import { overdueLooks } from './order-book.ts';
import { describeCopy } from './plane-copy.ts';
import { describeIdle } from './rules-acting.ts';
import { freshnessOf, WORKER_FAILING } from './status.ts';

type Grade = 'ok' | 'warning' | 'critical';

interface Finding {
  readonly grade: Grade;
  readonly text: string;
}

export interface HealthGrade {
  readonly grade: Grade;
  /** Findings in words, the gravest first; empty when everything is fine. */
  readonly findings: readonly string[];
}

/** Multiple of its allowed age from which a stream is critical, and no longer only late. */
const CRITICAL_AGE = 4;
/** Most ms since the newest backup: the timer's day, and time for it to be late. */
export const BACKUP_MS_MAX = 26 * 3_600_000;

/** Kinds of incidents that have a finding of their own. */
const OWN_FINDING: ReadonlySet<string> = new Set([WORKER_FAILING.kind, 'push_dead', 'quarantined']);

function critical(isSo: boolean, text: string): Finding[] {
  return isSo ? [{ grade: 'critical', text }] : [];
}

function warning(isSo: boolean, text: string): Finding[] {
  return isSo ? [{ grade: 'warning', text }] : [];
}

function streamFindings(found: Installation, config: Config): Finding[] {
  const limits = freshnessOf(config);
  return found.streams
    .filter(({ stale }) => stale)
    .map(({ stream, ageMs, waitsMs, paused }) => {
      const tried = waitsMs === null ? '' : `, tried for ${formatDuration(waitsMs)}`;
      const age = ageMs === null ? `never complete${tried}` : `${formatDuration(ageMs)} old`;
      const isGrave = !paused && (waitsMs ?? 0) > CRITICAL_AGE * (limits[stream] ?? Infinity);
      return {
        grade: isGrave ? 'critical' : 'warning',
        text: `${stream} is ${paused ? 'paused, ' : ''}${age}`,
      };
    });
}

/** Describes a daemon that runs and cannot write. */
export function describeSilence({ silentMs }: Pick<Installation, 'silentMs'>): string {
  return `has written nothing for more than ${formatDuration(silentMs ?? 0)}`;
}

export function gradeHealth(found: Installation, config: Config): HealthGrade {
  const { sendFloor } = config.store.space;
  const { outbox, relay, backupAgeMs, freeBytes, logBytes } = found;
  const inDoubt = outbox.in_doubt ?? 0;
  const dead = outbox.dead ?? 0;
  const resting = restingWith(freeBytes, config.store);
  const isFull = freeBytes < sendFloor;
  const hasEvents = hasAtLevel(config.service.dialect.v1.level, 'orderParts');
  const idle = describeIdle(found.rules, found.pending);
  const full = `full: ${resting}`;
  const looks = overdueLooks(found.book, config);
  const findings: Finding[] = [
    ...critical(!found.daemon.running, 'the daemon does not run'),
    ...critical(found.silentMs !== null, `the daemon ${describeSilence(found)}`),
    ...found.failingWorkers.map(({ worker, since, error }): Finding => {
      const text = `${worker} fails since ${new Date(since).toISOString()}: ${error}`;
      return { grade: 'critical', text: text.split('\n').join(' ') };
    }),
    ...critical(found.accountHold !== null, `the account is not known: ${found.accountHold}`),
    ...critical(isFull, `the disk is ${full}`),
    ...critical(hasEvents && relay?.state === 'silent', 'no event comes while orders change'),
    ...warning(!isFull && resting !== undefined, `the disk is nearly ${full}`),
    ...warning(
      logBytes > LOG_BYTES_MAX,
      `the log of the database has ${formatSize(logBytes)}: "selvedge doctor" names who reads`,
    ),
    ...found.paused.map((one): Finding => ({ grade: 'warning', text: describePause(one) })),
    ...warning(idle !== undefined, idle ?? ''),
    ...warning(found.dryRun, 'nothing is sent: outbox.dryRun'),
    ...found.causes.flatMap(({ kind, says }) => warning(!OWN_FINDING.has(kind), says)),
    ...streamFindings(found, config),
    ...warning(looks !== undefined, looks ?? ''),
    ...warning(inDoubt > 0, `${inDoubt} pushes in doubt`),
    ...warning(dead > 0, `${dead} pushes given up`),
    ...warning(found.quarantined > 0, `${found.quarantined} rows in quarantine`),
    ...(found.plane?.isLate ? warning(true, `plane: ${describeCopy(found.plane)}`) : []),
    ...warning(backupAgeMs === null, 'there is no backup'),
    ...warning((backupAgeMs ?? 0) > BACKUP_MS_MAX, 'the newest backup is older than a day'),
  ];
  // Alphabetical order puts critical before warning; without findings the grade is ok.
  const gravestFirst = findings.toSorted((a, b) => a.grade.localeCompare(b.grade));
  return { grade: gravestFirst[0]?.grade ?? 'ok', findings: gravestFirst.map(({ text }) => text) };
}
