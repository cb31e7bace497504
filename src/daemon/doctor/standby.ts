/** Checks of a machine with a standby: lease, replicas, and whether somebody could take over. */
import { sql } from 'kysely';
import type { Config } from '../../config/schema.ts';
import {
  describeStandby,
  isStandbyWell,
  readStandbyHere,
  type StandbyHere,
  standbyHereOf,
  stepOfStandby,
} from '../../ops/standby-here.ts';
import { gradeReplication } from '../../standby/replication.ts';
import { readStandbyStatus } from '../../standby/status-file.ts';
import type { Db } from '../../store/store.ts';
import { bad, type Finding, fine, odd } from './finding.ts';

/** Whether a replica confirms what is kept, as the holder saw it at last. */
function checkReplica(config: Config): Finding[] {
  const told = readStandbyStatus(config.dataDir);
  if (told?.role !== 'holder' || told.replication === undefined) return [];
  const { names } = told.replication;
  const how = 'name two replicas in synchronous_standby_names, such as ANY 1 (a, b)';
  const of = 'whether a synchronous replica confirms what is kept';
  const found: Readonly<Record<ReturnType<typeof gradeReplication>, Finding | undefined>> = {
    confirmed: undefined,
    off: odd('standby', `${of}: no`, how),
    unknown: odd(
      'standby',
      `${of}: not known`,
      'grant pg_read_all_stats to the user of the address',
    ),
    nobody: bad(
      'standby',
      `synchronous_standby_names is "${names}", and none of these is connected: each commit waits`,
      'start the replicas; a promoted server that names itself waits for good: "alter system set ' +
        'synchronous_standby_names = …" there, then "select pg_reload_conf()"',
    ),
  };
  return [found[gradeReplication(told.replication)] ?? []].flat();
}

/** Documents that are looked at for their channel: those of long ago say nothing of today. */
const LATEST_ROWS = 10_000;

async function comeBySql(db: Db): Promise<boolean> {
  const { rows } = await sql`select 1 from
    (select channel from intake order by outbox_id desc limit ${LATEST_ROWS})
    where channel = 'sql' limit 1`.execute(db);
  return rows.length > 0;
}

/** The lease, and whether somebody could take over. */
export function findingOf(here: StandbyHere): Finding {
  const text = describeStandby(here);
  const step = stepOfStandby(here);
  if (here.error !== null || here.state === 'silent') return bad('standby', text, step);
  return isStandbyWell(here) ? fine('standby', text) : odd('standby', text, step);
}

export async function checkStandby(db: Db, config: Config, now: number): Promise<Finding[]> {
  const here = readStandbyHere(standbyHereOf(config), now);
  if (!here) return [];
  const findings = [findingOf(here), ...checkReplica(config)];
  if (config.intake.database !== null || (await comeBySql(db))) {
    const sqlDocuments = 'documents come by SQL: exchange.db stays on this machine in a take-over';
    findings.push(odd('standby', sqlDocuments, 'have the ERP use HTTP or the drop folder'));
  }
  return findings;
}
