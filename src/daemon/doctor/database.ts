/** Checks the database, also while a daemon runs. */
import { sql } from 'kysely';
import { hasAtLevel } from '../../config/level.ts';
import type { Config } from '../../config/schema.ts';
import { readRuleFiles } from '../../decisions/rule-files.ts';
import { ruleSetInForce } from '../../decisions/simulation/rule-sets.ts';
import { formatDuration } from '../../lib/units.ts';
import { CAUSE_KINDS } from '../../ops/causes.ts';
import { describeSilence } from '../../ops/health-grade.ts';
import { type Installation, readInstallation } from '../../ops/installation.ts';
import { describeIdle } from '../../ops/rules-acting.ts';
import { LISTS_FILE } from '../../rules/load.ts';
import type { RuleFile } from '../../rules/text/yaml.ts';
import { isFolderLocked, lockFile } from '../../store/lock.ts';
import { TRIGGER_ADVICE } from '../../store/migrate.ts';
import { describePause, resumeStep } from '../../store/pauses.ts';
import { openReadOnlyStore, type SqliteStore, storeOptions } from '../../store/store.ts';
import { driftOfStream } from '../../sync/drift.ts';
import { describeOtherName } from '../../sync/other-names.ts';
import { bad, type Finding, fine, guarded, odd, skipped } from './finding.ts';
import { checkOpenOrders } from './open-orders.ts';
import { checkPlane } from './plane.ts';

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
  const missing = store.missingTriggers();
  if (missing.length === 0) return fine('triggers', 'decisions are append-only');
  return bad('triggers', `dropped: ${missing.join(', ')}`, TRIGGER_ADVICE);
}

function checkStreams(streams: Installation['streams']): Finding {
  if (streams.length === 0) return odd('freshness', 'nothing was pulled yet', 'start the daemon');
  const stale = streams
    .filter((one) => one.stale)
    .map(({ stream, paused }) => (paused ? `${stream} (paused)` : stream));
  if (stale.length === 0) return fine('freshness', 'every stream is fresh');
  return odd('freshness', `stale: ${stale.join(', ')}`, 'selvedge sync list says why');
}

function checkPaused({ paused, dryRun }: Installation): Finding[] {
  const found = paused.map((one) => odd('paused', describePause(one), resumeStep(one)));
  if (dryRun) found.push(odd('paused', 'nothing is sent', 'correct outbox.dryRun'));
  return found.length > 0 ? found : [fine('paused', 'nothing is paused')];
}

const LATE: readonly string[] = ['reads_late', 'quarantined'];
const NOT_UNDERSTOOD: ReadonlySet<string> = new Set(
  CAUSE_KINDS.filter((kind) => !LATE.includes(kind)),
);

/** Causes that keep deliveries undecided count as failed, although nothing has broken. */
function checkCauses({ causes }: Installation): Finding[] {
  const unknown = causes.filter(({ kind }) => NOT_UNDERSTOOD.has(kind));
  const others = causes.filter(({ kind }) => !NOT_UNDERSTOOD.has(kind));
  const found = unknown.map(({ says, advice }) => bad('understood', says, advice));
  return [
    ...(found.length > 0 ? found : [fine('understood', 'everything that the service says')]),
    ...(others.length > 0
      ? others.map(({ kind, says, advice }) => odd(CHECKS[kind] ?? 'incidents', says, advice))
      : [fine('incidents', 'none open')]),
  ];
}

/** Tells why nothing is asked of the service, if an account that is not known is the reason. */
function checkAccount({ accountHold }: Installation): Finding[] {
  if (accountHold === null) return [];
  return [bad('account', `not known: ${accountHold}`, 'selvedge account show')];
}

/** Compares the rules in force with their files, and says whether they act. */
async function checkInForce({ db }: SqliteStore, config: Config, found: Installation) {
  if (found.rules === null) return [];
  const { directory } = config.rules;
  const inForce = await ruleSetInForce(db);
  const { hash } = inForce.ruleSet;
  const findings: Finding[] = [];
  const idle = describeIdle(found.rules, found.pending);
  if (idle !== undefined) {
    findings.push(odd('in force', idle, 'selvedge rules check; rules.mode; selvedge rules reload'));
  }
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

function checkFreshness(found: Installation, config: Config, now: number): Finding[] {
  const { streams } = found;
  return [
    checkStreams(streams),
    ...checkOpenOrders(found, config, now),
    checkLastEvent(found),
    ...checkCauses(found),
    ...checkPaused(found),
    ...checkAccount(found),
  ];
}

export async function checkDatabase(config: Config, now: number): Promise<readonly Finding[]> {
  const store = await openReadOnlyStore(storeOptions(config));
  try {
    const found = await readInstallation(store.db, config, now);
    const daemon = checkDaemon(config, found);
    const names = await checkNames(store);
    const checked = [await checkIntegrity(store), checkTriggers(store)];
    const plane = await checkPlane(store.db, config, now);
    const rules = await guarded('in force', () => checkInForce(store, config, found));
    const fresh = checkFreshness(found, config, now);
    return [daemon, ...checked, ...fresh, ...rules, ...names, ...plane];
  } finally {
    await store.close();
  }
}
