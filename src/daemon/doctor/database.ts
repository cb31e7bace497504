/** Checks the database, also while a daemon runs. */
import { sql } from 'kysely';
import { hasAtLevel } from '../../config/level.ts';
import type { Config } from '../../config/schema.ts';
import { readRuleFiles } from '../../decisions/rule-files.ts';
import { ruleSetInForce } from '../../decisions/simulation/rule-sets.ts';
import { formatDuration } from '../../lib/units.ts';
import { CAUSE_KINDS } from '../../ops/causes.ts';
import { type Check, checksOf, describeSilence } from '../../ops/health-grade.ts';
import { type Installation, installationOf, readInstallation } from '../../ops/installation.ts';
import { bookDemand, describeBook, limitOf, overdueLooks } from '../../ops/order-book.ts';
import { describeCopy, planeSettingsOf, readPlaneCopy, stepOfCopy } from '../../ops/plane-copy.ts';
import { waitingHere } from '../../ops/standby-here.ts';
import { LISTS_FILE } from '../../rules/load.ts';
import type { RuleFile } from '../../rules/text/yaml.ts';
import { absent, describeService } from '../../store/answering.ts';
import { ledgerFeedState } from '../../store/ledger-feed.ts';
import { isFolderLocked, lockFile } from '../../store/lock.ts';
import { TRIGGER_ADVICE } from '../../store/migrate.ts';
import { type Db, openReadOnlyStore, type SqliteStore, storeOptions } from '../../store/store.ts';
import { driftOfStream } from '../../sync/drift.ts';
import { describeOtherName } from '../../sync/other-names.ts';
import { bad, type Finding, fine, guarded, odd, skipped } from './finding.ts';
import { checkStandby, findingOf } from './standby.ts';

// Checks the copy in PostgreSQL from the daemon's machine: its feed in the database, and the state
// that its process reports.

const BY_ITSELF = 'nothing else waits for it';

/** Findings about the copy in PostgreSQL; none where neither a copy nor a feed for one exists. */
async function checkPlane(db: Db, config: Config, now: number): Promise<Finding[]> {
  const feed = await ledgerFeedState(db);
  const copy = readPlaneCopy(planeSettingsOf(config), now);
  if (!copy) {
    if (feed === 'absent') return [];
    const text = 'the database keeps a feed for a copy, and plane.url is not set';
    return [odd('plane', text, 'selvedge plane remove; or set plane.url again')];
  }
  if (feed === 'absent') {
    return [odd('plane', 'configured, and not initialized', 'selvedge plane init')];
  }
  if (feed === 'broken') {
    const text = 'the feed for the copy lacks a part, or is of another release';
    return [bad('plane', text, 'selvedge plane init')];
  }
  const text = `${describeCopy(copy)} (account ${copy.account})`;
  if (copy.error !== null) return [bad('plane', `${text}; ${BY_ITSELF}`, stepOfCopy(copy))];
  if (copy.state === 'absent' || copy.state === 'silent') {
    return [odd('plane', text, stepOfCopy(copy))];
  }
  if (!copy.isLate) return [fine('plane', text)];
  const limit = `more than plane.lagWarning (${formatDuration(config.plane.lagWarning)})`;
  return [odd('plane', `${text}, ${limit}`, stepOfCopy(copy))];
}

function checkDaemon({ dataDir }: Config, found: Installation): Finding {
  if (found.silentMs !== null) {
    const advice = 'its log says why: a disk that cannot be written, a program that holds it';
    return bad('daemon', `runs, but ${describeSilence(found)}`, advice);
  }
  const isRunning = isFolderLocked(lockFile(dataDir));
  if (isRunning === true) return fine('daemon', 'runs');
  if (isRunning === undefined) {
    return skipped('daemon', 'this user may not look', 'run as the user of the service');
  }
  return odd('daemon', 'does not run', 'systemctl start selvedge');
}

async function checkIntegrity({ db }: SqliteStore): Promise<Finding> {
  const { rows } = await sql<{ quick_check: string }>`pragma quick_check(1)`.execute(db);
  const found = rows[0]?.quick_check ?? 'no answer';
  if (found === 'ok') return fine('database', 'whole (quick_check)');
  return bad('database', found, 'stop the daemon; selvedge backup restore (docs/operating)');
}

function checkTriggers(store: SqliteStore): Finding {
  const missing = store.triggers().missing;
  if (missing.length === 0) return fine('triggers', 'decisions are append-only');
  return bad('triggers', `dropped: ${missing.join(', ')}`, TRIGGER_ADVICE);
}

/** Findings of the table of checks by the name of their check, or else that it is fine. */
function told(checks: readonly Check[], name: string, otherwise?: Finding): Finding[] {
  const found = checks
    .filter(({ check }) => check === name)
    .map(({ grade, text, advice }) =>
      grade === 'critical' ? bad(name, text, advice) : odd(name, text, advice),
    );
  return found.length > 0 || otherwise === undefined ? found : [otherwise];
}

function checkStreams(checks: readonly Check[], { streams }: Installation): Finding[] {
  if (streams.length === 0) return [odd('freshness', 'nothing was pulled yet', 'start the daemon')];
  return told(checks, 'freshness', fine('freshness', 'every stream is fresh'));
}

/** Tells how the daemon last found the service; the doctor's own call is another check. */
function checkService(checks: readonly Check[], { service }: Installation, now: number) {
  if (service.length === 0) return [];
  return told(checks, 'service', fine('service', describeService(service, now)));
}

/** Kind of incident that the check of the service tells. */
const SILENT_KIND = 'service_silent';

const LATE: readonly string[] = ['reads_late', 'quarantined'];
const NOT_UNDERSTOOD: ReadonlySet<string> = new Set(
  CAUSE_KINDS.filter((kind) => !LATE.includes(kind)),
);

/** Causes that keep deliveries undecided count as failed, although nothing has broken. */
function checkCauses({ causes }: Installation): Finding[] {
  const unknown = causes.filter(({ kind }) => NOT_UNDERSTOOD.has(kind));
  const others = causes.filter(({ kind }) => !NOT_UNDERSTOOD.has(kind) && kind !== SILENT_KIND);
  const found = unknown.map(({ says, advice }) => bad('understood', says, advice));
  return [
    ...(found.length > 0 ? found : [fine('understood', 'everything that the service says')]),
    ...(others.length > 0
      ? others.map(({ kind, says, advice }) => odd(CHECKS[kind] ?? 'incidents', says, advice))
      : [fine('incidents', 'none open')]),
  ];
}

/** Compares the rules in force with their files, and says whether they act. */
async function checkInForce(
  { db }: SqliteStore,
  config: Config,
  found: Installation,
  checks: readonly Check[],
) {
  if (found.rules === null) return [];
  const { directory } = config.rules;
  const inForce = await ruleSetInForce(db);
  const { hash } = inForce.ruleSet;
  const findings = told(checks, 'in force');
  if (textsOf(inForce.files) !== textsOf(readRuleFiles(directory))) {
    const text = `the rules in force (${hash.slice(0, 12)}) are not those of ${directory}`;
    findings.push(odd('in force', text, 'selvedge rules check; then selvedge rules reload'));
  }
  const text = `the rules of ${directory}, ${found.rules.live} live, hash ${hash.slice(0, 12)}`;
  return findings.length > 0 ? findings : [fine('in force', text)];
}

/** The texts that a person writes; the lists that the daemon fills are not among them. */
function textsOf(files: readonly RuleFile[]): string {
  const own = files.filter(({ path }) => path !== LISTS_FILE);
  const sorted = own.toSorted((a, b) => (a.path < b.path ? -1 : 1));
  return JSON.stringify(sorted.map(({ path, text }) => [path, text]));
}

/** Checks that tell a kind of incident; the others are told as such. */
const CHECKS: Readonly<Record<string, string>> = {
  events_refused: 'signatures',
  secret_ends: 'signatures',
};

/** Finds members of variants that the service seems to send under another name. */
async function checkNames({ db }: SqliteStore): Promise<Finding[]> {
  const found: Finding[] = [];
  for (const stream of ['stock', 'season']) {
    for (const { entity, otherNames = [] } of await driftOfStream(db, stream)) {
      for (const one of otherNames) {
        const text = `${entity}.${describeOtherName(one)}`;
        found.push(odd('names', text, `if that is it: ${one.setting}`));
      }
    }
  }
  return found.length > 0 ? found : [fine('names', 'members of variants are named as known')];
}

function checkLastEvent({ events, relay, level }: Installation): Finding {
  if (!hasAtLevel(level, 'orderParts')) {
    return skipped('last event', `level ${level} has no events`);
  }
  const age = events.lastAgeMs;
  const last = age === null ? 'none yet' : `${formatDuration(Math.max(0, age))} ago`;
  const portal = 'is the endpoint subscribed? docs/connect.md; selvedge portal open';
  return age === null || relay?.state === 'silent'
    ? odd('last event', last, portal)
    : fine('last event', `${last}, relay ${relay?.state ?? 'not measured'}`);
}

function checkFreshness(
  found: Installation,
  checks: readonly Check[],
  config: Config,
  now: number,
): Finding[] {
  return [
    ...checkService(checks, found, now),
    ...checkStreams(checks, found),
    ...checkOpenOrders(found, config, now),
    checkLastEvent(found),
    ...checkCauses(found),
    ...told(checks, 'paused', fine('paused', 'nothing is paused')),
    ...told(checks, 'account'),
    ...told(checks, 'exchange'),
  ];
}

export async function checkDatabase(config: Config, now: number): Promise<readonly Finding[]> {
  const waiting = waitingHere(config, now);
  if (waiting) return [findingOf(waiting)];
  const store = await openReadOnlyStore(storeOptions(config));
  try {
    const settings = installationOf(config);
    const found = await readInstallation(store.db, settings, now);
    const checks = checksOf(found, settings, now);
    const daemon = checkDaemon(config, found);
    const names = await checkNames(store);
    const checked = [await checkIntegrity(store), checkTriggers(store)];
    const plane = await checkPlane(store.db, config, now);
    const rules = await guarded('in force', () => checkInForce(store, config, found, checks));
    const fresh = checkFreshness(found, checks, config, now);
    const standby = await guarded('standby', () => checkStandby(store.db, config, now));
    return [daemon, ...checked, ...fresh, ...rules, ...names, ...plane, ...standby];
  } finally {
    await store.close();
  }
}

/** Part of the requests from which on sweeps leave too little for everything else. */
const SWEEPS_SHARE_MAX = 0.5;

/** Tells whether the account's limit can carry the book of open orders. */
export function checkOpenOrders(
  { book, pace, service }: Pick<Installation, 'book' | 'pace' | 'service'>,
  config: Pick<Config, 'service' | 'streams'>,
  now: number,
): Finding[] {
  if (book === null || config.streams.off.includes('orders')) return [];
  const limit = limitOf(config, pace, now);
  const demand = bookDemand(book, config);
  const text = describeBook(book, limit);
  const advice =
    'name the days of the delivery windows (season_windows in settings.yaml), raise ' +
    'streams.orders.freshness or calmFreshness, or have the service allow more requests';
  const needs = `${text}; looks in time need ${demand}/s`;
  if (demand > limit) return [bad('open orders', `the limit cannot carry them: ${needs}`, advice)];
  if (demand > limit * SWEEPS_SHARE_MAX) return [odd('open orders', needs, advice)];
  const late = overdueLooks(book, config);
  if (late !== undefined) {
    const text = [late, absent(service, 'V1')].filter((one) => one !== undefined).join(': ');
    return [odd('open orders', text, 'selvedge sync show orders says why')];
  }
  return [fine('open orders', text)];
}
