/** State of the whole installation: database, lock, backups, disk and plane. */
import { missingAtLevel, streamsNotAtLevel } from '../config/level.ts';
import type { Config } from '../config/schema.ts';
import { newestBackup } from '../store/backup/manifest.ts';
import { logBytesOf } from '../store/care/checkpoints.ts';
import { isFolderLocked, lockFile } from '../store/lock.ts';
import { freeBytesAt } from '../store/space.ts';
import { type Db, storeOptions } from '../store/store.ts';
import {
  type PlaneCopy,
  type PlaneSettings,
  planeSettingsOf,
  readPlaneCopy,
} from './plane-copy.ts';
import {
  readStandbyHere,
  type StandbyHere,
  type StandbyHereSettings,
  standbyHereOf,
} from './standby-here.ts';
import { type FreshnessMs, freshnessOf, readStatus, type Status } from './status.ts';

/** Settings by which an installation is read and judged; no secret is among them. */
export interface InstallationSettings extends Pick<Config, 'dataDir' | 'store' | 'streams'> {
  readonly level: string;
  readonly freshnessMs: FreshnessMs;
  readonly notAtLevel: Readonly<Record<string, string>>;
  readonly dryRun: boolean;
  readonly plane: PlaneSettings | null;
  readonly standby?: StandbyHereSettings | null;
}

export function installationOf(config: Config): InstallationSettings {
  const { dataDir, store, streams } = config;
  return {
    dataDir,
    store,
    streams,
    level: config.service.dialect.v1.level,
    freshnessMs: freshnessOf(config),
    notAtLevel: streamsNotAtLevel(config),
    dryRun: config.outbox.dryRun,
    plane: planeSettingsOf(config),
    standby: standbyHereOf(config),
  };
}

export interface Installation extends Status {
  /** Level of the account's V1 (`service.dialect.v1.level`), and the streams it lacks. */
  readonly level: string;
  readonly lacks: readonly string[];
  /**
   * For how long a daemon that runs has not been able to write into the database, at least: its
   * disk has become read-only, another program holds the database, or it was suspended. Null: it
   * writes, or does not run.
   */
  readonly silentMs: number | null;
  /** Whether the configuration has every document checked and none sent. */
  readonly dryRun: boolean;
  /** Milliseconds since the newest backup; null: none seen, or only a future one. */
  readonly backupAgeMs: number | null;
  readonly freeBytes: number;
  /** Bytes of the write-ahead log; a reader that stays lets it grow. */
  readonly logBytes: number;
  /** Copy of the mirror in PostgreSQL; null: the configuration has none. */
  readonly plane: PlaneCopy | null;
  /** This machine as a holder or a standby; null: the configuration has no standby. */
  readonly standby: StandbyHere | null;
}

function newestBackupAt(settings: InstallationSettings, now: number): number | undefined {
  try {
    const newest = newestBackup(settings, now);
    return newest ? Date.parse(newest.manifest.createdAt) : undefined;
  } catch {
    // The folder of the backups may be closed to this user.
    return undefined;
  }
}

export async function readInstallation(
  db: Db,
  settings: InstallationSettings,
  now: number,
): Promise<Installation> {
  const { level, dataDir, dryRun, freshnessMs, notAtLevel } = settings;
  const status = await readStatus(db, now, freshnessMs, notAtLevel, dataDir);
  // The lock shows at once that a daemon was killed; the lease only once it has run out.
  const isLocked = isFolderLocked(lockFile(dataDir));
  const backupAt = newestBackupAt(settings, now);
  const silentMs = now - (status.daemon.leaseEndsAt ?? now);
  return {
    ...status,
    level,
    lacks: missingAtLevel(level).map(({ name }) => name),
    silentMs: isLocked === true && silentMs > 0 ? silentMs : null,
    daemon: { ...status.daemon, running: isLocked ?? status.daemon.running },
    dryRun,
    backupAgeMs: backupAt === undefined ? null : now - backupAt,
    freeBytes: await freeBytesAt(dataDir),
    logBytes: logBytesOf(storeOptions(settings).path),
    plane: readPlaneCopy(settings.plane, now),
    standby: readStandbyHere(settings.standby ?? null, now),
  };
}
