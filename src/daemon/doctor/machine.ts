/** Checks of the doctor that need neither the database nor the network. */
import { readdirSync, readFileSync, readlinkSync, type Stats, statSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import type { Config } from '../../config/schema.ts';
import { pulledStreams } from '../../config/streams.ts';
import { loadRuleSet } from '../../decisions/rule-files.ts';
import { formatDuration, formatSize } from '../../lib/units.ts';
import { BACKUP_MS_MAX } from '../../ops/health-grade.ts';
import { version } from '../../ops/version.ts';
import { backupDirectory, countAhead, newestBackup } from '../../store/backup/manifest.ts';
import { logBytesOf } from '../../store/care/checkpoints.ts';
import { lockFile } from '../../store/lock.ts';
import { freeBytesAt, restingWith } from '../../store/space.ts';
import { nextRunAfter } from '../../sync/schedule.ts';
import { bad, type Finding, fine, odd, skipped } from './finding.ts';

const OTHERS = 0o007;
const OWNER_WRITES = 0o200;
const GROUP_WRITES = 0o020;
const DAY_MS = 86_400_000;
/** Most runs of a schedule that are examined: one per minute of a day. */
const RUNS_MAX = 1_440;

/** Version of SQLite in the database driver, not of Node's own, which nothing here uses. */
export function sqliteVersion(): string {
  const memory = new Database(':memory:');
  const found = String(memory.prepare('select sqlite_version()').pluck().get());
  memory.close();
  return found;
}

export function checkVersions(): Finding[] {
  const { node } = process.versions;
  return [fine('versions', `selvedge ${version()}, Node ${node}, SQLite ${sqliteVersion()}`)];
}

/**
 * Whether the folder's owner, as whom the service runs, may write a file in it: a start by hand as
 * another user leaves files that the service cannot use. In a folder that its group may write, any
 * user of the group may be the service.
 */
function mayOwnerWrite(folder: Stats, file: Stats): boolean {
  if (folder.uid === 0) return true;
  if (folder.uid === file.uid) return (file.mode & OWNER_WRITES) !== 0;
  const isOfGroup = folder.gid === file.gid && (file.mode & GROUP_WRITES) !== 0;
  return isOfGroup || (file.uid !== 0 && (folder.mode & GROUP_WRITES) !== 0);
}

export function checkFolder({ dataDir }: Config): Finding[] {
  const stat = statSync(dataDir, { throwIfNoEntry: false });
  if (!stat) {
    return [bad('data folder', `${dataDir} is not there`, 'start the daemon once, or set dataDir')];
  }
  const closed = [lockFile(dataDir), join(dataDir, 'mirror.db')].filter((path) => {
    const file = statSync(path, { throwIfNoEntry: false });
    return file && !mayOwnerWrite(stat, file);
  });
  if (closed.length > 0) {
    const names = closed.join(' ');
    const text = `who owns the folder may not write ${names}: no start succeeds`;
    const advice = `chown --reference=${dataDir} ${names}; chmod u+w ${names}`;
    return [bad('data folder', text, advice)];
  }
  const open = ['', 'mirror.db', 'local.json'].filter((name) => {
    const mode = statSync(join(dataDir, name), { throwIfNoEntry: false })?.mode ?? 0;
    return (mode & OTHERS) !== 0;
  });
  if (open.length === 0) return [fine('data folder', `${dataDir}, closed to others`)];
  const names = open.map((name) => join(dataDir, name)).join(', ');
  return [odd('data folder', `other users may open ${names}`, `chmod -R o= ${dataDir}`)];
}

export async function checkDisk({ dataDir, store }: Config): Promise<Finding[]> {
  const free = await freeBytesAt(dataDir);
  const { pullFloor, receiveFloor, sendFloor } = store.space;
  const highest = Math.max(pullFloor, receiveFloor, sendFloor);
  const resting = restingWith(free, store);
  const text = `${formatSize(free)} free${resting === undefined ? '' : `: ${resting}`}`;
  if (free < highest) return [bad('disk', text, 'free space')];
  if (free < 4 * highest) return [odd('disk', text, 'free space before it gets short')];
  return [fine('disk', text)];
}

/**
 * First gap in ms between two runs within a day of the schedule that is longer than `longestMs`;
 * undefined: there is none.
 */
function gapAbove(schedule: string, first: number, longestMs: number): number | undefined {
  let at = first;
  for (let runs = 0; runs < RUNS_MAX && at - first < DAY_MS; runs += 1) {
    const next = nextRunAfter(schedule, at);
    if (next === undefined) return undefined;
    if (next - at > longestMs) return next - at;
    at = next;
  }
  return undefined;
}

/** Checks for each stream that a gap between two runs is not longer than its data may get old. */
export function checkSchedules(config: Config, now: number): Finding[] {
  const streams = Object.entries(pulledStreams(config));
  const findings = streams.flatMap(([name, { schedule, freshness }]) => {
    const first = nextRunAfter(schedule, now);
    if (first === undefined) {
      return [bad('schedules', `${name} never runs (${schedule})`, `correct streams.${name}`)];
    }
    const gapMs = gapAbove(schedule, first, freshness);
    if (gapMs === undefined) return [];
    const limit = formatDuration(freshness);
    const text = `${name} has ${formatDuration(gapMs)} between runs, but is stale after ${limit}`;
    return [odd('schedules', text, `set streams.${name}.freshness above its schedule's gap`)];
  });
  return findings.length > 0 ? findings : [fine('schedules', 'each within its freshness')];
}

export function checkRules({ rules }: Config): Finding[] {
  const { files, ruleSet } = loadRuleSet(rules.directory);
  const text = `${files.length} files in ${rules.directory}, mode ${rules.mode}`;
  if (files.length > 0) return [fine('rules', `${text}, hash ${ruleSet.hash.slice(0, 12)}`)];
  return [odd('rules', `${text}: every delivery stays pending`, 'write rules (docs/rules.md)')];
}

export function checkBackups(config: Config, now: number): Finding[] {
  const directory = backupDirectory(config);
  const newest = newestBackup(config, now);
  const count = countAhead(config, now);
  const ahead = `${count} made while the clock was ahead`;
  const advice = 'selvedge backup create; systemctl enable --now selvedge-backup.timer';
  if (!newest) {
    const none = count === 0 ? 'is none' : `are only ${ahead},`;
    return [odd('backup', `there ${none} in ${directory}`, advice)];
  }
  const age = Math.max(0, now - Date.parse(newest.manifest.createdAt));
  const text = `the newest is ${formatDuration(age)} old${count === 0 ? '' : `; ${ahead}`}`;
  return [age > BACKUP_MS_MAX ? odd('backup', text, advice) : fine('backup', text)];
}

/** Characters of a command line that are shown. */
const COMMAND_CHARS = 80;

interface Holder {
  readonly pid: string;
  /** Command line of the process, with its arguments. */
  readonly words: readonly string[];
}

function openFilesOf(pid: string): string[] {
  try {
    const folder = `/proc/${pid}/fd`;
    return readdirSync(folder).map((fd) => readlinkSync(join(folder, fd)));
  } catch {
    // The process has ended meanwhile, or belongs to another user.
    return [];
  }
}

/** Finds other processes that have `path` open, without the daemon, which has `lock` open, too. */
function strangersAt(path: string, lock: string): Holder[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && name !== String(process.pid))
    .filter((pid) => {
      const files = openFilesOf(pid);
      return files.includes(path) && !files.includes(lock);
    })
    .map((pid) => ({ pid, words: readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0') }));
}

/**
 * Whether the process keeps the copy in PostgreSQL. It has the database open all the time, but only
 * for transactions of milliseconds.
 */
function isCopy({ words }: Holder): boolean {
  const at = words.indexOf('plane');
  return at > 0 && words[at + 1] === 'run';
}

/** Names other processes that have `path` open; empty: none that this user may see. */
export function namesOfStrangers(path: string, dataDir: string): string {
  return named(strangersAt(path, lockFile(dataDir)));
}

function named(strangers: readonly Holder[]): string {
  return strangers
    .map(({ pid, words }) => {
      // The program, and the script of one: whatever follows may be a secret.
      const told = words.slice(0, words[1]?.startsWith('/') ? 2 : 1);
      const command = told.join(' ').replace(/\s+/g, ' ').slice(0, COMMAND_CHARS);
      return `${command} (pid ${pid})`;
    })
    .join(', ');
}

/** Names other programs with the database open: lasting reads let the write-ahead log grow. */
export function checkHolders({ dataDir }: Pick<Config, 'dataDir'>): Finding[] {
  if (process.platform !== 'linux') return [skipped('readers', 'only Linux tells')];
  const path = join(dataDir, 'mirror.db');
  const strangers = strangersAt(path, lockFile(dataDir)).filter((one) => !isCopy(one));
  const text = `log ${formatSize(logBytesOf(path))}`;
  if (strangers.length === 0) {
    const seen = process.getuid?.() === 0 ? 'no stranger has it open' : 'of this user none';
    return [fine('readers', `${text}, ${seen}`)];
  }
  return [
    odd(
      'readers',
      `${text}, open in ${named(strangers)}`,
      'short transactions, or report snapshot',
    ),
  ];
}
