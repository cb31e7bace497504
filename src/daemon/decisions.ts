/** Builds the decisions from the configuration: the rules in force, decider, rejects, review. */
import { changedSettings } from '../config/changes.ts';
import type { Config } from '../config/schema.ts';
import { createDecider, type Decider } from '../decisions/decider.ts';
import { type Decided, type DecisionMode, rulesKey } from '../decisions/judgement.ts';
import { createRejectOperations } from '../decisions/reject/arm.ts';
import { createRejectExecutor } from '../decisions/reject/executor.ts';
import type { AgreedRules, RuleOperations } from '../decisions/reject/surface.ts';
import { createReview, type Review } from '../decisions/review/review.ts';
import { unreadRuleFiles } from '../decisions/rule-files.ts';
import { openRuleKeeper, type Reloaded, type RuleKeeper } from '../decisions/rule-keeper.ts';
import { heldUnarmed } from '../decisions/simulation/not-armed.ts';
import type { Clock } from '../lib/clock.ts';
import { ConfigError, RefusedError } from '../lib/errors.ts';
import type { Logger } from '../lib/log.ts';
import { noteRulesActing } from '../ops/rules-acting.ts';
import { freshnessOf } from '../ops/status.ts';
import { DELIVERY_STATUS_KIND } from '../outbox/enqueue.ts';
import type { AlsoConfirm } from '../outbox/item.ts';
import { createDeliveryReader, targetOf } from '../outbox/kinds/delivery-status.ts';
import type { RuleSet } from '../rules/rule.ts';
import type { Actor } from '../store/audit.ts';
import { endIncidents, openIncident } from '../store/incidents.ts';
import type { Pauses } from '../store/pauses.ts';
import type { Store } from '../store/store.ts';
import type { ReadOrder } from '../sync/read-order.ts';
import type { Pulse, Worker } from './supervisor.ts';

export interface RulesInForceDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Logger;
  /** Reads the configuration again; throws the ConfigError that names every mistake. */
  readonly readConfig?: (() => Config) | undefined;
}

interface Change<T> {
  readonly from: T;
  readonly to: T;
}

interface RulesReloaded extends Reloaded {
  /** Mode in effect: without valid rules the daemon only observes, whatever the setting says. */
  readonly mode: Change<DecisionMode>;
  readonly directory: Change<string>;
  /** Settings that have changed and take effect only with the next start. */
  readonly restart: readonly string[];
  /** Files that look like rules and are not read. */
  readonly unread: readonly string[];
}

export interface RulesInForce {
  /**
   * Creates the worker that reads the rules' lists from the database again; `onChanged` is called
   * when they make it another rule set.
   */
  listReader(onChanged: () => void): Worker;
  readonly current: RuleKeeper['current'];
  mode(): DecisionMode;
  /** Whether this is the key of the rules in force and their mode. */
  isInForce(key: string): boolean;
  /** Returns what a reload would do; changes nothing and opens no incident. */
  preview(): Promise<RulesReloaded & { readonly ruleSet: RuleSet }>;
  /**
   * Reloads the rules and the configuration. @param agreed preview that a person saw; a reload that
   * would do something else is refused
   */
  reload(who: Actor, agreed?: AgreedRules): Promise<RulesReloaded>;
  /** Calls `task` with the configuration of each reload, before the reload is answered. */
  onReloaded(task: (fresh: Config) => Promise<void>): void;
}

/** Milliseconds after which a list that the ERP changed is in effect at the latest. */
const LISTS_EVERY_MS = 60_000;

/** Settings that take effect at a reload, without a restart. */
const AT_ONCE = [
  'rules.directory',
  'rules.mode',
  'console.operators',
  'console.proxy.role',
  'service.caFile',
  'service.clientCertificate',
  'service.clientCertificate.certificates',
  'service.clientCertificate.key',
];

const INCIDENT = { kind: 'config_invalid', entity: 'configuration', key: 'file' } as const;

function isChange({ from, to }: Change<string>): boolean {
  return from !== to;
}

/** Refuses what differs from what a person agreed to; by then, mistakes have their incidents. */
function requireSame(agreed: AgreedRules, { rules, mode }: AgreedRules): void {
  if (agreed.mode === mode && agreed.rules === rules) return;
  const other = agreed.mode === mode ? 'the rules' : 'rules.mode';
  const message = `${other} changed meanwhile; nothing was reloaded`;
  throw new RefusedError('rules.changed_meanwhile', message, { hint: 'ask again' });
}

function tellUnread(log: Logger, directory: string): readonly string[] {
  const unread = unreadRuleFiles(directory);
  if (unread.length > 0) log.warn({ unread }, 'these files look like rules, and are not read');
  return unread;
}

async function readAgain(config: Config, deps: RulesInForceDeps): Promise<Config> {
  const { store, clock, readConfig } = deps;
  try {
    return readConfig?.() ?? config;
  } catch (thrown) {
    if (thrown instanceof ConfigError) {
      const detail = { code: thrown.code, message: thrown.message };
      await openIncident(store.db, { ...INCIDENT, detail }, clock.now());
    }
    throw thrown;
  }
}

function noteActing(
  { store, clock }: RulesInForceDeps,
  keeper: RuleKeeper,
  most: Config['rules']['mode'],
): Promise<void> {
  const { rules, settings } = keeper.current().ruleSet;
  const isValid = !keeper.current().isProvisional;
  const live = rules.filter((rule) => rule.mode === 'live').length;
  const mode = isValid ? most : 'observe';
  const acting = { mode, valid: isValid, set: settings.mode, rules: rules.length, live };
  return noteRulesActing(store.db, acting, clock);
}

/**
 * Opens the rules and reloads them, at SIGHUP and `selvedge rules reload`: reads the configuration
 * and the rules again and checks both as a whole. A mistake in either changes nothing and opens an
 * incident, because nobody reads an answer to a signal. Rules, their folder and their mode take
 * effect at once, and so do the people of the console and the certificates for the service; changes
 * of other settings are reported as "needs a restart".
 */
export async function openRules(config: Config, deps: RulesInForceDeps): Promise<RulesInForce> {
  const { store, clock, log } = deps;
  const nowSound = () => endIncidents(store.db, INCIDENT, [INCIDENT.key], clock.now());
  await nowSound();
  let { rules } = config;
  const keeper = await openRuleKeeper({ ...deps, directory: rules.directory });
  if (keeper.current().isProvisional) {
    log.error(
      { rules: keeper.current().ruleSet.hash.slice(0, 12) },
      'no valid rules: only observing',
    );
  }
  tellUnread(log, rules.directory);
  const note = () => noteActing(deps, keeper, rules.mode);
  await note();
  const mode = () => (keeper.current().isProvisional ? 'observe' : rules.mode);
  const changesTo = (fresh: Config) => ({
    mode: { from: mode(), to: fresh.rules.mode },
    directory: { from: rules.directory, to: fresh.rules.directory },
  });
  const tasks: ((fresh: Config) => Promise<void>)[] = [];
  const restartFor = (fresh: Config) =>
    changedSettings(config, fresh).filter((path) => !AT_ONCE.includes(path));
  return {
    current: keeper.current,
    onReloaded: (task) => void tasks.push(task),
    listReader: (onChanged) => ({
      name: 'rule lists',
      async run(signal) {
        while (!signal.aborted) {
          if (await keeper.refreshLists()) onChanged();
          await clock.sleep(LISTS_EVERY_MS, signal).catch(() => undefined);
        }
      },
    }),
    mode,
    isInForce: (key) => key === rulesKey(mode(), keeper.current()),
    async preview() {
      const fresh = deps.readConfig?.() ?? config;
      const { directory } = fresh.rules;
      const previewed = await keeper.preview(directory);
      const unread = unreadRuleFiles(directory);
      return { ...previewed, ...changesTo(fresh), restart: restartFor(fresh), unread };
    },
    async reload(who, agreed) {
      const fresh = await readAgain(config, deps);
      // The configuration is valid now; mistakes in the rules have an incident of their own.
      await nowSound();
      const { directory } = fresh.rules;
      const changes = () => changesTo(fresh);
      let changed = changes();
      const onInForce = (): void => {
        changed = changes();
        rules = fresh.rules;
      };
      const requireAgreed = (hash: string): void => {
        if (agreed) requireSame(agreed, { rules: hash, mode: fresh.rules.mode });
      };
      const from = { directory, detail: changes, onInForce, requireAgreed };
      const reloaded = await keeper.reload(who, from);
      await note();
      const { mode: modes, directory: directories } = changed;
      if (isChange(modes)) log.info(modes, 'the rules act in another mode');
      if (isChange(directories)) log.info(directories, 'the rules are read from another folder');
      const restart = restartFor(fresh);
      if (restart.length > 0) log.warn({ restart }, 'these settings act from the next start on');
      for (const task of tasks) await task(fresh);
      const unread = tellUnread(log, directory);
      return { ...reloaded, ...changed, restart, unread };
    },
  };
}

export interface DecisionsDeps {
  readonly pauses: Pick<Pauses, 'reason'>;
  readonly store: Store;
  readonly pulse: Pulse;
  readonly log: Logger;
  readonly rules: RulesInForce;
  readonly readOrder: ReadOrder;
  readonly onDecided: (decided: Decided) => void;
  readonly onPush: () => void;
}

interface EndedPush {
  readonly orderDeliveryId: number;
  readonly status: string;
  readonly state: string;
}

export interface Decisions {
  readonly workers: readonly Worker[];
  readonly review: Review;
  readonly ruleOperations: RuleOperations;
  /** Makes decider and rejects look for all that is due: rules, people or a pause have changed. */
  wakeUp(): void;
  /** Decides deliveries at once whose content, status or order has changed. */
  decideNow: Decider['decideNow'];
  runEnded: Decider['runEnded'];
  /** Decides the delivery again, or ends its reject: its push has ended. */
  pushEnded(push: EndedPush): void;
  readonly alsoConfirm: AlsoConfirm;
  /** Reloads the rules and the configuration, and takes unsent decisions back. */
  readonly reload: RuleOperations['reload'];
}

export function createDecisions(config: Config, deps: DecisionsDeps): Decisions {
  const { store, pulse, onPush, pauses } = deps;
  const { current: rules } = deps.rules;
  const mode = () => (pauses.reason('decisions') === undefined ? deps.rules.mode() : 'paused');
  const log = deps.log.child({ room: 'decisions' });
  const clock = pulse.clockOf('decisions');
  const freshness = freshnessOf(config);
  const decider = createDecider({
    store,
    clock,
    log,
    rules,
    mode,
    onPush,
    freshness,
    settleMs: config.decisions.settle,
    reconsiderMs: config.decisions.reconsider,
    onDecided(decided) {
      if (decided.rejectAt !== undefined) rejects.wake();
      deps.onDecided(decided);
    },
  });
  const rejects = createRejectExecutor({
    store,
    log,
    rules,
    mode,
    onPush,
    freshness,
    clock: pulse.clockOf('rejects'),
    readDelivery: createDeliveryReader(deps, 'reject'),
    onDecided: decider.wake,
  });
  const wakeUp = (): void => {
    decider.wake();
    rejects.wake();
  };
  const review = createReview({ store, clock, rules, onPush, onReviewed: wakeUp });
  /** Counts what reject rules hold, or would, that are not armed. */
  const notArmed = (most: DecisionMode, { ruleSet }: { readonly ruleSet: RuleSet }) =>
    most === 'live'
      ? heldUnarmed(store, ruleSet, clock.now())
      : Promise.resolve({ rules: [], deliveries: 0 });
  const reload: RuleOperations['reload'] = async (who, agreed) => {
    const reloaded = await deps.rules.reload(who, agreed);
    // Unsent decisions are canceled before the reload is answered: a person who reads that rules
    // only observe from now on must not see one leave afterwards.
    await decider.recall();
    await rejects.recall();
    wakeUp();
    return { ...reloaded, notArmed: await notArmed(reloaded.mode.to, rules()) };
  };
  const preview: RuleOperations['preview'] = async () => {
    const { ruleSet, ...previewed } = await deps.rules.preview();
    return { ...previewed, notArmed: await notArmed(previewed.mode.to, { ruleSet }) };
  };
  const ruleSet = () => rules().ruleSet;
  const operations = createRejectOperations({ store, clock, ruleSet, onChanged: wakeUp });
  return {
    workers: [decider, rejects, deps.rules.listReader(wakeUp)],
    review,
    ruleOperations: { rejects: operations, preview, reload },
    wakeUp,
    decideNow: decider.decideNow,
    runEnded: decider.runEnded,
    async alsoConfirm(tx, item, onCommit) {
      if (item.kind !== DELIVERY_STATUS_KIND) return;
      const { orderDeliveryId, status } = targetOf(item);
      if (status === 'accepted') await decider.noteAccepted(tx, orderDeliveryId, onCommit);
    },
    pushEnded({ orderDeliveryId, status, state }) {
      // A confirmed accept was noted with its end.
      if (status === 'accepted' && state === 'confirmed') return;
      decider.decideNow([orderDeliveryId]);
      if (status === 'rejected') rejects.wake();
    },
    reload,
  };
}
