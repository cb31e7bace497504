/**
 * Makes the support bundle: everything that a report of a fault needs and nothing that a stranger
 * should have. It has versions, the masked configuration, the state of every part, and recent
 * faults; no orders, customers, prices or addresses, no bodies of documents and events, nothing
 * that people wrote and no words of the service, no secrets.
 */
import { sql } from 'kysely';
import type { SettingRow } from '../../config/describe.ts';
import type { LoadedConfig } from '../../config/load.ts';
import { toError } from '../../lib/errors.ts';
import { withoutQuotes } from '../../lib/reading/quoted.ts';
import { CAUSE_KINDS } from '../../ops/causes.ts';
import { type Installation, installationOf, readInstallation } from '../../ops/installation.ts';
import { version } from '../../ops/version.ts';
import { openReadOnlyStore, type SqliteStore, storeOptions } from '../../store/store.ts';
import { shareable } from '../../store/tables/people.ts';
import type { Tables } from '../../store/tables.ts';
import { examine } from './doctor.ts';
import type { Finding } from './finding.ts';
import { sqliteVersion } from './machine.ts';

const ROWS_MAX = 200;

/** Rows without the columns of text that strangers may not see (store/tables/people.ts). */
function shared(table: string, rows: readonly object[]): readonly object[] {
  const known = new Set(shareable(table));
  const mayGo = ([name, value]: [string, unknown]) =>
    value === null || typeof value === 'number' || known.has(name);
  return rows.map((row) => Object.fromEntries(Object.entries(row).filter(mayGo)));
}

/** Columns that a report of a fault needs, of the newest rows; what names orders stays out. */
async function troubles({ db }: SqliteStore) {
  const newest = async (table: keyof Tables, columns: string, order: string, where = 'true') => {
    const { rows } = await sql<object>`select ${sql.raw(columns)} from ${sql.table(table)}
      where ${sql.raw(where)} order by ${sql.raw(order)} limit ${ROWS_MAX}`.execute(db);
    return shared(table, rows);
  };
  const times = 'started_at, ended_at';
  return {
    runs: await newest('sync_run', '*', 'run_id desc', "outcome <> 'complete'"),
    streams: await newest('stream_state', '*', 'stream'),
    incidents: await newest('incident', 'id, at, kind, entity, resolved_at', 'id desc'),
    pushes: await newest(
      'outbox',
      'outbox_id, kind, state, attempts, created_at, ended_at',
      'outbox_id desc',
      "state not in ('confirmed', 'canceled')",
    ),
    attempts: await newest(
      'outbox_attempt',
      `outbox_id, attempt, ${times}, class, http_status, error_code`,
      'started_at desc',
    ),
    quarantine: await newest('quarantine', 'entity, path, reason, times, last_seen_at', 'id'),
    audit: await newest('audit', 'at, action, subject', 'id desc'),
    migrations: await newest('schema_migration', '*', 'version'),
  };
}

/** Check that is left out, because it repeats people's reasons; the states list pauses. */
const TOLD_BY_STATES = 'paused';

async function findingsOf(loaded: LoadedConfig, now: number): Promise<Finding[]> {
  const findings: Finding[] = [];
  for await (const finding of examine({ loaded, now, network: undefined })) {
    if (finding.check !== TOLD_BY_STATES) findings.push(finding);
  }
  return findings;
}

function withoutReasons({ paused, causes, ...states }: Installation): object {
  return {
    ...states,
    // Sentences of other kinds may have what the service or a command said.
    causes: causes.filter(({ kind }) => CAUSE_KINDS.some((known) => known === kind)),
    paused: paused.map(({ target, name, at }) => ({ target, name, at })),
  };
}

/** States of all parts, or why the database cannot be read, which a report may be about. */
async function statesOf({ config }: LoadedConfig, now: number): Promise<object> {
  try {
    await using store = await openReadOnlyStore(storeOptions(config));
    const status = withoutReasons(await readInstallation(store.db, installationOf(config), now));
    return { status, ...(await troubles(store)) };
  } catch (thrown) {
    return { unreadable: toError(thrown).message };
  }
}

/** Makes the bundle; `settings` is the masked configuration. */
export async function makeBundle(
  loaded: LoadedConfig,
  settings: readonly SettingRow[],
  now: number,
): Promise<object> {
  const { arch, platform, versions } = process;
  return withoutQuotes({
    madeAt: new Date(now).toISOString(),
    program: { version: version(), node: versions.node, sqlite: sqliteVersion(), arch, platform },
    config: settings,
    doctor: await findingsOf(loaded, now),
    ...(await statesOf(loaded, now)),
  });
}
