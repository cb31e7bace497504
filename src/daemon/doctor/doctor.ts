/**
 * Checks everything that an installation depends on, from the configuration to the service, and
 * gives advice on what is not fine. Changes nothing: the database is read, the service is asked for
 * lists only, and no portal link is made, because each is a way in.
 */
import type { LoadedConfig } from '../../config/load.ts';
import { showProblem } from '../../config/problems.ts';
import { waitingHere } from '../../ops/standby-here.ts';
import { routeOf } from '../service.ts';
import { checkDatabase } from './database.ts';
import { checkDropFolder } from './drop-folder.ts';
import { checkExchange } from './exchange.ts';
import { type Finding, fine, guarded, odd, skipped } from './finding.ts';
import { checkLacks, checkLevel, checkV2Version } from './level.ts';
import {
  checkBackups,
  checkDisk,
  checkFolder,
  checkHolders,
  checkRules,
  checkSchedules,
  checkVersions,
} from './machine.ts';
import {
  checkCertificate,
  checkListeners,
  checkRefused,
  checkV1,
  checkV2,
  type Network,
} from './network.ts';

export interface DoctorDeps {
  readonly loaded: LoadedConfig;
  readonly now: number;
  /** Access to the network; undefined: its checks are left out. */
  readonly network: Network | undefined;
}

function checkWarnings({ warnings }: LoadedConfig): Finding[] {
  if (warnings.length === 0) return [fine('configuration', 'right, without warnings')];
  return warnings.map((one) =>
    odd('configuration', showProblem({ ...one, hint: undefined }), one.hint ?? 'look there'),
  );
}

export async function* examine(deps: DoctorDeps): AsyncGenerator<Finding, void, undefined> {
  const { loaded, now, network } = deps;
  const { config } = loaded;
  const { baseUrl } = config.service.v1;
  yield* await guarded('versions', checkVersions);
  yield* checkWarnings(loaded);
  yield* await guarded('data folder', () => checkFolder(config));
  yield* await guarded('disk', () => checkDisk(config));
  const database = await guarded('database', () => checkDatabase(config, now));
  yield* database;
  const isWaiting = waitingHere(config, now) !== undefined;
  if (!isWaiting) yield* await guarded('exchange', () => checkExchange(config));
  yield* await guarded('drop folder', () => checkDropFolder(config, now));
  yield* await guarded('readers', () => checkHolders(config));
  yield* await guarded('backup', () => checkBackups(config, now));
  yield* await guarded('rules', () => checkRules(config));
  yield* await guarded('schedules', () => checkSchedules(config, now));
  yield* checkLacks(config);
  if (!network) {
    yield skipped('network', 'left alone (--offline)');
    return;
  }
  yield* await guarded('listeners', () => checkListeners(config, network));
  const isTold = database.some(({ check }) => check === 'signatures');
  if (!isTold && database.some(({ check, grade }) => check === 'daemon' && grade === 'ok')) {
    yield* await guarded('signatures', () => checkRefused(config, network));
  }
  yield* await guarded('certificate', () =>
    checkCertificate(baseUrl, now, routeOf(config.service)),
  );
  // Without a daemon, a log-in would create or migrate a database that failed its checks.
  if (isWaiting) {
    yield skipped('service', 'not asked: this machine waits as a standby', 'see "standby"');
  } else if (database.some(({ grade }) => grade === 'failed')) {
    yield skipped('service', 'not asked: first the database', 'see "database"');
  } else {
    yield* await guarded('service V1', () => checkV1(config, network));
    yield* await guarded('description', () => checkLevel(config, network));
    yield* await guarded('service V2', () => checkV2(config, network));
    if (config.service.v2.enabled) {
      yield* await guarded('description', () => checkV2Version(config, network));
    }
  }
  yield skipped('portal', 'not asked: each link is a way in', 'selvedge portal open');
}
