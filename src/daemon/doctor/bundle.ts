/**
 * Makes the support bundle: everything that a report of a fault needs and nothing that a stranger
 * should have. It has versions, the masked configuration, the state of every part, and recent
 * faults; no orders, customers, prices or addresses, no bodies of documents and events, nothing
 * that people wrote, no secrets.
 */
import type { SettingRow } from '../../config/describe.ts';
import type { LoadedConfig } from '../../config/load.ts';
import { toError } from '../../lib/errors.ts';
import { CAUSE_KINDS } from '../../ops/causes.ts';
import { type Installation, installationOf, readInstallation } from '../../ops/installation.ts';
import { version } from '../../ops/version.ts';
import { openReadOnlyStore, type SqliteStore, storeOptions } from '../../store/store.ts';
import { examine } from './doctor.ts';
import type { Finding } from './finding.ts';
import { sqliteVersion } from './machine.ts';

const ROWS_MAX = 200;

async function troubles({ db }: SqliteStore) {
  return {
    runs: await db
      .selectFrom('sync_run')
      .selectAll()
      .where('outcome', '!=', 'complete')
      .orderBy('run_id', 'desc')
      .limit(ROWS_MAX)
      .execute(),
    streams: await db.selectFrom('stream_state').selectAll().execute(),
    incidents: await db
      .selectFrom('incident')
      .select(['id', 'at', 'kind', 'entity', 'resolved_at'])
      .orderBy('id', 'desc')
      .limit(ROWS_MAX)
      .execute(),
    pushes: await db
      .selectFrom('outbox')
      // Leaves out error texts, which may repeat the order; the attempts have the codes of errors.
      .select(['outbox_id', 'kind', 'state', 'attempts', 'created_at', 'ended_at'])
      .where('state', 'not in', ['confirmed', 'canceled'])
      .orderBy('outbox_id', 'desc')
      .limit(ROWS_MAX)
      .execute(),
    attempts: await db
      .selectFrom('outbox_attempt')
      .select(['outbox_id', 'attempt', 'started_at', 'ended_at'])
      .select(['class', 'http_status', 'error_code'])
      .orderBy('started_at', 'desc')
      .limit(ROWS_MAX)
      .execute(),
    quarantine: await db
      .selectFrom('quarantine')
      .select(['entity', 'path', 'reason', 'times', 'last_seen_at'])
      .limit(ROWS_MAX)
      .execute(),
    audit: await db
      .selectFrom('audit')
      .select(['at', 'action', 'subject'])
      .orderBy('id', 'desc')
      .limit(ROWS_MAX)
      .execute(),
    migrations: await db.selectFrom('schema_migration').selectAll().execute(),
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
  return {
    madeAt: new Date(now).toISOString(),
    program: { version: version(), node: versions.node, sqlite: sqliteVersion(), arch, platform },
    config: settings,
    doctor: await findingsOf(loaded, now),
    ...(await statesOf(loaded, now)),
  };
}
