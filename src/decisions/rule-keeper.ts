/**
 * Keeps the rules in force. They are loaded at the start and on request: the whole new set is
 * checked first, and only a set without a mistake takes the place of the old one, in one step. A
 * set with mistakes changes nothing; the log and an incident name them, and the incident stays open
 * until a load succeeds.
 *
 * If the set has mistakes at the start, the daemon uses the last good one in the mode observe:
 * nothing is pushed, and everybody can see why.
 */
import type { Clock } from '../lib/clock.ts';
import { ConfigError } from '../lib/errors.ts';
import type { Logger } from '../lib/log.ts';
import { loadRules, readListsFile } from '../rules/load.ts';
import type { Action, RuleSet } from '../rules/rule.ts';
import type { ListsRead } from '../rules/settings.ts';
import { type Actor, writeAudit } from '../store/audit.ts';
import { endIncidents, openIncident, reconcileIncidents } from '../store/incidents.ts';
import { readState, writeState } from '../store/state.ts';
import type { Store, Tx } from '../store/store.ts';
import { disarmChanged } from './reject/arm.ts';
import { openArmings } from './reject/arming.ts';
import { type LoadedRuleSet, loadRuleSet } from './rule-files.ts';
import { fillLists, type ListFailure, listDigests, listsOf } from './rule-lists.ts';
import { readRuleSetFiles, storeTexts } from './rule-texts.ts';
import { diffRuleSets, type RuleSetDiff } from './simulation/diff.ts';

/** Key of the database row that has the hash of the rule set in force. */
export const RULES_IN_FORCE = 'rules_in_force';
const LIST_INCIDENT = 'rules_list';
const INCIDENT = { kind: 'rules_invalid', entity: 'rules', key: 'set' } as const;

type RuleCounts = Partial<Readonly<Record<Action, number>>>;

export interface Reloaded {
  /** Differences between the two rule sets in effect; both hashes are equal when there are none. */
  readonly diff: RuleSetDiff;
  /** Numbers of rules that are removed and added, by action. */
  readonly counts: { readonly go: RuleCounts; readonly come: RuleCounts };
  /**
   * Ids of reject rules that were armed in another text than the new one and are disarmed by it.
   */
  readonly disarmed: readonly string[];
}

interface RulesInUse extends LoadedRuleSet {
  /**
   * True until a rule set was loaded without mistakes: until then the last good one only observes.
   */
  readonly isProvisional: boolean;
}

export interface RuleKeeper {
  current(): RulesInUse;
  /**
   * Reads the rule set's lists that come from the database again; gives whether their contents made
   * it another set. A list that cannot be read stays as it was, and opens an incident.
   */
  refreshLists(): Promise<boolean>;
  /**
   * Tells what a reload would change, without changing anything; throws a ConfigError that names
   * every mistake.
   */
  preview(directory: string): Promise<Reloaded & { readonly ruleSet: RuleSet }>;
  /**
   * Puts the rules of the directory in force; throws a ConfigError that names every mistake, and
   * then keeps the old rules.
   */
  reload(who: Actor, from: From): Promise<Reloaded>;
}

interface From {
  readonly directory: string;
  /** Gives further details for the audit, computed when the rule set is put in force. */
  readonly detail?: () => object;
  /**
   * Called in the step that puts the rule set in force, for changes that must take effect with it.
   */
  readonly onInForce?: () => void;
  /** Refuses a rule set that is not the one that a person agreed to, by its hash. */
  readonly requireAgreed?: (hash: string) => void;
}

export interface RuleKeeperDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Logger;
  /** Directory that the rules are read from at the start. */
  readonly directory: string;
}

async function reportInvalid({ store, clock, log }: RuleKeeperDeps, error: ConfigError) {
  log.error({ code: error.code }, `the rules cannot be used: ${error.message}`);
  const detail = { code: error.code, message: error.message };
  await openIncident(store.db, { ...INCIDENT, detail }, clock.now());
}

/**
 * Writes the rule set's delivery windows for reports (view `v_season`); of two windows with the
 * same name the last counts.
 */
async function writeWindows(tx: Tx, { settings }: LoadedRuleSet['ruleSet']): Promise<void> {
  await tx.deleteFrom('season_window').execute();
  for (const { season, delivery, from, to } of settings.season_windows) {
    const key = { season_name: season.trim(), delivery_name: (delivery ?? '').trim() };
    const days = { from_day: from, to_day: to };
    await tx
      .insertInto('season_window')
      .values({ ...key, ...days })
      .onConflict((conflict) => conflict.doUpdateSet(days))
      .execute();
  }
}

/** Stores the rule set as the one in force; gives the ids of the rules that it disarms. */
async function putInForce(
  tx: Tx,
  { ruleSet, files }: LoadedRuleSet,
  { clock }: RuleKeeperDeps,
  reason: string,
): Promise<readonly string[]> {
  const at = clock.now();
  await storeTexts(tx, { hash: ruleSet.hash, files }, at);
  await writeState(tx, RULES_IN_FORCE, ruleSet.hash, clock);
  await writeWindows(tx, ruleSet);
  return disarmChanged(tx, ruleSet, { reason, at });
}

/** Reasons why a rule read from files can have another hash than before. */
const CHANGED = 'the rule was changed or removed, or a list, table or setting that it reads was';

/**
 * Puts a rule set in force that was just read without mistakes from the directory, and ends the
 * incident of mistakes.
 */
async function putFilesInForce(
  tx: Tx,
  loaded: LoadedRuleSet,
  deps: RuleKeeperDeps,
  when: string,
): Promise<readonly string[]> {
  await endIncidents(tx, INCIDENT, [INCIDENT.key], deps.clock.now());
  return putInForce(tx, loaded, deps, `${when}: ${CHANGED}`);
}

/** Reads the files of the rule set that was last in force. */
async function lastFiles({ store }: RuleKeeperDeps): Promise<LoadedRuleSet['files']> {
  const hash = await readState(store.db, RULES_IN_FORCE);
  return hash === undefined ? [] : ((await readRuleSetFiles(store.db, hash)) ?? []);
}

/**
 * Loads the rule set that was last in force, if this version can still read it; else an empty set.
 */
async function lastGood(deps: RuleKeeperDeps): Promise<LoadedRuleSet> {
  const files = await lastFiles(deps);
  const loaded = loadRules(files, true);
  if ('ruleSet' in loaded) return { ruleSet: loaded.ruleSet, files };
  const none = loadRules([]);
  if ('ruleSet' in none) return { ruleSet: none.ruleSet, files: [] };
  throw new ConfigError('rules.none', 'not even an empty set of rules can be loaded');
}

function readsLists({ ruleSet }: LoadedRuleSet): boolean {
  return Object.keys(ruleSet.settings.list_sources).length > 0;
}

/** Opens and ends the incidents of lists that cannot be filled. */
async function reportLists(
  { store, clock, log }: RuleKeeperDeps,
  failed: readonly ListFailure[],
): Promise<void> {
  const wanted = failed.map(({ list: key, message }) => ({
    kind: LIST_INCIDENT,
    entity: 'rules',
    key,
    detail: { message },
  }));
  const { opened } = await reconcileIncidents(store.db, [LIST_INCIDENT], wanted, clock.now());
  for (const { key: list, detail } of opened) {
    log.error({ list }, `a list of the rules cannot be read as a whole: ${detail.message}`);
  }
}

function changesOf(before: LoadedRuleSet, next: LoadedRuleSet): Omit<Reloaded, 'disarmed'> {
  const diff = diffRuleSets(before.ruleSet, next.ruleSet);
  const count = ({ ruleSet }: LoadedRuleSet, ids: readonly string[]): RuleCounts => {
    const counts: { [action in Action]?: number } = {};
    for (const { id, action } of ruleSet.rules) {
      if (ids.includes(id)) counts[action] = (counts[action] ?? 0) + 1;
    }
    return counts;
  };
  return { diff, counts: { go: count(before, diff.removed), come: count(next, diff.added) } };
}

async function preview(
  { store }: RuleKeeperDeps,
  before: LoadedRuleSet,
  directory: string,
): ReturnType<RuleKeeper['preview']> {
  const next = await fillLists(store.db, loadRuleSet(directory, before), listsOf(before));
  const open = await store.transaction((tx) => openArmings(tx, next.ruleSet));
  const disarmed = open.filter(({ isSame }) => !isSame).map(({ ruleId }) => ruleId);
  return { ...changesOf(before, next), disarmed, ruleSet: next.ruleSet };
}

function logReloaded(log: Logger, diff: RuleSetDiff, disarmed: readonly string[]): void {
  const [from, to] = [diff.from.slice(0, 12), diff.to.slice(0, 12)];
  const { added, removed, changed } = diff;
  const what = { from, to, added, removed, changed: changed.map(({ id }) => id), disarmed };
  log.info(what, from === to ? 'the rules are as they were' : 'other rules are in force');
}

/** Makes a queue that runs pieces of work one after the other, in the order of the calls. */
function createTurns(): <T>(work: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const mine = last.then(work);
    last = mine.catch(() => undefined);
    return mine;
  };
}

/**
 * Opens the keeper with the rule set of the directory or, if it has mistakes, with the last good
 * one.
 */
export async function openRuleKeeper(deps: RuleKeeperDeps): Promise<RuleKeeper> {
  const { store, clock, log } = deps;
  const fill = async (loaded: LoadedRuleSet, before: ListsRead): Promise<LoadedRuleSet> => {
    const { ruleSet, files, failed } = await fillLists(store.db, loaded, before);
    await reportLists(deps, failed);
    return { ruleSet, files };
  };
  let inForce: RulesInUse;
  // Loads run one after the other: else the slower of two could put back what the other replaced.
  const inTurn = createTurns();
  try {
    const loaded = loadRuleSet(deps.directory);
    const lists = readsLists(loaded) ? readListsFile(await lastFiles(deps)) : undefined;
    inForce = { ...(await fill(loaded, lists ?? {})), isProvisional: false };
    const disarmed = await store.transaction((tx) =>
      putFilesInForce(tx, inForce, deps, 'at a start'),
    );
    if (disarmed.length > 0) log.warn({ disarmed }, 'rules have another text and are not armed');
  } catch (thrown) {
    if (!(thrown instanceof ConfigError)) throw thrown;
    await reportInvalid(deps, thrown);
    inForce = { ...(await lastGood(deps)), isProvisional: true };
  }
  const refreshLists = async (): Promise<boolean> => {
    const before = inForce;
    if (!readsLists(before)) return false;
    const next = await fill(before, listsOf(before));
    if (next.ruleSet.hash === before.ruleSet.hash) return false;
    const had = listDigests(listsOf(before));
    const lists = listDigests(listsOf(next));
    const others = Object.keys(lists).filter((list) => lists[list]?.digest !== had[list]?.digest);
    const reason = `lists were read with another content: ${others.join(', ')}`;
    const disarmed = await store.transaction((tx) => putInForce(tx, next, deps, reason));
    inForce = { ...next, isProvisional: before.isProvisional };
    const rules = next.ruleSet.hash.slice(0, 12);
    log.info({ rules, lists, disarmed }, 'a list of the rules has another content');
    return true;
  };
  const reload = async (who: Actor, from: From): Promise<Reloaded> => {
    const { directory, detail, onInForce, requireAgreed } = from;
    const before = inForce;
    let next: LoadedRuleSet;
    try {
      next = await fill(loadRuleSet(directory, before), listsOf(before));
    } catch (thrown) {
      if (thrown instanceof ConfigError) await reportInvalid(deps, thrown);
      throw thrown;
    }
    requireAgreed?.(next.ruleSet.hash);
    const { diff, counts } = changesOf(before, next);
    const disarmed = await store.transaction(async (tx) => {
      const { from: old, to } = diff;
      const ids = await putFilesInForce(tx, next, deps, `rules reload by ${who.actor}`);
      const act = { action: 'rules.reload', subject: 'rules' };
      const audited = { from: old, to, disarmed: ids, ...detail?.() };
      await writeAudit(tx, { ...who, ...act, detail: audited }, clock.now());
      return ids;
    });
    onInForce?.();
    inForce = { ...next, isProvisional: false };
    logReloaded(log, diff, disarmed);
    return { diff, counts, disarmed };
  };
  return {
    current: () => inForce,
    refreshLists: () => inTurn(refreshLists),
    preview: (directory) => inTurn(() => preview(deps, inForce, directory)),
    reload: (who, from) => inTurn(() => reload(who, from)),
  };
}
